// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What rank 0 reads and checks of a container that exists, before the others hear of it.
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/container/fill_runs.hpp"
#include "core/container/owner.hpp"
#include "core/container/published_view.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/host.hpp"
#include "core/layout/holder.hpp"
#include "core/layout/identity.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

namespace {
constexpr int kOpenAgain = 20;

/// What a rank that is going to write has to know of the streams.
void put_streams(ByteWriter& out, const ContainerState& state) {
  const Bytes fills = encode_fill_runs(state.fills);
  out.u64(fills.size());
  out.bytes(fills);
  put_groups(out, state.plan.groups().subspan(state.root.groups.size()));
}

}  // namespace

Result<Bytes> Owner::open() {
  auto opened = open_once();
  if (state_.writable) return opened;
  // A writer may have gone on, and written over what the root of a moment ago refers to.
  for (int again = 0; !opened && again < kOpenAgain && root_moved(); ++again) opened = open_once();
  if (!opened && opened.error().code == Code::kCorrupt && root_moved())
    return fail(Code::kBusy, fmt::format("'{}': its writer commits faster than it can be opened; "
                                         "open it again ({})",
                                         state_.path, opened.error().text));
  return opened;
}

bool Owner::root_moved() {
  auto first = state_.options.opener(state_.path, OpenMode::kRead);
  if (!first) return false;
  const auto seen = probe(**first);
  return seen && seen->kind == FileKind::kContainer && seen->root.sequence != state_.root.sequence;
}

// The physical files are open after this, and hold what the root says of them.
Result<Probe> Owner::find_root() {
  files_.drop();
  BENTO_ASSIGN(auto first, open_first());
  state_.names = ContainerNames::of(*first);
  BENTO_ASSIGN(Probe seen, probe(*first));
  // (A lock in the way of a writer was told before.)
  if (seen.kind != FileKind::kContainer && !state_.writable && is_locked(*first))
    return fail(Code::kBusy,
                fmt::format("'{}' is being created anew by another process; open it again "
                            "(errno = {})",
                            state_.path, EWOULDBLOCK),
                EWOULDBLOCK);
  if (seen.kind != FileKind::kContainer)
    return fail(Code::kCorrupt,
                fmt::format("'{}' holds no valid h5bento root: {}", state_.path,
                            seen.problem.empty() ? "it is no container" : seen.problem));
  state_.root = seen.root;
  BENTO_TRY(refuse_joined(state_.path, state_.root));
  if ((state_.root.flags & kRootProvisional) != 0)
    return fail(Code::kNotFound,
                fmt::format("'{}' holds no committed data: its writer was ended before its first "
                            "H5Fflush or H5Fclose, or has not come to it yet",
                            state_.path));
  BENTO_ASSIGN(state_.plan, ContainerPlan::of(state_.root.groups, state_.root.fs_block));
  BENTO_ASSIGN(state_.identity, file_identity(*first));
  BENTO_TRY(files_.adopt_first(std::move(first)));
  for (std::uint32_t index = 0; index < state_.plan.files(); ++index) {
    BENTO_ASSIGN(File* const handle, files_.file(index));
    BENTO_TRY(check_meta1(*handle, state_.plan, index, (state_.root.flags & kRootClosed) != 0));
  }
  return seen;
}

void Owner::put_dead_space(ByteWriter& out, bool left_behind) const {
  const DeadSpace dead = dead_space(left_behind);
  out.u8(left_behind ? 1 : 0);
  out.u8(dead.undated ? 1 : 0);
  out.u64(dead.not_before);
  out.u64(dead.settled);
  out.u64(dead.newest);
  out.u64(dead.oldest);
}

Result<Bytes> Owner::open_once() {
  BENTO_ASSIGN(const Probe seen, find_root());
  File& first = *files_.opened(0);
  const FilePlan plan = state_.plan.file(0);
  // Whoever did not come to its close did not mark its dead records either; its note is still there
  // if it wrote anything.
  const bool left_behind =
      (state_.root.flags & kRootClosed) == 0 || !read_holder_note(first).empty();
  if (left_behind) touched_.assume_all();
  space_ = SweptSpace(state_.root.catalogue_end);
  const auto& asked = state_.options.step;
  if (asked && state_.writable)
    return fail(Code::kInvalidArgument,
                fmt::format("'{}': step= opens a file for reading; only the newest step can be "
                            "written on",
                            state_.path));

  Catalogue catalogue(first, plan);
  auto opened = CommittedIndex::open(first, plan, state_.root.index, asked);
  if (!opened)
    return fail(std::move(opened).error().with_context(fmt::format("'{}'", state_.path)));
  if (opened->empty())
    return fail(Code::kCorrupt, fmt::format("'{}': the root names no step index", state_.path));
  StepPayload stored{state_.root.skeleton, state_.root.skeleton_bytes};
  if (asked) {
    BENTO_ASSIGN(const StepInfo info, opened->steps().step(*asked));
    BENTO_ASSIGN(stored, decode_payload(info.payload));
  }
  BENTO_ASSIGN(PagedImage image,
               catalogue.load(stored.skeleton, stored.skeleton_bytes, page_places_));
  BENTO_ASSIGN(const auto fill_bytes, read_stream_table(catalogue, state_.root.streams, state_.plan,
                                                        [this](std::uint32_t index) {
                                                          return files_.opened(index)->size();
                                                        }));
  BENTO_ASSIGN(state_.fills,
               decode_fills(fill_bytes, state_.plan.writers(), state_.plan.largest_chunk()));
  Segment declared;
  BENTO_ASSIGN(declared.datasets, opened->steps().datasets());
  const auto declarations = encode_entries(declared);

  BENTO_ASSIGN(const bool edited, edited_view());
  if (state_.writable) {
    BENTO_TRY(recall_views(first, edited));
    BENTO_TRY(begin_writing(seen));
  }

  ByteWriter out;
  out.u64(state_.identity.first);
  out.u64(state_.identity.second);
  state_.names.encode(out);
  out.bytes(state_.session);
  out.u8(edited ? 1 : 0);
  put_dead_space(out, left_behind);
  out.bytes(encode_root(state_.root));
  if (state_.writable) put_streams(out, state_);
  out.u64(image.size());
  out.bytes(image.bytes());
  out.bytes(declarations);
  return std::move(out).take();
}

