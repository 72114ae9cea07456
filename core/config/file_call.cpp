// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/config/file_call.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "core/comm/status_message.hpp"
#include "core/comm/votes.hpp"

namespace bento {
namespace {

constexpr std::string_view kCall = "/call";
constexpr std::string_view kName = "/name";
constexpr std::string_view kPlace = "/place";
constexpr std::string_view kFailure = "/failure";
constexpr std::size_t kLongestText = 8192;  // of an error

/// What some ranks said: one, on its way up, or all.
struct Heard {
  Votes votes;
  Status failure;  ///< of the lowest rank that has one
  std::vector<std::uint64_t> sessions;
};

Heard said_by(const FileCall& mine, std::uint32_t rank) {
  Heard heard;
  heard.votes.add(kCall, mine.call, rank);
  heard.votes.add(kName, mine.name, rank);
  heard.votes.add(kPlace, mine.place, rank);
  heard.sessions = mine.sessions;
  if (!mine.settings) {
    Error error = mine.settings.error();
    error.text.resize(std::min(error.text.size(), kLongestText));
    heard.votes.add(kFailure, error.text, rank);
    heard.failure = fail(std::move(error));
    return heard;
  }
  for (const auto& [key, origin] : mine.settings->given)
    heard.votes.add(key, value_text(mine.settings->config, key), rank);
  return heard;
}

Bytes encode(const Heard& heard) {
  ByteWriter out;
  put_status(out, heard.failure);
  heard.votes.encode(out);
  out.u64(heard.sessions.size());
  out.array_u64(heard.sessions);
  return std::move(out).take();
}

Result<Heard> decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "what ranks say of a call");
  Heard heard;
  heard.failure = get_status(in);
  BENTO_ASSIGN(heard.votes, Votes::decode(in));
  BENTO_ASSIGN(const std::uint64_t sessions, in.u64());
  BENTO_ASSIGN(heard.sessions, in.array_u64(sessions));
  return heard;
}

/// Bytes that cannot be read count as a failure, which then is everybody's.
Heard decode_or_fail(std::span<const std::byte> bytes) {
  auto heard = decode(bytes);
  if (heard) return std::move(*heard);
  Heard broken;
  broken.failure = fail(std::move(heard).error());
  return broken;
}

Bytes merge(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  Heard all = decode_or_fail(lower);
  const Heard more = decode_or_fail(higher);
  all.votes.merge(more.votes);
  if (all.failure) all.failure = more.failure;
  std::vector<std::uint64_t> both;
  std::set_intersection(all.sessions.begin(), all.sessions.end(), more.sessions.begin(),
                        more.sessions.end(), std::back_inserter(both));
  all.sessions = std::move(both);
  return encode(all);
}

std::string list_answers(std::span<const Votes::Answer> answers, std::string_view quote = "") {
  std::string text;
  for (const auto& answer : answers)
    text += fmt::format("{}{}{}{} on {}", text.empty() ? "" : ", ", quote, answer.text, quote,
                        name_ranks(answer));
  return text;
}

/// Has some rank failed by itself, and do all make the same call on the same file?
Status judge_call(const Heard& heard, std::uint64_t ranks) {
  if (!heard.failure) {
    const auto failures = heard.votes.answers(kFailure);
    Error error = heard.failure.error();
    if (failures.empty() || failures.front().ranks == ranks) return fail(std::move(error));
    return fail(std::move(error).with_context(name_ranks(failures.front())));
  }
  if (const auto calls = heard.votes.answers(kCall); calls.size() > 1)
    return fail(Code::kInvalidArgument,
                fmt::format("the ranks do not make the same call: {}", list_answers(calls)));
  const auto names = heard.votes.answers(kName);
  if (names.size() > 1 && heard.votes.answers(kPlace).size() > 1)
    return fail(Code::kInvalidArgument,
                fmt::format("the ranks name different files in one collective call (symbolic links "
                            "are not followed: one name for all is best): {}",
                            list_answers(names, "'")));
  return {};
}

/// One key: nothing if nobody names another value than rank 0 has.
std::optional<std::string> difference(const Heard& heard, std::string_view key,
                                      const std::string& owners) {
  std::string others;
  bool named_by_owner = false;
  for (const auto& answer : heard.votes.answers(key)) {
    if (answer.text == owners)
      named_by_owner = answer.named.front() == 0;
    else
      others += fmt::format(", {}={} on {}", key, answer.text, name_ranks(answer));
  }
  if (others.empty()) return {};
  if (named_by_owner) return fmt::format("{}={} on rank 0{}", key, owners, others);
  if (owners.empty()) return fmt::format("no {}= on rank 0{}", key, others);
  return fmt::format("{}={} on rank 0, where nothing was said{}", key, owners, others);
}

Status judge_settings(const Heard& heard, const Config& owners, bool creates) {
  std::string differences;
  for (const auto& key : config_keys()) {
    if (key.scope == Scope::kProcess || (key.scope == Scope::kContainer && !creates)) continue;
    if (const auto found = difference(heard, key.name, value_text(owners, key.name)))
      differences += fmt::format("{}{}", differences.empty() ? "" : "; ", *found);
  }
  if (differences.empty()) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("the ranks' settings differ: {}. Rank 0's hold for all ranks; give the "
                          "others the same or none, in connector string and H5BENTO_ variables",
                          differences));
}

