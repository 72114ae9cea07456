// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/walk.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace bento::fti {

namespace {

// Records are read in pieces, so that a head which claims billions of them costs nothing before
// they are there.
constexpr std::uint64_t kRecordsPerRead = 4096;

class Walker {
 public:
  Walker(Source& source, std::uint64_t size, const ReadLimits& limits, Checkpoint& checkpoint,
         Findings& findings)
      : source_(source),
        size_(size),
        limits_(limits),
        checkpoint_(checkpoint),
        findings_(findings) {}

  Status run() {
    check_meta();
    return checkpoint_.layout == Layout::kV11 ? run_v11() : run_v16();
  }

 private:
  [[nodiscard]] Layout layout() const { return checkpoint_.layout; }

  void check_meta() {
    const FileMeta& meta = checkpoint_.meta;
    const MetaFields at = meta_fields(layout(), size_);
    if (meta.my_hash != my_hash(layout(), meta))
      findings_.add(Damage::kMyHash, at.begin, file_meta_bytes(layout()),
                    "the hash of the file meta is wrong: the hash, or a field that it covers");
    if (meta.ckpt_size == meta.fs && meta.fs > size_) {
      findings_.add(Damage::kSize, size_, meta.fs - size_,
                    fmt::format("the file ends after {} bytes, want {}", size_, meta.fs));
      return;
    }
    if (meta.ckpt_size != size_)
      findings_.add(Damage::kSize, at.ckpt_size, 8,
                    fmt::format("ckptSize is {}, the file has {} bytes", meta.ckpt_size, size_));
    if (meta.fs != size_)
      findings_.add(Damage::kSize, at.fs, 8,
                    fmt::format("fs is {}, the file has {} bytes", meta.fs, size_));
  }

  /// Head at `at`; nothing (and a finding) if it cannot be one. `end` bounds head and records.
  Result<std::optional<v11::DataBlock>> head(std::uint64_t at, std::uint64_t end) {
    if (end - at < head_bytes(layout())) {
      findings_.add(
          Damage::kHead, at, end - at,
          fmt::format("a block head needs {} bytes, {} are left", head_bytes(layout()), end - at));
      return std::optional<v11::DataBlock>{};
    }
    if (checkpoint_.blocks.size() >= limits_.max_containers) return too_many("blocks");
    std::vector<std::byte> bytes(head_bytes(layout()));
    BENTO_TRY(source_.read_at(at, bytes));
    // The head is the same in both layouts, its dbsize means another thing.
    auto decoded = v11::decode_data_block(bytes);
    if (!decoded) {
      findings_.add(Damage::kHead, at, bytes.size(), std::move(decoded).error().text);
      return std::optional<v11::DataBlock>{};
    }
    const std::uint64_t room = (end - at - bytes.size()) / record_bytes(layout());
    if (decoded->numvars > room) {
      findings_.add(
          Damage::kHead, at, 4,
          fmt::format("numvars is {}, there is room for {} records", decoded->numvars, room));
      return std::optional<v11::DataBlock>{};
    }
    return std::optional<v11::DataBlock>(*decoded);
  }

