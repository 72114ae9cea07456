// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector string: `key=value;key=value`, and one environment variable per key
/// (`H5BENTO_CHUNK`). The string wins. Unknown keys are refused, and so are keys whose feature this
/// version does not have: nothing that a user asks for is ignored. Source: docs/usage.md,
/// "Configuration".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

enum class Checksum { kXxh3, kMd5, kNone };
enum class Verify { kSmall, kAll, kNone };
/// What becomes of a container that was written to the cache, when it is closed.
enum class Flush {
  kAsync,  ///< a daemon copies it to its final name
  kSync,   ///< the same, and the close waits for it
  kOff,    ///< it stays in the cache until somebody submits it
};

/// As what a container that was written to the cache lies under its name.
enum class Arrival {
  kContainer,  ///< as it is
  kOneFile,    ///< as a container of one physical file
  kNative,     ///< as an ordinary HDF5 file
};

struct Config {
  std::uint64_t chunk = 0;         ///< bytes; 0 = from what the program declares
  std::uint64_t align = 4096;      ///< bytes, a power of two
  bool align_exactly = false;      ///< false: auto
  std::uint32_t files = 1;         ///< physical files, 0 = one for each node
  std::uint32_t stripe_count = 0;  ///< servers for each new physical file, 0 = as its folder says
  std::uint64_t stripe_size = 0;   ///< bytes, a power of two, 0 = as its folder says
  Checksum checksum = Checksum::kXxh3;
  std::uint64_t buffer = 4u << 20;  ///< bytes in which small records gather
  double commit = 0;                ///< seconds after which a serial program commits, 0 = never
  double timeout = 300;             ///< seconds a rank waits for another, 0 = for ever
  std::string stats;                ///< file for statistics, empty = none
  Verify verify = Verify::kSmall;   ///< what is held against its hash when it is read
  std::uint64_t keep = 1;           ///< steps that stay readable, 0 = all
  std::uint64_t step = 0;           ///< open for reading as of this absolute step, 0 = the newest
  bool power = false;               ///< durability=power: a commit survives the death of nodes
  bool minmax = false;              ///< keep smallest and largest value of each record
  bool visible_writes = true;       ///< visible=write: ranks see each other's finished writes
  bool view = true;                 ///< leave a native HDF5 view behind at close
  bool view_commits = false;        ///< leave one at each commit, too
  double view_grace = 60;           ///< seconds that what an older view shows is kept
  std::uint64_t view_copy = 0;      ///< bytes copied into it where mappings are too many; 0 = auto
  std::uint64_t view_maps = 4096;   ///< mappings per dataset
  std::string cache;                ///< folder that new containers are written to, empty = none
  bool cache_full_fails = false;    ///< a full cache is an error; else files are written directly
  Flush flush = Flush::kAsync;      ///< from the cache to the final name
  std::uint64_t bw = 0;             ///< bytes per second at which that is copied, 0 = no limit
  double percent = 0;               ///< of one CPU that the copying may take, 0 = no limit
  bool evict = true;                ///< the copy in the cache goes when the file has arrived,
  std::uint64_t evict_keep = 0;     ///< but for so many that have arrived last
  Arrival arrive = Arrival::kContainer;  ///< what lies under the final name

  bool operator==(const Config&) const = default;
};

/// Whose value of a key holds, where several ranks use one file.
enum class Scope {
  kContainer,  ///< fixed when the container is created, by rank 0's value; no effect later
  kSession,    ///< everything from one open to its close: rank 0's value holds for all ranks
  kProcess,    ///< each process has its own
};

/// A key that this version has.
struct KeyInfo {
  std::string_view name;
  Scope scope = Scope::kProcess;
};

/// All of them, in alphabetical order.
std::span<const KeyInfo> config_keys();

/// The environment variable of a key: "H5BENTO_CHUNK".
std::string variable_name(std::string_view key);

/// The value of a key in the shortest form that reads back as the same: equal values have equal
/// texts, however they were written (`64M`, `67108864`). Empty for a default that has no text, such
/// as the chunk size that follows from the declared sizes.
std::string value_text(const Config& config, std::string_view key);
/// Sets one key from such a text, or from what a user wrote. Errors: as parse_config().
Status set_value(Config& config, std::string_view key, std::string_view value);

/// Who gave a value. A key that is not mentioned has its default.
enum class Origin { kEnvironment, kString };

/// A configuration, and which of its values somebody gave, as against defaults.
struct RequestedConfig {
  Config config;
  std::map<std::string, Origin, std::less<>> given;
};

/// Looks a variable up; null if it is not set. std::getenv outside tests.
using Environment = std::function<const char*(const char* name)>;

/// One `key=value` of a configuration string, blanks around both taken off.
struct ConfigItem {
  std::string_view key;
  std::string_view value;
};
/// Cuts a string into its items, at semicolons outside braces. They are views of `text`. Errors:
/// kInvalidArgument (an item that is no key=value; `known` are the keys that the error lists).
Result<std::vector<ConfigItem>> config_items(std::string_view text, std::string_view known);

/// Do the values fit together? Errors: kInvalidArgument (names the keys).
Status check_together(const Config& config);

/// Parses a connector string over the defaults. `under_vol=` and `under_info={...}` are accepted
/// and ignored, since other connectors' users write them. Errors: kInvalidArgument (unknown key:
/// lists the known ones; a bad value: says what is accepted), kUnsupported (a key of a feature not
/// built yet).
Result<Config> parse_config(std::string_view text);

/// The same over what the environment says; the values must fit together.
Result<Config> load_config(std::string_view text, const Environment& environment);

/// The same, and who gave which value.
Result<RequestedConfig> load_requested(std::string_view text, const Environment& environment);

/// What an MPI_Info object says of how a new file is to be spread over servers.
struct StripingHints {
  std::string factor;  ///< of "striping_factor": how many servers; empty if there is none
  std::string unit;    ///< of "striping_unit": bytes
};
/// Where nobody has given the key, the hint holds. It is no demand: one that cannot be honoured is
/// passed over, and ranks that have others do not disagree.
void take_hints(RequestedConfig& requested, const StripingHints& hints);

/// Parses a size with an optional binary suffix: 4096, 64K, 64M, 1G, 2T, 64MiB.
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace bento
