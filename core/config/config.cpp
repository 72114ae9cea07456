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

std::string show_size(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "TGMK";
  for (std::size_t i = 0; i < kUnits.size() && bytes != 0; ++i) {
    const std::uint64_t unit = 1ull << (10 * (kUnits.size() - i));
    if (bytes % unit == 0) return fmt::format("{}{}", bytes / unit, kUnits[i]);
  }
  return fmt::format("{}", bytes);
}

/// 0 stands for a default that cannot be asked for.
std::string show_unless_zero(std::uint64_t bytes) {
  return bytes != 0 ? show_size(bytes) : std::string{};
}

std::string show_switch(bool on) {
  return on ? "on" : "off";
}

std::string show_checksum(const Config& config) {
  switch (config.checksum) {
    case Checksum::kMd5:
      return "md5";
    case Checksum::kNone:
      return "none";
    case Checksum::kXxh3:
      break;
  }
  return "xxh3";
}

std::string show_verify(const Config& config) {
  switch (config.verify) {
    case Verify::kAll:
      return "all";
    case Verify::kNone:
      return "none";
    case Verify::kSmall:
      break;
  }
  return "small";
}

std::string show_keep(const Config& config) {
  return config.keep != 0 ? fmt::format("{}", config.keep) : std::string("all");
}

std::string show_step(const Config& config) {
  return config.step != 0 ? fmt::format("{}", config.step) : std::string{};
}

/// Every key that this version has.
struct Key {
  KeyInfo info;
  Status (*set)(Config&, std::string_view value);
  std::string (*show)(const Config&);
};

constexpr std::array kKeys = {
    Key{{"align", Scope::kSession},
        set_align,
        [](const Config& config) { return show_size(config.align); }},
    Key{{"buffer", Scope::kProcess},
        set_buffer,
        [](const Config& config) { return show_size(config.buffer); }},
    Key{{"checksum", Scope::kSession}, set_checksum, show_checksum},
    Key{{"chunk", Scope::kContainer},
        set_chunk,
        [](const Config& config) { return show_unless_zero(config.chunk); }},
    Key{{"durability", Scope::kSession},
        set_durability,
        [](const Config& config) { return std::string(config.power ? "power" : "process"); }},
    Key{{"files", Scope::kContainer},
        set_files,
        [](const Config& config) { return fmt::format("{}", config.files); }},
    Key{{"keep", Scope::kSession}, set_keep, show_keep},
    Key{{"minmax", Scope::kSession},
        set_minmax,
        [](const Config& config) { return show_switch(config.minmax); }},
    Key{{"stats", Scope::kProcess}, set_stats, [](const Config& config) { return config.stats; }},
    Key{{"step", Scope::kSession}, set_step, show_step},
    Key{{"timeout", Scope::kProcess},
        set_timeout,
        [](const Config& config) { return fmt::format("{}", config.timeout); }},
    Key{{"verify", Scope::kProcess}, set_verify, show_verify},
    Key{{"view", Scope::kSession},
        set_view,
        [](const Config& config) { return show_switch(config.view); }},
    Key{{"view_copy", Scope::kSession},
        set_view_copy,
        [](const Config& config) { return show_unless_zero(config.view_copy); }},
    Key{{"view_maps", Scope::kSession},
        set_view_maps,
        [](const Config& config) { return fmt::format("{}", config.view_maps); }},
};

/// The grammar knows them, this version does not have them.
constexpr std::array<std::string_view, 5> kKeysToCome = {"bw", "cache", "evict", "flush",
                                                         "percent"};

constexpr auto kInfos = [] {
  std::array<KeyInfo, kKeys.size()> infos;
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kKeys[i].info;
  return infos;
}();

const Key* find_key(std::string_view name) {
  const auto* const key =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& k) { return k.info.name == name; });
  return key != kKeys.end() ? key : nullptr;
}

std::string known_keys() {
  std::string names;
  for (const auto& key : kKeys)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", key.info.name);
  return names;
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

Status apply(RequestedConfig& requested, std::string_view text) {
  BENTO_ASSIGN(const auto items, config_items(text, known_keys()));
  for (const auto& [name, value] : items) {
    if (name == "under_vol" || name == "under_info") continue;
    BENTO_TRY(set_value(requested.config, name, value));
    requested.given[std::string(name)] = Origin::kString;
  }
  return {};
}

}  // namespace

Result<std::vector<ConfigItem>> config_items(std::string_view text, std::string_view known) {
  std::vector<ConfigItem> items;
  while (!text.empty()) {
    const std::string_view item = next_item(text);
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}' in the bento connector string is no key=value; known keys: {}",
                              item, known));
    items.push_back({trim(item.substr(0, equals)), trim(item.substr(equals + 1))});
  }
  return items;
}

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

std::span<const KeyInfo> config_keys() {
  return kInfos;
}

std::string value_text(const Config& config, std::string_view key) {
  const Key* const found = find_key(key);
  return found != nullptr ? found->show(config) : std::string{};
}

Status set_value(Config& config, std::string_view key, std::string_view value) {
  if (const Key* const found = find_key(key)) return found->set(config, value);
  if (std::find(kKeysToCome.begin(), kKeysToCome.end(), key) != kKeysToCome.end())
    return fail(Code::kUnsupported,
                fmt::format("key '{}' is not available in this version; known keys: {}", key,
                            known_keys()));
  return fail(Code::kInvalidArgument,
              fmt::format("unknown key '{}' in the bento connector string; known keys: {}", key,
                          known_keys()));
}

Result<Config> parse_config(std::string_view text) {
  RequestedConfig requested;
  BENTO_TRY(apply(requested, text));
  return std::move(requested.config);
}

std::string variable_name(std::string_view key) {
  std::string name = "H5BENTO_";
  for (const char c : key) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

namespace {

Status apply_variable(RequestedConfig& requested, std::string_view key,
                      const Environment& environment) {
  const std::string name = variable_name(key);
  const char* const value = environment(name.c_str());
  if (value == nullptr || *value == '\0') return {};
  auto set = set_value(requested.config, key, trim(value));
  if (!set) return fail(std::move(set).error().with_context(name));
  requested.given[std::string(key)] = Origin::kEnvironment;
  return {};
}

}  // namespace

Result<RequestedConfig> load_requested(std::string_view text, const Environment& environment) {
  RequestedConfig requested;
  for (const auto& key : kInfos) BENTO_TRY(apply_variable(requested, key.name, environment));
  for (const auto key : kKeysToCome) BENTO_TRY(apply_variable(requested, key, environment));
  BENTO_TRY(apply(requested, text));
  return requested;
}

Result<Config> load_config(std::string_view text, const Environment& environment) {
  BENTO_ASSIGN(RequestedConfig requested, load_requested(text, environment));
  return std::move(requested.config);
}

std::string to_string(const Config& config) {
  const Config defaults;
  std::string out;
  for (const auto& key : kKeys) {
    const std::string value = key.show(config);
    if (value != key.show(defaults))
      out += fmt::format("{}{}={}", out.empty() ? "" : ";", key.info.name, value);
  }
  return out;
}

}  // namespace bento
