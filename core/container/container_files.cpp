// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/container_files.hpp"

#include <algorithm>
#include <span>

#include "core/bytes/byte_writer.hpp"
#include "core/container/shared_lock.hpp"
#include "core/layout/holder.hpp"

namespace bento {

Result<File*> ContainerFiles::file(std::uint32_t index) {
  if (files_.size() < state_->plan.files()) files_.resize(state_->plan.files());
  if (!files_[index]) {
    const auto mode = state_->writable ? OpenMode::kReadWrite : OpenMode::kRead;
    BENTO_ASSIGN(auto handle, state_->names.open(index, mode, state_->options.opener));
    BENTO_TRY(check_identity(*handle, index));
    files_[index] = std::move(handle);
  }
  return files_[index].get();
}

Result<File*> ContainerFiles::spread_file(std::uint32_t index) {
  if (streams_.size() < state_->plan.files()) streams_.resize(state_->plan.files());
  if (!streams_[index]) {
    BENTO_ASSIGN(streams_[index], state_->names.open(index, OpenMode::kReadWrite,
                                                     state_->options.spread->stream_opener));
  }
  return streams_[index].get();
}

// A name may mean another file here than on rank 0, or than a moment ago. A session that writes has
// said in each file, before the other ranks heard of it, that it does.
Status ContainerFiles::check_identity(File& handle, std::uint32_t index) {
  const FilePlan& plan = state_->plan.file(index);
  if (state_->session != SessionId{}) {
    BENTO_ASSIGN(const auto found, read_identity(handle, plan.superblock_address()));
    BENTO_TRY(check_part(handle, found, state_->path, state_->root.file_id, index));
    if (found->session != state_->session) return fail(other_session(handle, state_->path, index));
    return {};
  }
  if (index == 0) return rule_.check_first(handle, plan);
  BENTO_ASSIGN(File* const first, file(0));
  return rule_.check_other(handle, plan, index, *first, state_->plan.file(0));
}

void ContainerFiles::adopt(std::uint32_t index, std::unique_ptr<File> handle) {
  const std::size_t least = std::max<std::size_t>(state_->plan.files(), index + std::size_t{1});
  if (files_.size() < least) files_.resize(least);
  files_[index] = std::move(handle);
}

Status ContainerFiles::adopt_first(std::unique_ptr<File> first) {
  expect_root();
  BENTO_TRY(rule_.check_first(*first, state_->plan.file(0)));
  adopt(0, std::move(first));
  return {};
}

Status ContainerFiles::close() {
  Status status;
  for (auto* const all : {&files_, &streams_})
    for (auto& handle : *all) {
      if (!handle) continue;
      auto closed = handle->close();
      if (!closed && status) status = std::move(closed);
    }
  drop();
  lock_.reset();
  return status;
}

void ContainerFiles::expect_root() {
  rule_ = PartRule(state_->path, state_->root);
}

// If another session wrote the newer root, names may lead to other files since.
void ContainerFiles::follow_root(const Root& next) {
  if (next.session != state_->root.session)
    for (std::size_t index = 1; index < files_.size(); ++index) files_[index].reset();
  state_->root = next;
  expect_root();
}

Result<std::uint64_t> ContainerFiles::room() {
  // No node sees how long the files are. They are of this session: nobody has made them up.
  if (state_->options.spread) return kMaxPhysicalFiles * kMaxLogicalBytes;
  std::uint64_t bytes = 0;
  for (std::uint32_t index = 0; index < state_->plan.files(); ++index) {
    BENTO_ASSIGN(File* const handle, file(index));
    BENTO_ASSIGN(const std::uint64_t one, handle->size());
    bytes += one;
  }
  return bytes;
}

// What a failed sync should have kept may be lost, and a second one does not say so: the system
// forgets the error once it has told it.
Status ContainerFiles::make_durable(File& handle) {
  if (state_->options.durability != Durability::kPower) return {};
  auto synced = handle.sync();
  if (!synced) failures_->give_up(fail(synced.error()));
  return synced;
}

Status ContainerFiles::make_names_durable() {
  if (state_->options.durability != Durability::kPower) return {};
  BENTO_ASSIGN(const auto handle,
               state_->options.opener(state_->names.folder(), OpenMode::kDirectory));
  BENTO_TRY(make_durable(*handle));
  return handle->close();
}

Status ContainerFiles::take_lock(File& first) {
  const Locking locking = state_->options.lock;
  BENTO_ASSIGN(lock_, lock_container(first, locking));
  if (!lock_ && locking != Locking::kOff && first.descriptor() >= 0)
    lock_warning_ =
        "this file system has no working locks: nothing keeps a second program from writing to the "
        "file at the same time";
  return {};
}

Status ContainerFiles::share_lock(Communicator& comm, const OwnGroup& node, const Status& mine) {
  if (!state_->writable) return mine;
  LockSharing sharing;
  sharing.locking = state_->options.lock;
  sharing.hand_over = state_->options.ranks_are_processes;
  sharing.first = [this] { return file(0); };
  sharing.session = [](File& first) -> Result<Hash128> {
    BENTO_ASSIGN(const Probe seen, probe(first));
    ByteWriter out;
    out.bytes(seen.root.file_id);
    const std::string note = read_holder_note(first);
    out.bytes(std::as_bytes(std::span(note)));
    return hash128(out.view());
  };
  BENTO_ASSIGN(std::string warning, bento::share_lock(comm, node, mine, sharing, lock_));
  // Of a spread container each node locks its own file.
  if (!warning.empty() && !state_->options.spread) lock_warning_ = std::move(warning);
  return {};
}

}  // namespace bento