// Whether another program changed what it sees of the container; an error if this session was to
// write.
Result<bool> Owner::edited_view() {
  File& first = *files_.opened(0);
  BENTO_ASSIGN(bool edited, view_edited(first, state_.plan.file(0), state_.root, state_.writable));
  // The view may be that of a newer commit.
  if (edited && !state_.writable && root_moved()) edited = false;
  if (edited && state_.writable && !state_.options.drop_edited_view)
    return fail(Code::kPermission,
                fmt::format("'{}' was changed by another program through its native HDF5 view: "
                            "h5bento does not write to it before that change is taken over or "
                            "dropped (it can be opened for reading; errno = {})",
                            state_.path, EACCES),
                EACCES);
  return edited;
}

// Nothing is touched before everything was asked that may refuse the open.
Status Owner::begin_writing(const Probe& seen) {
  File& first = *files_.opened(0);
  BENTO_TRY(check_align(state_.plan.file(0).chunk_bytes));
  BENTO_TRY(Catalogue(first, state_.plan.file(0)).check_end(state_.root.catalogue_end));
  const ContainerPlan stored = state_.plan;
  BENTO_TRY(state_.add_writers());
  ContainerPlan grown = std::exchange(state_.plan, stored);
  for (std::uint32_t index = 0; index < state_.plan.files(); ++index) {
    CatalogueSpace unused;
    BENTO_ASSIGN(const bool kept, guard_sion(*files_.opened(index), state_.plan, index,
                                             index == 0 ? space_.space() : unused));
    if (!kept) state_.root.flags &= ~static_cast<std::uint32_t>(kRootClosed);
  }
  // A close that died before its root has come so far that SION readers see its step.
  BENTO_ASSIGN(const auto meta2, meta2_in_use(first, state_.plan, 0));
  if (meta2 && meta2->end > state_.root.catalogue_end && state_.root.closed != 0)
    state_.root.closed = state_.root.step + 1;
  BENTO_TRY(write_holder_note(first, state_.plan.file(0)));
  BENTO_TRY(begin_session());
  // Space of steps before this one will be written anew: no slot may lead back to them.
  if (!seen.mirrored) {
    BENTO_TRY(files_.make_durable(first));
    BENTO_TRY(
        first.write_at(state_.plan.file(0).root_address(1 - seen.slot), encode_root(seen.root)));
    BENTO_TRY(files_.make_durable(first));
  }
  slots_.hold(state_.root);

  // No root knows added files before the next commit, and nfiles in META1 says so only when the
  // SION view is complete again.
  state_.plan = std::move(grown);
  BENTO_TRY(begin_live_views());
  return add_files(state_.plan, state_.root.files());
}

// The file that is locked must still be the one that the name means: others may replace it.
Result<std::unique_ptr<File>> Owner::open_first() {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    files_.drop_lock();
    auto first = state_.options.opener(state_.path,
                                       state_.writable ? OpenMode::kReadWrite : OpenMode::kRead);
    if (!first || !state_.writable) return first;
    BENTO_TRY(files_.take_lock(**first));
    if (leads_to(state_.path, **first)) return first;
  }
  return fail(Code::kBusy, fmt::format("'{}' is replaced by others again and again", state_.path));
}

// Says in every physical file that this session writes it: in file 0 first, so that a file that
// says so is known at any moment. What a session before left behind that never came to a root says
// what the root says again, before file 0 forgets that session.
Status Owner::begin_session() {
  const auto address = [&](std::uint32_t index) {
    return state_.plan.file(index).superblock_address();
  };
  for (std::uint32_t index = 1; index < state_.plan.files(); ++index) {
    BENTO_ASSIGN(auto said, read_identity(*files_.opened(index), address(index)));
    if (!said || said->session == state_.root.session) continue;
    said->session = state_.root.session;
    BENTO_TRY(write_identity(*files_.opened(index), address(index), std::move(*said)));
    BENTO_TRY(files_.make_durable(*files_.opened(index)));
  }
  state_.session = random_id();
  BENTO_ASSIGN(const auto before, read_identity(*files_.opened(0), address(0)));
  Identity identity{state_.root.file_id,   0, state_.session,
                    {state_.root.session}, 0, state_.names.base()};
  for (const auto& older : before ? before->before : std::vector<SessionId>{})
    if (older != state_.root.session && identity.before.size() < kSessionsBefore)
      identity.before.push_back(older);
  for (std::uint32_t index = 0; index < state_.plan.files(); ++index) {
    identity.part = index;
    BENTO_TRY(write_identity(*files_.opened(index), address(index), identity));
    // The other ranks look for it as soon as they hear of it.
    const bool late = state_.ranks > 1 && shows_writes_late(*files_.opened(index));
    BENTO_TRY(late ? files_.opened(index)->sync() : files_.make_durable(*files_.opened(index)));
  }
  return {};
}

}  // namespace bento
