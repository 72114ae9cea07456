// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/support/remote_ranks.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace bento::test {

namespace {

bool is_word(const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at) % 8 == 0;
}

// As a network adapter reads and writes: beside whatever the owner does, and aligned words whole.
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize("thread")))
#endif
void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
  while (bytes > 0) {
    const bool aligned = is_word(from) && is_word(to) && bytes >= 8;
    const std::size_t step = aligned ? 8 : 1;
    if (aligned) {
      *reinterpret_cast<volatile std::uint64_t*>(to) =
          *reinterpret_cast<const volatile std::uint64_t*>(from);
    } else {
      *to = *const_cast<const volatile std::byte*>(from);
    }
    to += step;
    from += step;
    bytes -= step;
  }
}

}  // namespace

class ThreadMemory final : public RemoteMemory {
 public:
  ThreadMemory(RemoteRanks& group, int rank) : group_(group), rank_(rank) {}

  Status expose(std::byte* begin, std::uint64_t bytes) override {
    group_.expose(rank_, begin, bytes);
    return {};
  }
  Status fetch(std::span<const RemotePart> parts) override { return group_.fetch(rank_, parts); }
  Status put(std::uint32_t rank, std::uint64_t address, std::span<const std::byte> bytes) override {
    return group_.put(rank_, rank, address, bytes);
  }
  [[nodiscard]] Status settled() const override { return {}; }
  void close() override { group_.close(rank_); }

 private:
  RemoteRanks& group_;
  int rank_;
};

class NodeCommunicator final : public Communicator {
 public:
  NodeCommunicator(RemoteRanks& group, Communicator& ranks) : group_(group), ranks_(ranks) {}

  [[nodiscard]] int rank() const override { return ranks_.rank(); }
  [[nodiscard]] int size() const override { return ranks_.size(); }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    return ranks_.gather(payload);
  }
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    return ranks_.combine(payload, merge);
  }
  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    return ranks_.broadcast(payload);
  }
  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    return ranks_.shift(distance, payload);
  }
  [[nodiscard]] std::string node() const override {
    return fmt::format("node {}", rank() % group_.nodes_);
  }
  Result<std::unique_ptr<RemoteMemory>> open_remote_memory() override {
    return std::unique_ptr<RemoteMemory>(std::make_unique<ThreadMemory>(group_, rank()));
  }
  [[nodiscard]] bool reaches_at_rest(const Hash128& nodes) const override {
    const std::scoped_lock lock(group_.mutex_);
    const auto found = group_.reached_.find(rank());
    return found != group_.reached_.end() && found->second == nodes;
  }
  void note_reaches_at_rest(const Hash128& nodes) override {
    const std::scoped_lock lock(group_.mutex_);
    if (group_.remembers_) group_.reached_[rank()] = nodes;
  }

 private:
  RemoteRanks& group_;
  Communicator& ranks_;
};

std::unique_ptr<Communicator> RemoteRanks::communicator(Communicator& ranks) {
  return std::make_unique<NodeCommunicator>(*this, ranks);
}

void RemoteRanks::expose(int rank, std::byte* begin, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  exposed_[rank].emplace_back(reinterpret_cast<std::uintptr_t>(begin), bytes);
}

void RemoteRanks::close(int rank) {
  const std::scoped_lock lock(mutex_);
  exposed_.erase(rank);
}

Status RemoteRanks::inside(std::uint32_t rank, std::uint64_t address, std::size_t bytes) {
  const bool found = std::ranges::any_of(exposed_[static_cast<int>(rank)], [&](auto& one) {
    return address >= one.first && address + bytes <= one.first + one.second;
  });
  if (found) return {};
  return fail(Code::kInternal,
              fmt::format("{} bytes at {:#x} are not exposed by rank {}", bytes, address, rank));
}

// With the lock.
void RemoteRanks::arrive(int rank) {
  std::vector<OnItsWay>& all = on_their_way_[rank];
  for (OnItsWay& one : all) {
    if (one.fetches-- > 1) continue;
    copy_words(reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(one.address)),
               one.bytes.data(), one.bytes.size());
    one.bytes.clear();
  }
  std::erase_if(all, [](const OnItsWay& one) { return one.bytes.empty(); });
}

Status RemoteRanks::put(int rank, std::uint32_t to, std::uint64_t address,
                        std::span<const std::byte> bytes) {
  unsigned fetches = 0;
  if (before_put_) {
    BENTO_ASSIGN(fetches, before_put_(rank));
  }
  const std::scoped_lock lock(mutex_);
  BENTO_TRY(inside(to, address, bytes.size()));
  on_their_way_[rank].push_back({fetches, address, {bytes.begin(), bytes.end()}});
  if (fetches == 0) arrive(rank);
  return {};
}

Status RemoteRanks::fetch(int rank, std::span<const RemotePart> parts) {
  if (before_fetch_) BENTO_TRY(before_fetch_(rank, parts));
  {
    const std::scoped_lock lock(mutex_);
    arrive(rank);
  }
  BENTO_TRY(read(parts));
  while (read_again_ && read_again_(parts)) BENTO_TRY(read(parts));
  return {};
}

Status RemoteRanks::read(std::span<const RemotePart> parts) {
  for (const RemotePart& part : parts) {
    const std::scoped_lock lock(mutex_);
    BENTO_TRY(inside(part.rank, part.address, part.into.size()));
    copy_words(part.into.data(),
               reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(part.address)),
               part.into.size());
  }
  return {};
}

}  // namespace bento::test
