// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The few bytes of the native HDF5 format that are ours to set: the end-of-file address in a
/// version 2 or 3 superblock, which is known only after the HDF5 library has written it. Source:
/// HDF5 File Format Specification 3.0, II.A "Superblock", and its "lookup3" checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"

namespace bento {

/// What an HDF5 file begins with, or what lies behind its user block.
inline constexpr std::array<unsigned char, 8> kHdf5Signature = {0x89, 'H',  'D',  'F',
                                                                '\r', '\n', 0x1A, '\n'};
bool has_hdf5_signature(std::span<const std::byte> bytes);

/// Length of a version 2 or 3 superblock with 8-byte addresses.
inline constexpr std::size_t kSuperblockBytes = 48;
using Superblock = std::array<std::byte, kSuperblockBytes>;

/// The metadata checksum of the HDF5 format: Jenkins' lookup3 over the bytes, initial value 0.
std::uint32_t hdf5_checksum(std::span<const std::byte> bytes);

/// Signature, version 2 or 3, 8-byte addresses, checksum.
bool is_superblock(const Superblock& bytes);

/// Length of a version 0 superblock, as the library writes it.
inline constexpr std::size_t kOldSuperblockBytes = 96;
using OldSuperblock = std::array<std::byte, kOldSuperblockBytes>;

/// One of version 2 that says the same, as far as a file without a driver of its own and with
/// B-tree nodes of the usual sizes goes. Errors: kInternal (not a superblock of version 0 with
/// 8-byte addresses, or one that says more).
Result<Superblock> newer_superblock(const OldSuperblock& old);

/// Sets the end-of-file address (absolute) and the checksum. Errors: kInternal (not a superblock
/// of version 2 or 3 with 8-byte addresses).
Status set_end_of_file(Superblock& bytes, std::uint64_t end_of_file);

/// The end-of-file address (absolute) of one that is_superblock().
std::uint64_t end_of_file_of(const Superblock& bytes);

}  // namespace bento
