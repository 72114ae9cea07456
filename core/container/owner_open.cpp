// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What rank 0 reads and checks of a container that exists, before the others hear of it.
#include <utility>

#include <fmt/format.h>

#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/container/container.hpp"
#include "core/io/host.hpp"
#include "core/layout/holder.hpp"
#include "core/layout/identity.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

bool Container::root_moved() {
  auto first = options_.opener(path_, OpenMode::kRead);
  if (!first) return false;
  const auto seen = probe(**first);
  return seen && seen->kind == FileKind::kContainer && seen->root.sequence != root_.sequence;
}

Result<Bytes> Container::owner_open() {
  files_.clear();
  BENTO_ASSIGN(auto first, owner_open_first());
  names_ = ContainerNames::of(*first);
  BENTO_ASSIGN(const Probe seen, probe(*first));
  if (seen.kind != FileKind::kContainer)
    return fail(Code::kCorrupt,
                fmt::format("'{}' holds no valid h5bento root: {}", path_, seen.problem));
  root_ = seen.root;
  if ((root_.flags & kRootProvisional) != 0)
    return fail(Code::kNotFound,
                fmt::format("'{}' holds no committed data: its writer was ended before its first "
                            "H5Fflush or H5Fclose, or has not come to it yet",
                            path_));
  BENTO_ASSIGN(plan_, ContainerPlan::of(root_.groups, root_.fs_block));
  BENTO_ASSIGN(identity_, file_identity(*first));
  rule_ = PartRule(path_, root_);
  BENTO_TRY(rule_.check_first(*first, plan_.file(0)));
  files_.resize(plan_.files());
  files_[0] = std::move(first);
  for (std::uint32_t index = 0; index < plan_.files(); ++index) {
    BENTO_ASSIGN(File* const handle, file(index));
    BENTO_TRY(check_meta1(*handle, plan_, index, (root_.flags & kRootClosed) != 0));
  }
  // Whoever did not come to its close did not mark its dead records either; its note is still there
  // if it wrote anything.
  const bool left_behind =
      (root_.flags & kRootClosed) == 0 || !read_holder_note(*files_[0]).empty();
  if (left_behind) touched_.assume_all();
  reuse_dead_ = !left_behind && root_.oldest == root_.step;
  space_ = CatalogueSpace(root_.catalogue_end);
  if (step_ && writable_)
    return fail(Code::kInvalidArgument,
                fmt::format("'{}': step= opens a file for reading; only the newest step can be "
                            "written on",
                            path_));

  Catalogue catalogue(*files_[0], plan_.file(0));
  auto opened = CommittedIndex::open(*files_[0], plan_.file(0), root_.index, step_);
  if (!opened) return fail(std::move(opened).error().with_context(fmt::format("'{}'", path_)));
  if (opened->empty())
    return fail(Code::kCorrupt, fmt::format("'{}': the root names no step index", path_));
  StepPayload stored{root_.skeleton, root_.skeleton_bytes};
  if (step_) {
    BENTO_ASSIGN(const StepInfo info, opened->steps().step(*step_));
    BENTO_ASSIGN(stored, decode_payload(info.payload));
  }
  BENTO_ASSIGN(PagedImage image,
               catalogue.load(stored.skeleton, stored.skeleton_bytes, page_places_));
  BENTO_ASSIGN(const auto fill_bytes,
               read_stream_table(catalogue, root_.streams, plan_,
                                 [this](std::uint32_t index) { return files_[index]->size(); }));
  BENTO_ASSIGN(fills_, decode_fills(fill_bytes, plan_.writers(), plan_.largest_chunk()));
  Segment declared;
  BENTO_ASSIGN(declared.datasets, opened->steps().datasets());
  const auto declarations = encode_entries(declared);

  BENTO_ASSIGN(view_edited_, owner_view_edited(*files_[0]));
  if (view_edited_ && writable_ && !options_.drop_edited_view)
    return fail(Code::kPermission,
                fmt::format("'{}' was changed by another program through its native HDF5 view: "
                            "h5bento does not write to it before that change is taken over or "
                            "dropped (it can be opened for reading; errno = {})",
                            path_, EACCES),
                EACCES);

  // Nothing is touched before everything was asked that may refuse the open.
  if (writable_) BENTO_TRY(check_align(plan_.file(0).chunk_bytes));
  if (writable_) BENTO_TRY(catalogue.check_end(root_.catalogue_end));
  const ContainerPlan stored_plan = plan_;
  BENTO_TRY(add_writers());
  const ContainerPlan grown = std::exchange(plan_, stored_plan);
  for (std::uint32_t index = 0; writable_ && index < plan_.files(); ++index) {
    CatalogueSpace unused;
    BENTO_ASSIGN(const bool kept,
                 guard_sion(*files_[index], plan_, index, index == 0 ? space_ : unused));
    if (!kept) root_.flags &= ~static_cast<std::uint32_t>(kRootClosed);
  }
  if (writable_) {
    BENTO_TRY(write_holder_note(*files_[0], plan_.file(0)));
    BENTO_TRY(owner_begin_session());
    // Space of steps before this one will be written anew: no slot may lead back to them.
    if (!seen.mirrored) {
      BENTO_TRY(make_durable(*files_[0]));
      BENTO_TRY(
          files_[0]->write_at(plan_.file(0).root_address(1 - seen.slot), encode_root(seen.root)));
      BENTO_TRY(make_durable(*files_[0]));
    }
    placed_ = root_;
    last_sequence_ = root_.sequence;
  }

  // No root knows added files before the next commit, and nfiles in META1 says so only when the
  // SION view is complete again.
  plan_ = grown;
  BENTO_TRY(owner_add_files(plan_, root_.files()));

  ByteWriter out;
  out.u64(identity_.first);
  out.u64(identity_.second);
  names_.encode(out);
  out.bytes(session_);
  out.u8(view_edited_ ? 1 : 0);
  out.u8(reuse_dead_ ? 1 : 0);
  out.bytes(encode_root(root_));
  out.u64(fill_bytes.size());
  out.bytes(fill_bytes);
  out.u64(image.size());
  out.bytes(image.bytes());
  out.bytes(declarations);
  return std::move(out).take();
}

