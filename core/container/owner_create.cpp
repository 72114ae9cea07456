// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a new container comes to be, and new physical files of one: nothing is emptied or removed
/// before it is known to be a file that may be.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/base/hex.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/container/owner.hpp"
#include "core/io/host.hpp"
#include "core/io/permissions.hpp"
#include "core/layout/holder.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/replace.hpp"
#include "core/sion/constants.hpp"

namespace bento {

Result<Bytes> Owner::create(bool exclusive) {
  bool made = false;
  BENTO_ASSIGN(auto first, claim(exclusive, made));
  state_.names = ContainerNames::of(*first);
  auto done = fill(std::move(first), made);
  // Nothing was written, and the name was not there before.
  if (!done && made && files_.none_opened()) (void)remove_file(state_.names.first());
  BENTO_TRY(std::move(done));
  ByteWriter out;
  out.u64(state_.identity.first);
  out.u64(state_.identity.second);
  state_.names.encode(out);
  out.bytes(encode_root(state_.root));
  return std::move(out).take();
}

// Physical file 0, locked, with what it held: somebody may still be writing an old file, and two
// programs may come to one name.
Result<std::unique_ptr<File>> Owner::claim(bool exclusive, bool& made) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    made = false;
    files_.drop_lock();
    auto first = exclusive ? Result<std::unique_ptr<File>>(fail(Code::kNotFound, {}))
                           : state_.options.opener(state_.path, OpenMode::kReadWrite);
    if (!first && first.error().code == Code::kNotFound) {
      // A link may lead to a file that is not there yet.
      const std::string name = exclusive ? state_.path : end_of_links(state_.path);
      first = state_.options.opener(name, OpenMode::kCreateExclusive);
      if (!first && first.error().code == Code::kExists && !exclusive) continue;
      made = first.has_value();
    }
    if (!first) return first;
    BENTO_TRY(files_.take_lock(**first));
    if (leads_to(state_.path, **first)) return first;
  }
  return fail(Code::kBusy,
              fmt::format("'{}' is made and removed by others again and again", state_.path));
}

// Everything that is in the way is looked at before anything is changed.
Status Owner::fill(std::unique_ptr<File> first, bool made) {
  const std::uint32_t fs_block = std::max(
      file_system_block(*first), static_cast<std::uint32_t>(state_.options.striping.bytes));
  BENTO_ASSIGN(state_.plan, ContainerPlan::make(state_.ranks, state_.options.files, fs_block));
  if (auto fits = state_.plan.check_chunk(state_.options.chunk_bytes); !fits)
    return fail(std::move(fits).error().with_context(fmt::format("'{}'", state_.path)));
  BENTO_TRY(check_align(state_.plan.choose_chunk(0, state_.options.chunk_bytes)));
  std::optional<FileId> replaced;
  std::vector<std::string> old_parts;
  if (!made) {
    BENTO_TRY(check_is_no_part(*first, state_.options.opener));
    if (const auto seen = probe(*first); seen && seen->kind == FileKind::kContainer) {
      replaced = seen->root.file_id;
      BENTO_ASSIGN(old_parts,
                   parts_to_remove(state_.names, seen->root, false, state_.options.opener));
    }
  }
  for (std::uint32_t index = 1; index < state_.plan.files(); ++index)
    BENTO_TRY(look_before_create(state_.names, index, replaced,
                                 state_.plan.file(index).superblock_address(),
                                 state_.options.opener));
  BENTO_ASSIGN(const bool others_read, files_.others_read());
  // A file that was cut to nothing, be it new, ext4 takes for one that replaces its old content: it
  // begins to write all of it to the disk at the close, which waits for that.
  BENTO_ASSIGN(const std::uint64_t before, first->size());
  if (others_read)
    BENTO_TRY(leave_to_readers(first, old_parts.size() + 1));
  else if (before != 0)
    BENTO_TRY(first->truncate(0));
  BENTO_ASSIGN(state_.identity, file_identity(*first));
  for (const auto& part : old_parts) (void)remove_file(part);

  state_.root.file_id = random_id();
  state_.session = random_id();
  files_.adopt(0, std::move(first));
  BENTO_TRY(begin_physical(*files_.opened(0), state_.plan, 0));
  for (std::uint32_t index = 1; index < state_.plan.files(); ++index) {
    BENTO_ASSIGN(auto created, create_physical(state_.plan, index, replaced));
    files_.adopt(index, std::move(created));
  }

  state_.root.flags = kRootProvisional;
  state_.root.closed = 1;
  if (state_.options.stream.hash == fti::HashKind::kMd5) state_.root.flags |= kRootMd5;
  state_.root.groups.assign(state_.plan.groups().begin(), state_.plan.groups().end());
  state_.root.fs_block = fs_block;
  for (std::uint32_t index = 0; index < state_.plan.files(); ++index)
    BENTO_TRY(write_provisional_sion(*files_.opened(index), state_.plan, index, state_.path));
  BENTO_TRY(write_holder_note(*files_.opened(0), state_.plan.file(0)));
  BENTO_ASSIGN(const Bytes empty, first_view());
  for (std::uint32_t index = 1; index < state_.plan.files(); ++index)
    BENTO_TRY(files_.make_durable(*files_.opened(index)));
  BENTO_TRY(slots_.write(*files_.opened(0), state_.root));
  BENTO_TRY(slots_.mirror(*files_.opened(0)));
  BENTO_TRY(files_.make_durable(*files_.opened(0)));
  BENTO_TRY(show_first_view(empty));
  return files_.make_names_durable();
}

