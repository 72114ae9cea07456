// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/superblock.hpp"

#include <algorithm>
#include <bit>

#include "core/bytes/little_endian.hpp"

namespace bento {

namespace {

constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kEndOfFileAt = 28;  // behind signature, 4 bytes, base and extension address
constexpr std::size_t kChecksumAt = kSuperblockBytes - 4;

std::uint32_t word(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && i < bytes.size(); ++i)
    value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

bool has_hdf5_signature(std::span<const std::byte> bytes) {
  const auto signature = std::as_bytes(std::span(kHdf5Signature));
  return bytes.size() >= signature.size() &&
         std::equal(signature.begin(), signature.end(), bytes.begin());
}

std::uint32_t hdf5_checksum(std::span<const std::byte> bytes) {
  std::uint32_t a = 0xDEADBEEFu + static_cast<std::uint32_t>(bytes.size());
  std::uint32_t b = a;
  std::uint32_t c = a;
  const auto take = [&] {
    const std::size_t n = std::min<std::size_t>(bytes.size(), 12);
    a += word(bytes.first(n));
    if (n > 4) b += word(bytes.subspan(4, n - 4));
    if (n > 8) c += word(bytes.subspan(8, n - 8));
    bytes = bytes.subspan(n);
  };
  if (bytes.empty()) return c;
  const auto step = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int turn) {
    // x -= z; x ^= z rotated; z += y
    x -= z;
    x ^= std::rotl(z, turn);
    z += y;
  };
  while (bytes.size() > 12) {
    take();
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
  }
  take();
  const auto last = [](std::uint32_t& x, const std::uint32_t& y, int turn) {
    x ^= y;
    x -= std::rotl(y, turn);
  };
  last(c, b, 14);
  last(a, c, 11);
  last(b, a, 25);
  last(c, b, 16);
  last(a, c, 4);
  last(b, a, 14);
  last(c, b, 24);
  return c;
}

namespace {

bool has_known_shape(const Superblock& bytes) {
  if (!has_hdf5_signature(bytes)) return false;
  const auto version = std::to_integer<unsigned>(bytes[kVersionAt]);
  const auto address_bytes = std::to_integer<unsigned>(bytes[kVersionAt + 1]);
  return (version == 2 || version == 3) && address_bytes == 8;
}

void put_checksum(Superblock& bytes) {
  put_little_endian(std::span(bytes).subspan(kChecksumAt),
                    hdf5_checksum(std::span(bytes).first(kChecksumAt)));
}

constexpr std::array<std::byte, 8> all_ones() {
  std::array<std::byte, 8> bytes{};
  bytes.fill(std::byte{0xFF});
  return bytes;
}

}  // namespace

bool is_superblock(const Superblock& bytes) {
  return has_known_shape(bytes) && word(std::span(bytes).subspan(kChecksumAt)) ==
                                       hdf5_checksum(std::span(bytes).first(kChecksumAt));
}

// Source: HDF5 File Format Specification 3.0, II.A: both layouts.
Result<Superblock> newer_superblock(const OldSuperblock& old) {
  constexpr std::size_t kSizesAt = 13;
  constexpr std::size_t kOldBaseAt = 24;
  constexpr std::size_t kOldEndAt = 40;
  constexpr std::size_t kOldDriverAt = 48;
  constexpr std::size_t kOldRootAt = 64;
  constexpr std::array<std::byte, 8> kNone = all_ones();
  // Addresses and lengths of 8 bytes, nodes of 2 x 4 links and of 2 x 16 nodes, no flags.
  constexpr std::array<unsigned char, 11> kUsual = {8, 8, 0, 4, 0, 16, 0, 0, 0, 0, 0};
  const auto bytes = std::span(old);
  const auto usual = std::as_bytes(std::span(kUsual));
  if (!has_hdf5_signature(bytes) || old[kVersionAt] != std::byte{0} ||
      !std::ranges::equal(bytes.subspan(kSizesAt, usual.size()), usual) ||
      !std::ranges::equal(bytes.subspan(kOldDriverAt, 8), kNone))
    return fail(Code::kInternal, "no superblock of version 0 as this library writes it");
  Superblock made{};
  constexpr std::size_t kBaseAt = 12;
  constexpr std::size_t kExtensionAt = 20;
  constexpr std::size_t kRootAt = 36;
  std::ranges::copy(bytes.first(kVersionAt), made.begin());
  made[kVersionAt] = std::byte{2};
  made[kVersionAt + 1] = made[kVersionAt + 2] = std::byte{8};
  std::ranges::copy(bytes.subspan(kOldBaseAt, 8), made.begin() + kBaseAt);
  std::ranges::copy(kNone, made.begin() + kExtensionAt);
  std::ranges::copy(bytes.subspan(kOldEndAt, 8), made.begin() + kEndOfFileAt);
  std::ranges::copy(bytes.subspan(kOldRootAt, 8), made.begin() + kRootAt);
  put_checksum(made);
  return made;
}

Status set_end_of_file(Superblock& bytes, std::uint64_t end_of_file) {
  if (!has_known_shape(bytes))
    return fail(Code::kInternal, "no superblock of version 2 or 3 with 8-byte addresses");
  put_little_endian(std::span(bytes).subspan(kEndOfFileAt, 8), end_of_file);
  put_checksum(bytes);
  return {};
}

std::uint64_t end_of_file_of(const Superblock& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[kEndOfFileAt + i]);
  return value;
}

}  // namespace bento
