// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/config/config_keys.hpp"

#include <array>
#include <bit>
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
  config.align_exactly = value != "auto";
  if (!config.align_exactly) {
    config.align = Config().align;
    return {};
  }
  BENTO_TRY(set_size(config.align, "align", value, 1));
  if (!std::has_single_bit(config.align) || config.align > (1u << 30))
    return bad_value("align", value, "a power of two up to 1G, or auto");
  return {};
}

Status set_files(Config& config, std::string_view value) {
  if (value == "auto")
    return fail(Code::kUnsupported,
                "files=auto is not available in this version; give a number, or node");
  if (value == "node") {
    config.files = 0;
    return {};
  }
  std::uint32_t files = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), files);
  if (problem != std::errc{} || end != value.data() + value.size() || files == 0 || files > 999999)
    return bad_value("files", value, "node, or a number from 1 to 999999");
  config.files = files;
  return {};
}

constexpr std::uint32_t kAllServers = ~std::uint32_t{0};
constexpr std::uint32_t kMostServers = 2000;          // Lustre's limit
constexpr std::uint64_t kLeastStripe = 64u << 10;     // Lustre's unit
constexpr std::uint64_t kLargestStripe = 256u << 20;  // a block of chunks begins behind one

Status set_stripe_count(Config& config, std::string_view value) {
  // -1 is how hints and Lustre's tools say it.
  if (value == "all" || value == "-1") {
    config.stripe_count = kAllServers;
    return {};
  }
  std::uint32_t count = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (problem != std::errc{} || end != value.data() + value.size() || count == 0 ||
      count > kMostServers)
    return bad_value("stripe_count", value, "all, or a number of servers from 1 to 2000");
  config.stripe_count = count;
  return {};
}

Status set_stripe_size(Config& config, std::string_view value) {
  std::uint64_t bytes = 0;
  BENTO_TRY(set_size(bytes, "stripe_size", value, 1));
  if (!std::has_single_bit(bytes) || bytes < kLeastStripe || bytes > kLargestStripe)
    return bad_value("stripe_size", value, "a power of two from 64K to 256M");
  config.stripe_size = bytes;
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

Status set_seconds(double& out, std::string_view key, std::string_view value,
                   std::string_view accepted) {
  // from_chars for double wants no sign or blank, which is what is wanted here too.
  double seconds = -1;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (problem != std::errc{} || end != value.data() + value.size() || !(seconds >= 0) ||
      seconds > 1e9)
    return bad_value(key, value, accepted);
  out = seconds;
  return {};
}

Status set_timeout(Config& config, std::string_view value) {
  return set_seconds(config.timeout, "timeout", value, "a number of seconds, 0 = wait for ever");
}

Status set_commit(Config& config, std::string_view value) {
  return set_seconds(config.commit, "commit", value,
                     "a number of seconds, 0 = only at flush and close");
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
  if (value != "on" && value != "off" && value != "commit")
    return bad_value("view", value, "on, off or commit");
  config.view = value != "off";
  config.view_commits = value == "commit";
  return {};
}

Status set_visible(Config& config, std::string_view value) {
  if (value != "write" && value != "commit") return bad_value("visible", value, "write or commit");
  config.visible_writes = value == "write";
  return {};
}

Status set_view_grace(Config& config, std::string_view value) {
  return set_seconds(config.view_grace, "view_grace", value, "a number of seconds");
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

Status set_bw(Config& config, std::string_view value) {
  return set_size(config.bw, "bw", value, 0);
}

Status set_percent(Config& config, std::string_view value) {
  double percent = -1;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), percent);
  if (problem != std::errc{} || end != value.data() + value.size() || !(percent >= 0) ||
      percent > 1e6)
    return bad_value("percent", value, "a percentage of one CPU, 0 = no limit");
  config.percent = percent;
  return {};
}

// A relative name would be another folder on each rank, and for whoever opens the file later.
Status set_cache(Config& config, std::string_view value) {
  if (value == "off") {
    config.cache.clear();
    return {};
  }
  if (value.empty() || value.front() != '/')
    return bad_value("cache", value, "the absolute path of a folder, or off");
  config.cache = value;
  return {};
}

Status set_cache_full(Config& config, std::string_view value) {
  if (value != "direct" && value != "fail") return bad_value("cache_full", value, "direct or fail");
  config.cache_full_fails = value == "fail";
  return {};
}

Status set_arrive(Config& config, std::string_view value) {
  if (value == "container")
    config.arrive = Arrival::kContainer;
  else if (value == "onefile")
    config.arrive = Arrival::kOneFile;
  else if (value == "native")
    config.arrive = Arrival::kNative;
  else
    return bad_value("arrive", value, "container, onefile or native");
  return {};
}

Status set_flush(Config& config, std::string_view value) {
  if (value == "async")
    config.flush = Flush::kAsync;
  else if (value == "sync")
    config.flush = Flush::kSync;
  else if (value == "off")
    config.flush = Flush::kOff;
  else
    return bad_value("flush", value, "async, sync or off");
  return {};
}

