// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a new container comes to be, and new physical files of one: nothing is emptied or removed
/// before it is known to be a file that may be.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/catalogue/sion_view.hpp"
#include "core/container/container.hpp"
#include "core/container/shared_lock.hpp"
#include "core/io/host.hpp"
#include "core/layout/holder.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/replace.hpp"
#include "core/sion/constants.hpp"

namespace bento {

Status Container::owner_create(bool exclusive) {
  bool made = false;
  BENTO_ASSIGN(auto first, owner_claim(exclusive, made));
  names_ = ContainerNames::of(*first);
  auto done = owner_fill(std::move(first), made);
  // Nothing was written, and the name was not there before.
  if (!done && made && files_.empty()) (void)remove_file(names_.first());
  return done;
}

// Physical file 0, locked, with what it held: somebody may still be writing an old file, and two
// programs may come to one name.
Result<std::unique_ptr<File>> Container::owner_claim(bool exclusive, bool& made) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    made = false;
    lock_.reset();
    auto first = exclusive ? Result<std::unique_ptr<File>>(fail(Code::kNotFound, {}))
                           : options_.opener(path_, OpenMode::kReadWrite);
    if (!first && first.error().code == Code::kNotFound) {
      first = options_.opener(path_, OpenMode::kCreateExclusive);
      if (!first && first.error().code == Code::kExists && !exclusive) continue;
      made = first.has_value();
    }
    if (!first) return first;
    BENTO_TRY(owner_lock(**first));
    if (leads_to(path_, **first)) return first;
  }
  return fail(Code::kBusy,
              fmt::format("'{}' is made and removed by others again and again", path_));
}

// Everything that is in the way is looked at before anything is changed.
Status Container::owner_fill(std::unique_ptr<File> first, bool made) {
  const std::uint32_t fs_block = file_system_block(*first);
  BENTO_ASSIGN(plan_, ContainerPlan::make(static_cast<std::uint32_t>(comm_->size()), options_.files,
                                          fs_block));
  BENTO_TRY(check_align(plan_.choose_chunk(0, options_.chunk_bytes)));
  std::optional<FileId> replaced;
  std::vector<std::string> old_parts;
  if (!made) {
    BENTO_TRY(check_is_no_part(*first, options_.opener));
    if (const auto seen = probe(*first); seen && seen->kind == FileKind::kContainer) {
      replaced = seen->root.file_id;
      BENTO_ASSIGN(old_parts, parts_to_remove(names_, seen->root, false, options_.opener));
    }
  }
  for (std::uint32_t index = 1; index < plan_.files(); ++index)
    BENTO_TRY(look_before_create(names_, index, replaced, plan_.file(index).superblock_address(),
                                 options_.opener));
  BENTO_ASSIGN(const bool others_read, lock_ ? lock_->others_read() : Result<bool>(false));
  if (others_read)
    BENTO_TRY(leave_to_readers(first, old_parts.size() + 1));
  else
    BENTO_TRY(first->truncate(0));
  BENTO_ASSIGN(identity_, file_identity(*first));
  for (const auto& part : old_parts) (void)remove_file(part);

  root_.file_id = random_id();
  session_ = random_id();
  files_.resize(plan_.files());
  files_[0] = std::move(first);
  BENTO_TRY(begin_physical(*files_[0], plan_, 0));
  for (std::uint32_t index = 1; index < plan_.files(); ++index) {
    BENTO_ASSIGN(files_[index], create_physical(plan_, index, replaced));
  }

  root_.flags = kRootProvisional;
  if (options_.stream.hash == fti::HashKind::kMd5) root_.flags |= kRootMd5;
  root_.groups.assign(plan_.groups().begin(), plan_.groups().end());
  root_.fs_block = fs_block;
  for (std::uint32_t index = 0; index < plan_.files(); ++index)
    BENTO_TRY(write_provisional_sion(*files_[index], plan_, index, path_));
  BENTO_TRY(write_holder_note(*files_[0], plan_.file(0)));
  for (std::uint32_t index = 1; index < plan_.files(); ++index)
    BENTO_TRY(make_durable(*files_[index]));
  BENTO_TRY(owner_write_root(*files_[0], root_));
  BENTO_TRY(owner_mirror(*files_[0]));
  BENTO_TRY(make_durable(*files_[0]));
  return make_names_durable();
}

