// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_files.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/catalogue/sion_view.hpp"
#include "core/io/host.hpp"
#include "core/io/permissions.hpp"
#include "core/joined/placeholder.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/replace.hpp"
#include "core/sion/constants.hpp"
#include "core/sion/layout.hpp"

namespace bento {

namespace {

/// Half of the chunk that is chosen where nobody asks for another.
constexpr std::uint64_t kHalfChunkBytes = 32u << 20;

/// Has the process that laid it out died between the first write, of the magic, and the second,
/// which says whose file it is? Nothing else has four bytes of a SION file.
Result<bool> is_magic_alone(File& first) {
  std::array<std::byte, kSionMagic.size() + 1> head{};
  BENTO_ASSIGN(const std::size_t got, first.read_some(0, head));
  const auto magic = std::as_bytes(std::span(kSionMagic));
  return got == magic.size() && std::ranges::equal(std::span(head).first(got), magic);
}

}  // namespace

Result<JoinedState> joined_state(File& first) {
  BENTO_ASSIGN(const std::uint64_t bytes, first.size());
  if (bytes == 0) return JoinedState::kNothing;
  BENTO_ASSIGN(const Probe seen, probe(first));
  if (seen.kind == FileKind::kContainer && (seen.root.flags & kRootJoined) != 0)
    return JoinedState::kJoined;
  const auto other = [&](std::string_view what) {
    return fail(Code::kExists,
                fmt::format("'{}' is {}, not a container of streams for the driver: it is left "
                            "alone. Name another one (container=), or remove it (errno = {})",
                            first.path(), what, EEXIST),
                EEXIST);
  };
  if (seen.kind == FileKind::kContainer) return other("a container of the h5bento connector");
  BENTO_ASSIGN(const bool hardly_begun, is_magic_alone(first));
  if (hardly_begun) return JoinedState::kNothing;
  BENTO_ASSIGN(const auto identity, find_identity(first));
  if (!identity || identity->part != 0) return other(describe(first, identity));
  // It says that it is a part 0, and has no root: its layout was never complete, or both copies of
  // the root are damaged, which is not the same.
  if (seen.problem.find("magic") == std::string::npos &&
      seen.problem.find("ends before") == std::string::npos &&
      seen.problem.find("META1") == std::string::npos)
    return other(fmt::format("damaged ({})", seen.problem));
  return JoinedState::kNothing;
}

Result<File*> JoinedFiles::file(std::uint32_t index) {
  auto& file = files_[index];
  if (!file) {
    BENTO_ASSIGN(auto opened, names_.open(index, writable_ ? OpenMode::kReadWrite : OpenMode::kRead,
                                          open_posix_file));
    const FilePlan& plan = plan_.file(index);
    BENTO_ASSIGN(const auto found, read_identity(*opened, plan.superblock_address()));
    BENTO_TRY(check_part(*opened, found, names_.first(), root_.file_id, index));
    if (found->session != root_.session) return fail(other_session(*opened, names_.first(), index));
    BENTO_TRY(check_meta1(*opened, plan_, index, true));
    file = std::move(opened);
  }
  return file.get();
}

Result<JoinedFiles> JoinedFiles::load(std::unique_ptr<File> first, bool writable) {
  JoinedFiles all;
  all.writable_ = writable;
  all.names_ = ContainerNames::of(*first);
  BENTO_ASSIGN(const Probe seen, probe(*first));
  all.root_ = seen.root;
  BENTO_ASSIGN(all.plan_, ContainerPlan::of(all.root_.groups, all.root_.fs_block));
  if (all.plan_.groups().size() != 1 || all.tasks() > kMaxJoinedTasks)
    return fail(Code::kCorrupt, fmt::format("'{}': the root names {} groups of files and {} tasks",
                                            first->path(), all.plan_.groups().size(), all.tasks()));
  PartRule rule(first->path(), all.root_);
  BENTO_TRY(rule.check_first(*first, all.plan_.file(0)));
  BENTO_TRY(check_meta1(*first, all.plan_, 0, true));
  all.files_.resize(all.plan_.files());
  all.files_[0] = std::move(first);
  return all;
}

Status JoinedFiles::make_plan(const JoinedLayout& layout) {
  if (layout.tasks > kMaxJoinedTasks)
    return fail(Code::kInvalidArgument, fmt::format("streams for {} processes, at most {} fit one "
                                                    "container",
                                                    layout.tasks, kMaxJoinedTasks));
  root_.fs_block = file_system_block(first());
  BENTO_ASSIGN(plan_, ContainerPlan::make(layout.tasks, layout.files, root_.fs_block));
  const std::uint64_t chunk = plan_.choose_chunk(kHalfChunkBytes, layout.chunk_bytes);
  BENTO_TRY(plan_.check_chunk(std::max(chunk, layout.chunk_bytes)));
  plan_.set_chunk_bytes(chunk);
  root_.groups.assign(plan_.groups().begin(), plan_.groups().end());
  return {};
}

Result<JoinedFiles> JoinedFiles::lay_out(std::unique_ptr<File> first, const JoinedLayout& layout) {
  JoinedFiles all;
  all.writable_ = true;
  all.files_.push_back(std::move(first));
  all.names_ = ContainerNames::of(all.first());
  BENTO_TRY(all.make_plan(layout));
  all.files_.resize(all.plan_.files());

  // All that is in the way is looked at before anything is changed.
  BENTO_TRY(check_is_no_part(all.first(), open_posix_file));
  std::optional<FileId> replaced;
  std::vector<std::string> old_parts;
  if (const auto seen = probe(all.first()); seen && seen->kind == FileKind::kContainer) {
    replaced = seen->root.file_id;
    BENTO_ASSIGN(old_parts, parts_to_remove(all.names_, seen->root, false, open_posix_file));
  }
  for (std::uint32_t index = 1; index < all.plan_.files(); ++index)
    BENTO_TRY(look_before_create(all.names_, index, replaced,
                                 all.plan_.file(index).superblock_address(), open_posix_file));
  BENTO_TRY(all.first().truncate(0));
  for (const auto& part : old_parts) (void)remove_file(part);

  all.root_.flags = kRootJoined;
  all.root_.sequence = 1;
  all.root_.file_id = random_id();
  all.root_.session = random_id();
  BENTO_TRY(all.begin_file(0));
  BENTO_TRY(all.make_others(replaced));
  BENTO_TRY(all.complete_file(0));
  BENTO_TRY(all.set_job(layout.job));
  // Last, since it makes the container known.
  for (const unsigned slot : {1u, 0u})
    BENTO_TRY(all.first().write_at(all.plan_.file(0).root_address(slot), encode_root(all.root_)));
  return all;
}

// Before anything else a file says whose it is.
Status JoinedFiles::begin_file(std::uint32_t index) {
  File& file = *files_[index];
  BENTO_TRY(file.write_at(0, std::as_bytes(std::span(kSionMagic))));
  return write_identity(file, plan_.file(index).superblock_address(),
                        {root_.file_id, index, root_.session, {}, 0, names_.base()});
}

Status JoinedFiles::make_others(const std::optional<FileId>& replaced) {
  for (std::uint32_t index = 1; index < plan_.files(); ++index) {
    BENTO_ASSIGN(const InTheWay there,
                 look_before_create(names_, index, replaced, plan_.file(index).superblock_address(),
                                    open_posix_file));
    const std::string name = names_.of_new(index);
    if (there == InTheWay::kOurs) BENTO_TRY(remove_file(name));
    BENTO_ASSIGN(files_[index], open_posix_file(name, OpenMode::kCreateExclusive));
    take_permissions(files_[0]->descriptor(), files_[index]->descriptor());
    BENTO_TRY(begin_file(index));
    BENTO_TRY(complete_file(index));
  }
  return {};
}

Status JoinedFiles::complete_file(std::uint32_t index) {
  const FilePlan& plan = plan_.file(index);
  File& file = *files_[index];
  BENTO_TRY(write_unfinished_sion(file, plan_, index, names_.first()));
  const std::uint64_t catalogue = joined_catalogue_bytes(index, tasks());
  const std::uint64_t blocks = (catalogue + plan.chunk_bytes - 1) / plan.chunk_bytes;
  JoinedHeader header;
  header.layout = root_.session;
  header.length = plan.block_address(blocks);
  BENTO_TRY(write_joined_header(file, plan, header));
  return restore(index);
}

Result<Slot> JoinedFiles::slot(std::uint32_t task) {
  return read_slot(first(), plan_.file(0), layout(), task);
}
Status JoinedFiles::write(Slot& slot) {
  return write_slot(first(), plan_.file(0), slot);
}
Status JoinedFiles::visit(const std::function<bool(const Slot&)>& each) {
  return visit_slots(first(), plan_.file(0), layout(), tasks(), each);
}

Result<std::optional<Slot>> JoinedFiles::find(std::string_view name) {
  return find_slot(first(), plan_.file(0), layout(), tasks(), name);
}

Result<std::string> JoinedFiles::job() {
  return read_joined_header(first(), plan_.file(0), layout()).map([](const JoinedHeader& header) {
    return header.job;
  });
}

Status JoinedFiles::set_job(const std::string& job) {
  BENTO_ASSIGN(JoinedHeader header, read_joined_header(first(), plan_.file(0), layout()));
  header.job = job;
  return write_joined_header(first(), plan_.file(0), header);
}

// At every moment the superblock's end of file is at least the file's length: stock HDF5 refuses a
// file that is shorter, and would cut one that is longer.
Status JoinedFiles::ensure_length(std::uint32_t index, std::uint64_t bytes) {
  BENTO_ASSIGN(File* const handle, file(index));
  BENTO_ASSIGN(JoinedHeader header, read_joined_header(*handle, plan_.file(index), layout()));
  BENTO_ASSIGN(const std::uint64_t now, handle->size());
  if (header.length >= bytes && now >= bytes) return {};
  if (header.view_at != 0) {
    BENTO_TRY(drop_view(index));
    BENTO_ASSIGN(header, read_joined_header(*handle, plan_.file(index), layout()));
  }
  header.length = std::max(header.length, bytes);
  BENTO_TRY(write_joined_header(*handle, plan_.file(index), header));
  return restore(index);
}

Status JoinedFiles::restore(std::uint32_t index) {
  BENTO_ASSIGN(File* const handle, file(index));
  const FilePlan& plan = plan_.file(index);
  BENTO_ASSIGN(const JoinedHeader header, read_joined_header(*handle, plan, layout()));
  if (header.length < plan.block_address(1) || header.length > 2 * kMaxLogicalBytes)
    return fail(Code::kCorrupt, fmt::format("'{}': its header says a length of {} bytes",
                                            handle->path(), header.length));
  if (header.view_at != 0) {
    BENTO_ASSIGN(const JoinedView view, view_of(index));
    return view == JoinedView::kThere ? Status{} : drop_view(index);
  }
  BENTO_ASSIGN(const bool whole, has_placeholder(*handle, plan, header.length));
  if (!whole)
    BENTO_TRY(handle->write_at(plan.superblock_address(),
                               placeholder(plan.superblock_address(), header.length)));
  BENTO_ASSIGN(const std::uint64_t now, handle->size());
  return now != header.length ? handle->truncate(header.length) : Status{};
}

Status JoinedFiles::withdraw(std::uint32_t index) {
  BENTO_TRY(drop_view(index));
  BENTO_ASSIGN(File* const handle, file(index));
  return suspend_sion(*handle, plan_, index);
}

Result<bool> JoinedFiles::finished(std::uint32_t index) {
  BENTO_ASSIGN(File* const handle, file(index));
  std::array<std::byte, kSionTailBytes> tail{};
  BENTO_TRY(handle->read_at(sion_meta1_bytes(plan_.file(index).tasks(), false), tail));
  return std::ranges::any_of(tail, [](std::byte b) { return b != std::byte{0}; });
}

Status JoinedFiles::finish() {
  BENTO_ASSIGN(const bool done, finished(0));
  if (done) return {};
  std::vector<std::uint64_t> lengths;
  lengths.reserve(tasks());
  BENTO_TRY(visit([&](const Slot& slot) {
    lengths.push_back(slot.used() ? slot.length() : 0);
    return true;
  }));
  for (std::uint32_t index = plan_.files(); index-- > 0;) {
    BENTO_ASSIGN(const bool already, finished(index));
    if (!already) BENTO_TRY(finish_file(index, lengths));
  }
  return {};
}

Status JoinedFiles::finish_file(std::uint32_t index, std::span<const std::uint64_t> lengths) {
  const FilePlan& plan = plan_.file(index);
  BENTO_ASSIGN(File* const handle, file(index));
  BENTO_TRY(restore(index));
  BENTO_ASSIGN(const std::uint64_t bytes, handle->size());
  // No size row may lead beyond the file, whatever a slot says.
  const std::uint64_t most = plan.blocks_within(bytes) * plan.chunk_bytes;
  CatalogueSpace space(joined_catalogue_bytes(index, tasks()));
  std::uint64_t blocks = dense_fill(space.end(), plan.chunk_bytes).size();
  std::vector<ChunkFill> fills(plan.writers);
  for (std::uint32_t task = 0; task < plan.writers; ++task) {
    fills[task] = dense_fill(std::min(lengths[plan.first_writer + task], most), plan.chunk_bytes);
    blocks = std::max<std::uint64_t>(blocks, fills[task].size());
  }
  // Behind the slots, or where it does not fit a chunk, behind all blocks: as complete_sion() does.
  const std::uint64_t mapping = index == 0 && plan_.files() > 1 ? 4 + 8ull * plan_.globals() : 0;
  const std::uint64_t meta2 = 8ull * plan.tasks() * (1 + blocks) + mapping;
  if (meta2 > plan.chunk_bytes) {
    BENTO_TRY(ensure_length(index, plan.block_address(blocks) + meta2));
  } else {
    CatalogueSpace probe_space = space;
    const Position at = probe_space.take_behind(meta2, plan.chunk_bytes);
    BENTO_TRY(ensure_length(index, plan.block_address(at / plan.chunk_bytes + 1)));
  }
  return complete_sion(*handle, plan_, index, fills, space, [] { return Status{}; });
}

}  // namespace bento
