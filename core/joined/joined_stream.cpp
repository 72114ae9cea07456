// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {

namespace {
// How far ahead of its data a writer says that it may have written: the slot is written anew once
// in so many bytes.
constexpr std::uint64_t kLeastStep = 1u << 20;
constexpr std::uint64_t kMostStep = 64u << 20;
constexpr std::size_t kMostAtOnce = 1u << 20;
}  // namespace

JoinedStream::JoinedStream(std::shared_ptr<JoinedContainer> container, Slot slot, bool writable,
                           bool begun)
    : container_(std::move(container)),
      slot_(std::move(slot)),
      place_(container_->files(), slot_.task),
      size_(slot_.length()),
      writable_(writable),
      begun_(begun) {}

// A stream that nobody closed is left as its last write left it, like the file of a process that
// was killed: the locks go with the container's object.
JoinedStream::~JoinedStream() = default;

Result<File*> JoinedStream::file() {
  return container_->files().file(place_.file());
}

Status JoinedStream::read(std::uint64_t offset, std::span<std::byte> into) {
  return place_.read(size_, offset, into);
}

Status JoinedStream::check_may_write() const {
  if (!writable_)
    return fail(Code::kPermission, fmt::format("'{}' in '{}' is open for reading only", slot_.name,
                                               container_->files().path()));
  if (container_->elsewhere())
    return fail(Code::kPermission,
                fmt::format("'{}' in '{}' was opened by the process that forked this one, and only "
                            "that one changes it",
                            slot_.name, container_->files().path()));
  return {};
}

Status JoinedStream::begin() {
  BENTO_TRY(check_may_write());
  if (begun_) return {};
  slot_.reach = std::max(slot_.length(), size_);
  BENTO_TRY(container_->begin_writing(slot_));
  begun_ = true;
  return {};
}

// HDF5 writes the superblock of a file that it closes, also where nothing was changed.
Result<bool> JoinedStream::holds_already(std::uint64_t offset, std::span<const std::byte> from) {
  constexpr std::size_t kMostBytes = 4096;
  if (from.size() > kMostBytes || offset > size_ || from.size() > size_ - offset) return false;
  std::array<std::byte, kMostBytes> there;
  const auto piece = std::span(there).first(from.size());
  BENTO_TRY(read(offset, piece));
  return std::ranges::equal(piece, from);
}

Status JoinedStream::write(std::uint64_t offset, std::span<const std::byte> from) {
  if (from.empty()) return {};
  BENTO_ASSIGN(const std::uint64_t end, checked_add(offset, from.size()));
  BENTO_TRY(check_may_write());
  BENTO_ASSIGN(const bool same, begun_ ? Result<bool>(false) : holds_already(offset, from));
  if (same) return {};
  BENTO_TRY(begin());
  BENTO_TRY(reach(end));
  BENTO_ASSIGN(File* const handle, file());
  // The slots of all tasks lie in file 0, and an inode has one writer at a time: so that they do
  // not wait for a large write there, it is made in pieces.
  const std::size_t most =
      place_.file() == 0 && container_->files().plan().files() > 1 ? kMostAtOnce : from.size();
  while (!from.empty()) {
    const JoinedPlace::Run run = place_.run_at(offset, std::min(from.size(), most));
    const auto bytes = static_cast<std::size_t>(run.bytes);
    BENTO_TRY(handle->write_at(run.address, from.first(bytes)));
    from = from.subspan(bytes);
    offset += run.bytes;
    size_ = std::max(size_, offset);
  }
  return {};
}

Status JoinedStream::set_size(std::uint64_t bytes) {
  if (bytes == size_) return {};
  BENTO_TRY(begin());
  if (bytes > size_) {
    BENTO_TRY(reach(bytes));
    size_ = bytes;
    return {};
  }
  BENTO_TRY(zero(bytes, size_));
  size_ = bytes;
  if (slot_.reach - bytes < kLeastStep && bytes != 0) return {};
  // Else a process that is killed now would leave a file of its old length.
  Slot next = slot_;
  next.bytes = next.reach = bytes;
  BENTO_TRY(container_->files().write(next));
  slot_ = std::move(next);
  return {};
}

