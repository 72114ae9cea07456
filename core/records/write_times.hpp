// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// When the parts of a record were written that grew by several writes. Where another rank has
/// written some of the same elements in between, each part has to be as late as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/geometry/box_run.hpp"

namespace bento {

/// The parts lie one behind the other in the row-major order of the record's box, and each is later
/// than the one before. Packed, since there may be one for every few bytes of data: a few bytes
/// each. A record that did not grow keeps nothing.
class WriteTimes {
 public:
  struct Part {
    std::uint64_t begin = 0;  ///< elements of the box in front of it
    std::uint64_t end = 0;
    std::uint64_t time_ns = 0;
  };

  void add(std::uint64_t elements, std::uint64_t time_ns);
  /// Those of what lies behind.
  void append(const WriteTimes& behind);
  void clear() { *this = {}; }
  [[nodiscard]] bool empty() const { return packed_.empty(); }
  [[nodiscard]] std::vector<Part> parts() const;
  /// Those of the elements [begin, end), as a box of their own.
  [[nodiscard]] WriteTimes slice(std::uint64_t begin, std::uint64_t end) const;
  /// Those of `inner`, which lies in the record's box `whole`.
  [[nodiscard]] WriteTimes within(const Box& whole, const Box& inner) const;
  /// Of the first part; 0 if there is none.
  [[nodiscard]] std::uint64_t first_time() const;
  /// Of the last part; 0 if there is none.
  [[nodiscard]] std::uint64_t last_time() const { return last_; }

  void encode(ByteWriter& out) const;
  /// Errors: kCorrupt.
  static Result<WriteTimes> decode(ByteReader& in);

 private:
  std::vector<std::byte> packed_;  ///< elements, and ns since the part before, as varints
  std::uint64_t last_ = 0;
};

/// Calls `use(box, begin, time_ns)` for boxes that make up all parts but the first of a record of
/// this box.
Status for_each_later_part(
    const Box& whole, const WriteTimes& times,
    const std::function<Status(const Box&, std::uint64_t, std::uint64_t)>& use);

}  // namespace bento
