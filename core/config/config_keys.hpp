// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The keys of the connector string: for each how its value is read and how it is shown.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/config/config.hpp"

namespace bento {

struct ConfigKey {
  KeyInfo info;
  /// Errors: kInvalidArgument, with what is accepted.
  Status (*set)(Config&, std::string_view value);
  /// What `set` reads back; empty where nothing says it.
  std::string (*show)(const Config&);
};

/// Every key that this version has, in alphabetical order.
std::span<const ConfigKey> config_key_table();

}  // namespace bento
