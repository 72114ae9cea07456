// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/spill.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "transfer/cache_note.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/share.hpp"
#include "transfer/spill_names.hpp"

namespace bento::transfer {
namespace {

/// One line of a map: bytes that are not in the cache. Read on the node that wrote it.
using MapEntry = std::array<std::uint64_t, 2>;  // offset, length

constexpr off_t kKeptRoom = 64 << 10;

bool no_space(const Error& error) {
  return error.os_errno == ENOSPC || error.os_errno == EDQUOT;
}

void add(SpilledRanges& ranges, std::uint64_t begin, std::uint64_t end) {
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin() && std::prev(at)->second >= begin) --at;
  while (at != ranges.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ranges.erase(at);
  }
  ranges[begin] = end;
}

/// Adds what a map says from a byte of it on, and moves that forward.
Status read_entries(int map, const std::string& name, std::uint64_t& from, SpilledRanges& ranges) {
  std::array<MapEntry, 64> entries{};
  for (;;) {
    const ssize_t got = ::pread(map, entries.data(), sizeof entries, static_cast<off_t>(from));
    if (got < 0) return fail(os_error(errno, "read of", name));
    const auto count = static_cast<std::size_t>(got) / sizeof(MapEntry);
    for (std::size_t i = 0; i < count; ++i)
      add(ranges, entries[i][0], entries[i][0] + entries[i][1]);
    from += count * sizeof(MapEntry);
    if (count < entries.size()) return {};
  }
}

/// What was written there must not be missed in silence.
Status check_is_there(const SpillNames& names, const std::string& base) {
  // Of another part, if this one has neither.
  const bool folder = ::access(names.folder.c_str(), F_OK) == 0;
  if (folder && ::access(names.map(base).c_str(), F_OK) != 0) return {};
  const std::string& missing = folder ? names.data(base) : names.folder;
  if (::access(missing.c_str(), F_OK) == 0) return {};
  return fail(os_error(errno,
                       "looking for what the full cache did not take (h5bento transfer submit "
                       "brings it, if a program died while it did),",
                       missing));
}

class SpillFile final : public File {
 public:
  SpillFile(std::unique_ptr<File> cached, SpillNames names, bool may_spill)
      : cached_(std::move(cached)),
        names_(std::move(names)),
        base_(base_of(cached_->path())),
        may_spill_(may_spill),
        mark_(::open(names_.mark.c_str(), (may_spill ? O_RDWR : O_RDONLY) | O_CLOEXEC)) {}

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    BENTO_TRY(look());
    if (ranges_.empty()) return cached_->read_some(offset, into);
    BENTO_ASSIGN(const std::uint64_t end, size());
    if (offset >= end) return std::size_t{0};
    into = into.first(std::min<std::uint64_t>(into.size(), end - offset));
    std::ranges::fill(into, std::byte{0});
    std::uint64_t at = offset;
    const std::uint64_t stop = offset + into.size();
    while (at < stop) {
      const auto [part_end, spilled] = part_at(at, stop);
      const auto part = into.subspan(at - offset, part_end - at);
      File& from = spilled ? *beside_ : *cached_;
      if (auto got = from.read_some(at, part); !got) return got;  // what is missing is a hole
      at = part_end;
    }
    return into.size();
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    BENTO_TRY(look());
    if (!touches(offset, offset + from.size())) {
      auto written = cached_->write_at(offset, from);
      if (written || !may_spill_ || !no_space(written.error())) return written;
    }
    return spill(offset, from);
  }

  Result<std::uint64_t> size() override {
    BENTO_TRY(look());
    BENTO_ASSIGN(std::uint64_t bytes, cached_->size());
    if (!beside_) return bytes;
    BENTO_ASSIGN(const std::uint64_t more, beside_->size());
    return std::max(bytes, more);
  }
  Status truncate(std::uint64_t bytes) override {
    BENTO_TRY(look());
    if (beside_) BENTO_TRY(beside_->truncate(bytes));
    return cached_->truncate(bytes);
  }
  Status sync() override {
    if (beside_) BENTO_TRY(beside_->sync());
    return cached_->sync();
  }
  Status close() override {
    Status done = beside_ ? beside_->close() : Status{};
    auto closed = cached_->close();
    return done ? closed : done;
  }
  [[nodiscard]] const std::string& path() const override { return cached_->path(); }
  [[nodiscard]] int descriptor() const override { return cached_->descriptor(); }

 private:
  /// How far what is at `at` goes on, at most to `stop`, and whether it is beside the final name.
  [[nodiscard]] std::pair<std::uint64_t, bool> part_at(std::uint64_t at, std::uint64_t stop) const {
    auto next = ranges_.upper_bound(at);
    if (next != ranges_.begin()) {
      const auto before = std::prev(next);
      if (at < before->second) return {std::min(stop, before->second), true};
    }
    return {next == ranges_.end() ? stop : std::min(stop, next->first), false};
  }
  [[nodiscard]] bool touches(std::uint64_t begin, std::uint64_t end) const {
    if (ranges_.empty() || begin == end) return false;
    const auto [part_end, spilled] = part_at(begin, end);
    return spilled || part_end < end;
  }
  /// What other ranks, or an earlier session, have written beside the final name. One small read of
  /// the cache as long as nothing was.
  Status look() {
    char mark = '0';
    if (!mark_ || ::pread(mark_.get(), &mark, 1, 0) != 1 || mark == '0') return {};
    return read_map(false);
  }
  Status read_map(bool make) {
    if (!beside_) {
      auto opened = open_beside(make);
      if (!opened && !make && opened.error().code == Code::kNotFound)
        return check_is_there(names_, base_);
      BENTO_TRY(std::move(opened));
    }
    return read_entries(map_.get(), names_.map(base_), map_read_, ranges_);
  }
  Status open_beside(bool make) {
    if (make && ::mkdir(names_.folder.c_str(), 0700) != 0 && errno != EEXIST)
      return fail(os_error(errno, "making the folder", names_.folder));
    const int flags = (may_spill_ ? O_RDWR | O_APPEND : O_RDONLY) | (make ? O_CREAT : 0);
    BENTO_ASSIGN(map_,
                 open_at(AT_FDCWD, names_.map(base_), flags | O_NOFOLLOW, 0600, names_.map(base_)));
    const std::string data = names_.data(base_);
    if (make) {
      auto made = open_posix_file(data, OpenMode::kCreateExclusive);
      if (!made && made.error().code != Code::kExists) return fail(made.error());
      if (made) BENTO_TRY((*made)->close());
    }
    BENTO_ASSIGN(beside_,
                 open_posix_file(data, may_spill_ ? OpenMode::kReadWrite : OpenMode::kRead));
    return {};
  }

