// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_container.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/io/host.hpp"
#include "core/joined/joined_gate.hpp"
#include "core/joined/joined_stream.hpp"
#include "core/layout/names.hpp"
#include "core/layout/replace.hpp"

namespace bento {

namespace {

namespace fs = std::filesystem;

constexpr int kTries = 100;

/// Device, inode, and whether it may write.
using Key = std::tuple<std::uint64_t, std::uint64_t, bool>;

// Never destroyed, since HDF5 may close files after static destructors have run.
std::map<Key, std::weak_ptr<JoinedContainer>>& registry() {
  static auto* const instance = new std::map<Key, std::weak_ptr<JoinedContainer>>;
  return *instance;
}

Result<std::unique_ptr<File>> open_first(const std::string& path, JoinAccess access) {
  // To open a pipe would wait for somebody at its other end.
  std::error_code ignored;
  const auto kind = fs::status(path, ignored).type();
  if (kind == fs::file_type::fifo || kind == fs::file_type::socket ||
      kind == fs::file_type::character || kind == fs::file_type::block)
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no regular file", path));
  if (access == JoinAccess::kRead) return open_posix_file(path, OpenMode::kRead);
  for (int tries = 0; tries < kTries; ++tries) {
    auto first = open_posix_file(path, OpenMode::kReadWrite);
    if (first || first.error().code != Code::kNotFound || !creates(access)) return first;
    first = open_posix_file(path, OpenMode::kCreateExclusive);
    if (first || first.error().code != Code::kExists) return first;
  }
  return fail(Code::kBusy, fmt::format("'{}' is made and removed by others again and again", path));
}

Result<std::shared_ptr<JoinedContainer>> container_of(const JoinRequest& request,
                                                      JoinAccess access) {
  BENTO_ASSIGN(auto first, open_first(request.container, access));
  BENTO_ASSIGN(const auto inode, file_identity(*first));
  const bool writable = access != JoinAccess::kRead;
  auto& known = registry();
  // Seldom enough to cost nothing, also where a process has thousands of containers open.
  static std::size_t clean_at = 16;
  if (known.size() >= clean_at) {
    std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    clean_at = std::max<std::size_t>(16, 2 * known.size());
  }
  const Key key{inode.first, inode.second, writable};
  if (const auto found = known.find(key); found != known.end())
    if (auto open = found->second.lock(); open && !open->elsewhere()) return open;
  BENTO_ASSIGN(auto locks, JoinLocks::of(*first, writable));
  auto container =
      std::make_shared<JoinedContainer>(std::move(first), std::move(locks), writable, request);
  known[key] = container;
  return container;
}

fs::path folder_of(const std::string& name) {
  std::error_code ignored;
  const fs::path absolute(absolute_name(name));
  fs::path folder = fs::weakly_canonical(absolute.parent_path(), ignored);
  return ignored ? absolute.parent_path().lexically_normal() : folder;
}

/// What no file could be called is no name of a stream, either: it could not be put beside others
/// again.
Status check_new_name(const JoinRequest& request) {
  const std::string last = fs::path(request.file).filename().string();
  if (last.empty() || last == "." || last == "..")
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' names a folder, not a file (errno = {})", request.file, EISDIR),
                EISDIR);
  const std::string name = name_in_container(request.container, request.file);
  const auto too_long = [&name](const std::string& what, std::size_t most) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}': {} of up to {} bytes (errno = {})", name, what, most, ENAMETOOLONG),
        ENAMETOOLONG);
  };
  if (name.size() > kJoinedNameBytes) return too_long("a container knows names", kJoinedNameBytes);
  for (const auto& part : fs::path(name))
    if (part.native().size() > NAME_MAX) return too_long("files and folders have names", NAME_MAX);
  return {};
}

}  // namespace

std::string name_in_container(const std::string& container, const std::string& file) {
  const fs::path full = folder_of(file) / fs::path(file).filename();
  return full.lexically_relative(folder_of(container)).string();
}

JoinedContainer::JoinedContainer(std::unique_ptr<File> first, JoinLocks locks, bool writable,
                                 const JoinRequest& request)
    : first_(std::move(first)),
      locks_(std::move(locks)),
      writable_(writable),
      job_(request.job.substr(0, kJobBytes)),
      timeout_(request.timeout),
      when_finished_(request.when_finished) {}

Status JoinedContainer::enter_gate() {
  if (gate_depth_ == 0) {
    auto entered = locks_.enter_gate(
        writable_ ? JoinLocks::Kind::kExclusive : JoinLocks::Kind::kShared, timeout_);
    // Who only reads goes on where there are no locks, as on a file system that is read-only.
    if (!entered && (writable_ || entered.error().code != Code::kUnsupported)) return entered;
  }
  ++gate_depth_;
  return {};
}

Error JoinedContainer::in_use(const std::string& name) {
  return Error{Code::kBusy,
               fmt::format("'{}' is open in another process, or twice in this one (errno = {})",
                           name, EAGAIN),
               EAGAIN};
}

Error JoinedContainer::no_entry(std::string text) {
  return Error{Code::kNotFound, fmt::format("{} (errno = {})", std::move(text), ENOENT), ENOENT};
}

// --- joining and leaving as one who may write
// ----------------------------------------------------------------------

