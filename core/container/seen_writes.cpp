// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/seen_writes.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/agree.hpp"
#include "core/io/host.hpp"

namespace bento {

namespace {

constexpr std::size_t kPlaceBytes = 4096;  // of each node, as caches keep them

std::vector<std::byte> place_of_node(std::uint32_t node, bool written) {
  return std::vector<std::byte>(kPlaceBytes,
                                written ? static_cast<std::byte>(1 + node % 250) : std::byte{0});
}

class Trial {
 public:
  Trial(Communicator& ranks, const RankGroups& nodes, const FileOpener& opener, std::string name)
      : ranks_(ranks),
        nodes_(nodes),
        opener_(opener),
        name_(std::move(name)),
        node_(nodes.group_of(static_cast<std::uint32_t>(ranks.rank()))),
        leads_(nodes.leader_of(node_) == static_cast<std::uint32_t>(ranks.rank())) {}

  Status run() {
    BENTO_TRY(step(ranks_.rank() == 0, [this] { return make(); }));
    BENTO_TRY(step(leads_, [this] { return open(); }));
    BENTO_TRY(
        step(leads_, [this] { return file_->write_at(at(node_), place_of_node(node_, true)); }));
    return step(leads_, [this] { return check(true); });
  }

 private:
  static std::uint64_t at(std::uint32_t node) { return std::uint64_t{node} * kPlaceBytes; }

  template <class Part>
  Status step(bool takes_part, const Part& part) {
    Status mine = takes_part ? part() : Status{};
    if (!mine && mine.error().code != Code::kUnsupported)
      mine = fail(Code::kUnsupported,
                  fmt::format("it cannot be tried whether nodes see at once what others write to "
                              "files: {}",
                              mine.error().text));
    return agree(ranks_, mine);
  }
  Status make() {
    BENTO_ASSIGN(file_, opener_(name_, OpenMode::kCreateExclusive));
    for (std::uint32_t node = 0; node < nodes_.count(); ++node)
      BENTO_TRY(file_->write_at(at(node), place_of_node(node, false)));
    return {};
  }
  Status open() {
    if (file_ == nullptr) {
      BENTO_ASSIGN(file_, opener_(name_, OpenMode::kReadWrite));
    }
    return check(false);
  }
  Status check(bool written) {
    std::vector<std::byte> found(kPlaceBytes);
    for (const std::uint32_t node : {0U, (node_ + 1) % nodes_.count()}) {
      BENTO_TRY(file_->read_at(at(node), found));
      if (found != place_of_node(node, written))
        return fail(Code::kUnsupported,
                    "what one node writes to a file is not at once what others read");
    }
    return {};
  }

  Communicator& ranks_;
  const RankGroups& nodes_;
  const FileOpener& opener_;
  std::string name_;
  std::uint32_t node_;
  bool leads_;
  std::unique_ptr<File> file_;
};

}  // namespace

Status nodes_see_writes(Communicator& ranks, const RankGroups& nodes, const FileOpener& opener,
                        const std::string& path) {
  ByteWriter out;
  if (ranks.rank() == 0) out.bytes(random_id());
  BENTO_ASSIGN(const Bytes id, ranks.broadcast(out.view()));
  ByteReader in(id, std::endian::little, "name of a file");
  BENTO_ASSIGN(const std::uint64_t number, in.u64());
  const std::string name = fmt::format("{}.h5bento-seen-{:016x}", path, number);
  Status tried = Trial(ranks, nodes, opener, name).run();
  if (ranks.rank() == 0) (void)remove_file(name);
  return tried;
}

}  // namespace bento
