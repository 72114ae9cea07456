// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A write of many small boxes that lie near each other is kept as one record: the box around them,
/// with what its rank saw between them. Until a commit has found that no other rank has written
/// there, only the boxes count where another rank's records lie. Nothing of it is stored.
#pragma once

#include <functional>
#include <memory>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/geometry/runs.hpp"

namespace bento {

/// Which elements of a record its program has written.
class RecordGaps {
 public:
  explicit RecordGaps(RegularSelection written) : written_(std::move(written)) {}

  /// Calls `use` for disjoint boxes that make up what was written of `within`.
  void for_each_written(const Box& within, const std::function<void(const Box&)>& use) const {
    if (!within.empty()) written_.for_each_in(within, use);
  }

  void encode(ByteWriter& out) const;
  /// Errors: kCorrupt.
  static Result<RecordGaps> decode(ByteReader& in);

 private:
  RegularSelection written_;
};

/// The parts into which a record was cut share it.
using SharedGaps = std::shared_ptr<const RecordGaps>;

}  // namespace bento
