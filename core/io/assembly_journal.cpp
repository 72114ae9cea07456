// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/assembly_journal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace bento {
namespace {

constexpr std::uint32_t kHeader = 0x4e4a3562;  // "b5JN", and the byte order of this node
constexpr std::uint32_t kChunk = 1;
constexpr std::uint32_t kPlan = 2;
constexpr std::uint32_t kEnd = 3;
constexpr std::size_t kLinesAtOnce = 1024;

std::array<std::uint64_t, 2> words_of(const Hash128& hash) {
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), hash.data(), hash.size());
  return words;
}

}  // namespace

struct AssemblyJournal::Line {
  std::uint32_t kind = 0;
  std::uint32_t filter_mask = 0;
  std::uint32_t dataset = 0;
  std::uint32_t zero = 0;
  std::array<std::uint64_t, 3> words{};
  Hash128 check{};

  [[nodiscard]] Hash128 hash_after(const Hash128& last) const {
    constexpr std::size_t kHashed = sizeof(Line) - sizeof check;
    std::array<std::byte, kHashed + sizeof last> all{};
    std::memcpy(all.data(), last.data(), sizeof last);
    std::memcpy(all.data() + sizeof last, this, kHashed);
    return hash128(all);
  }
};

Result<std::unique_ptr<AssemblyJournal>> AssemblyJournal::open(std::unique_ptr<File> file,
                                                               std::string_view subject) {
  static_assert(std::is_trivially_copyable_v<Line> && sizeof(Line) == 56);
  std::unique_ptr<AssemblyJournal> journal(
      new AssemblyJournal(std::move(file), hash128(std::as_bytes(std::span(subject)))));
  BENTO_TRY(journal->load());
  if (journal->length_ == 0) {
    BENTO_TRY(journal->forget());
  } else {
    BENTO_TRY(journal->file_->truncate(journal->length_));
  }
  return journal;
}

Status AssemblyJournal::load() {
  std::vector<Line> lines(kLinesAtOnce);
  for (;;) {
    const auto into = std::as_writable_bytes(std::span(lines));
    BENTO_ASSIGN(const std::size_t bytes, file_->read_some(length_, into));
    for (std::size_t i = 0; i < bytes / sizeof(Line); ++i) {
      const Line& line = lines[i];
      if (line.check != line.hash_after(last_) || !take(line)) return {};
      last_ = line.check;
      length_ += sizeof(Line);
    }
    if (bytes < into.size()) return {};
  }
}

// False: whoever wrote it knew something that we do not.
bool AssemblyJournal::take(const Line& line) {
  const auto& [first, second, third] = line.words;
  if (length_ == 0) return line.kind == kHeader && words_of(subject_) == std::array{first, second};
  if (line.kind == kChunk && !plan_) {
    chunks_.push_back({line.dataset, line.filter_mask, first, second, third});
    return true;
  }
  if (line.kind == kPlan && !plan_) {
    plan_.emplace();
    std::memcpy(plan_->data(), line.words.data(), plan_->size());
    return true;
  }
  if (line.kind != kEnd || !plan_ || first < end_) return false;
  end_ = first;
  return true;
}

void AssemblyJournal::add(Line line) {
  line.check = last_ = line.hash_after(last_);
  const auto bytes = std::as_bytes(std::span(&line, 1));
  added_.insert(added_.end(), bytes.begin(), bytes.end());
}

void AssemblyJournal::add_chunk(const JournalledChunk& chunk) {
  Line line;
  line.kind = kChunk;
  line.filter_mask = chunk.filter_mask;
  line.dataset = chunk.dataset;
  line.words = {chunk.chunk, chunk.address, chunk.bytes};
  add(line);
}

void AssemblyJournal::set_plan(const Hash128& plan) {
  Line line;
  line.kind = kPlan;
  std::memcpy(line.words.data(), plan.data(), plan.size());
  add(line);
}

void AssemblyJournal::set_end(std::uint64_t address) {
  if (address <= end_) return;
  end_ = address;
  end_added_ = true;
}

Status AssemblyJournal::store() {
  if (std::exchange(end_added_, false)) {
    Line line;
    line.kind = kEnd;
    line.words[0] = end_;
    add(line);
  }
  if (added_.empty()) return {};
  BENTO_TRY(file_->write_at(length_, added_));
  BENTO_TRY(file_->sync());
  length_ += added_.size();
  added_.clear();
  return {};
}

Status AssemblyJournal::forget() {
  chunks_.clear();
  plan_.reset();
  end_ = 0;
  end_added_ = false;
  added_.clear();
  length_ = 0;
  last_ = {};
  BENTO_TRY(file_->truncate(0));
  Line line;
  line.kind = kHeader;
  const auto subject = words_of(subject_);
  line.words = {subject[0], subject[1], 0};
  add(line);
  return store();
}

}  // namespace bento
