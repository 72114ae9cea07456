// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Tokens of the native connector, by which the library names objects: the address in the file, and
/// zeros behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hdf5.h>

namespace bento::vol {

/// The token of the object at an address.
inline H5O_token_t token_of(std::uint64_t address) {
  H5O_token_t token{};
  std::memcpy(&token, &address, sizeof address);
  return token;
}

/// The reverse.
inline std::uint64_t address_of(const H5O_token_t& token) {
  std::uint64_t address = 0;
  std::memcpy(&address, &token, sizeof address);
  return address;
}

/// The same token, as the index of a container has it.
inline H5O_token_t token_of(const std::array<std::byte, sizeof(H5O_token_t)>& bytes) {
  H5O_token_t token{};
  std::memcpy(&token, bytes.data(), sizeof token);
  return token;
}

}  // namespace bento::vol
