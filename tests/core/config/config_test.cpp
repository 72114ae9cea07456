// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/config/config.hpp"

#include <map>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/core/config/config_text.hpp"

using namespace bento;
using Catch::Matchers::ContainsSubstring;

namespace {

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

}  // namespace

TEST_CASE("config: nothing said means the defaults", "[core][config]") {
  for (const std::string_view text : {"", " ", ";", " ; ;; ", "under_vol=0;under_info={};"}) {
    CAPTURE(text);
    const auto config = parse_config(text);
    REQUIRE(config);
    CHECK(*config == Config{});
    CHECK(to_string(*config).empty());
  }
  const Config defaults;
  CHECK(defaults.chunk == 0);
  CHECK(defaults.files == 1);
  CHECK(defaults.checksum == Checksum::kXxh3);
  CHECK(defaults.timeout == 300);
}

TEST_CASE("config: keys in any order, with blanks", "[core][config]") {
  const auto config = parse_config(
      " timeout = 2.5 ;chunk=64M; files=2;checksum=none;\talign=1K;buffer=1MiB;stats=/tmp/a b;");
  REQUIRE(config);
  CHECK(config->timeout == 2.5);
  CHECK(config->chunk == 64u << 20);
  CHECK(config->files == 2);
  CHECK(config->checksum == Checksum::kNone);
  CHECK(config->align == 1024);
  CHECK(config->buffer == 1u << 20);
  CHECK(config->stats == "/tmp/a b");
  CHECK(parse_config("files=2;files=3")->files == 3);
}

TEST_CASE("config: the information of an underlying connector is skipped", "[core][config]") {
  const auto config = parse_config("under_vol=517;under_info={cache=1;nested={step=2;}};files=3");
  REQUIRE(config);
  CHECK(config->files == 3);
}

TEST_CASE("config: sizes", "[core][config]") {
  CHECK(*parse_size("0") == 0);
  CHECK(*parse_size("4096") == 4096);
  CHECK(*parse_size("4096B") == 4096);
  CHECK(*parse_size("64k") == 64u << 10);
  CHECK(*parse_size("64KiB") == 64u << 10);
  CHECK(*parse_size("3MB") == 3u << 20);
  CHECK(*parse_size("5G") == std::uint64_t{5} << 30);
  CHECK(*parse_size("2T") == std::uint64_t{2} << 40);
  CHECK(*parse_size("18446744073709551615") == UINT64_MAX);
  for (const char* const wrong : {"", "-1", "+1", " 1", "1 K", "K", "1P", "1Ki", "1KK", "1.5G",
                                  "0x10", "iB", "1iB", "18446744073709551616", "16777216T"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_size(wrong));
  }
}

TEST_CASE("config: a bad value names the key, the value and what is accepted", "[core][config]") {
  const auto [text, accepted] = GENERATE(table<std::string, std::string>({
      {"chunk=big", "64M"},
      {"chunk=", "64M"},
      {"align=3000", "power of two"},
      {"align=2G", "power of two"},
      {"buffer=1", "65536"},
      {"files=0", "1 to 999999"},
      {"files=two", "1 to 999999"},
      {"files=1000000", "1 to 999999"},
      {"checksum=crc", "xxh3, md5 or none"},
      {"timeout=-1", "seconds"},
      {"timeout=5s", "seconds"},
      {"timeout=inf", "seconds"},
      {"timeout=nan", "seconds"},
      {"visible=flush", "write or commit"},
  }));
  CAPTURE(text);
  const auto config = parse_config(text);
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kInvalidArgument);
  CHECK_THAT(config.error().text, ContainsSubstring(text) && ContainsSubstring(accepted));
}

TEST_CASE("config: unknown keys are refused with the known ones", "[core][config]") {
  for (const std::string text : {"chunks=1M", "files=2;Chunk=1M", "verbose=1", "=5"}) {
    CAPTURE(text);
    const auto config = parse_config(text);
    REQUIRE_FALSE(config);
    CHECK(config.error().code == Code::kInvalidArgument);
    CHECK_THAT(config.error().text, ContainsSubstring("unknown key") &&
                                        ContainsSubstring("known keys: ") &&
                                        ContainsSubstring("chunk") && ContainsSubstring("timeout"));
  }
  const auto no_value = parse_config("chunk");
  REQUIRE_FALSE(no_value);
  CHECK(no_value.error().code == Code::kInvalidArgument);
  CHECK_THAT(no_value.error().text, ContainsSubstring("'chunk'"));
}

TEST_CASE("config: what this version does not have is refused, not ignored", "[core][config]") {
  const std::string text = "files=auto";
  CAPTURE(text);
  const auto config = parse_config(text);
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kUnsupported);
  CHECK_THAT(config.error().text, ContainsSubstring("not available in this version") &&
                                      ContainsSubstring(text.substr(0, text.find('='))));
}