Status JoinedStream::zero(std::uint64_t begin, std::uint64_t end) {
  BENTO_ASSIGN(File* const handle, file());
  while (begin < end) {
    const JoinedPlace::Run run = place_.run_at(begin, end - begin);
    BENTO_TRY(zero_range(*handle, run.address, run.bytes));
    begin += run.bytes;
  }
  return {};
}

// A chunk may hold what stock HDF5 has appended, or an old META2.
Status JoinedStream::enter_block(std::uint64_t block) {
  const FilePlan& where = plan();
  if (block >= where.blocks_within(kMaxLogicalBytes))
    return fail(
        os_error(EFBIG,
                 fmt::format("chunks of {} bytes (chunk=) make a physical file of more than "
                             "{} TiB for '{}' in",
                             where.chunk_bytes, kMaxLogicalBytes >> 40, slot_.name),
                 container_->files().path()));
  BENTO_ASSIGN(File* const handle, file());
  BENTO_ASSIGN(const std::uint64_t now, handle->size());
  if (now < where.block_address(block + 1))
    BENTO_TRY(container_->ensure_length(place_.file(), where.block_address(block + 1)));
  return zero_range(*handle, place_.run_at(block * where.chunk_bytes, 1).address,
                    where.chunk_bytes);
}

Status JoinedStream::reach(std::uint64_t end) {
  if (end <= slot_.reach) return {};
  const std::uint64_t chunk = plan().chunk_bytes;
  const std::uint64_t step = std::clamp(std::bit_floor(end), kLeastStep, kMostStep);
  BENTO_ASSIGN(const std::uint64_t by_step, checked_round_up(end, step));
  BENTO_ASSIGN(const std::uint64_t by_chunk, checked_round_up(end, chunk));
  const std::uint64_t reach = std::min(by_step, by_chunk);
  const std::uint64_t entered = (slot_.reach + chunk - 1) / chunk;
  if (reach / chunk >= plan().blocks_within(kMaxLogicalBytes) + 1)
    return enter_block(reach / chunk);  // says that it is too large
  // The last one first, so that the file is made longer once.
  for (std::uint64_t block = (reach + chunk - 1) / chunk; block-- > entered;)
    BENTO_TRY(enter_block(block));
  Slot next = slot_;
  next.reach = reach;
  next.bytes = std::min(size_, reach);
  BENTO_TRY(container_->files().write(next));
  slot_ = std::move(next);
  return {};
}

Status JoinedStream::lock_for_reading() {
  if (writable_ || reading_) return {};
  BENTO_ASSIGN(reading_, container_->lock_for_reading(slot_.task));
  if (reading_) return {};
  return fail(Code::kBusy,
              fmt::format("'{}' in '{}' is open for writing in another process (errno = {})",
                          slot_.name, container_->files().path(), EAGAIN),
              EAGAIN);
}

Result<int> JoinedStream::descriptor() {
  if (size_ > plan().chunk_bytes)
    return fail(Code::kUnsupported,
                fmt::format("'{}' has no file descriptor of its own: it lies in {} pieces in '{}', "
                            "in chunks of {} bytes",
                            slot_.name, (size_ + plan().chunk_bytes - 1) / plan().chunk_bytes,
                            container_->files().path(), plan().chunk_bytes));
  BENTO_ASSIGN(File* const handle, file());
  return handle->descriptor();
}

Status JoinedStream::close() {
  if (--opens_ > 0 || container_->elsewhere()) return {};
  if (begun_) {
    slot_.bytes = size_;
    slot_.reach = size_;
    slot_.flags &= ~static_cast<std::uint32_t>(kSlotWriting);
  }
  return container_->leave(slot_, begun_);
}

}  // namespace bento
