// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One writer's stream where it lies in its chunks: the walk from block to block, the file block in
/// front, and the stream as a source for core/fti. Source: docs/format.md, "A rank's stream".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/checksum.hpp"
#include "core/fti/source.hpp"
#include "core/fti/v11.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/stream_rules.hpp"

namespace bento {

/// Which chunks of which physical file are a writer's.
struct StreamPlace {
  File* file = nullptr;
  FilePlan plan;
  std::uint32_t local_task = 0;
  std::uint32_t writer = 0;  ///< global number, for error texts
  StreamRules rules{};       ///< the container's

  [[nodiscard]] std::uint64_t address(Position at) const { return plan.address(local_task, at); }
};

/// Head and container records of one block.
struct StreamBlock {
  Position position = 0;  ///< of its head
  std::vector<fti::v11::DbVar> vars;
  std::uint64_t bytes = 0;  ///< as its head says: header and containers
};
/// May change `vars`; whoever does writes them back, with rewrite_vars().
using UseBlock = std::function<Status(StreamBlock& block)>;

/// The block whose head lies at `position`, with `left` bytes from there to the end of what its
/// chunk holds. Errors: kIo, kCorrupt (contradicts that; names its address).
Result<StreamBlock> read_block(const StreamPlace& place, Position position, std::uint64_t left);

/// Hands the blocks of a stream to `use`, in order, the gate left out; reads no data. Errors: those
/// of `use`, kIo, kCorrupt (a block that contradicts its chunk; names its address).
Status walk_stream(const StreamPlace& place, const ChunkFill& fill, const UseBlock& use);

/// Writes the container records of a block over the old ones: the same number of them.
Status rewrite_vars(const StreamPlace& place, const StreamBlock& block);

/// A stream, read in place. `place.file` must outlive it.
class StreamSource final : public fti::Source {
 public:
  /// `path` is the container's, for error texts.
  StreamSource(StreamPlace place, const ChunkFill& fill, std::string path);
  Result<std::uint64_t> size() override { return starts_.back(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> into) override;
  [[nodiscard]] std::string name() const override;

  /// Where a byte of the stream lies in its chunks. `offset` must be less than size().
  [[nodiscard]] Position position(std::uint64_t offset) const;
  /// The reverse; for a position in no used chunk, something at or behind the end.
  [[nodiscard]] std::uint64_t offset(Position position) const;

 private:
  StreamPlace place_;
  std::vector<std::uint64_t> starts_;  ///< stream offset of each chunk, and the end
  std::string path_;
};

/// FB.checksum of a stream with MD5: of all bytes behind the file block, read back.
Result<fti::ChecksumText> md5_of_stream(const StreamPlace& place, const ChunkFill& fill);

/// Writes FB. `checksum` is ignored with kNone.
Status write_file_block(const StreamPlace& place, const ChunkFill& fill, fti::HashKind kind,
                        const fti::ChecksumText& checksum, std::uint64_t time_ns);

}  // namespace bento