TEST_CASE("config: what other ranks see", "[core][config]") {
  CHECK(Config{}.visible_writes);
  CHECK(parse_config("visible=write")->visible_writes);
  CHECK_FALSE(parse_config("visible=commit")->visible_writes);
  CHECK(value_text(*parse_config("visible=write"), "visible") == "write");
}

TEST_CASE("config: the cache and its flush", "[core][config]") {
  const auto config = parse_config(
      "cache=/a/b;flush=sync;bw=50M;percent=12.5;evict=keep=3;cache_full=fail;arrive=onefile");
  REQUIRE(config);
  CHECK(config->cache == "/a/b");
  CHECK(config->flush == Flush::kSync);
  CHECK(config->bw == 50u << 20);
  CHECK(config->percent == 12.5);
  CHECK((config->evict && config->evict_keep == 3));
  CHECK(config->cache_full_fails);
  for (const auto& key : config_keys()) {  // every value comes back from its text
    Config again;
    const std::string text = value_text(*config, key.name);
    if (!text.empty()) REQUIRE(set_value(again, key.name, text));
    CHECK(value_text(again, key.name) == text);
  }
  const std::string wrong =
      GENERATE("cache=here", "cache=", "flush=1", "evict=keep=0", "evict=3", "arrive=hdf5",
               "evict=keep", "bw=-1", "percent=x", "cache_full=maybe");
  CAPTURE(wrong);
  const auto refused = parse_config(wrong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK_THAT(refused.error().text, ContainsSubstring("accepted is"));
}

TEST_CASE("config: as what a container arrives goes with a cache, native with one step",
          "[core][config]") {
  const auto load = [](const char* text, const char* variable) {
    return load_requested(text, [variable](const char* name) {
      return std::string_view(name) == "H5BENTO_ARRIVE" ? variable : nullptr;
    });
  };
  CHECK(load("cache=/a;arrive=native", nullptr)->config.arrive == Arrival::kNative);
  CHECK(load("cache=/a", "onefile")->config.arrive == Arrival::kOneFile);
  CHECK(load("cache=/a;keep=3", "onefile"));
  CHECK(load("arrive=container", nullptr));
  CHECK(load("arrive=container;keep=3", "native"));
  for (const char* const wrong : {"arrive=native", "cache=/a;keep=2;arrive=native"}) {
    const auto refused = load(wrong, nullptr);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kInvalidArgument);
    CHECK_THAT(refused.error().text, ContainsSubstring("arrive=native"));
  }
  CHECK_FALSE(load("", "native"));
}

TEST_CASE("config: asking for what is anyway so is accepted", "[core][config]") {
  const auto config = parse_config("keep=1;minmax=off;view=on;durability=process;checksum=xxh3");
  REQUIRE(config);
  CHECK(*config == Config{});
}

