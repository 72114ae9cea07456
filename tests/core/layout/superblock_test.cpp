// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/superblock.hpp"

#include <algorithm>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Superblock of an empty file written by HDF5 1.14.5 with bounds (v18, latest) and a user block of
// 4096 bytes.
constexpr std::array<unsigned char, kSuperblockBytes> kWritten = {
    0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a, 0x02, 0x08, 0x08, 0x00, 0x00, 0x10, 0x00, 0x00};

TEST_CASE("superblock: the metadata checksum is lookup3", "[core][view]") {
  // The published values of Jenkins' own test: initial value 0.
  CHECK(hdf5_checksum({}) == 0xDEADBEEFu);
  CHECK(hdf5_checksum(bytes("Four score and seven years ago")) == 0x17770551u);
}

TEST_CASE("superblock: the end of file is set with a valid checksum", "[core][view]") {
  Superblock superblock{};
  for (std::size_t i = 0; i < kWritten.size(); ++i)
    superblock[i] = static_cast<std::byte>(kWritten[i]);
  CHECK_FALSE(is_superblock(superblock));  // no checksum yet
  REQUIRE(set_end_of_file(superblock, 0x123456789AULL));
  CHECK(is_superblock(superblock));
  CHECK(superblock[28] == std::byte{0x9A});
  CHECK(superblock[32] == std::byte{0x12});
  superblock[30] ^= std::byte{1};
  CHECK_FALSE(is_superblock(superblock));
}

TEST_CASE("superblock: other versions are refused", "[core][view]") {
  Superblock superblock{};
  CHECK_FALSE(set_end_of_file(superblock, 1));
  for (std::size_t i = 0; i < kWritten.size(); ++i)
    superblock[i] = static_cast<std::byte>(kWritten[i]);
  superblock[8] = std::byte{0};
  CHECK_FALSE(set_end_of_file(superblock, 1));
}

// The 96 bytes that HDF5 1.14.5 writes for a file of the earliest format with a user block of 4096.
OldSuperblock old_superblock() {
  OldSuperblock bytes{};
  std::ranges::copy(std::as_bytes(std::span(kHdf5Signature)), bytes.begin());
  bytes[13] = bytes[14] = std::byte{8};
  bytes[16] = std::byte{4};
  bytes[18] = std::byte{16};
  bytes[25] = std::byte{0x10};                          // base
  std::fill_n(bytes.begin() + 32, 8, std::byte{0xFF});  // free space
  bytes[41] = std::byte{0x18};                          // end of file
  std::fill_n(bytes.begin() + 48, 8, std::byte{0xFF});  // driver
  bytes[64] = std::byte{0x60};                          // root group's header
  bytes[72] = std::byte{1};
  bytes[80] = std::byte{0x88};
  return bytes;
}

TEST_CASE("superblock: one of version 0 becomes one of version 2", "[core][view]") {
  const auto made = newer_superblock(old_superblock());
  REQUIRE(made);
  CHECK(is_superblock(*made));
  CHECK(end_of_file_of(*made) == 0x1800);
  const auto at = [&](std::size_t place) { return std::to_integer<unsigned>((*made)[place]); };
  CHECK(at(8) == 2);
  CHECK(at(9) == 8);
  CHECK(at(10) == 8);
  CHECK(at(11) == 0);
  CHECK(at(13) == 0x10);  // base 4096
  for (std::size_t i = 20; i < 28; ++i) CHECK(at(i) == 0xFF);
  CHECK(at(36) == 0x60);
}

TEST_CASE("superblock: one of version 0 that says more stays as it is", "[core][view]") {
  // Version, sizes of addresses and lengths, of nodes, flags, driver.
  for (const std::size_t place : {0u, 8u, 13u, 14u, 16u, 18u, 20u, 48u}) {
    OldSuperblock bytes = old_superblock();
    bytes[place] = std::byte{7};
    CHECK_FALSE(newer_superblock(bytes));
  }
}

}  // namespace
}  // namespace bento