// The file that is locked must still be the one that the name means: others may replace it.
Result<std::unique_ptr<File>> Container::owner_open_first() {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    lock_.reset();
    auto first = options_.opener(path_, writable_ ? OpenMode::kReadWrite : OpenMode::kRead);
    if (!first || !writable_) return first;
    BENTO_TRY(owner_lock(**first));
    if (leads_to(path_, **first)) return first;
  }
  return fail(Code::kBusy, fmt::format("'{}' is replaced by others again and again", path_));
}

// Says in every physical file that this session writes it: in file 0 first, so that a file that
// says so is known at any moment. What a session before left behind that never came to a root says
// what the root says again, before file 0 forgets that session.
Status Container::owner_begin_session() {
  const auto address = [&](std::uint32_t index) { return plan_.file(index).superblock_address(); };
  for (std::uint32_t index = 1; index < plan_.files(); ++index) {
    BENTO_ASSIGN(auto said, read_identity(*files_[index], address(index)));
    if (!said || said->session == root_.session) continue;
    said->session = root_.session;
    BENTO_TRY(write_identity(*files_[index], address(index), std::move(*said)));
    BENTO_TRY(make_durable(*files_[index]));
  }
  session_ = random_id();
  BENTO_ASSIGN(const auto before, read_identity(*files_[0], address(0)));
  Identity identity{root_.file_id, 0, session_, {root_.session}, 0, names_.base()};
  for (const auto& older : before ? before->before : std::vector<SessionId>{})
    if (older != root_.session && identity.before.size() < kSessionsBefore)
      identity.before.push_back(older);
  for (std::uint32_t index = 0; index < plan_.files(); ++index) {
    identity.part = index;
    BENTO_TRY(write_identity(*files_[index], address(index), identity));
    // The other ranks look for it as soon as they hear of it.
    const bool late = comm_->size() > 1 && shows_writes_late(*files_[index]);
    BENTO_TRY(late ? files_[index]->sync() : make_durable(*files_[index]));
  }
  return {};
}

}  // namespace bento
