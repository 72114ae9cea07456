// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From a record to the caller's buffer. A record of up to kVerifyBytes is always read whole and
/// held against its hash. Larger ones are not verified on the way: that cost a quarter to a third
/// of the read rate (docs/benchmarks.md), so it is left to an offline check. Task-local.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/container/plan.hpp"
#include "core/container/stream_writer.hpp"
#include "core/index/record.hpp"
#include "core/io/file.hpp"

namespace bento {

inline constexpr std::uint64_t kVerifyBytes = 1u << 20;

class RecordReader {
 public:
  /// The physical file of a writer and its address arithmetic.
  struct Source {
    File* file;
    const FilePlan* plan;
    std::uint32_t local_task;
  };
  using Locate = std::function<Result<Source>(std::uint32_t writer)>;

  RecordReader(Locate locate, const StreamWriter* own) : locate_(std::move(locate)), own_(own) {}

  /// What the records' hashes are.
  void set_rule(fti::HashKind rule) { rule_ = rule; }

  /// Copies the elements of `part` into the row-major buffer of `to_box` (part lies in both boxes).
  /// Errors: kCorrupt (hash, location outside its chunk or the file), kIo, kInternal (the record is
  /// filtered: the connector decodes what read_stored() gives).
  Status read(const Record& record, std::uint64_t element_bytes, const Box& part, const Box& to_box,
              std::byte* to);
  /// All stored bytes of a record, verified.
  Result<std::vector<std::byte>> read_stored(const Record& record);

  /// Verifies records of any size whenever any part of them is read: somebody else wrote to the
  /// file.
  void verify_all(bool all) { verify_bytes_ = all ? ~std::uint64_t{0} : kVerifyBytes; }

  /// Forgets the cached record; needed before bytes of the file change under it.
  void invalidate() { cached_ = {}; }

 private:
  Result<std::uint64_t> address_of(const Record& record, const Source& source) const;
  Status check(const Record& record, const Hash128& wanted, const Hash128& found,
               const Source& source, std::uint64_t address) const;
  Status read_whole(const Record& record, const Source& source, std::span<std::byte> into);
  Status read_windows(const Record& record, std::uint64_t element_bytes, const Box& part,
                      const Box& to_box, std::byte* to, const Source& source);

  Locate locate_;
  const StreamWriter* own_;
  std::uint64_t verify_bytes_ = kVerifyBytes;
  fti::HashKind rule_ = fti::HashKind::kXxh3;
  Location cached_at_;
  std::vector<std::byte> cached_;
};

}  // namespace bento
