// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/stream_walk.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

/// Container records are read so many at a time. A head may claim 2^31 of them in a chunk that is
/// mostly a hole: the first that is empty, as none is ever written, ends that.
constexpr std::uint32_t kVarsAtOnce = 4096;

}  // namespace

Result<StreamBlock> read_block(const StreamPlace& place, Position position, std::uint64_t left) {
  using fti::v11::kDataBlockHeadBytes;
  using fti::v11::kDbVarBytes;
  // Most blocks have one or two records: those come with the head, in one call.
  std::array<std::byte, kDataBlockHeadBytes + 2 * kDbVarBytes> front{};
  StreamBlock block;
  block.position = position;
  const std::uint64_t address = place.address(position);
  const auto where = [&] {
    return fmt::format("'{}': stream of writer {}, block at byte {}", place.file->path(),
                       place.writer, address);
  };
  const auto got =
      std::span(front).first(static_cast<std::size_t>(std::min<std::uint64_t>(front.size(), left)));
  BENTO_TRY(place.file->read_at(address, got));
  auto head = fti::v11::decode_data_block(got);
  if (!head) return fail(std::move(head).error().with_context(where()));
  const std::uint64_t header_bytes = fti::v11::header_bytes(head->numvars);
  if (head->dbsize < header_bytes || head->dbsize > left)
    return fail(Code::kCorrupt,
                fmt::format("{}: {} bytes, {} left in its chunk", where(), head->dbsize, left));
  block.bytes = head->dbsize;
  block.vars.reserve(std::min(head->numvars, kVarsAtOnce));
  const auto take = [&](std::span<const std::byte> bytes) -> Status {
    for (; !bytes.empty(); bytes = bytes.subspan(kDbVarBytes)) {
      auto var = fti::v11::decode_dbvar(bytes);
      if (!var) return fail(std::move(var).error().with_context(where()));
      if (*var == fti::v11::DbVar{})
        return fail(Code::kCorrupt, fmt::format("{}: record {} of {} is empty", where(),
                                                block.vars.size(), head->numvars));
      block.vars.push_back(*var);
    }
    return {};
  };
  const std::uint64_t in_front =
      std::min<std::uint64_t>(head->numvars, (got.size() - kDataBlockHeadBytes) / kDbVarBytes);
  BENTO_TRY(take(got.subspan(kDataBlockHeadBytes, in_front * kDbVarBytes)));
  std::vector<std::byte> piece;
  while (block.vars.size() < head->numvars) {
    const auto done = static_cast<std::uint32_t>(block.vars.size());
    piece.resize(std::min(head->numvars - done, kVarsAtOnce) * kDbVarBytes);
    BENTO_TRY(place.file->read_at(address + fti::v11::header_bytes(done), piece));
    BENTO_TRY(take(piece));
  }
  return block;
}

Status walk_stream(const StreamPlace& place, const ChunkFill& fill, const UseBlock& use) {
  for (std::size_t chunk = 0; chunk < fill.size(); ++chunk) {
    std::uint64_t at = chunk == 0 ? place.rules.head_bytes() : 0;
    while (at < fill[chunk]) {
      BENTO_ASSIGN(StreamBlock block,
                   read_block(place, chunk * place.plan.chunk_bytes + at, fill[chunk] - at));
      BENTO_TRY(use(block));
      at += block.bytes;
    }
  }
  return {};
}

Status rewrite_vars(const StreamPlace& place, const StreamBlock& block) {
  ByteWriter out;
  for (const auto& var : block.vars) fti::v11::encode(out, var);
  return place.file->write_at(place.address(block.position) + fti::v11::kDataBlockHeadBytes,
                              out.view());
}

StreamSource::StreamSource(StreamPlace place, const ChunkFill& fill, std::string path)
    : place_(place), path_(std::move(path)) {
  starts_.reserve(fill.size() + 1);
  starts_.push_back(0);
  for (const auto used : fill) starts_.push_back(starts_.back() + used);
}

std::string StreamSource::name() const {
  return fmt::format("stream of writer {} in '{}'", place_.writer, path_);
}

Position StreamSource::position(std::uint64_t offset) const {
  // The last chunk that begins at or before it: those before may be empty.
  const auto behind = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto chunk = static_cast<std::uint64_t>(behind - starts_.begin()) - 1;
  return chunk * place_.plan.chunk_bytes + (offset - starts_[static_cast<std::size_t>(chunk)]);
}

std::uint64_t StreamSource::offset(Position position) const {
  const std::uint64_t chunk = position / place_.plan.chunk_bytes;
  if (chunk + 1 >= starts_.size()) return starts_.back();
  return starts_[static_cast<std::size_t>(chunk)] + position % place_.plan.chunk_bytes;
}

Status StreamSource::read_at(std::uint64_t offset, std::span<std::byte> into) {
  const std::uint64_t end = starts_.back();
  if (offset > end || into.size() > end - offset)
    return fail(Code::kCorrupt, fmt::format("{}: {} bytes wanted at byte {}, but it ends at {}",
                                            name(), into.size(), offset, end));
  while (!into.empty()) {
    const Position at = position(offset);
    const std::uint64_t chunk_end =
        starts_[static_cast<std::size_t>(at / place_.plan.chunk_bytes + 1)];
    const auto here =
        static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), chunk_end - offset));
    BENTO_TRY(place_.file->read_at(place_.address(at), into.first(here)));
    into = into.subspan(here);
    offset += here;
  }
  return {};
}

Result<fti::ChecksumText> md5_of_stream(const StreamPlace& place, const ChunkFill& fill) {
  StreamSource source(place, fill, place.file->path());
  return fti::md5_text(source, fti::v11::kFileBlockBytes, stream_bytes(fill));
}

Status write_file_block(const StreamPlace& place, const ChunkFill& fill, fti::HashKind kind,
                        const fti::ChecksumText& checksum, std::uint64_t time_ns) {
  fti::v11::FileBlock block;
  block.checksum = checksum;
  fti::v11::set_hash_kind(block, kind);
  block.ckpt_size = stream_bytes(fill);
  block.fs = block.ckpt_size;
  block.timestamp = time_ns;
  fti::v11::seal(block);
  return place.file->write_at(place.address(0), fti::v11::encode(block));
}

}  // namespace bento
