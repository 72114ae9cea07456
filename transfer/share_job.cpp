// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/share_job.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/layout/plan.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/overlay_copy.hpp"
#include "transfer/source.hpp"
#include "transfer/spill.hpp"

namespace bento::transfer {
namespace {

constexpr std::size_t kSpilledPiece = std::size_t{1} << 20;

/// A note that another node has written may be seen this much later, on network file systems.
constexpr std::chrono::seconds kSeenLate(120);

enum class Fate {
  kWanted,
  kUnknown,  ///< there is no note, which may only be late
  kArrived,
  kOutdated,  ///< something else has the name, or will get it
};

bool is_old(const Entry& entry) {
  // Tickets are microseconds since 1970.
  const std::chrono::microseconds submitted(std::strtoll(entry.ticket.c_str(), nullptr, 10));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now > submitted + kSeenLate;
}

Result<Fate> fate_by_note(const Entry& entry) {
  BENTO_ASSIGN(const auto note, read_note(entry.container));
  if (note) return note->id == id_of_copy(entry.source) ? Fate::kWanted : Fate::kOutdated;
  return is_old(entry) ? Fate::kOutdated : Fate::kUnknown;
}

Result<Fate> fate_of(const Entry& entry, int folder) {
  if (PartsFolder::has_arrived(folder, entry.container, id_of_copy(entry.source)))
    return Fate::kArrived;
  const auto there = look_at_container(entry.container);
  if (there && *there && text_of((*there)->file_id) == entry.root) return Fate::kArrived;
  return fate_by_note(entry);
}

/// It has arrived, or will not: the copy goes, unless it is to be kept.
Status settle_share(const Entry& entry, Fate fate) {
  BENTO_ASSIGN(auto folder, CacheFolder::of_copy(entry.source));
  if (!folder) return {};
  const bool keep = fate == Fate::kArrived && (!entry.evict || entry.keep > 0);
  if (!keep) {
    BENTO_TRY(folder->remove(number_of_copy(entry.source)));
  } else {
    BENTO_TRY(CacheFolder::set_arrived(entry.source));
    if (entry.evict) BENTO_TRY(keep_arrived(*folder, entry.keep));
  }
  folder->remove_if_empty();
  return {};
}

/// Something else has the name, or will get it.
Status drop_share(const Entry& entry, int folder) {
  PartsFolder::remove(folder, entry.container, id_of_copy(entry.source));
  return settle_share(entry, Fate::kOutdated);
}

/// What a full cache did not take goes over what of it was brought before, in whole blocks, zeros
/// too: a block in which this node has written is no other node's. False if the gate says stop.
Result<bool> bring_spilled(const Entry& entry, const NamedFile& target, Gate& gate) {
  BENTO_ASSIGN(const SpilledRanges ranges, spilled_ranges(entry.source, entry.container));
  if (ranges.empty()) return true;
  const auto opener = spilling_opener(entry.source, entry.container, open_posix_file, false);
  BENTO_ASSIGN(const auto whole, opener(entry.source, OpenMode::kRead));
  const auto buffer = std::make_unique<std::byte[]>(kSpilledPiece);
  std::uint64_t brought = 0;
  for (const auto& [begin, end] : ranges) {
    const std::uint64_t last =
        std::min(entry.size, (end + kOverlayBlock - 1) / kOverlayBlock * kOverlayBlock);
    for (brought = std::max(brought, begin / kOverlayBlock * kOverlayBlock); brought < last;) {
      BENTO_ASSIGN(const bool go_on, gate.pass());
      if (!go_on) return false;
      const std::span<std::byte> piece(
          buffer.get(), std::min<std::uint64_t>(
                            {kSpilledPiece, std::max<std::uint64_t>(gate.piece(), kOverlayBlock),
                             last - brought}));
      BENTO_TRY(whole->read_at(brought, piece));
      BENTO_TRY(write_whole(target.fd, brought, piece, target.name));
      brought += piece.size();
      gate.copied(piece.size());
    }
  }
  BENTO_TRY(sync(target.fd, target.name));
  return true;
}

/// How long a physical file is, with what the cache did not take.
Result<std::uint64_t> size_of(const Entry& entry) {
  const auto opener = spilling_opener(entry.source, entry.container, open_posix_file, false);
  BENTO_ASSIGN(const auto whole, opener(entry.source, OpenMode::kRead));
  return whole->size();
}

}  // namespace

Result<bool> drop_if_outdated(const Entry& entry, int folder) {
  BENTO_ASSIGN(const Fate fate, fate_by_note(entry));
  if (fate != Fate::kOutdated) return false;
  BENTO_TRY(drop_share(entry, folder));
  return true;
}

Result<JobEnd> wait_saying(std::vector<Entry>& entries, const std::string& problem,
                           const Job::Report& report) {
  if (entries.front().problem == problem) return JobEnd::kWaits;
  for (auto& entry : entries) entry.problem = problem;
  BENTO_ASSIGN(const bool there, report(entries));
  return there ? JobEnd::kWaits : JobEnd::kGone;
}

Result<JobEnd> bring_share(std::vector<Entry>& entries, PartsFolder& parts, Gate& gate,
                           const Job::Report& report) {
  PartsFolder::Lengths lengths;
  std::vector<std::pair<std::string, Descriptor>> brought;
  for (auto& entry : entries) {
    BENTO_ASSIGN(const Descriptor source,
                 open_at(AT_FDCWD, entry.source, O_RDONLY | O_NOFOLLOW, 0, entry.source));
    struct stat about{};
    if (::fstat(source.get(), &about) != 0) return fail(os_error(errno, "fstat of", entry.source));
    BENTO_ASSIGN(entry.size, size_of(entry));
    lengths[entry.part] = entry.size;
    const std::string name = base_of(physical_name(entry.container, entry.part));
    BENTO_ASSIGN(Descriptor target, parts.open_part(name));
    bool gone = false;
    const auto durable = [&](std::uint64_t bytes) -> Result<bool> {
      // All of it is reported only when it has its name: SCR takes that for complete.
      entry.written = entry.size > 0 ? std::min(bytes, entry.size - 1) : 0;
      entry.problem.clear();
      BENTO_ASSIGN(const bool wanted, report(entries));
      gone = !wanted;
      return wanted;
    };
    const NamedFile here{target.get(), parts.part_path(name)};
    BENTO_ASSIGN(const bool whole, overlay_copy({source.get(), entry.source}, here,
                                                static_cast<std::uint64_t>(about.st_size),
                                                entry.written, gate, durable));
    if (gone) return JobEnd::kGone;
    if (!whole) return JobEnd::kStopped;
    BENTO_ASSIGN(const bool all, bring_spilled(entry, here, gate));
    if (!all) return JobEnd::kStopped;
    brought.emplace_back(name, std::move(target));
  }
  for (const auto& [name, file] : brought)
    if (!parts.is_part(name, file.get()))
      return fail(Code::kBusy,
                  fmt::format("'{}' was removed while it was written: the shares are brought once "
                              "more",
                              parts.part_path(name)),
                  EBUSY);
  BENTO_TRY(parts.set_complete(entries.front().share, lengths));
  return JobEnd::kDone;
}

Result<JobEnd> run_share_job(std::vector<Entry>& entries, const AllowedFolders& allowed, Gate& gate,
                             const Job::Report& report) {
  const Entry& first = entries.front();
  const std::string final_name = first.container;
  const std::string id = id_of_copy(first.source);
  BENTO_ASSIGN(const Descriptor folder, allowed.open(folder_of(final_name)));
  BENTO_ASSIGN(const Fate fate, fate_of(first, folder.get()));
  if (fate == Fate::kOutdated) {
    BENTO_TRY(drop_share(first, folder.get()));
    return JobEnd::kOutdated;
  }
  if (fate == Fate::kArrived) {
    BENTO_TRY(settle_share(first, fate));
    PartsFolder::leave(folder.get(), final_name, id, {first.share, first.shares, {}});
    for (auto& entry : entries) {
      entry.written = entry.size;
      entry.named = true;
      entry.problem.clear();
    }
    BENTO_ASSIGN(const bool there, report(entries));
    return there ? JobEnd::kDone : JobEnd::kGone;
  }
  if (fate == Fate::kUnknown) return JobEnd::kWaits;
  if (id.empty()) return fail(os_error(ENOENT, "looking for the share", first.source));
  BENTO_ASSIGN(PartsFolder parts, PartsFolder::make(folder.get(), final_name, id));
  if (!parts.complete(first.share)) {
    const auto end = bring_share(entries, parts, gate, report);
    // The file was created anew meanwhile, or the shares have to be brought once more.
    if (!end && !PartsFolder::exists(folder.get(), final_name, id)) return JobEnd::kWaits;
    BENTO_TRY(end);
    if (*end != JobEnd::kDone) return *end;
  }
  return wait_saying(
      entries,
      fmt::format("'{}': share {} of {} is there; it waits for the others, and for the daemon of "
                  "the node of rank 0, which gives the container its name",
                  final_name, first.share, first.shares),
      report);
}

}  // namespace bento::transfer