// A file that may be replaced loses its name, not its bytes: a hard link may keep them elsewhere.
Result<std::unique_ptr<File>> Container::create_physical(const ContainerPlan& plan,
                                                         std::uint32_t index,
                                                         const std::optional<FileId>& replaced) {
  BENTO_ASSIGN(const InTheWay there,
               look_before_create(names_, index, replaced, plan.file(index).superblock_address(),
                                  options_.opener));
  const std::string name = names_.of_new(index);
  auto mode = OpenMode::kCreateExclusive;
  // Files of memory have no names that could be removed.
  if (there == InTheWay::kOurs && !remove_file(name)) mode = OpenMode::kCreate;
  BENTO_ASSIGN(auto created, options_.opener(name, mode));
  BENTO_TRY(begin_physical(*created, plan, index));
  return created;
}

// Before anything else the file says whose it is: the next create knows it by that.
Status Container::begin_physical(File& handle, const ContainerPlan& plan, std::uint32_t index) {
  BENTO_TRY(handle.write_at(0, std::as_bytes(std::span(kSionMagic))));
  BENTO_TRY(write_identity(handle, plan.file(index).superblock_address(),
                           {root_.file_id, index, session_, {}, 0, names_.base()}));
  if (comm_->size() > 1 && shows_writes_late(handle)) return handle.sync();
  return make_durable(handle);
}

// The physical files of `plan` from number `from` on, unfinished. One that an attempt before this
// one has made is not emptied: the root on disk may name it already.
Status Container::owner_add_files(const ContainerPlan& plan, std::uint32_t from) {
  if (from == plan.files()) return {};
  files_.resize(std::max<std::size_t>(files_.size(), plan.files()));
  for (std::uint32_t index = from; index < plan.files(); ++index) {
    if (!files_[index]) {
      BENTO_ASSIGN(files_[index], create_physical(plan, index, root_.file_id));
    }
    BENTO_TRY(write_unfinished_sion(*files_[index], plan, index, path_));
    BENTO_TRY(make_durable(*files_[index]));
  }
  return make_names_durable();
}

Status Container::owner_lock(File& first) {
  BENTO_ASSIGN(lock_, lock_container(first, options_.lock));
  if (!lock_ && options_.lock != Locking::kOff && first.descriptor() >= 0)
    lock_warning_ =
        "this file system has no working locks: nothing keeps a second program from writing to the "
        "file at the same time";
  return {};
}

// Programs without h5bento that read the old file must not see it emptied, and must not keep this
// one out: it stays theirs, and the name goes to a new one.
Status Container::leave_to_readers(std::unique_ptr<File>& first, std::size_t old_files) {
  const auto failed = [this](std::string_view why) {
    return fail(Code::kBusy,
                fmt::format("'{}' is open for reading in another program, which would see it "
                            "emptied, and cannot be replaced: {}. Close it there, or remove the "
                            "file (errno = {})",
                            path_, why, EBUSY),
                EBUSY);
  };
  // Sources of its native view in other files are opened by name, when they are needed.
  if (old_files > 1) return failed(fmt::format("it has {} physical files", old_files));
  std::error_code unresolved;
  const std::string target = std::filesystem::canonical(path_, unresolved).string();
  if (unresolved) return failed(unresolved.message());
  struct stat old{};
  if (::fstat(first->descriptor(), &old) != 0)
    return fail(os_error(errno, "fstat of", first->path()));
  if (auto removed = remove_file(target); !removed) return failed(removed.error().text);
  BENTO_ASSIGN(first, options_.opener(target, OpenMode::kCreateExclusive));
  (void)::fchmod(first->descriptor(), old.st_mode & 07777);
  lock_.reset();
  return owner_lock(*first);
}

// A chunk begins with its headers; behind them there has to be room for a record that is aligned.
Status Container::check_align(std::uint64_t chunk_bytes) const {
  const std::uint64_t align = options_.stream.align;
  if (align <= chunk_bytes / 2) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("'{}': align={} leaves no room for data in chunks of {} bytes: align= may "
                  "be half a chunk at most; use a smaller align= or a larger chunk=",
                  path_, align, chunk_bytes));
}

}  // namespace bento