Status JoinedContainer::join_writers() {
  if (writers_ == 0) {
    const std::string& path = files_ ? files_->path() : first_->path();
    BENTO_ASSIGN(const bool flocked, locks_.try_flock());
    if (!flocked)
      return fail(Code::kBusy,
                  fmt::format("'{}' is open for writing in a program that does not use "
                              "the driver (errno = {})",
                              path, EAGAIN),
                  EAGAIN);
    BENTO_ASSIGN(const bool in, locks_.try_writers());
    if (!in) {
      locks_.leave_flock();
      return fail(Code::kBusy,
                  fmt::format("'{}' is being repaired, or replaced, by another program "
                              "(errno = {})",
                              path, EAGAIN),
                  EAGAIN);
    }
  }
  ++writers_;
  return {};
}

void JoinedContainer::leave_writers() {
  if (--writers_ > 0) return;
  locks_.leave_writers();
  locks_.leave_flock();
}

Result<bool> JoinedContainer::finish_if_last() {
  if (writers_ > 0 || !files_) return false;
  BENTO_ASSIGN(const bool others, locks_.others_write());
  if (others) return false;
  // Who comes now waits at the gate.
  BENTO_TRY(files_->finish());
  return true;
}

Status JoinedContainer::tell_finished() {
  if (!when_finished_) return {};
  BENTO_ASSIGN(const JoinedView view, files_->view_of(0));
  if (view == JoinedView::kThere) return {};
  when_finished_(*files_);
  return {};
}

Status JoinedContainer::leave(Slot& slot, bool changed) {
  streams_.erase(slot.task);
  if (!writable_) {
    locks_.leave_task(slot.task);
    return {};
  }
  Gate gate(*this);
  Status done = gate.enter();
  if (done && changed) done = files_->write(slot);
  locks_.leave_task(slot.task);
  leave_writers();
  if (!done) return done;
  BENTO_ASSIGN(const bool last, finish_if_last());
  return last ? tell_finished() : Status{};
}

// --- what streams do
// ------------------------------------------------------------------------------------

// Both files are looked at before either is changed: who cannot write must not take the container
// from others.
Status JoinedContainer::withdraw(const Slot& slot) {
  const std::uint32_t index = files_->plan().file_of(slot.task);
  BENTO_TRY(files_->view_of(0));
  BENTO_TRY(files_->view_of(index));
  for (const std::uint32_t file : {0u, index}) {
    BENTO_TRY(files_->restore(file));
    BENTO_TRY(files_->withdraw(file));
    if (index == 0) break;
  }
  return {};
}

Status JoinedContainer::begin_writing(Slot& slot) {
  Gate gate(*this);
  BENTO_TRY(gate.enter());
  BENTO_TRY(withdraw(slot));
  if (!job_.empty()) {
    BENTO_ASSIGN(const std::string job, files_->job());
    if (job != job_) BENTO_TRY(files_->set_job(job_));
  }
  Slot next = slot;
  next.flags |= kSlotWriting;
  BENTO_TRY(files_->write(next));
  slot = std::move(next);
  return {};
}

Status JoinedContainer::ensure_length(std::uint32_t index, std::uint64_t bytes) {
  Gate gate(*this);
  BENTO_TRY(gate.enter());
  return files_->ensure_length(index, bytes);
}

Result<bool> JoinedContainer::lock_for_reading(std::uint32_t task) {
  return locks_.try_task(task, JoinLocks::Kind::kShared);
}

Result<std::shared_ptr<JoinedStream>> join(const JoinRequest& request, JoinAccess access) {
  if (creates(access)) BENTO_TRY(check_new_name(request));
  for (int tries = 0; tries < kTries; ++tries) {
    BENTO_ASSIGN(const auto container, container_of(request, access));
    BENTO_ASSIGN(auto stream, container->join(request, access));
    if (stream) return stream;
  }
  return fail(Code::kBusy,
              fmt::format("'{}' is made and removed by others again and again", request.container));
}

// --- deleting
// --------------------------------------------------------------------------------------------

Status JoinedContainer::remove(const JoinRequest& request) {
  const std::string name = name_in_container(request.container, request.file);
  Gate gate(*this);
  BENTO_TRY(gate.enter());
  BENTO_ASSIGN(const Entered entered, enter(request, JoinAccess::kWrite));
  if (entered != Entered::kReady) return fail(in_use(request.container));
  BENTO_ASSIGN(auto found, find(name, request.rank));
  if (!found) return fail(no_entry(fmt::format("there is no '{}' in '{}'", name, files_->path())));
  if (streams_[found->task].lock()) return fail(in_use(name));
  BENTO_ASSIGN(const auto stream, open_found(*found, JoinAccess::kWrite));
  BENTO_TRY(stream->set_size(0));
  Slot empty;
  empty.layout = files_->layout();
  empty.task = found->task;
  BENTO_TRY(files_->write(empty));
  streams_.erase(found->task);
  locks_.leave_task(found->task);
  leave_writers();
  bool any = false;
  BENTO_TRY(files_->visit([&](const Slot& slot) {
    any = slot.used();
    return !any;
  }));
  BENTO_ASSIGN(const bool used, locks_.others_use_tasks(files_->tasks()));
  if (any || used || writers_ > 0) {
    BENTO_TRY(finish_if_last());
    return {};
  }
  return remove_container(request.container, files_->root(), open_posix_file);
}

Status remove_stream(const JoinRequest& request) {
  BENTO_ASSIGN(const auto container, container_of(request, JoinAccess::kWrite));
  return container->remove(request);
}

}  // namespace bento
