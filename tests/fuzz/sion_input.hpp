// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Sparse physical files as a short fuzz input: u8 options, then pieces of u8 file (lowest two
/// bits), u24 address, u16 length and the bytes. A length of 0 only makes the file that long. What
/// lies beyond kFileBytes is left out.
#pragma once

#include <array>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace bento::fuzz {

inline constexpr std::size_t kFiles = 4;
inline constexpr std::size_t kFileBytes = 512u << 10;

enum SionOptions : unsigned {
  kOneFile = 1,  ///< SionScope::kOneFile
};

using SionFiles = std::array<std::vector<std::byte>, kFiles>;

SionFiles unpack(Dice& pieces);
/// The counterpart, for the corpus: pieces for all that is not zero.
void pack(std::vector<std::byte>& input, std::size_t file, Input content);

}  // namespace bento::fuzz
