// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A sequence of records as nested loops over differences: the first row, and then what is added
/// to a row to get the next one, where "seven times A, then B" and whole planes of that are one
/// token each. A slab or block decomposition of any number of ranks is a handful of tokens, with
/// remainders and edge blocks too; whatever is irregular stays literal, and nothing is lost.
/// Two runs that follow each other join in time that depends on their tokens, not on their
/// records. Source: docs/format.md, "Step index".
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/steps/record_fields.hpp"

namespace bento {

inline constexpr std::uint64_t kMaxRunRecords = 1ull << 40;
inline constexpr unsigned kMaxRunDepth = 64;
/// Of a run that is read, and of its differences: a token of two bytes takes hundreds in memory.
/// Those that are written have far fewer (kMaxJoinedTokens).
inline constexpr std::size_t kMaxRunTokens = 4096;

/// `power` times one difference, or `power` times the tokens of `body`.
struct RunToken {
  static constexpr std::uint32_t kLoop = ~0u;
  std::uint64_t power = 1;
  std::uint64_t content = 0;  ///< hash of what is repeated
  std::uint32_t symbol = kLoop;
  std::pmr::vector<RunToken> body;
};

class RecordRun {
 public:
  /// Where its numbers lie: short runs of many datasets, one after the other, take memory once.
  /// Moved runs stay there, copies do not.
  using Memory = std::pmr::memory_resource*;

  explicit RecordRun(Memory memory = std::pmr::get_default_resource());
  /// A run of one record.
  RecordRun(unsigned width, std::span<const std::uint64_t> first);

  /// Appends one row, or all rows of `next` (of the same width).
  void push(std::span<const std::uint64_t> row);
  void append(const RecordRun& next);

  [[nodiscard]] unsigned width() const { return width_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::size_t tokens() const { return token_count_; }
  [[nodiscard]] std::span<const std::uint64_t> first() const { return first_; }
  [[nodiscard]] std::span<const std::uint64_t> last() const { return last_; }
  [[nodiscard]] std::span<const RunToken> list() const { return list_; }
  /// Distinct differences.
  [[nodiscard]] std::uint32_t symbols() const {
    return static_cast<std::uint32_t>(symbol_hashes_.size());
  }
  [[nodiscard]] std::span<const std::uint64_t> symbol(std::uint32_t at) const {
    return std::span(symbols_).subspan(std::size_t{at} * width_, width_);
  }

  void encode(ByteWriter& out) const;
  /// As many as encode() appends.
  [[nodiscard]] std::size_t encoded_bytes() const;
  /// The same of a run of this one record.
  static void encode_one(ByteWriter& out, std::span<const std::uint64_t> row);
  /// Errors: kCorrupt (counts, nesting, more than kMaxRunRecords).
  static Result<RecordRun> decode(ByteReader& in, unsigned width,
                                  Memory memory = std::pmr::get_default_resource());
  /// The same of all of `bytes`. Errors: also kCorrupt if some are left over.
  static Result<RecordRun> decode(std::span<const std::byte> bytes, unsigned width,
                                  Memory memory = std::pmr::get_default_resource());

  /// Calls visit(row) for each record in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    if (records_ == 0) return;
    Row row;
    std::copy(first_.begin(), first_.end(), row.begin());
    visit(std::span<const std::uint64_t>(row).first(width_));
    walk(list_, row, visit);
  }

 private:
  template <class Visit>
  void walk(std::span<const RunToken> list, Row& row, const Visit& visit) const {
    for (const auto& token : list)
      for (std::uint64_t i = 0; i < token.power; ++i) {
        if (token.symbol == RunToken::kLoop) {
          walk(token.body, row, visit);
          continue;
        }
        const auto difference = symbol(token.symbol);
        for (unsigned f = 0; f < width_; ++f) row[f] += difference[f];
        visit(std::span<const std::uint64_t>(row).first(width_));
      }
  }
  template <class Out>
  void put(Out& out) const;
  std::uint32_t intern(std::span<const std::uint64_t> difference);
  void push_token(RunToken token);
  void reduce();
  RunToken translate(const RecordRun& from, const RunToken& token);
  void recount();
  Status decode_list(ByteReader& in, std::pmr::vector<RunToken>& list, Row& shift,
                     std::uint64_t& records, unsigned depth);

  unsigned width_ = 0;
  std::uint64_t records_ = 0;
  std::size_t token_count_ = 0;
  std::pmr::vector<std::uint64_t> first_;
  std::pmr::vector<std::uint64_t> last_;
  std::pmr::vector<std::uint64_t> symbols_;
  std::pmr::vector<std::uint64_t> symbol_hashes_;
  std::pmr::vector<RunToken> list_;
};

}  // namespace bento
