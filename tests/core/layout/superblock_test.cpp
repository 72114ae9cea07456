// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/superblock.hpp"

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

}  // namespace
}  // namespace bento