  /// Reads `count` records at `at`. `whole` becomes false if one could not be decoded.
  Status records(std::uint64_t at, std::uint64_t count, Block& block, bool& whole) {
    containers_ += count;
    if (containers_ > limits_.max_containers) return too_many("containers");
    const std::size_t width = record_bytes(layout());
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(count, kRecordsPerRead)) *
                                  width);
    while (count > 0) {
      const auto now = static_cast<std::size_t>(std::min(count, kRecordsPerRead));
      const auto piece = std::span(buffer).first(now * width);
      BENTO_TRY(source_.read_at(at, piece));
      for (std::size_t i = 0; i < now; ++i) {
        auto container = decode_container(layout(), piece.subspan(i * width, width));
        if (container) {
          container->record_offset = at + i * width;
          block.containers.push_back(std::move(*container));
        } else {
          whole = false;
          findings_.add(Damage::kRecord, at + i * width, width, std::move(container).error().text);
        }
      }
      at += piece.size();
      count -= now;
    }
    return {};
  }

  /// Containers must lie one behind the other from `data_at` on, and end at or before `end`.
  /// @return offset behind the last one
  std::uint64_t check_places(const Block& block, std::uint64_t data_at, std::uint64_t end) {
    const RecordFields field = record_fields(layout());
    // Where the field lies that may be wrong instead of a wrong fptr: the size of the one before.
    std::uint64_t suspect = block.head_offset;
    for (const Container& container : block.containers) {
      if (container.fptr != data_at) {
        findings_.add(Damage::kRecord, suspect, container.record_offset + field.fptr + 8 - suspect,
                      fmt::format("fptr is {}, want {}: the containers overlap or leave a gap",
                                  container.fptr, data_at));
        // Believe the record if it can be so: one wrong size must not spoil all that follow it.
        if (container.fptr >= data_at && container.fptr <= end) data_at = container.fptr;
      }
      if (container.chunksize > container.containersize)
        findings_.add(Damage::kRecord, container.record_offset + field.chunksize, 16,
                      fmt::format("chunksize {} is larger than containersize {}",
                                  container.chunksize, container.containersize));
      suspect = container.record_offset + field.containersize;
      if (container.containersize > end - data_at) {
        findings_.add(Damage::kRecord, suspect, 8,
                      fmt::format("containersize {} at {} passes the end at byte {}",
                                  container.containersize, data_at, end));
        data_at = end;
      } else {
        data_at += container.containersize;
      }
    }
    return data_at;
  }

  Status run_v11() {
    const std::uint64_t end = std::min(checkpoint_.meta.ckpt_size, size_);
    std::uint64_t at = v11::kFileBlockBytes;
    if (end < at)
      findings_.add(
          Damage::kSize, meta_fields(layout(), size_).ckpt_size, 8,
          fmt::format("ckptSize {} is less than the file meta", checkpoint_.meta.ckpt_size));
    while (at < end) {
      BENTO_ASSIGN(const auto found, head(at, end));
      if (!found) return {};
      const std::uint64_t header = header_bytes(layout(), found->numvars);
      if (found->dbsize < header || found->dbsize > end - at) {
        findings_.add(Damage::kHead, at + 4, 8,
                      fmt::format("dbsize is {}, want {} to {}", found->dbsize, header, end - at));
        return {};
      }
      Block block;
      block.head_offset = at;
      block.dbsize = found->dbsize;
      bool whole = true;
      BENTO_TRY(records(at + v11::kDataBlockHeadBytes, found->numvars, block, whole));
      const std::uint64_t block_end = at + found->dbsize;
      if (whole && check_places(block, at + header, block_end) != block_end)
        findings_.add(Damage::kHead, at, header,
                      fmt::format("dbsize is {}, but head, records and containers do not fill it",
                                  found->dbsize));
      checkpoint_.blocks.push_back(std::move(block));
      at = block_end;
    }
    return {};
  }

  Status run_v16() {
    const FileMeta& meta = checkpoint_.meta;
    const std::uint64_t end = size_ - v16::kFileMetaBytes;
    // meta_size and data_size are what FTI believes without a look at the file.
    const std::uint64_t fields = end + 61;
    if (meta.data_size > end || meta.meta_size != size_ - meta.data_size) {
      findings_.add(Damage::kSize, fields, 16,
                    fmt::format("metaSize {} and dataSize {} do not add up to {} bytes",
                                meta.meta_size, meta.data_size, size_));
      if (meta.data_size > end) return {};
    }
    std::uint64_t at = meta.data_size;
    std::uint64_t data_at = 0;
    while (at < end) {
      BENTO_ASSIGN(const auto found, head(at, end));
      if (!found) return {};
      Block block;
      block.head_offset = at;
      block.dbsize = found->dbsize;
      bool whole = true;
      BENTO_TRY(records(at + v16::kDataBlockBytes, found->numvars, block, whole));
      const std::uint64_t block_data = data_at;
      if (whole) {
        data_at = check_places(block, data_at, meta.data_size);
        if (found->dbsize != data_at - block_data)
          findings_.add(Damage::kHead, at, header_bytes(layout(), found->numvars),
                        fmt::format("dbsize is {}, but its containers take {} bytes", found->dbsize,
                                    data_at - block_data));
      } else {
        data_at += std::min(found->dbsize, meta.data_size - data_at);
      }
      checkpoint_.blocks.push_back(std::move(block));
      at += header_bytes(layout(), found->numvars);
    }
    if (data_at != meta.data_size)
      findings_.add(
          Damage::kSize, fields + 8, 8,
          fmt::format("dataSize is {}, but the containers take {} bytes", meta.data_size, data_at));
    return {};
  }

  tl::unexpected<Error> too_many(std::string_view what) const {
    return fail(Code::kUnsupported,
                fmt::format("{}: more than {} {}", source_.name(), limits_.max_containers, what));
  }

  Source& source_;
  std::uint64_t size_;
  const ReadLimits& limits_;
  Checkpoint& checkpoint_;
  Findings& findings_;
  std::uint64_t containers_ = 0;
};

}  // namespace

MetaFields meta_fields(Layout layout, std::uint64_t size) {
  if (layout == Layout::kV11) return {0, 33, 56, 64};
  const std::uint64_t begin = size - v16::kFileMetaBytes;
  return {begin, begin + 33, begin + 53, begin + 77};
}

Status walk(Source& source, std::uint64_t size, const ReadLimits& limits, Checkpoint& checkpoint,
            Findings& findings) {
  return Walker(source, size, limits, checkpoint, findings).run();
}

}  // namespace bento::fti
