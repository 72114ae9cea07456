// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// As what a container arrives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace bento::transfer {

enum class Arrive : std::uint8_t {
  kContainer,  ///< as it is
  kOneFile,    ///< as a container of one physical file
  kNative,     ///< as an ordinary HDF5 file
};

/// "container", "onefile", "native".
std::string_view arrive_name(Arrive arrive);
/// The other way; an empty text is kContainer. Errors: kUnsupported (another word).
Result<Arrive> arrive_of(std::string_view name);

/// May the container arrive so? An ordinary file has its newest step only, so no other one that can
/// be read may be lost by that. Errors: kUnsupported (it keeps older steps; it is no container of
/// the connector), those of looking at it.
Status check_can_arrive(const std::string& path, Arrive arrive);

}  // namespace bento::transfer
