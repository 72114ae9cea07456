// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/config/config.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {

namespace {

Status bad_value(std::string_view key, std::string_view value, std::string_view accepted) {
  return fail(Code::kInvalidArgument, fmt::format("{}={}: accepted is {}", key, value, accepted));
}

Status set_size(std::uint64_t& out, std::string_view key, std::string_view value,
                std::uint64_t least) {
  const auto size = parse_size(value);
  if (!size || *size < least)
    return bad_value(key, value,
                     fmt::format("a size of at least {} bytes, such as 64K, 64M or 1G", least));
  out = *size;
  return {};
}

Status set_chunk(Config& config, std::string_view value) {
  return set_size(config.chunk, "chunk", value, 1);
}

Status set_align(Config& config, std::string_view value) {
  BENTO_TRY(set_size(config.align, "align", value, 1));
  if (!std::has_single_bit(config.align) || config.align > (1u << 30))
    return bad_value("align", value, "a power of two up to 1G");
  return {};
}

Status set_files(Config& config, std::string_view value) {
  if (value == "node" || value == "auto")
    return fail(Code::kUnsupported,
                fmt::format("files={} is not available in this version; give a number", value));
  std::uint32_t files = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), files);
  if (problem != std::errc{} || end != value.data() + value.size() || files == 0 || files > 999999)
    return bad_value("files", value, "a number from 1 to 999999");
  config.files = files;
  return {};
}

Status set_checksum(Config& config, std::string_view value) {
  if (value == "xxh3")
    config.checksum = Checksum::kXxh3;
  else if (value == "none")
    config.checksum = Checksum::kNone;
  else if (value == "md5")
    config.checksum = Checksum::kMd5;
  else
    return bad_value("checksum", value, "xxh3, md5 or none");
  return {};
}

Status set_buffer(Config& config, std::string_view value) {
  return set_size(config.buffer, "buffer", value, 64u << 10);
}

Status set_timeout(Config& config, std::string_view value) {
  // from_chars for double wants no sign or blank, which is what is wanted here too.
  double seconds = -1;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (problem != std::errc{} || end != value.data() + value.size() || !(seconds >= 0) ||
      seconds > 1e9)
    return bad_value("timeout", value, "a number of seconds, 0 = wait for ever");
  config.timeout = seconds;
  return {};
}

Status set_stats(Config& config, std::string_view value) {
  config.stats = value;
  return {};
}

Status set_verify(Config& config, std::string_view value) {
  if (value == "small")
    config.verify = Verify::kSmall;
  else if (value == "all")
    config.verify = Verify::kAll;
  else if (value == "none")
    config.verify = Verify::kNone;
  else
    return bad_value("verify", value, "all, small or none");
  return {};
}

Status set_view(Config& config, std::string_view value) {
  if (value != "on" && value != "off") return bad_value("view", value, "on or off");
  config.view = value == "on";
  return {};
}

Status set_view_copy(Config& config, std::string_view value) {
  return set_size(config.view_copy, "view_copy", value, 1);
}

Status set_view_maps(Config& config, std::string_view value) {
  std::uint64_t maps = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), maps);
  if (problem != std::errc{} || end != value.data() + value.size() || maps == 0)
    return bad_value("view_maps", value, "a number of mappings per dataset from 1 on");
  config.view_maps = maps;
  return {};
}

Status set_number(std::uint64_t& out, std::string_view key, std::string_view value,
                  std::string_view accepted) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (problem != std::errc{} || end != value.data() + value.size() || number == 0)
    return bad_value(key, value, accepted);
  out = number;
  return {};
}

Status set_keep(Config& config, std::string_view value) {
  if (value == "all") {
    config.keep = 0;
    return {};
  }
  return set_number(config.keep, "keep", value, "a number of steps from 1 on, or all");
}

Status set_step(Config& config, std::string_view value) {
  return set_number(config.step, "step", value, "the number of an absolute step, from 1 on");
}

Status set_durability(Config& config, std::string_view value) {
  if (value != "process" && value != "power")
    return bad_value("durability", value, "process or power");
  config.power = value == "power";
  return {};
}

Status set_minmax(Config& config, std::string_view value) {
  if (value != "on" && value != "off") return bad_value("minmax", value, "on or off");
  config.minmax = value == "on";
  return {};
}

/// Every key there is. A null `set` means: the grammar knows it, this version does not have it.
struct Key {
  std::string_view name;
  Status (*set)(Config&, std::string_view value) = nullptr;
};

