// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container of many physical files that arrives as one file: its streams are copied, and never
/// decoded. Source: docs/transfer.md, "Arriving as something else".
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/io/file.hpp"
#include "core/layout/plan.hpp"
#include "transfer/job.hpp"
#include "transfer/made.hpp"
#include "transfer/share.hpp"
#include "transfer/shown_error.hpp"
#include "transfer/sparse_copy.hpp"

namespace bento::transfer {

namespace {

/// What these say, of the open files of a source.
template <class Next>
SparseCopy::NextPart parts_of(const Source& source, const std::vector<Entry>& entries, Next next) {
  return [&source, &entries, next = std::move(next)]() mutable -> std::optional<CopiedPart> {
    const std::optional<StreamPart> part = next();
    if (!part) return std::nullopt;
    return CopiedPart{source.descriptor(part->file), &entries[part->file].source, part->from,
                      part->to, part->bytes};
  };
}

}  // namespace

Result<JobEnd> Job::bring_streams(const OneFileContainer& one, const Source& source,
                                  WorkFolder& work, Gate& gate, const Report& report) {
  // What is here was perhaps to become something else, and may take all the space.
  const auto untouched = [](const Entry& entry) { return entry.made == 0; };
  if (std::ranges::all_of(entries_, untouched)) BENTO_TRY(work.discard());
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    entries_[index].size = source.size(index);
    entries_[index].written = 0;
  }
  entries_.front().root = source.state_text();
  BENTO_ASSIGN(const bool wanted, report(entries_));
  if (!wanted) return JobEnd::kGone;
  const std::string name = names().front();
  BENTO_ASSIGN(const Descriptor target, work.open_copy(name));
  BENTO_ASSIGN(const JobEnd copied, copy_streams(one, source, target.get(), work, gate, report));
  if (copied != JobEnd::kDone) return copied;
  const std::string at = work.open_path(name);
  BENTO_ASSIGN(const auto file, open_posix_file(at, OpenMode::kReadWrite));
  if (auto finished = one.finish(*file, name); !finished)
    return fail(readable(std::move(finished).error(), at, work.copy_path(name)));
  BENTO_TRY(file->close());
  BENTO_TRY(work.set_permissions(target.get(), name, name, source.mode(0)));
  BENTO_TRY(make_view(work, is_shared() ? share_of_copy(entries_.front().source).view
                                        : ViewWish{one.has_view(), 0, 0}));
  // Only what is named arrives: a part that the view was put into would be lost.
  if (work.has_copy(physical_name(name, 1)))
    return fail(Code::kUnsupported,
                fmt::format("'{}' is too large for one file with its native view", name));
  return JobEnd::kDone;
}

// What is there is believed as far as it is the same. The catalogue may have been written to since
// it was copied, so it comes anew.
Result<JobEnd> Job::copy_streams(const OneFileContainer& one, const Source& source, int target,
                                 WorkFolder& work, Gate& gate, const Report& report) {
  const std::string shown = work.copy_path(names().front());
  std::uint64_t before = 0;
  bool gone = false;
  Status changed;
  const auto durable = [&](std::uint64_t bytes) -> Result<bool> {
    for (Entry& entry : entries_) entry.problem.clear();
    share_out(entries_, before + bytes, one.stream_bytes() + one.catalogue_bytes());
    BENTO_ASSIGN(const bool wanted, report(entries_));
    gone = !wanted;
    changed = source.unchanged();
    return wanted && changed.has_value();
  };
  SparseCopy streams(
      parts_of(source, entries_, [parts = one.streams()]() mutable { return parts.next(); }),
      one.stream_bytes(), target, shown, one.length());
  BENTO_ASSIGN(const bool compared,
               streams.resume(std::numeric_limits<std::uint64_t>::max(), gate));
  if (!compared) return JobEnd::kStopped;
  BENTO_ASSIGN(bool whole, streams.copy(gate, durable));
  if (whole) {
    before = one.stream_bytes();
    const auto next = [parts = one.catalogue(),
                       index = std::size_t{0}]() mutable -> std::optional<StreamPart> {
      if (index == parts.size()) return std::nullopt;
      return parts[index++];
    };
    SparseCopy catalogue(parts_of(source, entries_, next), one.catalogue_bytes(), target, shown,
                         one.length());
    BENTO_ASSIGN(whole, catalogue.copy(gate, durable));
  }
  if (gone) return JobEnd::kGone;
  if (!changed) {
    BENTO_TRY(begin_anew(work, source, report));
    return fail(std::move(changed).error());
  }
  return whole ? JobEnd::kDone : JobEnd::kStopped;
}

}  // namespace bento::transfer
