// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A configuration as the shortest connector string that gives it.
#pragma once

#include <string>

#include "core/config/config.hpp"

namespace bento {

inline std::string to_string(const Config& config) {
  const Config defaults;
  std::string out;
  for (const auto& key : config_keys()) {
    const std::string value = value_text(config, key.name);
    if (value == value_text(defaults, key.name)) continue;
    if (!out.empty()) out += ";";
    out += std::string(key.name) + "=" + value;
  }
  return out;
}

}  // namespace bento
