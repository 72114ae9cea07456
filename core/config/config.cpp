// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/config/config.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/config/config_keys.hpp"

namespace bento {

namespace {

const ConfigKey* find_key(std::string_view name) {
  const auto keys = config_key_table();
  const auto key =
      std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.info.name == name; });
  return key != keys.end() ? &*key : nullptr;
}

std::string known_keys() {
  std::string names;
  for (const auto& key : config_key_table())
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

std::span<const KeyInfo> config_keys() {
  // Never destroyed: files may be opened after static destructors have run.
  static const auto& infos = *[] {
    auto* const list = new std::vector<KeyInfo>;
    for (const auto& key : config_key_table()) list->push_back(key.info);
    return list;
  }();
  return infos;
}

std::string value_text(const Config& config, std::string_view key) {
  const ConfigKey* const found = find_key(key);
  return found != nullptr ? found->show(config) : std::string{};
}

Status set_value(Config& config, std::string_view key, std::string_view value) {
  if (const ConfigKey* const found = find_key(key)) return found->set(config, value);
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

Status check_together(const Config& config) {
  if (config.arrive == Arrival::kContainer) return {};
  const std::string arrive = value_text(config, "arrive");
  if (config.cache.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("arrive={} in the bento connector string needs cache=: what is written "
                            "directly is a container",
                            arrive));
  if (config.arrive == Arrival::kNative && config.keep != 1)
    return fail(Code::kInvalidArgument,
                fmt::format("arrive={} and keep={} in the bento connector string: what arrives has "
                            "the newest step only, so keep must be 1",
                            arrive, value_text(config, "keep")));
  return {};
}

void take_hints(RequestedConfig& requested, const StripingHints& hints) {
  const auto take = [&](std::string_view key, const std::string& hint) {
    if (hint.empty() || requested.given.contains(key)) return;
    Config with = requested.config;
    if (set_value(with, key, trim(hint))) requested.config = std::move(with);
  };
  take("stripe_count", hints.factor);
  take("stripe_size", hints.unit);
}

Result<RequestedConfig> load_requested(std::string_view text, const Environment& environment) {
  RequestedConfig requested;
  for (const auto& key : config_keys()) BENTO_TRY(apply_variable(requested, key.name, environment));
  BENTO_TRY(apply(requested, text));
  BENTO_TRY(check_together(requested.config));
  return requested;
}

Result<Config> load_config(std::string_view text, const Environment& environment) {
  BENTO_ASSIGN(RequestedConfig requested, load_requested(text, environment));
  return std::move(requested.config);
}

}  // namespace bento
