// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/writer.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/bytes/byte_writer.hpp"
#include "core/fti/source.hpp"

namespace bento::fti {

namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;

class Writer {
 public:
  Writer(File& out, Checkpoint& checkpoint, const VariableData& data, const WriteOptions& options)
      : out_(out), checkpoint_(checkpoint), data_(data), options_(options) {}

  Status run() {
    BENTO_TRY(out_.truncate(0));
    for (Block& block : checkpoint_.blocks)
      for (Container& container : block.containers) BENTO_TRY(chunk(container));
    BENTO_TRY(headers());
    // Before the checksum, which reads the file back: the last container may end in a hole.
    BENTO_TRY(out_.truncate(checkpoint_.meta.ckpt_size));
    return file_meta();
  }

 private:
  [[nodiscard]] Layout layout() const { return checkpoint_.layout; }

  Status chunk(Container& container) {
    if (!container.hascontent) {
      container.chunksize = 0;
      container.hash = empty_chunk_hash(options_.hash);
      return zeros(container.fptr, container.containersize);
    }
    if (container.chunksize > container.containersize)
      return fail(
          Code::kInvalidArgument,
          fmt::format("{}: chunk of {} bytes of variable {} in a container of {}", out_.path(),
                      container.chunksize, container.id, container.containersize));
    ChunkHasher hasher(options_.hash);
    for (std::uint64_t done = 0; done < container.chunksize;) {
      buffer_.resize(static_cast<std::size_t>(std::min(kPieceBytes, container.chunksize - done)));
      BENTO_TRY(data_(container.id, container.dptr + done, buffer_));
      hasher.update(buffer_);
      BENTO_TRY(out_.write_at(container.fptr + done, buffer_));
      done += buffer_.size();
    }
    container.hash = hasher.digest();
    return zeros(container.fptr + container.chunksize,
                 container.containersize - container.chunksize);
  }

  // FTI 1.1 writes them, FTI 1.6 leaves holes.
  Status zeros(std::uint64_t at, std::uint64_t count) {
    if (layout() == Layout::kV16) return {};
    buffer_.assign(static_cast<std::size_t>(std::min(kPieceBytes, count)), std::byte{0});
    while (count > 0) {
      const auto piece = std::span(buffer_).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), count)));
      BENTO_TRY(out_.write_at(at, piece));
      at += piece.size();
      count -= piece.size();
    }
    return {};
  }

  Status headers() {
    for (Block& block : checkpoint_.blocks) {
      if (layout() == Layout::kV11)  // heap bytes of an FTI that wrote the previous checkpoint
        for (Container& container : block.containers) container.pad.fill(std::byte{0});
      ByteWriter header;
      encode(header, layout(), block);
      BENTO_TRY(out_.write_at(block.head_offset, header.view()));
    }
    return {};
  }

  Status file_meta() {
    FileMeta& meta = checkpoint_.meta;
    meta.pad.fill(std::byte{0});
    meta.timestamp =
        layout() == Layout::kV11 ? options_.timestamp : options_.timestamp & 0xFFFFFFFFu;
    meta.ckpt_id = layout() == Layout::kV11 ? 0 : options_.ckpt_id;
    meta.max_fs = options_.max_fs;
    meta.pt_fs = options_.pt_fs;
    BENTO_TRY(layout() == Layout::kV11 ? checksum_v11() : checksum_v16());
    meta.my_hash = my_hash(layout(), meta);
    ByteWriter record;
    encode(record, layout(), meta);
    return out_.write_at(layout() == Layout::kV11 ? 0 : meta.ckpt_size - record.size(),
                         record.view());
  }

  Status checksum_v11() {
    FileMeta& meta = checkpoint_.meta;
    v11::FileBlock announced;
    v11::set_hash_kind(announced, options_.hash);
    meta.pad = announced.pad;
    if (options_.hash == HashKind::kNone) {
      meta.checksum = {};
    } else if (options_.hash == HashKind::kXxh3) {
      v11::HashOfHashes hashes;
      for_each_with_content([&](const Digest& hash) { hashes.add(hash); });
      meta.checksum = hashes.text();
    } else {
      // Read back rather than collected on the way: a block's records lie before its data and hold
      // its hashes.
      FileSource written(out_);
      BENTO_ASSIGN(meta.checksum, md5_text(written, v11::kFileBlockBytes, meta.ckpt_size));
    }
    return {};
  }

  Status checksum_v16() {
    Md5 hashes;
    for_each_with_content([&](const Digest& hash) { hashes.update(hash); });
    checkpoint_.meta.checksum = to_text(hashes.digest());
    return {};
  }

  template <class Use>
  void for_each_with_content(Use&& use) const {
    for (const Block& block : checkpoint_.blocks)
      for (const Container& container : block.containers)
        if (container.hascontent) use(container.hash);
  }

  File& out_;
  Checkpoint& checkpoint_;
  const VariableData& data_;
  const WriteOptions& options_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Status write_checkpoint(File& out, Checkpoint& checkpoint, const VariableData& data,
                        const WriteOptions& options) {
  if (checkpoint.layout == Layout::kV16 && options.hash != HashKind::kMd5)
    return fail(Code::kInvalidArgument, fmt::format("{}: {} knows no hash but MD5", out.path(),
                                                    to_string(checkpoint.layout)));
  auto written = Writer(out, checkpoint, data, options).run();
  if (!written)
    return fail(std::move(written).error().with_context(fmt::format("writing {}", out.path())));
  return {};
}

}  // namespace bento::fti