// A file that may be replaced loses its name, not its bytes: a hard link may keep them elsewhere.
Result<std::unique_ptr<File>> Owner::create_physical(const ContainerPlan& plan, std::uint32_t index,
                                                     const std::optional<FileId>& replaced) {
  BENTO_ASSIGN(const InTheWay there,
               look_before_create(state_.names, index, replaced,
                                  plan.file(index).superblock_address(), state_.options.opener));
  const std::string name = state_.names.of_new(index);
  auto mode = OpenMode::kCreatePrivate;  // until it is as the first one is
  // Files of memory have no names that could be removed.
  if (there == InTheWay::kOurs && !remove_file(name)) mode = OpenMode::kCreate;
  BENTO_ASSIGN(auto created, state_.options.opener(name, mode));
  take_permissions(files_.opened(0)->descriptor(), created->descriptor());
  BENTO_TRY(begin_physical(*created, plan, index));
  return created;
}

// Before anything else the file says whose it is: the next create knows it by that.
Status Owner::begin_physical(File& handle, const ContainerPlan& plan, std::uint32_t index) {
  BENTO_TRY(handle.write_at(0, std::as_bytes(std::span(kSionMagic))));
  BENTO_TRY(
      write_identity(handle, plan.file(index).superblock_address(),
                     {state_.root.file_id, index, state_.session, {}, 0, state_.names.base()}));
  if (state_.ranks > 1 && shows_writes_late(handle)) return handle.sync();
  return files_.make_durable(handle);
}

// The physical files of `plan` from number `from` on, unfinished. One that an attempt before this
// one has made is not emptied: the root on disk may name it already.
Status Owner::add_files(const ContainerPlan& plan, std::uint32_t from) {
  if (from == plan.files()) return {};
  for (std::uint32_t index = from; index < plan.files(); ++index) {
    if (files_.opened(index) == nullptr) {
      BENTO_ASSIGN(auto created, create_physical(plan, index, state_.root.file_id));
      files_.adopt(index, std::move(created));
    }
    BENTO_TRY(write_unfinished_sion(*files_.opened(index), plan, index, state_.path));
    BENTO_TRY(files_.make_durable(*files_.opened(index)));
  }
  return files_.make_names_durable();
}

// Programs without h5bento that read the old file must not see it emptied, and must not keep this
// one out: it stays theirs, and the name goes to a new one.
Status Owner::leave_to_readers(std::unique_ptr<File>& first, std::size_t old_files) {
  const auto failed = [this](std::string_view why) {
    return fail(Code::kBusy,
                fmt::format("'{}' is open for reading in another program, which would see it "
                            "emptied, and cannot be replaced: {}. Close it there, or remove the "
                            "file (errno = {})",
                            state_.path, why, EBUSY),
                EBUSY);
  };
  // Sources of its native view in other files are opened by name, when they are needed.
  if (old_files > 1) return failed(fmt::format("it has {} physical files", old_files));
  std::error_code unresolved;
  const std::string target = std::filesystem::canonical(state_.path, unresolved).string();
  if (unresolved) return failed(unresolved.message());
  // It gets its name when it is locked, and the old file is let go after that: nobody finds an
  // empty file there that nobody holds.
  const auto id = random_id();
  const std::string hidden = std::filesystem::path(target).parent_path() /
                             fmt::format(".h5bento.{}.new", hex(std::span(id).first(4)));
  const auto fresh = state_.options.opener(hidden, OpenMode::kCreatePrivate);
  if (!fresh) return failed(fresh.error().text);
  take_permissions(first->descriptor(), (*fresh)->descriptor());
  const auto old_lock = files_.give_lock();
  auto locked = files_.take_lock(**fresh);
  if (locked && std::rename(hidden.c_str(), target.c_str()) != 0)
    locked = failed(os_error(errno, "naming of", target).text);
  if (!locked) {
    (void)remove_file(hidden);
    return locked;
  }
  BENTO_ASSIGN(first, state_.options.opener(target, OpenMode::kReadWrite));
  return {};
}

// A chunk begins with its headers; behind them there has to be room for a record that is aligned.
Status Owner::check_align(std::uint64_t chunk_bytes) const {
  const std::uint64_t align = state_.options.stream.align;
  if (align <= chunk_bytes / 2) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("'{}': align={} leaves no room for data in chunks of {} bytes: align= may "
                  "be half a chunk at most; use a smaller align= or a larger chunk=",
                  state_.path, align, chunk_bytes));
}

}  // namespace bento
