// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/regions/heap_object.hpp"

#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kHeaderBytes = 16;  // of a collection, and of each object in it
constexpr std::uint64_t kAlignment = 8;

struct HeapObject {
  std::uint16_t index = 0;
  std::uint64_t bytes = 0;
};

Result<HeapObject> object_at(const ReadAt& read, std::uint64_t address) {
  std::array<std::byte, kHeaderBytes> header{};
  BENTO_TRY(read(address, header));
  ByteReader in(header, std::endian::little, "global heap");
  HeapObject object;
  BENTO_ASSIGN(object.index, in.u16());
  BENTO_TRY(in.skip(6));  // reference count and padding
  BENTO_ASSIGN(object.bytes, in.u64());
  return object;
}

Result<std::uint64_t> collection_bytes(const ReadAt& read, std::uint64_t end,
                                       std::uint64_t address) {
  std::array<std::byte, kHeaderBytes> header{};
  BENTO_TRY(read(address, header));
  if (std::memcmp(header.data(), "GCOL\1", 5) != 0)
    return fail(Code::kCorrupt, fmt::format("there is no global heap at address {}", address));
  ByteReader in(std::span<const std::byte>(header).subspan(8), std::endian::little, "global heap");
  BENTO_ASSIGN(const std::uint64_t bytes, in.u64());
  if (bytes < kHeaderBytes || address > end || bytes > end - address)
    return fail(Code::kCorrupt, fmt::format("a global heap of {} bytes", bytes));
  return bytes;
}

}  // namespace

Result<std::vector<std::byte>> heap_object(const ReadAt& read, std::uint64_t end,
                                           std::uint64_t address, std::uint32_t index) {
  BENTO_ASSIGN(const std::uint64_t bytes, collection_bytes(read, end, address));
  for (std::uint64_t at = kHeaderBytes; index != 0 && bytes - at >= kHeaderBytes;) {
    BENTO_ASSIGN(const HeapObject object, object_at(read, address + at));
    if (object.index == 0) break;  // free space, always the last
    at += kHeaderBytes;
    if (object.bytes > bytes - at) break;
    if (object.index == index) {
      std::vector<std::byte> found(object.bytes);
      BENTO_TRY(read(address + at, found));
      return found;
    }
    const std::uint64_t padded = (object.bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (padded > bytes - at) break;
    at += padded;
  }
  return fail(Code::kCorrupt,
              fmt::format("the global heap at address {} has no object {}", address, index));
}

}  // namespace bento::vol
