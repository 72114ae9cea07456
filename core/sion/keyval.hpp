// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Key-value containers in inline mode: each stream is a sequence of records of a 64-bit key and
/// its bytes. Records run on over chunk ends, heads included. The modes "meta" and "hash" exist in
/// name only. Source: docs/formats/sion.md, section 9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/sion/reader.hpp"
#include "core/sion/writer.hpp"

namespace bento {

struct KeyvalRecord {
  std::int64_t key = 0;
  std::uint64_t begin = 0;  ///< of the value, in the task's logical stream
  std::uint64_t bytes = 0;
};

/// Goes through one task's records. Uses the reader, which must outlive it.
class KeyvalReader {
 public:
  /// Errors: kUnsupported (the container has no inline records), kInvalidArgument (no such task).
  static Result<KeyvalReader> open(SionReader& reader, std::uint64_t task);

  /// The next record, nothing at the end of the stream.
  /// Errors: kCorrupt (a head cut off, a negative length, a value beyond the end of the stream),
  /// kIo.
  Result<std::optional<KeyvalRecord>> next();
  /// Starts again with the first record.
  void rewind() { at_ = 0; }

  /// Fills `into` from a record's value, beginning at its byte `offset`.
  /// Errors: kInvalidArgument (beyond the value), kIo.
  Status read(const KeyvalRecord& record, std::uint64_t offset, std::span<std::byte> into);

  /// All records from the first to the last. Errors: as next().
  Result<std::vector<KeyvalRecord>> all();

 private:
  KeyvalReader(SionReader& reader, std::uint64_t task)
      : reader_(&reader), task_(task), end_(reader.stream_bytes(task)) {}

  SionReader* reader_;
  std::uint64_t task_;
  std::uint64_t end_;
  std::uint64_t at_ = 0;
};

/// Appends a record to a task of a container that is created with KeyvalMode::kInline. SIONlib
/// cannot read a value of length 0 back when it is the last one of its task. Errors: as
/// SionWriter::append.
Status append_keyval(SionWriter& writer, std::uint64_t task, std::int64_t key,
                     std::span<const std::byte> value, std::endian order = std::endian::little);

}  // namespace bento
