// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Words that users write on a command line, as what they mean.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"

namespace bento::tools {

/// An integer where it is one that 64 bits hold, else a double. Errors: kInvalidArgument.
Result<std::variant<std::int64_t, std::uint64_t, double>> parse_number(const std::string& text);

/// "0:10,5,:" for each dimension FROM:TO (TO not included; either may be left out) or one index.
/// Errors: kInvalidArgument (says what is wrong with it).
Result<Box> parse_box(const std::string& text, const Dims& extent);

/// "0:10,5:6".
std::string box_text(const Box& box);

}  // namespace bento::tools