constexpr std::array kKeys = {
    Key{"align", set_align},
    Key{"buffer", set_buffer},
    Key{"bw"},
    Key{"cache"},
    Key{"checksum", set_checksum},
    Key{"chunk", set_chunk},
    Key{"durability", set_durability},
    Key{"evict"},
    Key{"files", set_files},
    Key{"flush"},
    Key{"keep", set_keep},
    Key{"minmax", set_minmax},
    Key{"percent"},
    Key{"stats", set_stats},
    Key{"step", set_step},
    Key{"timeout", set_timeout},
    Key{"verify", set_verify},
    Key{"view", set_view},
    Key{"view_copy", set_view_copy},
    Key{"view_maps", set_view_maps},
};

std::string known_keys() {
  std::string names;
  for (const auto& key : kKeys)
    if (key.set != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", key.name);
  return names;
}

Status set_key(Config& config, std::string_view name, std::string_view value) {
  const auto* const key =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& k) { return k.name == name; });
  if (key == kKeys.end())
    return fail(Code::kInvalidArgument,
                fmt::format("unknown key '{}' in the bento connector string; known keys: {}", name,
                            known_keys()));
  if (key->set == nullptr)
    return fail(Code::kUnsupported,
                fmt::format("key '{}' is not available in this version; known keys: {}", name,
                            known_keys()));
  return key->set(config, value);
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Cuts the next `key=value` off at a semicolon outside braces.
std::string_view next_item(std::string_view& text) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '{') ++depth;
    if (text[end] == '}' && depth > 0) --depth;
    if (text[end] == ';' && depth == 0) break;
  }
  const std::string_view item = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trim(item);
}

Status apply(Config& config, std::string_view text) {
  while (!text.empty()) {
    const std::string_view item = next_item(text);
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}' in the bento connector string is no key=value; known keys: {}",
                              item, known_keys()));
    const std::string_view name = trim(item.substr(0, equals));
    if (name == "under_vol" || name == "under_info") continue;
    BENTO_TRY(set_key(config, name, trim(item.substr(equals + 1))));
  }
  return {};
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (problem != std::errc{})
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no size", text));
  std::uint64_t unit = 1;
  if (!suffix.empty() && suffix != "B") {
    constexpr std::string_view kUnits = "KMGT";
    const std::size_t power =
        kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0]))));
    suffix.remove_prefix(1);
    if (power == std::string_view::npos || !(suffix.empty() || suffix == "B" || suffix == "iB"))
      return fail(Code::kInvalidArgument, fmt::format("'{}' is no size", text));
    unit = 1ull << (10 * (power + 1));
  }
  return checked_mul(number, unit);
}

Result<Config> parse_config(std::string_view text) {
  Config config;
  BENTO_TRY(apply(config, text));
  return config;
}

Result<Config> load_config(std::string_view text, const Environment& environment) {
  Config config;
  for (const auto& key : kKeys) {
    std::string name = "H5BENTO_";
    for (const char c : key.name)
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* const value = environment(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    auto set = set_key(config, key.name, trim(value));
    if (!set) return fail(std::move(set).error().with_context(name));
  }
  BENTO_TRY(apply(config, text));
  return config;
}

namespace {
std::string_view name_of(Checksum checksum) {
  switch (checksum) {
    case Checksum::kMd5:
      return "md5";
    case Checksum::kNone:
      return "none";
    case Checksum::kXxh3:
      break;
  }
  return "xxh3";
}
}  // namespace

std::string to_string(const Config& config) {
  const Config defaults;
  std::string out;
  const auto add = [&](std::string_view key, const auto& value) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ";", key, value);
  };
  if (config.align != defaults.align) add("align", config.align);
  if (config.buffer != defaults.buffer) add("buffer", config.buffer);
  if (config.checksum != defaults.checksum) add("checksum", name_of(config.checksum));
  if (config.chunk != defaults.chunk) add("chunk", config.chunk);
  if (config.power != defaults.power) add("durability", "power");
  if (config.files != defaults.files) add("files", config.files);
  if (config.keep != defaults.keep) {
    if (config.keep == 0)
      add("keep", "all");
    else
      add("keep", config.keep);
  }
  if (config.minmax != defaults.minmax) add("minmax", "on");
  if (config.stats != defaults.stats) add("stats", config.stats);
  if (config.step != defaults.step) add("step", config.step);
  if (config.timeout != defaults.timeout) add("timeout", config.timeout);
  if (config.verify != defaults.verify)
    add("verify", config.verify == Verify::kAll ? "all" : "none");
  if (config.view != defaults.view) add("view", "off");
  if (config.view_copy != defaults.view_copy) add("view_copy", config.view_copy);
  if (config.view_maps != defaults.view_maps) add("view_maps", config.view_maps);
  return out;
}

}  // namespace bento
