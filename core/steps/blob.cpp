// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/blob.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bento {

void put_ref(ByteWriter& out, const BlobRef& ref) {
  out.varint(ref.position);
  out.varint(ref.bytes);
  out.bytes(ref.hash);
}

Result<BlobRef> get_ref(ByteReader& in) {
  BlobRef ref;
  BENTO_TRY(next_ref(in, ref));
  BENTO_TRY(in.settled());
  return ref;
}

Status next_ref(ByteReader& in, BlobRef& ref) {
  ref.position = in.next_varint();
  ref.bytes = in.next_varint();
  in.next_bytes(ref.hash);
  if (ref.bytes > kMaxBlobBytes)
    return fail(Code::kCorrupt, fmt::format("step index: a blob of {} bytes, {} at most", ref.bytes,
                                            kMaxBlobBytes));
  return {};
}

Status SegmentSource::read_into(const BlobRef& ref, std::vector<std::byte>& bytes) {
  BENTO_ASSIGN(const Blob blob, read(ref));
  bytes.assign(blob->begin(), blob->end());
  return {};
}

Result<Blob> OnceSource::read(const BlobRef& ref) {
  given_ += ref.bytes;
  if (given_ > limit_ && !asked_) {
    asked_ = true;
    BENTO_ASSIGN(const std::uint64_t stored, below_.stored_bytes());
    limit_ = std::max(limit_, stored);
  }
  if (given_ > limit_)
    return fail(Code::kCorrupt,
                fmt::format("step index: pages of more than {} bytes, which is all that is stored: "
                            "some are named again and again",
                            limit_));
  return below_.read(ref);
}

Result<Blob> PassingSource::read(const BlobRef& ref) {
  if (ref.bytes > kSmallBytes) return below_.read(ref);
  if (!spare_ || spare_.use_count() != 1) spare_ = std::make_shared<std::vector<std::byte>>();
  BENTO_TRY(below_.read_into(ref, *spare_));
  return Blob(spare_);
}

Result<Blob> MemoryBlobs::read(const BlobRef& ref) {
  if (ref.position > bytes_.size() || ref.bytes > bytes_.size() - ref.position)
    return fail(Code::kCorrupt, fmt::format("step index: {} bytes at {} lie outside of {}",
                                            ref.bytes, ref.position, bytes_.size()));
  const auto view = std::span<const std::byte>(bytes_).subspan(
      static_cast<std::size_t>(ref.position), static_cast<std::size_t>(ref.bytes));
  if (hash128(view) != ref.hash)
    return fail(Code::kCorrupt,
                fmt::format("step index: {} bytes at {} do not match their checksum", ref.bytes,
                            ref.position));
  ++reads_;
  read_bytes_ += ref.bytes;
  return std::make_shared<const std::vector<std::byte>>(view.begin(), view.end());
}

Result<BlobRef> MemoryBlobs::append(std::span<const std::byte> bytes) {
  const BlobRef ref{bytes_.size(), bytes.size(), hash128(bytes)};
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return ref;
}

}  // namespace bento
