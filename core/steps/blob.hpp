// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the step index needs from whoever stores its bytes: append a blob, read it back by its
/// reference. A reference carries the blob's checksum, so every page, node and segment is checked
/// by its parent. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

/// `bytes` 0 means absent.
struct BlobRef {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
  Hash128 hash{};
  bool operator==(const BlobRef&) const = default;
};

/// Position and length as varints, then the hash.
void put_ref(ByteWriter& out, const BlobRef& ref);
/// Errors: kCorrupt (short, or longer than any blob may be).
Result<BlobRef> get_ref(ByteReader& in);
/// The same among other fields that are not looked at one by one (ByteReader::settled). Errors:
/// kCorrupt (longer than any blob may be).
Status next_ref(ByteReader& in, BlobRef& ref);

inline constexpr std::uint64_t kMaxBlobBytes = 64u << 20;  ///< larger references are refused

using Blob = std::shared_ptr<const std::vector<std::byte>>;

class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  /// The bytes that `ref` names, with the right checksum. Must hold the size against what is stored
  /// before it allocates. Errors: kCorrupt (outside, checksum), kIo.
  virtual Result<Blob> read(const BlobRef& ref) = 0;
  /// The same into `bytes`, whose memory is used again. Errors: as read().
  virtual Status read_into(const BlobRef& ref, std::vector<std::byte>& bytes);
  /// How many bytes there may be in all: the apparent size of what stores the blobs.
  virtual Result<std::uint64_t> stored_bytes() = 0;
};

/// For one walk that comes to each blob once at most, since each has one parent: gives out no more
/// bytes than are stored. Pages that share children, or a page that is named a million times, end
/// here.
class OnceSource : public SegmentSource {
 public:
  explicit OnceSource(SegmentSource& below) : below_(below) {}
  /// Errors: also kCorrupt, when more was read than there is.
  Result<Blob> read(const BlobRef& ref) override;
  Result<std::uint64_t> stored_bytes() override { return below_.stored_bytes(); }

 private:
  SegmentSource& below_;
  std::uint64_t given_ = 0;
  std::uint64_t limit_ = 1u << 20;  ///< asked for when this is reached
  bool asked_ = false;
};

class SegmentSink {
 public:
  virtual ~SegmentSink() = default;
  /// Stores bytes where no reference points yet. Errors: kNoSpace, kIo.
  virtual Result<BlobRef> append(std::span<const std::byte> bytes) = 0;
};

/// For blobs that are likely to be read once, as those of a dataset that is asked for the first
/// time: keeps nothing but the memory for the next one. To look for them in a cache, and to keep
/// them there, costs as much as to read them where there are many small datasets.
class PassingSource : public SegmentSource {
 public:
  explicit PassingSource(SegmentSource& below) : below_(below) {}
  Result<Blob> read(const BlobRef& ref) override;
  Result<std::uint64_t> stored_bytes() override { return below_.stored_bytes(); }

 private:
  static constexpr std::uint64_t kSmallBytes = 16u << 10;  ///< memory that is used again

  SegmentSource& below_;
  std::shared_ptr<std::vector<std::byte>> spare_;  ///< of the last blob, for the next one
};

/// One growing buffer; for tests and benchmarks, and for whoever builds an index in memory.
class MemoryBlobs : public SegmentSource, public SegmentSink {
 public:
  Result<Blob> read(const BlobRef& ref) override;
  Result<BlobRef> append(std::span<const std::byte> bytes) override;
  Result<std::uint64_t> stored_bytes() override { return bytes_.size(); }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }
  [[nodiscard]] std::uint64_t reads() const { return reads_; }
  [[nodiscard]] std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t reads_ = 0;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace bento
