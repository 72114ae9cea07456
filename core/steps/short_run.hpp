// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A run of few records without loops, as nearly all small datasets have one, for who only looks
/// for some of its rows: it takes no memory, and a fifth of the time of a RecordRun. Source:
/// docs/format.md, "Step index".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/bytes/byte_reader.hpp"
#include "core/steps/record_fields.hpp"

namespace bento {

class ShortRun {
 public:
  static constexpr std::uint64_t kMostRecords = 32;

  ShortRun() {}  // NOLINT(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init): the
                 // arrays are not to be filled

  /// Takes the next run of `in`. False, and `in` is where it was, if that is a longer one or cannot
  /// be read: RecordRun::decode() says more.
  [[nodiscard]] bool decode(ByteReader& in, unsigned width);

  [[nodiscard]] std::uint64_t records() const { return records_; }

  /// Calls visit(row) -> bool for each record in order, until it says false; says what it said
  /// last.
  template <class Visit>
  bool all_of(const Visit& visit) const {
    Row row;
    for (unsigned f = 0; f < width_; ++f) row[f] = first_[f];
    const auto view = std::span<const std::uint64_t>(row).first(width_);
    if (!visit(view)) return false;
    for (unsigned t = 0; t < tokens_; ++t) {
      const std::uint64_t* const difference =
          &differences_[std::size_t{list_[t].difference} * width_];
      for (std::uint64_t i = 0; i < list_[t].times; ++i) {
        for (unsigned f = 0; f < width_; ++f) row[f] += difference[f];
        if (!visit(view)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kMostDifferences = 4;
  static constexpr std::uint64_t kMostTokens = 8;
  struct Token {
    std::uint32_t times;
    std::uint32_t difference;
  };

  [[nodiscard]] bool take(ByteReader& in);

  unsigned width_ = 0;
  unsigned tokens_ = 0;
  std::uint64_t records_ = 0;
  Row first_;
  std::array<std::uint64_t, kMostDifferences * kMaxRowWidth> differences_;
  std::array<Token, kMostTokens> list_;
};

}  // namespace bento