Result<FileDecision> owner_decide(const Heard& heard, std::uint64_t ranks, const FileCall& mine,
                                  bool creates, const FileDecider& decide) {
  const auto naming_the_file = [&](const Status& judged) -> Status {
    if (judged) return {};
    return fail(Error(judged.error()).with_context(fmt::format("'{}'", mine.name)));
  };
  BENTO_TRY(naming_the_file(judge_call(heard, ranks)));
  BENTO_ASSIGN(const FileDecision decision, decide(heard.sessions));
  if (decision.what == FileDecision::What::kPass || decision.what == FileDecision::What::kRemove)
    return decision;
  const Config& config = mine.settings->config;
  BENTO_TRY(naming_the_file(judge_settings(heard, config, creates)));
  if (creates && decision.what == FileDecision::What::kBegin)
    BENTO_TRY(naming_the_file(check_for_create(config, static_cast<std::uint32_t>(ranks))));
  return decision;
}

void put_verdict(ByteWriter& out, const FileDecision& decision, const Config& owners) {
  out.u8(static_cast<std::uint8_t>(decision.what));
  out.u64(decision.session);
  out.u8(decision.locking);
  out.u64(decision.place.size());
  out.bytes(std::as_bytes(std::span(decision.place)));
  // Keys of the same table on both sides; the ranks run the same code.
  for (const auto& key : config_keys()) {
    if (key.scope == Scope::kProcess) continue;
    const std::string text = value_text(owners, key.name);
    out.u64(text.size());
    out.bytes(std::as_bytes(std::span(text)));
  }
}

Result<std::string> take_text(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t length, in.u64());
  BENTO_ASSIGN(const auto bytes, in.bytes(length));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<AgreedCall> take_verdict(ByteReader& in, const Config& own) {
  AgreedCall agreed;
  BENTO_ASSIGN(const std::uint8_t what, in.u8());
  agreed.decision.what = static_cast<FileDecision::What>(what);
  BENTO_ASSIGN(agreed.decision.session, in.u64());
  BENTO_ASSIGN(agreed.decision.locking, in.u8());
  BENTO_ASSIGN(agreed.decision.place, take_text(in));
  for (const auto& key : config_keys()) {
    std::string text = value_text(own, key.name);
    if (key.scope != Scope::kProcess) {
      BENTO_ASSIGN(text, take_text(in));
    }
    if (!text.empty()) BENTO_TRY(set_value(agreed.config, key.name, text));
  }
  return agreed;
}

}  // namespace

Result<AgreedCall> agree_on_call(Communicator& comm, const FileCall& mine, bool creates,
                                 const FileDecider& decide) {
  const auto rank = static_cast<std::uint32_t>(comm.rank());
  BENTO_ASSIGN(const Bytes all, comm.combine(encode(said_by(mine, rank)), merge));
  ByteWriter out;
  if (rank == 0) {
    const auto decided = owner_decide(decode_or_fail(all), static_cast<std::uint64_t>(comm.size()),
                                      mine, creates, decide);
    put_status(out, decided ? Status{} : Status(fail(decided.error())));
    if (decided) put_verdict(out, *decided, mine.settings->config);
  }
  BENTO_ASSIGN(const Bytes verdict, comm.broadcast(out.view()));
  ByteReader in(verdict, std::endian::little, "verdict on a call");
  BENTO_TRY(get_status(in));
  if (!mine.settings) return fail(mine.settings.error());
  return take_verdict(in, mine.settings->config);
}

Status check_for_create(const Config& config, std::uint32_t ranks) {
  if (config.step != 0)
    return fail(Code::kInvalidArgument,
                fmt::format("step={}: opens files for reading as of that step; a file that is "
                            "created has none",
                            config.step));
  if (config.files > ranks)
    return fail(Code::kInvalidArgument,
                fmt::format("files={}: a container has at most one physical file per rank, and {} "
                            "create{} this one",
                            config.files, ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks),
                            ranks == 1 ? "s" : ""));
  return {};
}

Status check_second_open(const RequestedConfig& second, const RequestedConfig& open, bool created) {
  for (const auto& key : config_keys()) {
    const auto named = second.given.find(key.name);
    if (named == second.given.end() || key.name == "step" || key.name == "stats") continue;
    if (key.scope == Scope::kContainer && !created) continue;
    const std::string now = value_text(second.config, key.name);
    const std::string before = value_text(open.config, key.name);
    if (now == before) continue;
    const auto first = open.given.find(key.name);
    if (named->second == Origin::kEnvironment && first != open.given.end() &&
        first->second == Origin::kString)
      continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{}={}, but the file is open already in this process {}; name the same "
                            "or nothing, or close it first",
                            key.name, now,
                            before.empty() ? fmt::format("without {}=", key.name)
                                           : fmt::format("with {}={}", key.name, before)));
  }
  return {};
}

}  // namespace bento