  Status spill(std::uint64_t offset, std::span<const std::byte> from) {
    if (!mark_)
      return fail(Code::kNoSpace,
                  fmt::format("'{}': the cache is full (errno = {})", path(), ENOSPC), ENOSPC);
    BENTO_TRY(read_map(true));
    BENTO_TRY(beside_->write_at(offset, from));
    const MapEntry entry{offset, from.size()};
    if (::write(map_.get(), entry.data(), sizeof entry) != ssize_t{sizeof entry})
      return fail(os_error(errno, "write to", names_.map(base_)));
    add(ranges_, offset, offset + from.size());
    const char mark = '1';
    if (::pwrite(mark_.get(), &mark, 1, 0) != 1)
      return fail(os_error(errno, "write to", names_.mark));
    say_so();
    return {};
  }
  /// Once for each container, whichever rank comes first.
  void say_so() {
    if (std::exchange(said_, true)) return;
    const Descriptor first(
        ::open((names_.folder + "/said").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!first) return;
    fmt::print(stderr,
               "h5bento: warning: the cache is full ('{}'): the rest of it is written directly, to "
               "'{}' until it is closed (cache_full=direct)\n",
               path(), names_.folder);
  }

  std::unique_ptr<File> cached_;
  SpillNames names_;
  std::string base_;
  bool may_spill_;
  bool said_ = false;
  Descriptor mark_;
  std::unique_ptr<File> beside_;  ///< at the same offsets
  Descriptor map_;
  std::uint64_t map_read_ = 0;
  SpilledRanges ranges_;
};

}  // namespace

SpillNames::SpillNames(const std::string& copy, const std::string& final_name)
    : mark(folder_of(copy) + "/spilled"),
      folder(fmt::format("{}.spill-{}",
                         note_name(final_name).substr(0, note_name(final_name).rfind('.')),
                         id_of_copy(copy))) {
  // All shares of a container have one id.
  if (const Share share = share_of_copy(copy); share.count > 0)
    folder += fmt::format("-{}", share.index);
}

FileOpener spilling_opener(const std::string& copy, const std::string& final_name, FileOpener under,
                           bool may_spill) {
  return [folder = folder_of(copy), names = SpillNames(copy, final_name), under = std::move(under),
          may_spill](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
    auto opened = under(path, mode);
    if (!opened || mode == OpenMode::kDirectory || folder_of(path) != folder) return opened;
    const bool writes = mode != OpenMode::kRead;
    return std::unique_ptr<File>(
        std::make_unique<SpillFile>(std::move(*opened), names, may_spill && writes));
  };
}

Result<SpilledRanges> spilled_ranges(const std::string& path, const std::string& final_name) {
  SpilledRanges ranges;
  if (!has_spilled(path)) return ranges;
  const SpillNames names(path, final_name);
  BENTO_TRY(check_is_there(names, base_of(path)));
  const std::string name = names.map(base_of(path));
  const auto map = open_at(AT_FDCWD, name, O_RDONLY | O_NOFOLLOW, 0, name);
  if (!map && map.error().code == Code::kNotFound) return ranges;  // another part's
  if (!map) return fail(map.error());
  std::uint64_t from = 0;
  BENTO_TRY(read_entries(map->get(), name, from, ranges));
  return ranges;
}

Status prepare_spill(const std::string& copy) {
  const std::string name = folder_of(copy) + "/spilled";
  BENTO_ASSIGN(const Descriptor mark,
               open_at(AT_FDCWD, name, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, name));
  const char none = '0';
  BENTO_TRY(write_whole(mark.get(), 0, std::as_bytes(std::span(&none, 1)), name));
  if (::fallocate(mark.get(), FALLOC_FL_KEEP_SIZE, 0, kKeptRoom) != 0 && errno == ENOSPC)
    return fail(os_error(errno, "making room in", name));
  return {};
}

void release_room(const std::string& copy) {
  const Descriptor mark(::open((folder_of(copy) + "/spilled").c_str(), O_RDWR | O_CLOEXEC));
  char value = '0';
  if (mark && ::pread(mark.get(), &value, 1, 0) == 1) (void)::ftruncate(mark.get(), 1);
}

bool has_spilled(const std::string& copy) {
  const Descriptor mark(::open((folder_of(copy) + "/spilled").c_str(), O_RDONLY | O_CLOEXEC));
  char value = '0';
  return mark && ::pread(mark.get(), &value, 1, 0) == 1 && value != '0';
}

bool needs_finish(const std::string& copy) {
  return has_spilled(copy) && share_of_copy(copy).count == 0;
}

}  // namespace bento::transfer
