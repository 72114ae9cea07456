// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a process comes to a container: what is there, whose it is, which stream is its own. The
/// cases are those of the table in docs/vfd.md, "Joining".
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "core/io/host.hpp"
#include "core/joined/joined_container.hpp"
#include "core/joined/joined_gate.hpp"
#include "core/joined/joined_stream.hpp"
#include "core/layout/names.hpp"

namespace bento {

namespace {

/// Seconds that a new job waits for the processes of the old one to be gone.
constexpr double kOldJobSeconds = 10;
Hash128 hash_of(const std::string& job) {
  return hash128(std::as_bytes(std::span(job)));
}

tl::unexpected<Error> exists_already(const std::string& name, const std::string& container) {
  return fail(Code::kExists,
              fmt::format("'{}' exists in '{}' (errno = {})", name, container, EEXIST), EEXIST);
}

}  // namespace

Result<JoinedContainer::Entered> JoinedContainer::load_or_lay_out(const JoinRequest& request,
                                                                  JoinAccess access) {
  const JoinedLayout layout{request.size, request.files, request.chunk, job_};
  // Others may have laid it out anew since this process had something open in it.
  if (files_ && !in_use_by_us()) unload();
  if (!files_) {
    BENTO_ASSIGN(const JoinedState state, joined_state(*first_));
    if (state == JoinedState::kNothing) return lay_out_new(layout, access);
    BENTO_ASSIGN(files_, JoinedFiles::load(std::move(first_), writable_));
  }
  if (!creates(access) || job_.empty()) return Entered::kReady;
  BENTO_ASSIGN(const std::string job, files_->job());
  if (job == job_) return Entered::kReady;
  // A new job. H5F_ACC_EXCL says that an old file of this name shall stay.
  if (access == JoinAccess::kNew) {
    const std::string name = name_in_container(request.container, request.file);
    BENTO_ASSIGN(const auto old, find(name, request.rank));
    if (old) return exists_already(name, request.container);
  }
  // Nothing may be emptied under the feet of anybody.
  BENTO_ASSIGN(const bool used, locks_.others_use_tasks(files_->tasks()));
  BENTO_ASSIGN(const bool written, locks_.others_write());
  if (in_use_by_us()) return fail(in_use(request.container));
  if (used || written) return Entered::kWait;
  unload();
  BENTO_ASSIGN(files_, JoinedFiles::lay_out(std::move(first_), layout));
  return Entered::kReady;
}

bool JoinedContainer::in_use_by_us() const {
  return writers_ > 0 ||
         std::ranges::any_of(streams_, [](const auto& entry) { return !entry.second.expired(); });
}

void JoinedContainer::unload() {
  first_ = std::move(*files_).take_first();
  files_.reset();
}

// Of an attempt that failed nothing stays behind, not even an empty file.
Result<JoinedContainer::Entered> JoinedContainer::lay_out_new(const JoinedLayout& layout,
                                                              JoinAccess access) {
  const std::string path = first_->path();
  if (!creates(access)) return fail(no_entry(fmt::format("'{}' holds no streams", path)));
  auto made = JoinedFiles::lay_out(std::move(first_), layout);
  if (!made) {
    (void)remove_file(path);
    return fail(std::move(made).error());
  }
  files_ = std::move(*made);
  return Entered::kReady;
}

Result<JoinedContainer::Entered> JoinedContainer::enter(const JoinRequest& request,
                                                        JoinAccess access) {
  const File& first = files_ ? files_->first() : *first_;
  if (!leads_to(request.container, first)) return Entered::kReplaced;
  return load_or_lay_out(request, access);
}

Result<std::optional<Slot>> JoinedContainer::find(const std::string& name, std::uint32_t rank) {
  if (rank < files_->tasks()) {
    BENTO_ASSIGN(Slot slot, files_->slot(rank));
    if (slot.used() && slot.name == name) return std::optional<Slot>(std::move(slot));
  }
  return files_->find(name);
}

Result<std::shared_ptr<JoinedStream>> JoinedContainer::open_found(Slot slot, JoinAccess access) {
  if (auto open = streams_[slot.task].lock()) {
    open->opened_again();
    return open;
  }
  const auto kind = writable_ ? JoinLocks::Kind::kExclusive : JoinLocks::Kind::kShared;
  const auto locked = locks_.try_task(slot.task, kind);
  if (writable_) {
    if (!locked) return fail(locked.error());
    if (!*locked) return fail(in_use(slot.name));
    BENTO_TRY(join_writers());
  }
  const std::uint32_t task = slot.task;
  auto stream = std::make_shared<JoinedStream>(shared_from_this(), std::move(slot),
                                               access != JoinAccess::kRead, false);
  streams_[task] = stream;
  return stream;
}

// The task for a stream that is made or emptied, with what its slot says now.
Result<Slot> JoinedContainer::slot_to_create(const JoinRequest& request, JoinAccess access,
                                             const std::optional<Slot>& found,
                                             const std::string& name) {
  const std::string& path = files_->path();
  if (found && access == JoinAccess::kNew) return exists_already(name, path);
  if (found) {
    if (found->rank != request.rank && found->job == hash_of(job_))
      return fail(
          Code::kExists,
          fmt::format("'{}' in '{}' is the file of rank {} already; rank {} of the same job "
                      "must give its file another name",
                      name, path, found->rank, request.rank));
    return *found;
  }
  if (request.rank >= files_->tasks())
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' has streams for {} processes, and this is rank {} of {}: it was "
                            "laid out by an earlier session; start a new one (session=), or name "
                            "another container (container=)",
                            path, files_->tasks(), request.rank, request.size));
  BENTO_ASSIGN(Slot slot, files_->slot(request.rank));
  if (slot.used())
    return fail(
        Code::kExists,
        fmt::format("the stream of rank {} in '{}' is its file '{}', so '{}' has no place: "
                    "each process has one file in a container. Let container= name "
                    "another one for each file of a process, such as container=%s.bento, or "
                    "let match= leave this name out",
                    request.rank, path, slot.name, name));
  return slot;
}

