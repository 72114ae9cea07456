// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What many ranks answer to the same questions, in bounded space: for each question the first few
/// different answers, with a count and the first few ranks that gave them. Merged on the way up a
/// tree of ranks, so that whoever reads the result can tell people who disagrees with whom.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

class Votes {
 public:
  static constexpr std::size_t kAnswers = 4;     ///< different ones per question; later ones drop
  static constexpr std::size_t kNamedRanks = 5;  ///< per answer
  struct Answer {
    std::string text;
    std::uint64_t ranks = 0;           ///< how many gave it
    std::vector<std::uint32_t> named;  ///< the lowest of them
  };

  void add(std::string_view question, std::string text, std::uint32_t rank);
  /// Takes in what higher ranks said. Two or more answers stay two or more, whatever is dropped.
  void merge(const Votes& higher);

  /// In the order of the lowest rank that gave it. Empty if nobody answered.
  [[nodiscard]] std::span<const Answer> answers(std::string_view question) const;

  void encode(ByteWriter& out) const;
  /// Errors: kCorrupt.
  static Result<Votes> decode(ByteReader& in);

 private:
  std::map<std::string, std::vector<Answer>, std::less<>> questions_;
};

/// "rank 3", "ranks 1, 2, 5, 6, 7 and 40 more".
std::string name_ranks(const Votes::Answer& answer);

}  // namespace bento
