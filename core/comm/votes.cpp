// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/votes.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bento {
namespace {

void put_text(ByteWriter& out, std::string_view text) {
  out.u64(text.size());
  out.bytes(std::as_bytes(std::span(text)));
}

Result<std::string> get_text(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t length, in.u64());
  BENTO_ASSIGN(const auto text, in.bytes(length));
  return std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

void count_in(std::vector<Votes::Answer>& answers, const Votes::Answer& more) {
  auto same = std::find_if(answers.begin(), answers.end(),
                           [&](const Votes::Answer& known) { return known.text == more.text; });
  if (same == answers.end()) {
    if (answers.size() < Votes::kAnswers) answers.push_back(more);
    return;
  }
  same->ranks += more.ranks;
  for (const std::uint32_t rank : more.named)
    if (same->named.size() < Votes::kNamedRanks) same->named.push_back(rank);
}

}  // namespace

void Votes::add(std::string_view question, std::string text, std::uint32_t rank) {
  count_in(questions_[std::string(question)], {std::move(text), 1, {rank}});
}

void Votes::merge(const Votes& higher) {
  for (const auto& [question, answers] : higher.questions_)
    for (const auto& answer : answers) count_in(questions_[question], answer);
}

std::span<const Votes::Answer> Votes::answers(std::string_view question) const {
  const auto found = questions_.find(question);
  return found != questions_.end() ? std::span(found->second) : std::span<const Answer>{};
}

void Votes::encode(ByteWriter& out) const {
  out.u64(questions_.size());
  for (const auto& [question, answers] : questions_) {
    put_text(out, question);
    out.u64(answers.size());
    for (const auto& answer : answers) {
      put_text(out, answer.text);
      out.u64(answer.ranks);
      out.u64(answer.named.size());
      for (const std::uint32_t rank : answer.named) out.u32(rank);
    }
  }
}

Result<Votes> Votes::decode(ByteReader& in) {
  Votes votes;
  BENTO_ASSIGN(const std::uint64_t questions, in.u64());
  for (std::uint64_t i = 0; i < questions; ++i) {
    BENTO_ASSIGN(const std::string question, get_text(in));
    auto& answers = votes.questions_[question];
    BENTO_ASSIGN(const std::uint64_t count, in.u64());
    for (std::uint64_t j = 0; j < count; ++j) {
      Answer answer;
      BENTO_ASSIGN(answer.text, get_text(in));
      BENTO_ASSIGN(answer.ranks, in.u64());
      BENTO_ASSIGN(const std::uint64_t named, in.u64());
      BENTO_TRY(in.fits(named, 4));
      for (std::uint64_t k = 0; k < named; ++k) {
        BENTO_ASSIGN(answer.named.emplace_back(), in.u32());
      }
      answers.push_back(std::move(answer));
    }
  }
  return votes;
}

std::string name_ranks(const Votes::Answer& answer) {
  std::string text =
      fmt::format("rank{} {}", answer.ranks == 1 ? "" : "s", fmt::join(answer.named, ", "));
  if (answer.ranks > answer.named.size())
    text += fmt::format(" and {} more", answer.ranks - answer.named.size());
  return text;
}

}  // namespace bento
