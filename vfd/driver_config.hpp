// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The driver's configuration: `key=value;key=value` as in the connector string, and one
/// environment variable per key (`H5BENTO_CONTAINER`). The string wins. Unknown keys are refused.
/// Source: docs/vfd.md, "Configuration".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/config/config.hpp"
#include "core/joined/file_names.hpp"

namespace bento::vfd {

struct DriverConfig {
  std::string container;
  std::string match = "*";
  std::optional<std::uint32_t> rank;  ///< counts only where neither MPI nor a launcher says one
  std::optional<std::uint32_t> size;
  std::string session;  ///< name of the job; empty: what the launcher says
  Config shared;        ///< chunk, files, timeout, stats, view, view_copy
};

/// Errors: kInvalidArgument (unknown key: lists the known ones; a bad value: says what is
/// accepted).
Result<DriverConfig> load_driver_config(std::string_view text, const Environment& environment);

}  // namespace bento::vfd
