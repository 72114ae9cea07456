// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vfd/driver_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "core/joined/slot.hpp"

namespace bento::vfd {

namespace {

Status set_number(std::optional<std::uint32_t>& out, std::string_view key, std::string_view value,
                  std::uint32_t least) {
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (problem != std::errc{} || end != value.data() + value.size() || number < least ||
      number > kMaxJoinedTasks)
    return fail(Code::kInvalidArgument, fmt::format("{}={}: accepted is a number from {} to {}",
                                                    key, value, least, kMaxJoinedTasks));
  out = number;
  return {};
}

Status set_session(DriverConfig& config, std::string_view value) {
  if (value.empty() || value.size() > kJobBytes - 8)
    return fail(
        Code::kInvalidArgument,
        fmt::format("session={}: accepted is a name of 1 to {} bytes", value, kJobBytes - 8));
  config.session = value;
  return {};
}

constexpr std::array<std::string_view, 11> kKeys = {"chunk",   "container", "files",    "match",
                                                    "rank",    "session",   "size",     "stats",
                                                    "timeout", "view",      "view_copy"};

std::string known_keys() {
  return fmt::format("{}", fmt::join(kKeys, ", "));
}

Status set(DriverConfig& config, std::string_view key, std::string_view value) {
  if (key == "container") {
    config.container = value;
    return {};
  }
  if (key == "match") {
    config.match = value;
    return {};
  }
  if (key == "rank") return set_number(config.rank, key, value, 0);
  if (key == "size") return set_number(config.size, key, value, 1);
  if (key == "session") return set_session(config, value);
  if (std::ranges::find(kKeys, key) == kKeys.end())
    return fail(Code::kInvalidArgument,
                fmt::format("unknown key '{}' in the configuration of the HDF5 driver bento; known "
                            "keys: {}",
                            key, known_keys()));
  return set_value(config.shared, key, value);
}

}  // namespace

Result<DriverConfig> load_driver_config(std::string_view text, const Environment& environment) {
  DriverConfig config;
  config.shared.view = false;  // of a container that is written by processes that know no other
  for (const auto key : kKeys) {
    std::string name = "H5BENTO_";
    for (const char c : key) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* const value = environment(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    auto done = set(config, key, value);
    if (!done) return fail(std::move(done).error().with_context(name));
  }
  BENTO_ASSIGN(const auto items, config_items(text, known_keys()));
  for (const auto& [key, value] : items) BENTO_TRY(set(config, key, value));
  return config;
}

}  // namespace bento::vfd
