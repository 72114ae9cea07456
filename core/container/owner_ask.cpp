// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the owner of a commit must know besides the records where ranks have written the same
/// elements, and what it refuses there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/container/owner.hpp"
#include "core/records/lost_members.hpp"
#include "core/steps/step_commit.hpp"

namespace bento {

// Where ranks have written the same place at the same collective count, it is when they did. Where
// some have written members only, into elements that others wrote, it is which ones. And where some
// have written around elements that others wrote, those of the others count.
Result<SecondRound> Owner::ask(const CommitMessage& message) const {
  SecondRound second;
  BENTO_ASSIGN(const auto timed, datasets_that_need_exact_times(message.entries));
  second.exact_times.insert(timed.begin(), timed.end());
  BENTO_ASSIGN(const auto shared, datasets_that_ranks_share(message.entries, message.partial));
  second.member_writes.insert(shared.begin(), shared.end());
  BENTO_ASSIGN(const auto among, datasets_that_ranks_share(message.entries, message.gapped));
  second.gapped.insert(among.begin(), among.end());
  return second;
}

std::string Owner::name_of(DatasetNumber dataset) const {
  std::string name = dataset_names_ ? dataset_names_(dataset) : std::string();
  return name.empty() ? fmt::format("{}, which has no name", dataset) : name;
}

// A write of some members takes the others from what its rank sees. Values that another rank has
// brought meanwhile would be lost without a word.
Status Owner::check_members(const CommitMessage& message) const {
  BENTO_ASSIGN(const auto datasets, decode_member_writes(message.member_writes));
  for (const auto& [dataset, writes] : datasets) {
    const auto lost = find_lost_members(writes);
    if (!lost) continue;
    return fail(
        Code::kInvalidArgument,
        fmt::format(
            "'{}': dataset {}: rank {} wrote some members of elements that rank {} had written, "
            "and could not see yet, at element [{}] for one: rank {}'s members would be lost. Let "
            "all ranks call H5Fflush, or read the dataset collectively, between writes of "
            "different "
            "ranks to members of the same elements. This file commits again once such elements are "
            "written whole",
            state_.path, name_of(dataset), lost->by, lost->writer,
            fmt::join(lost->where.start.view(), ", "), lost->writer));
  }
  return {};
}

namespace {

std::string microseconds(std::uint64_t ns) {
  return fmt::format("{:.1f} us", static_cast<double>(ns) / 1000);
}

}  // namespace

// The program has said nothing of the order of such writes that this file could know of, and the
// clocks of two nodes cannot. One of them is kept all the same: once for each dataset.
Status Owner::note_uncertain_order(const CommitMessage& message) {
  constexpr std::size_t kNamed = 8;
  if (message.clocks.empty() || message.entries.empty()) return {};
  BENTO_ASSIGN(const auto parts, parse_contribution(message.entries));
  for (const auto& part : parts) {
    if (!part.exact_times || uncertain_.contains(part.dataset)) continue;
    BENTO_ASSIGN(const UncertainOrders found, find_uncertain_order(part, message.clocks));
    if (found.pairs.empty() && found.all) continue;
    uncertain_.insert(part.dataset);
    std::string text = fmt::format(
        "dataset {}: ranks of different nodes wrote the same elements, with no collective call of "
        "the file in between",
        name_of(part.dataset));
    for (const UncertainOrder& pair :
         std::span(found.pairs).first(std::min(kNamed, found.pairs.size())))
      text += fmt::format(
          "; ranks {} and {} within {} at element [{}], where their clocks are known "
          "to {} only",
          pair.earlier, pair.later, microseconds(pair.apart_ns),
          fmt::join(pair.element.view(), ", "), microseconds(pair.doubt_ns));
    if (found.pairs.size() > kNamed) text += fmt::format("; {} more", found.pairs.size() - kNamed);
    if (!found.all) text += "; there are too many such writes to look at all";
    notes_.push_back(text +
                     ". What was kept may not be what was written last: let all ranks call "
                     "H5Fflush between such writes");
  }
  return {};
}

}  // namespace bento