TEST_CASE("config: commits by time", "[core][config]") {
  CHECK(parse_config("")->commit == 0);
  const auto config = parse_config("commit=0.5");
  REQUIRE(config);
  CHECK(config->commit == 0.5);
  CHECK(to_string(*config) == "commit=0.5");
  CHECK(parse_config("commit=0") == Config{});
  const std::string wrong =
      GENERATE("commit=", "commit=-1", "commit=on", "commit=1s", "commit=nan");
  CAPTURE(wrong);
  const auto refused = parse_config(wrong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK_THAT(refused.error().text, ContainsSubstring("accepted is a number of seconds"));
}

TEST_CASE("config: steps and durability", "[core][config]") {
  const auto config = parse_config("keep=all;step=3;minmax=on;durability=power");
  REQUIRE(config);
  CHECK(config->keep == 0);
  CHECK(config->step == 3);
  CHECK(config->minmax);
  CHECK(config->power);
  CHECK(to_string(*config) == "durability=power;keep=all;minmax=on;step=3");
  const std::string wrong =
      GENERATE("keep=0", "keep=some", "step=0", "step=-1", "minmax=1", "durability=forever");
  CAPTURE(wrong);
  const auto refused = parse_config(wrong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK_THAT(refused.error().text, ContainsSubstring("accepted is"));
}

TEST_CASE("config: what is verified on reading", "[core][config]") {
  CHECK(parse_config("")->verify == Verify::kSmall);
  CHECK(parse_config("verify=all")->verify == Verify::kAll);
  CHECK(to_string(*parse_config("verify=small")).empty());
  for (const std::string_view text : {"verify=all", "verify=none"})
    CHECK(to_string(*parse_config(text)) == text);
  const auto wrong = parse_config("verify=some");
  REQUIRE(!wrong);
  CHECK_THAT(wrong.error().text, ContainsSubstring("all, small or none"));
}

TEST_CASE("config: the native view's keys", "[core][config]") {
  const auto config = parse_config("view=off;view_copy=1G;view_maps=100");
  REQUIRE(config);
  CHECK_FALSE(config->view);
  CHECK(config->view_copy == 1u << 30);
  CHECK(config->view_maps == 100);
  CHECK(to_string(*config) == "view=off;view_copy=1G;view_maps=100");
  const auto live = parse_config("view=commit;view_grace=2.5");
  REQUIRE(live);
  CHECK((live->view && live->view_commits && live->view_grace == 2.5));
  CHECK(to_string(*live) == "view=commit;view_grace=2.5");
  for (const std::string_view text :
       {"view=yes", "view_grace=-1", "view_maps=0", "view_maps=x", "view_copy="})
    CHECK_FALSE(parse_config(text));
}

TEST_CASE("config: the string wins over the environment", "[core][config]") {
  const auto environment =
      environment_of({{"H5BENTO_FILES", "4"}, {"H5BENTO_CHUNK", " 1M "}, {"H5BENTO_ALIGN", ""}});
  const auto config = load_config("files=2", environment);
  REQUIRE(config);
  CHECK(config->files == 2);
  CHECK(config->chunk == 1u << 20);
  CHECK(config->align == Config{}.align);

  const auto wrong = load_config("", environment_of({{"H5BENTO_TIMEOUT", "soon"}}));
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().text, ContainsSubstring("H5BENTO_TIMEOUT") && ContainsSubstring("soon"));
  const auto cache = load_config("", environment_of({{"H5BENTO_CACHE", "/tmp"}}));
  REQUIRE(cache);
  CHECK(cache->cache == "/tmp");
  CHECK(load_config("", environment_of({{"H5BENTO_BUILD", "/tmp"}, {"H5BENTO_SOURCE", "/tmp"}})));
}

TEST_CASE("config: the canonical string reads back as the same", "[core][config]") {
  const std::string text =
      "align=1K;buffer=128K;checksum=none;chunk=64M;files=2;stats=/tmp/s;timeout=2.5";
  const auto config = parse_config(text);
  REQUIRE(config);
  CHECK(to_string(*config) == text);
  CHECK(*parse_config(to_string(*config)) == *config);
  CHECK(to_string(*parse_config("timeout=0;files=1")) == "timeout=0");
  CHECK(to_string(*parse_config("checksum=md5")) == "checksum=md5");
}

TEST_CASE("config: who gave which value", "[core][config]") {
  const auto requested = load_requested(
      "keep=1;chunk=4M", environment_of({{"H5BENTO_CHUNK", "1M"}, {"H5BENTO_TIMEOUT", "5"}}));
  REQUIRE(requested);
  CHECK(requested->given ==
        std::map<std::string, Origin, std::less<>>{{"chunk", Origin::kString},
                                                   {"keep", Origin::kString},
                                                   {"timeout", Origin::kEnvironment}});
  CHECK(requested->config.chunk == 4u << 20);
  CHECK(requested->config.timeout == 5);
}

TEST_CASE("config: equal values have one text, and it reads back", "[core][config]") {
  const auto same = [](std::string_view a, std::string_view b) {
    const std::string_view key = a.substr(0, a.find('='));
    return value_text(*parse_config(a), key) == value_text(*parse_config(b), key);
  };
  CHECK(same("chunk=64M", "chunk=67108864"));
  CHECK(same("chunk=1024K", "chunk=1MiB"));
  CHECK(same("timeout=5", "timeout=5.0"));
  CHECK(same("keep=4", "keep=004"));
  CHECK_FALSE(same("chunk=64M", "chunk=67108865"));
  CHECK(value_text(Config{}, "chunk").empty());
  CHECK(value_text(*parse_config("chunk=1000"), "chunk") == "1000");
  for (const auto& key : config_keys()) {
    CAPTURE(key.name);
    const std::string text = value_text(Config{}, key.name);
    Config config;
    if (!text.empty()) CHECK(set_value(config, key.name, text));
    CHECK(config == Config{});
  }
}

TEST_CASE("config: hints hold where nobody has given the key", "[core][config]") {
  const auto hinted = [](std::string_view text, const StripingHints& hints) {
    auto requested = load_requested(text, environment_of({}));
    REQUIRE(requested);
    take_hints(*requested, hints);
    // Nobody gave it: ranks that have other hints do not disagree.
    if (text.empty()) CHECK(requested->given.empty());
    return requested->config;
  };
  CHECK(hinted("", {"16", "1048576"}).stripe_count == 16);
  CHECK(hinted("", {"16", " 1048576 "}).stripe_size == 1u << 20);
  CHECK(hinted("stripe_count=4", {"16", ""}).stripe_count == 4);
  CHECK(value_text(hinted("", {"-1", ""}), "stripe_count") == "all");
  // What cannot be honoured is passed over.
  CHECK(hinted("", {"many", "1000000"}) == Config{});
  CHECK(hinted("", {"0", "4096"}) == Config{});
}
