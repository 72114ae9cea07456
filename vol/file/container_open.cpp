// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/container_open.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/comm/status_message.hpp"
#include "core/io/host.hpp"
#include "core/layout/holder.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/replace.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "transfer/cached_copy.hpp"
#include "vol/file/fapl.hpp"
#include "vol/file/file_agreement.hpp"
#include "vol/file/striping_use.hpp"
#include "vol/file/swmr.hpp"

namespace bento::vol {

// The environment wins over the list, as in the library itself.
Locking locking_wanted(hid_t fapl) {
  if (const char* const env = std::getenv("HDF5_USE_FILE_LOCKING")) {
    const std::string_view value(env);
    if (value == "FALSE" || value == "0") return Locking::kOff;
    if (value == "TRUE" || value == "1") return Locking::kRequired;
    if (value == "BEST_EFFORT") return Locking::kBestEffort;
  }
  hbool_t use = true;
  hbool_t ignore_disabled = true;
  if (fapl >= 0 && H5Pget_file_locking(fapl, &use, &ignore_disabled) < 0)
    return Locking::kBestEffort;
  if (!use) return Locking::kOff;
  return ignore_disabled ? Locking::kBestEffort : Locking::kRequired;
}

namespace {

fti::HashKind hash_kind(Checksum checksum) {
  switch (checksum) {
    case Checksum::kNone:
      return fti::HashKind::kNone;
    case Checksum::kMd5:
      return fti::HashKind::kMd5;
    case Checksum::kXxh3:
      break;
  }
  return fti::HashKind::kXxh3;
}

Verification verification(Verify verify) {
  switch (verify) {
    case Verify::kAll:
      return Verification::kAll;
    case Verify::kNone:
      return Verification::kNone;
    case Verify::kSmall:
      break;
  }
  return Verification::kSmall;
}

StreamOptions::Alignment alignment_wanted(hid_t fapl) {
  hsize_t threshold = 1;
  hsize_t multiple = 1;
  if (fapl < 0 || H5Pget_alignment(fapl, &threshold, &multiple) < 0) return {};
  return {threshold, multiple};
}

FileOpener& file_opener() {
  static FileOpener opener = open_posix_file;
  return opener;
}

}  // namespace

void set_file_opener(FileOpener opener) {
  file_opener() = std::move(opener);
}

ContainerOptions container_options(const Config& config, hid_t fapl) {
  ContainerOptions options;
  options.opener = file_opener();
  options.files = std::max(1U, config.files);  // of a serial program all ranks are on one node
  options.chunk_bytes = config.chunk;
  ask_for_striping(options, config);
  options.stream.buffer_bytes = config.buffer;
  options.stream.align = config.align;
  options.stream.align_exactly = config.align_exactly;
  options.stream.whole_datasets = alignment_wanted(fapl);
  options.stream.hash = hash_kind(config.checksum);
  options.verify = verification(config.verify);
  options.durability = config.power ? Durability::kPower : Durability::kProcess;
  options.keep = config.keep;
  if (config.step != 0) options.step = AbsoluteStep(config.step);
  options.minmax = config.minmax;
  options.share_uncommitted = config.visible_writes;
  options.timeout_s = config.timeout;
  options.view_at_commits = config.view_commits;
  options.view_grace = config.view_grace;
  options.lock = locking_wanted(fapl);
  return options;
}

void warn_of_locks(const std::string& name, const Container& container) {
  // Never destroyed: files may be opened after static destructors have run.
  static auto* const told = new std::set<std::uint64_t>;
  if (container.lock_warning().empty() || !told->insert(container.identity().first).second) return;
  fmt::print(stderr, "h5bento: warning: '{}': {}\n", name, container.lock_warning());
}

void tell_of_visibility(const std::string& name, const Container& container) {
  static bool told = false;
  if (told || container.not_shared_because().empty()) return;
  told = true;
  if (container.comm().rank() == 0)
    fmt::print(stderr,
               "h5bento: '{}': what a rank writes is visible to others after H5Fflush or in "
               "collective reads only, as with visible=commit: {}\n",
               name, container.not_shared_because());
}

// Whatever cannot be opened is left to the native connector, whose errors applications know.
Result<bool> is_ours(const char* name) {
  const auto file = open_posix_file(name, OpenMode::kRead);
  if (!file) return false;
  const auto seen = probe(**file);
  if (!seen && seen.error().code == Code::kUnsupported) return fail(seen.error());
  if (!seen || seen->kind == FileKind::kContainer) return seen.has_value();
  const auto sound = refuse_damaged(**file, *seen);
  if (sound) return false;
  // What looks like damage is a file that another process is creating just now.
  if (sound.error().code == Code::kCorrupt && is_locked(**file))
    return fail(Code::kBusy,
                fmt::format("'{}' is being created by another process; wait for it to finish "
                            "(errno = {})",
                            name, EWOULDBLOCK),
                EWOULDBLOCK);
  return fail(sound.error());
}

void await_unlocked(const std::string& path) {
  constexpr auto kPatience = std::chrono::seconds(5);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const auto file = open_posix_file(path, OpenMode::kRead);
  if (!file) return;
  while (is_locked(**file) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool is_container(const char* name) {
  const auto ours = is_ours(name);
  if (!ours || *ours || !transfer::has_note(name)) return !ours || *ours;
  // Where it is not here, the call that follows says where it is.
  const auto copy = transfer::newest_copy(name);
  return !copy ||
         (*copy && transfer::state_of_copy((*copy)->path) != transfer::CopyState::kNothing);
}

Status check_may_replace(const char* name, unsigned flags) {
  BENTO_TRY(transfer::check_can_discard(name, (flags & H5F_ACC_EXCL) != 0));
  const auto there = open_posix_file(name, OpenMode::kRead);
  if (!there || !is_container(name) || !is_locked(**there)) return {};
  return fail(Code::kBusy,
              fmt::format("'{}' is a container that is open for writing, in this process or "
                          "another: close it first (errno = {})",
                          name, EWOULDBLOCK),
              EWOULDBLOCK);
}

namespace {

Status not_open_here(const std::string& name) {
  for (const auto& host : armed_hosts())
    if (host->writable() && leads_to(name, host->descriptor()))
      return fail(Code::kBusy,
                  fmt::format("'{}' is open for writing in this process still: after H5Fclose it "
                              "stays open until the last object in it is closed (errno = {})",
                              name, EWOULDBLOCK),
                  EWOULDBLOCK);
  return {};
}

Status delete_on_owner(const char* name, Locking locking, bool unfinished) {
  BENTO_TRY(not_open_here(name));
  if (unfinished) {
    BENTO_TRY(transfer::check_can_discard(name, false));
    // Nothing has arrived before.
    if (::access(name, F_OK) != 0 && errno == ENOENT) return transfer::discard_copies(name);
  }
  BENTO_ASSIGN(const auto file, open_posix_file(name, OpenMode::kRead));
  const auto lock = lock_container(*file, locking);
  // To remove a file one need not be allowed to write to it, as for the lock.
  if (!lock && (lock.error().code != Code::kPermission || is_locked(*file)))
    return fail(lock.error());
  BENTO_ASSIGN(const Probe seen, probe(*file));
  if (unfinished && seen.kind != FileKind::kContainer)
    BENTO_TRY(remove_file(name));
  else
    BENTO_TRY(remove_container(name, seen.root, file_opener()));
  // Last: if the file stays, so does what would take its place.
  return unfinished ? transfer::discard_copies(name) : Status{};
}

}  // namespace

Result<bool> delete_container(const char* name, hid_t fapl) {
  BENTO_ASSIGN(const AgreedFile file, agree_on_delete({"H5Fdelete", name, 0, fapl, {}}));
  if (file.passes()) return false;
  ByteWriter out;
  if (file.comm->rank() == 0)
    put_status(out, delete_on_owner(name, static_cast<Locking>(file.decision.locking),
                                    !file.decision.place.empty()));
  BENTO_ASSIGN(const Bytes blob, file.comm->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "delete message");
  BENTO_TRY(get_status(in));
  return true;
}

Result<std::shared_ptr<SkeletonHost>> open_foreign(const std::string& name, unsigned flags,
                                                   const std::shared_ptr<SkeletonHost>& parent) {
  if (!is_container(name.c_str())) return std::shared_ptr<SkeletonHost>{};
  BENTO_TRY(is_ours(name.c_str()));
  BENTO_ASSIGN(const auto copy, transfer::newest_copy(name));
  if (copy) BENTO_TRY(transfer::check_whole(*copy));
  const std::string& place = copy ? copy->path : name;
  std::optional<CachedFile> cached;
  if (copy) cached = CachedFile{copy->path, copy->final_name, {}};
  const auto parent_context = std::static_pointer_cast<FileContext>(parent);
  const bool writable = parent->ranks() == 1 && (flags & H5F_ACC_RDWR) != 0;
  OpenSettings settings = parent_context->settings();
  settings.session = new_session();
  settings.created = false;
  UserAccess access;
  access.driver = parent_context->access().driver;
  if (parent_context->access().parallel) access.driver = H5FD_SEC2;
  std::shared_ptr<Communicator> comm = make_self_communicator();
  BENTO_ASSIGN(
      auto container,
      Container::open(place, writable, container_options(parent_context->config(), -1), comm));
  warn_of_locks(name, *container);
  auto context = std::make_shared<FileContext>(name, std::move(settings), access, comm,
                                               std::move(container), std::move(cached));
  // The library hands on what the parent's skeleton was opened with, which a writer's does not say.
  context->set_swmr(swmr_of(flags));
  if (writable && parent_context->swmr() == Swmr::kWriter) begin_swmr_writing(*context);
  return std::shared_ptr<SkeletonHost>(std::move(context));
}

}  // namespace bento::vol
