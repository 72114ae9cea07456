// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which part of a file that is being made is on the device already, so that whoever was killed
/// while making it goes on there. The file itself lies elsewhere; this one lies beside it and is
/// removed with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/io/file.hpp"

namespace bento {

/// Something whose length was known only when it was made: a chunk that was filtered anew.
struct JournalledChunk {
  std::uint32_t dataset = 0;
  std::uint32_t filter_mask = 0;
  std::uint64_t chunk = 0;    ///< number in the dataset's grid, row-major
  std::uint64_t address = 0;  ///< in the file that is being made
  std::uint64_t bytes = 0;
  bool operator==(const JournalledChunk&) const = default;
};

/// What is added gathers in memory until store(), which is called when the bytes that it speaks of
/// are durable. Lines are appended, each with a hash over itself and all before it: of a file that
/// is torn or damaged, what stands before that holds. Not thread-safe.
class AssemblyJournal {
 public:
  /// Reads what `file` says. `subject` is equal only for equal sources and equal targets: what was
  /// said of another one, and what is no journal, is forgotten. Errors: kIo, kNoSpace.
  static Result<std::unique_ptr<AssemblyJournal>> open(std::unique_ptr<File> file,
                                                       std::string_view subject);

  [[nodiscard]] const std::string& path() const { return file_->path(); }
  /// Was anything durable when it was opened?
  [[nodiscard]] bool begun() const { return plan_ || !chunks_.empty(); }
  /// The same: in the order in which they were added.
  [[nodiscard]] std::span<const JournalledChunk> chunks() const { return chunks_; }
  /// The same: hash of where everything lies; it is known once all chunks are.
  [[nodiscard]] const std::optional<Hash128>& plan() const { return plan_; }
  /// All data below this address is written, or zeros that need not be.
  [[nodiscard]] std::uint64_t end() const { return end_; }

  void add_chunk(const JournalledChunk& chunk);
  void set_plan(const Hash128& plan);
  /// Only after the plan is set; it never goes back.
  void set_end(std::uint64_t address);
  /// Appends what was added and makes it durable. Errors: kIo, kNoSpace.
  Status store();
  /// What was said does not hold: nothing is durable, and what was added is dropped. To be called
  /// before the target is emptied. Errors: kIo, kNoSpace.
  Status forget();

 private:
  AssemblyJournal(std::unique_ptr<File> file, Hash128 subject)
      : file_(std::move(file)), subject_(subject) {}
  struct Line;
  Status load();
  bool take(const Line& line);
  void add(Line line);

  std::unique_ptr<File> file_;
  Hash128 subject_;
  std::vector<JournalledChunk> chunks_;
  std::optional<Hash128> plan_;
  std::uint64_t end_ = 0;
  std::vector<std::byte> added_;  ///< lines that are not stored
  bool end_added_ = false;        ///< the end is not among them yet
  std::uint64_t length_ = 0;      ///< of the file, as far as it holds
  Hash128 last_{};                ///< hash of the last line
};

}  // namespace bento
