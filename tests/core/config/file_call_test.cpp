// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/config/file_call.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/core/config/config_text.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/thread_comm.hpp"

using namespace bento;
using namespace bento::test;
using Catch::Matchers::ContainsSubstring;
using What = FileDecision::What;

namespace {

RequestedConfig requested(const std::string& text) {
  return must(load_requested(text, [](const char*) -> const char* { return nullptr; }));
}

FileCall call(Result<RequestedConfig> settings) {
  return {"H5Fcreate", "a.h5", "/work/a.h5", std::move(settings), {}};
}

Result<FileDecision> begin(std::span<const std::uint64_t>) {
  return FileDecision{What::kBegin, 77, 1, {}};
}

struct Outcome {
  std::vector<Status> status;
  std::vector<AgreedCall> agreed;
};

/// One call on as many ranks as there are entries.
Outcome agree_all(const std::vector<FileCall>& calls, bool creates = true,
                  const FileDecider& decide = begin) {
  Outcome out;
  out.agreed.resize(calls.size());
  out.status = run_ranks(static_cast<int>(calls.size()), [&](Communicator& comm) -> Status {
    const auto rank = static_cast<std::size_t>(comm.rank());
    BENTO_ASSIGN(out.agreed[rank], agree_on_call(comm, calls[rank], creates, decide));
    return {};
  });
  return out;
}

/// The error of every rank, which must be one.
std::string same_error(const Outcome& out) {
  for (const auto& status : out.status) {
    REQUIRE_FALSE(status);
    CHECK(status.error().text == out.status.front().error().text);
    CHECK(status.error().code == out.status.front().error().code);
  }
  return out.status.front().error().text;
}

std::vector<FileCall> calls_with(const std::vector<std::string>& texts) {
  std::vector<FileCall> calls;
  for (const auto& text : texts) calls.push_back(call(requested(text)));
  return calls;
}

}  // namespace

TEST_CASE("file call: rank 0's values hold for all, its own for a process", "[core][config]") {
  const auto out = agree_all(
      calls_with({"chunk=1M;keep=all;timeout=5;stats=a", "buffer=64K", "keep=all;timeout=7"}));
  for (const auto& status : out.status) require_ok(status);
  for (const auto& agreed : out.agreed) {
    CHECK(agreed.decision.what == What::kBegin);
    CHECK(agreed.decision.session == 77);
    CHECK(agreed.decision.locking == 1);
  }
  CHECK(to_string(out.agreed[0].config) == "chunk=1M;keep=all;stats=a;timeout=5");
  CHECK(to_string(out.agreed[1].config) == "buffer=64K;chunk=1M;keep=all");
  CHECK(to_string(out.agreed[2].config) == "chunk=1M;keep=all;timeout=7");
}

TEST_CASE("file call: another value is everybody's error", "[core][config]") {
  std::vector<std::string> texts(40, "chunk=1M");
  texts[0] = "chunk=4M";
  texts[3] = "chunk=4096K;keep=2";
  const std::string text = same_error(agree_all(calls_with(texts)));
  CHECK_THAT(text, ContainsSubstring("'a.h5': the ranks' settings differ: chunk=4M on rank 0, "
                                     "chunk=1M on ranks 1, 2, 4, 5, 6 and 33 more; "
                                     "keep=1 on rank 0, where nothing was said, keep=2 on rank 3"));
  CHECK_THAT(same_error(agree_all(calls_with({"", "chunk=1M"}))),
             ContainsSubstring("no chunk= on rank 0, chunk=1M on rank 1"));
  // What is fixed at create counts for nothing at an open, and nothing counts for a foreign file.
  for (const auto& status : agree_all(calls_with({"chunk=4M", "chunk=1M"}), false).status)
    require_ok(status);
  const auto pass = [](std::span<const std::uint64_t>) -> Result<FileDecision> {
    return FileDecision{};
  };
  for (const auto& status : agree_all(calls_with({"keep=4", "keep=3"}), false, pass).status)
    require_ok(status);
}

TEST_CASE("file call: settings that are wrong on one rank", "[core][config]") {
  auto calls = calls_with({"", "", ""});
  calls[1].settings = fail(Code::kUnsupported, "key 'cache'", 5);
  const auto out = agree_all(calls);
  CHECK(same_error(out) == "'a.h5': rank 1: key 'cache'");
  CHECK(out.status[0].error().code == Code::kUnsupported);
  CHECK(out.status[0].error().os_errno == 5);
  calls[0].settings = calls[2].settings = calls[1].settings;
  CHECK(same_error(agree_all(calls)) == "'a.h5': key 'cache'");
}

TEST_CASE("file call: other calls and other names", "[core][config]") {
  auto calls = calls_with({"", "", ""});
  calls[2].call = "H5Fopen";
  CHECK(same_error(agree_all(calls)) ==
        "'a.h5': the ranks do not make the same call: H5Fcreate on ranks 0, 1, H5Fopen on rank 2");
  calls = calls_with({"", "", ""});
  calls[1].name = "./a.h5";
  for (const auto& status : agree_all(calls).status) require_ok(status);
  calls[1].place = "/elsewhere/a.h5";
  CHECK_THAT(same_error(agree_all(calls)),
             ContainsSubstring("'a.h5' on ranks 0, 2, './a.h5' on rank 1"));
}

TEST_CASE("file call: rank 0 hears of what all have open, and its error is everybody's",
          "[core][config]") {
  auto calls = calls_with({"", "", ""});
  calls[0].sessions = {1, 2, 3, 9};
  calls[1].sessions = {2, 3, 4, 9};
  calls[2].sessions = {3, 9};
  std::vector<std::uint64_t> heard;
  const auto decide = [&](std::span<const std::uint64_t> open) -> Result<FileDecision> {
    heard.assign(open.begin(), open.end());
    return fail(Code::kBusy, "somebody else's");
  };
  CHECK(same_error(agree_all(calls, true, decide)) == "somebody else's");
  CHECK(heard == std::vector<std::uint64_t>{3, 9});
}

TEST_CASE("file call: what would have no effect at a create is refused", "[core][config]") {
  require_ok(check_for_create(requested("files=4").config, 4));
  CHECK_THAT(check_for_create(requested("files=2").config, 1).error().text,
             ContainsSubstring("files=2") && ContainsSubstring("1 rank creates"));
  CHECK_THAT(same_error(agree_all(calls_with({"step=3", "", ""}))), ContainsSubstring("step=3"));
}

TEST_CASE("file call: a second open in one process", "[core][config]") {
  const RequestedConfig open = requested("keep=3;chunk=1M");
  require_ok(check_second_open(requested(""), open, true));
  require_ok(check_second_open(requested("keep=3;chunk=1024K;view=on;step=2"), open, true));
  CHECK_THAT(check_second_open(requested("keep=2"), open, true).error().text,
             ContainsSubstring("keep=2") && ContainsSubstring("with keep=3"));
  CHECK_FALSE(check_second_open(requested("chunk=2M"), open, true));
  require_ok(check_second_open(requested("chunk=2M"), open, false));
  CHECK_THAT(check_second_open(requested("chunk=2M"), requested(""), true).error().text,
             ContainsSubstring("without chunk="));
  RequestedConfig variable = requested("keep=2");
  variable.given["keep"] = Origin::kEnvironment;
  require_ok(check_second_open(variable, open, true));
  CHECK_FALSE(check_second_open(variable, requested(""), true));
}