Status set_evict(Config& config, std::string_view value) {
  constexpr std::string_view kKeep = "keep=";
  std::uint64_t keep = 0;
  if (value.starts_with(kKeep)) {
    BENTO_TRY(set_number(keep, "evict", value.substr(kKeep.size()),
                         "on, off, or keep=N with a number from 1 on"));
  } else if (value != "on" && value != "off") {
    return bad_value("evict", value, "on, off, or keep=N with a number from 1 on");
  }
  config.evict = value != "off";
  config.evict_keep = keep;
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

std::string show_arrive(const Config& config) {
  switch (config.arrive) {
    case Arrival::kOneFile:
      return "onefile";
    case Arrival::kNative:
      return "native";
    case Arrival::kContainer:
      break;
  }
  return "container";
}

std::string show_flush(const Config& config) {
  switch (config.flush) {
    case Flush::kSync:
      return "sync";
    case Flush::kOff:
      return "off";
    case Flush::kAsync:
      break;
  }
  return "async";
}

std::string show_evict(const Config& config) {
  if (config.evict_keep != 0) return fmt::format("keep={}", config.evict_keep);
  return show_switch(config.evict);
}

std::string show_keep(const Config& config) {
  return config.keep != 0 ? fmt::format("{}", config.keep) : std::string("all");
}

std::string show_step(const Config& config) {
  return config.step != 0 ? fmt::format("{}", config.step) : std::string{};
}

std::string show_stripe_count(const Config& config) {
  if (config.stripe_count == kAllServers) return "all";
  return config.stripe_count != 0 ? fmt::format("{}", config.stripe_count) : std::string{};
}

constexpr std::array kTable = {
    ConfigKey{{"align", Scope::kSession},
              set_align,
              [](const Config& config) {
                return config.align_exactly ? show_size(config.align) : "auto";
              }},
    ConfigKey{{"arrive", Scope::kSession}, set_arrive, show_arrive},
    ConfigKey{{"buffer", Scope::kProcess},
              set_buffer,
              [](const Config& config) { return show_size(config.buffer); }},
    ConfigKey{
        {"bw", Scope::kSession}, set_bw, [](const Config& config) { return show_size(config.bw); }},
    ConfigKey{
        {"cache", Scope::kSession}, set_cache, [](const Config& config) { return config.cache; }},
    ConfigKey{{"cache_full", Scope::kSession},
              set_cache_full,
              [](const Config& config) {
                return std::string(config.cache_full_fails ? "fail" : "direct");
              }},
    ConfigKey{{"checksum", Scope::kSession}, set_checksum, show_checksum},
    ConfigKey{{"chunk", Scope::kContainer},
              set_chunk,
              [](const Config& config) { return show_unless_zero(config.chunk); }},
    ConfigKey{{"commit", Scope::kSession},
              set_commit,
              [](const Config& config) { return fmt::format("{}", config.commit); }},
    ConfigKey{{"durability", Scope::kSession},
              set_durability,
              [](const Config& config) { return std::string(config.power ? "power" : "process"); }},
    ConfigKey{{"evict", Scope::kSession}, set_evict, show_evict},
    ConfigKey{{"files", Scope::kContainer},
              set_files,
              [](const Config& config) {
                return config.files == 0 ? "node" : fmt::format("{}", config.files);
              }},
    ConfigKey{{"flush", Scope::kSession}, set_flush, show_flush},
    ConfigKey{{"keep", Scope::kSession}, set_keep, show_keep},
    ConfigKey{{"minmax", Scope::kSession},
              set_minmax,
              [](const Config& config) { return show_switch(config.minmax); }},
    ConfigKey{{"percent", Scope::kSession},
              set_percent,
              [](const Config& config) { return fmt::format("{}", config.percent); }},
    ConfigKey{
        {"stats", Scope::kProcess}, set_stats, [](const Config& config) { return config.stats; }},
    ConfigKey{{"step", Scope::kSession}, set_step, show_step},
    ConfigKey{{"stripe_count", Scope::kContainer}, set_stripe_count, show_stripe_count},
    ConfigKey{{"stripe_size", Scope::kContainer},
              set_stripe_size,
              [](const Config& config) { return show_unless_zero(config.stripe_size); }},
    ConfigKey{{"timeout", Scope::kProcess},
              set_timeout,
              [](const Config& config) { return fmt::format("{}", config.timeout); }},
    ConfigKey{{"verify", Scope::kProcess}, set_verify, show_verify},
    ConfigKey{{"view", Scope::kSession},
              set_view,
              [](const Config& config) {
                return config.view_commits ? std::string("commit") : show_switch(config.view);
              }},
    ConfigKey{{"view_copy", Scope::kSession},
              set_view_copy,
              [](const Config& config) { return show_unless_zero(config.view_copy); }},
    ConfigKey{{"view_grace", Scope::kSession},
              set_view_grace,
              [](const Config& config) { return fmt::format("{}", config.view_grace); }},
    ConfigKey{{"view_maps", Scope::kSession},
              set_view_maps,
              [](const Config& config) { return fmt::format("{}", config.view_maps); }},
    ConfigKey{{"visible", Scope::kSession},
              set_visible,
              [](const Config& config) {
                return std::string(config.visible_writes ? "write" : "commit");
              }},
};

}  // namespace

std::span<const ConfigKey> config_key_table() {
  return kTable;
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

}  // namespace bento