Result<std::shared_ptr<JoinedStream>> JoinedContainer::create_stream(
    const JoinRequest& request, JoinAccess access, const std::optional<Slot>& found,
    const std::string& name) {
  BENTO_ASSIGN(Slot slot, slot_to_create(request, access, found, name));
  if (streams_[slot.task].lock()) return fail(in_use(name));
  BENTO_ASSIGN(const bool locked, locks_.try_task(slot.task, JoinLocks::Kind::kExclusive));
  if (!locked) return fail(in_use(name));
  BENTO_TRY(join_writers());
  // Until here nothing has changed. What the stream held is gone once its slot says so.
  slot.flags |= kSlotUsed;
  slot.reach = slot.length();
  slot.name = name;
  slot.rank = request.rank;
  slot.job = hash_of(job_);
  Status begun = begin_writing(slot);
  const std::uint32_t task = slot.task;
  auto stream = std::make_shared<JoinedStream>(shared_from_this(), slot, true, true);
  if (begun) begun = stream->set_size(0);
  if (!begun) {
    locks_.leave_task(task);
    leave_writers();
    return fail(std::move(begun).error());
  }
  streams_[task] = stream;
  return stream;
}

Result<std::shared_ptr<JoinedStream>> JoinedContainer::join(const JoinRequest& request,
                                                            JoinAccess access) {
  const std::string name = name_in_container(request.container, request.file);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    Gate gate(*this);
    BENTO_TRY(gate.enter());
    auto entered = enter(request, access);
    if (entered && *entered == Entered::kReady) {
      auto found = find(name, request.rank);
      auto stream = !found            ? Result<std::shared_ptr<JoinedStream>>(fail(found.error()))
                    : creates(access) ? create_stream(request, access, *found, name)
                    : *found          ? open_found(std::move(**found), access)
                                      : Result<std::shared_ptr<JoinedStream>>(fail(no_entry(
                                   fmt::format("there is no '{}' in '{}'", name, files_->path()))));
      // Nothing may be left undone by who turns back.
      if (!stream && writable_) (void)finish_if_last();
      return stream;
    }
    if (!entered) return fail(std::move(entered).error());
    if (*entered == Entered::kReplaced) return std::shared_ptr<JoinedStream>{};
    gate.leave();
    const double limit = timeout_ > 0 ? std::min(timeout_, kOldJobSeconds) : kOldJobSeconds;
    if (std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(limit))
      return fail(Code::kBusy,
                  fmt::format("'{}' belongs to another job, of which processes still have files of "
                              "it open; this one (session '{}') would lay it out anew (errno = {})",
                              request.container, job_, EAGAIN),
                  EAGAIN);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace bento
