// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A second reader for tests: straight from the format's description, in 128-bit arithmetic,
/// sharing nothing with core/sion. It judges what the real one has accepted.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace bento::test {

using Images = std::map<std::string, std::span<const std::byte>>;

struct OracleResult {
  std::string problem;                          ///< why nobody should read this; empty: it is right
  std::vector<std::vector<std::byte>> streams;  ///< of all tasks
};

/// Judges the container `name`: all of it, or the one physical file alone.
OracleResult judge_container(const Images& images, const std::string& name, bool alone);

/// Opens the images with SionReader. Returns nothing if it refuses them, or reads exactly what the
/// oracle says; else what is wrong. `accepted`, if given, counts the images that were opened.
std::string compare_with_oracle(const Images& images, const std::string& name, bool alone,
                                std::size_t* accepted = nullptr);

}  // namespace bento::test
