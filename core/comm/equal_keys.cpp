// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/equal_keys.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

/// One rank's part.
class Rendezvous {
 public:
  Rendezvous(Communicator& ranks, const Communicator::Merge& merge)
      : ranks_(ranks), merge_(merge), size_(static_cast<std::uint64_t>(ranks.size())) {
    rounds_.resize(static_cast<std::size_t>(std::bit_width(size_ - 1)));
  }

  Result<Bytes> run(const Hash128& key, std::span<const std::byte> payload) {
    held_.emplace(key, Bytes(payload.begin(), payload.end()));
    for (unsigned bit = 0; bit < rounds_.size(); ++bit) BENTO_TRY(go_on(bit));
    // Now each rank holds what is at home there, whole.
    for (auto bit = static_cast<unsigned>(rounds_.size()); bit-- > 0;) BENTO_TRY(go_back(bit));
    return std::move(held_[key]);
  }

 private:
  /// Which keys went out and came in, in that order: their answers come and go the other way.
  struct Round {
    std::vector<Hash128> sent;
    std::vector<Hash128> got;
  };

  /// From this rank to the home of a key. A round that takes away a bit of it never leads past the
  /// home, whatever the number of ranks.
  [[nodiscard]] std::uint64_t distance_of(const Hash128& key) const {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sizeof word; ++i)
      word = word << 8 | std::to_integer<std::uint64_t>(key[i]);
    return (word % size_ + size_ - static_cast<std::uint64_t>(ranks_.rank())) % size_;
  }

  Status go_on(unsigned bit) {
    Round& round = rounds_[bit];
    ByteWriter out;
    for (auto one = held_.begin(); one != held_.end();) {
      if ((distance_of(one->first) >> bit & 1) == 0) {
        ++one;
        continue;
      }
      out.bytes(one->first);
      put(out, one->second);
      round.sent.push_back(one->first);
      one = held_.erase(one);
    }
    BENTO_ASSIGN(const Bytes came, ranks_.shift(1 << bit, out.view()));
    ByteReader in(came, std::endian::little, "payloads by key");
    while (in.remaining() != 0) {
      Hash128 key{};
      BENTO_ASSIGN(const auto name, in.bytes(key.size()));
      std::copy(name.begin(), name.end(), key.begin());
      BENTO_ASSIGN(const auto payload, get(in));
      const auto [known, added] = held_.try_emplace(key, payload.begin(), payload.end());
      if (!added) known->second = merge_(known->second, payload);
      round.got.push_back(key);
    }
    return {};
  }

  Status go_back(unsigned bit) {
    const Round& round = rounds_[bit];
    ByteWriter out;
    for (const Hash128& key : round.got) put(out, held_[key]);
    BENTO_ASSIGN(const Bytes came, ranks_.shift(-(1 << bit), out.view()));
    ByteReader in(came, std::endian::little, "answers by key");
    for (const Hash128& key : round.sent) {
      BENTO_ASSIGN(const auto answer, get(in));
      held_[key].assign(answer.begin(), answer.end());
    }
    return in.settled();
  }

  static void put(ByteWriter& out, const Bytes& payload) {
    out.varint(payload.size());
    out.bytes(payload);
  }
  static Result<std::span<const std::byte>> get(ByteReader& in) {
    BENTO_ASSIGN(const std::uint64_t bytes, in.varint());
    return in.bytes(bytes);
  }

  Communicator& ranks_;
  const Communicator::Merge& merge_;
  std::uint64_t size_;
  std::map<Hash128, Bytes> held_;
  std::vector<Round> rounds_;
};

}  // namespace

Result<Bytes> combine_equal(Communicator& ranks, const Hash128& key,
                            std::span<const std::byte> payload, const Communicator::Merge& merge) {
  return Rendezvous(ranks, merge).run(key, payload);
}

}  // namespace bento
