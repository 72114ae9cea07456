// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The last part of a close: META2 and native view, built beside what is there, then switched on.
/// Source: docs/format.md, "Order of writes in a commit".
#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include <fmt/format.h>

#include "core/catalogue/sion_view.hpp"
#include "core/container/owner.hpp"
#include "core/container/published_view.hpp"
#include "core/stream/stream_gate.hpp"

namespace bento {

namespace {

// The builder calls into a library and may run out of memory; the other ranks wait for the verdict.
template <class Build>
Result<NativeView> without_exceptions(Build&& build) {
  try {
    return build();
  } catch (const std::exception& error) {
    return fail(Code::kInternal, error.what());
  }
}

// A full disk or a failing one must fail the close; a view that cannot be made leaves a good file.
bool is_io_error(const Error& error) {
  return error.code == Code::kIo || error.os_errno == ENOSPC || error.os_errno == EDQUOT;
}

}  // namespace

// The switch comes last, after a root that knows the superblock before and after it, so that at
// every moment stock HDF5 sees the old view or the new one, and a later open can tell both from a
// file that somebody else has changed.
Status Owner::complete(const ViewBuilder& view, Root& next) {
  closing_ = true;
  BENTO_TRY(check_names());
  std::vector<CatalogueSpace> others(state_.plan.files());
  std::vector<CatalogueSpace*> spaces{&space_.space()};
  for (std::uint32_t index = 1; index < state_.plan.files(); ++index) {
    BENTO_ASSIGN(File* const handle, files_.file(index));
    BENTO_ASSIGN(const Position end, catalogue_end_of(*handle, state_.plan, index));
    others[index] = CatalogueSpace(end);
    spaces.push_back(&others[index]);
  }

  // What stock HDF5 sees stays until the switch: the last close may not have come to its own.
  BENTO_ASSIGN(File* const first, files_.file(0));
  BENTO_ASSIGN(const Superblock before, read_superblock(*first, state_.plan.file(0)));
  const Hash128 hash_before = hash128(before);
  begin_view(next, hash_before);
  BENTO_ASSIGN(NativeView built, view_or_note(view, next, spaces));

  // Of several files, file 0 is no SION container while the others change.
  if (state_.plan.files() > 1) {
    BENTO_TRY(suspend_sion(*first, state_.plan, 0));
    BENTO_TRY(files_.make_durable(*first));
  }
  for (std::uint32_t index = state_.plan.files(); index-- > 0;) {
    BENTO_ASSIGN(File* const handle, files_.file(index));
    const FilePlan& part = state_.plan.file(index);
    const auto writers =
        std::span<const ChunkFill>(state_.fills).subspan(part.first_writer, part.writers);
    BENTO_TRY(make_whole_length(*handle, part, writers));
    BENTO_TRY(complete_sion(*handle, state_.plan, index, writers, *spaces[index],
                            [&] { return files_.make_durable(*handle); }));
    BENTO_TRY(files_.make_durable(*handle));
    // A stock program that opens the file for writing cuts it off at the superblock's end of file.
    if (auto& superblock = built.superblocks[index]) {
      BENTO_TRY(end_behind_records(*handle, part, writers));
      BENTO_ASSIGN(const std::uint64_t bytes, handle->size());
      BENTO_TRY(set_end_of_file(*superblock, bytes));
    }
  }

  const Superblock after = built.superblocks[0].value_or(Superblock{});
  next.catalogue_end = space_.space().end();
  next.superblock_before = hash_before;
  next.superblock = hash128(after);
  next.flags |= kRootClosed;
  next.closed = next.step + 1;
  if (any_live_views())
    next.flags |= kRootLiveViews;
  else
    next.flags &= ~static_cast<std::uint32_t>(kRootLiveViews);
  BENTO_TRY(slots_.write(*first, next));

  return show_view(built, before, after);
}

namespace {

/// Where the last record of these writers ends in their physical file; 0 if there is none.
std::uint64_t end_of_records(const FilePlan& part, std::span<const ChunkFill> writers) {
  std::uint64_t end = 0;
  for (std::uint32_t task = 0; task < writers.size(); ++task)
    if (const ChunkFill& fill = writers[task]; !fill.empty())
      end = std::max(end, part.address(task, (fill.size() - 1) * part.chunk_bytes) + fill.back());
  return end;
}

}  // namespace

// On the owner's node a file that is spread over nodes ends where that node's ranks have written.
Status Owner::make_whole_length(File& handle, const FilePlan& part,
                                std::span<const ChunkFill> writers) {
  if (!state_.options.spread) return {};
  const std::uint64_t end = end_of_records(part, writers);
  BENTO_ASSIGN(const std::uint64_t bytes, handle.size());
  return bytes < end ? handle.truncate(end) : Status{};
}

// HDF5 takes what is freed at the end of a file off it, and puts there what comes next: a record
// whose dataset a stock program deletes would be gone.
Status Owner::end_behind_records(File& handle, const FilePlan& part,
                                 std::span<const ChunkFill> writers) {
  BENTO_ASSIGN(const std::uint64_t bytes, handle.size());
  if (end_of_records(part, writers) != bytes) return {};
  return handle.write_at(bytes, std::array{std::byte{0}});
}

// A view that cannot be made is a note: the container is whole without it. Only a failing file is
// an error.
Result<NativeView> Owner::view_or_note(const ViewBuilder& view, Root& next,
                                       std::vector<CatalogueSpace*>& spaces) {
  NativeView built;
  if (view) {
    auto made = guarded_view(view, next, spaces);
    if (made) {
      built = std::move(*made);
    } else if (is_io_error(made.error()) || state_.options.view_required) {
      return fail(std::move(made).error());
    } else {
      notes_.push_back(
          fmt::format("no native view, only h5bento can read this file: {}", made.error().text));
      next.view = {};
    }
  }
  built.superblocks.resize(state_.plan.files());
  for (auto& note : built.notes) note_once(std::move(note));
  return built;
}

Result<NativeView> Owner::guarded_view(const ViewBuilder& view, Root& next,
                                       std::vector<CatalogueSpace*>& spaces) {
  return without_exceptions([&] { return build_view(view, next, spaces); });
}

// The superblock of file 0 comes last: it is what leads stock HDF5 to the new view.
Status Owner::show_view(const NativeView& built, const Superblock& before,
                        const Superblock& after) {
  for (std::uint32_t index = state_.plan.files(); index-- > 1;) {
    if (!built.superblocks[index]) continue;
    BENTO_ASSIGN(File* const handle, files_.file(index));
    BENTO_TRY(
        handle->write_at(state_.plan.file(index).superblock_address(), *built.superblocks[index]));
    BENTO_TRY(files_.make_durable(*handle));
  }
  if (after == before) return {};
  BENTO_ASSIGN(File* const first, files_.file(0));
  BENTO_TRY(files_.make_durable(*first));
  BENTO_TRY(first->write_at(state_.plan.file(0).superblock_address(), after));
  return files_.make_durable(*first);
}

// What was written to a physical file that was replaced meanwhile is lost with its name. A
// container that was moved or removed as a whole is nobody's mistake.
Status Owner::check_names() {
  BENTO_ASSIGN(File* const first, files_.file(0));
  if (!leads_to(state_.names.first(), *first)) return {};
  for (std::uint32_t index = 1; index < state_.plan.files(); ++index) {
    BENTO_ASSIGN(File* const handle, files_.file(index));
    if (!leads_to(handle->path(), *handle))
      return fail(Code::kCorrupt,
                  fmt::format("'{}', physical file {} of the container '{}', was removed or "
                              "replaced while it was written: what lies in it is lost",
                              handle->path(), index, state_.path));
  }
  return {};
}

Result<NativeView> Owner::build_view(const ViewBuilder& view, Root& next,
                                     std::vector<CatalogueSpace*>& spaces) {
  std::uint64_t data_bytes = 0;
  for (const auto& fill : state_.fills) data_bytes += stream_bytes(fill);
  BENTO_ASSIGN(File* const first, files_.file(0));
  // All ranks wait for the view, so what is committed does not change meanwhile.
  ReadAhead ahead;
  const RecordReader::ReadingOn reading_on(reader_);
  BENTO_ASSIGN(CommittedIndex newest,
               CommittedIndex::open(*first, state_.plan.file(0), next.index, std::nullopt, &ahead));
  newest.set_room([this] { return files_.room(); });
  const auto declared = state_.datasets();
  ViewJob job{state_.names.first(),
              next.sequence,
              state_.session,
              state_.skeleton,
              newest,
              declared,
              state_.plan,
              reader_,
              data_bytes,
              {},
              closing_};
  for (std::uint32_t index = 0; index < state_.plan.files(); ++index) {
    BENTO_ASSIGN(File* const handle, files_.file(index));
    const FilePlan& part = state_.plan.file(index);
    job.spaces.emplace_back(
        *handle, part, *spaces[index],
        std::span<const ChunkFill>(state_.fills).subspan(part.first_writer, part.writers));
  }
  BENTO_ASSIGN(NativeView built, view(job));
  // Streams of other ranks go on where they are, and know nothing of blocks that are taken.
  if (!closing_)
    for (const auto& space : job.spaces)
      if (space.chunks_to_skip() > 0)
        return fail(Code::kUnsupported, "a piece of it fits no chunk before the close");
  for (auto& space : job.spaces) BENTO_TRY(space.finish());
  ViewTable table;
  table.ranges = job.spaces[0].ranges();
  table.blocks = job.spaces[0].blocks();
  table.step = next.step;
  pass_views_on(table);
  BENTO_ASSIGN(table.hash, hash_of_view(*first, state_.plan.file(0), table));
  Catalogue catalogue(*first, state_.plan.file(0));
  const auto encoded = encode_view_table(table);
  if (encoded.size() > kMaxBlobBytes)
    return fail(
        Code::kUnsupported,
        fmt::format("its metadata lies in too many places: their table has {} bytes, at most "
                    "{} can be read back",
                    encoded.size(), kMaxBlobBytes));
  BENTO_ASSIGN(next.view, catalogue.append(space_.space(), encoded));
  shown_ranges_ = table.in_use(state_.plan.file(0).chunk_bytes);
  shown_ranges_.push_back({next.view.position, next.view.position + next.view.bytes});
  BENTO_TRY(skip_view(job.spaces, next));
  return built;
}

// Streams go on behind the blocks that the view has for itself. A stream that was never begun would
// begin in block 0 and come to them, so it is begun now.
Status Owner::skip_view(std::span<const ViewSpace> spaces, Root& next) {
  std::vector<ChunkFill> fills = state_.fills;
  bool changed = false;
  for (std::uint32_t index = 0; index < state_.plan.files(); ++index) {
    const std::uint64_t chunks = spaces[index].chunks_to_skip();
    if (chunks == 0) continue;
    const FilePlan& part = state_.plan.file(index);
    for (std::uint32_t local = 0; local < part.writers; ++local) {
      ChunkFill& fill = fills[part.first_writer + local];
      if (stream_bytes(fill) == 0) {
        const StreamPlace place{&spaces[index].file(), part, local, part.first_writer + local,
                                next.stream_rules()};
        fill.assign(1, place.rules.head_bytes());
        if (place.rules.for_fti) BENTO_TRY(write_gate(place, {}));
        BENTO_TRY(write_file_block(place, fill, fti::HashKind::kNone, {}, state_.clock.now_ns()));
      }
      if (fill.size() >= chunks) continue;
      fill.resize(static_cast<std::size_t>(chunks), 0);
      changed = true;
    }
  }
  if (!changed) return {};
  BENTO_ASSIGN(File* const first, files_.file(0));
  Catalogue catalogue(*first, state_.plan.file(0));
  BENTO_ASSIGN(next.streams, catalogue.append(space_.space(), encode_fills(fills)));
  state_.fills = std::move(fills);
  return {};
}

}  // namespace bento
