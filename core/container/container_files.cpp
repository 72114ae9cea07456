// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The physical files of an open container: opened when they are needed, held against what they
/// must be, and brought to the device.
#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/container/container.hpp"

namespace bento {

Result<File*> Container::file(std::uint32_t index) {
  if (files_.size() < plan_.files()) files_.resize(plan_.files());
  if (!files_[index]) {
    BENTO_ASSIGN(auto handle, names_.open(index, writable_ ? OpenMode::kReadWrite : OpenMode::kRead,
                                          options_.opener));
    BENTO_TRY(check_identity(*handle, index));
    files_[index] = std::move(handle);
  }
  return files_[index].get();
}

// A name may mean another file here than on rank 0, or than a moment ago. A session that writes has
// said in each file, before the other ranks heard of it, that it does.
Status Container::check_identity(File& handle, std::uint32_t index) {
  const FilePlan& plan = plan_.file(index);
  if (session_ != SessionId{}) {
    BENTO_ASSIGN(const auto found, read_identity(handle, plan.superblock_address()));
    BENTO_TRY(check_part(handle, found, path_, root_.file_id, index));
    if (found->session != session_) return fail(other_session(handle, path_, index));
    return {};
  }
  if (index == 0) return rule_.check_first(handle, plan);
  BENTO_ASSIGN(File* const first, file(0));
  return rule_.check_other(handle, plan, index, *first, plan_.file(0));
}

// A newer root that a reader goes on with. If another session wrote it, names may lead to other
// files since.
void Container::follow_root(const Root& next) {
  if (next.session != root_.session)
    for (std::size_t index = 1; index < files_.size(); ++index) files_[index].reset();
  root_ = next;
  rule_ = PartRule(path_, root_);
}

Result<std::uint64_t> Container::room() {
  std::uint64_t bytes = 0;
  for (std::uint32_t index = 0; index < plan_.files(); ++index) {
    BENTO_ASSIGN(File* const handle, file(index));
    BENTO_ASSIGN(const std::uint64_t one, handle->size());
    bytes += one;
  }
  return bytes;
}

// What a failed sync should have kept may be lost, and a second one does not say so: the system
// forgets the error once it has told it.
Status Container::make_durable(File& handle) {
  if (options_.durability != Durability::kPower) return {};
  auto synced = handle.sync();
  if (!synced) give_up(fail(synced.error()));
  return synced;
}

Status Container::make_names_durable() {
  if (options_.durability != Durability::kPower) return {};
  BENTO_ASSIGN(const auto handle, options_.opener(names_.folder(), OpenMode::kDirectory));
  BENTO_TRY(make_durable(*handle));
  return handle->close();
}

void Container::give_up(const Status& why) {
  if (!broken_) return;
  // First what needs no memory.
  broken_ = fail(Error{why.error().code, {}, why.error().os_errno});
  (void)guarded([&]() -> Status {
    Error error = why.error();
    broken_ = fail(std::move(error).with_context(
        fmt::format("'{}': nothing more can be committed in this session, what was committed "
                    "before stays; open the file again",
                    path_)));
    return {};
  });
}

}  // namespace bento
