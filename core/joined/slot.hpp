// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a joined container says of itself in its catalogue: a header in each physical file, and a
/// slot for each task in file 0: whose stream it is, under which name, how long. Each lies twice,
/// so that one is always whole. Encoding and addresses only. Source: docs/format.md, "Joined
/// containers".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/io/file.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"

namespace bento {

inline constexpr std::size_t kSlotBytes = 512;        ///< of one of the two; written in one piece
inline constexpr std::size_t kJoinedNameBytes = 384;  ///< of a name, at most
inline constexpr std::size_t kJobBytes = 256;         ///< of a job's name, at most
inline constexpr std::uint32_t kMaxJoinedTasks = 1 << 20;  ///< tasks of a joined container
/// Bytes of the catalogue in use: the header alone, or the slots of all tasks behind it.
inline constexpr std::uint64_t kJoinedHeaderBytes = 4096;
std::uint64_t joined_catalogue_bytes(std::uint32_t file, std::uint32_t tasks);

/// One per physical file.
struct JoinedHeader {
  SessionId layout{};        ///< random, of the job that laid the container out
  std::uint64_t length = 0;  ///< bytes of the physical file, which the superblock at P says, too
  std::uint64_t turn = 0;    ///< grows with each writing; of two valid ones the larger counts
  std::string job;           ///< that uses the container now; file 0 only. Empty: has no name
  /// Where the bytes of the native view begin, behind everything else; 0: there is none.
  std::uint64_t view_at = 0;
  Hash128 view{};  ///< of the superblock at P that leads to it

  bool operator==(const JoinedHeader&) const = default;
};

/// Persistent: never renumber.
enum SlotFlags : std::uint32_t {
  kSlotUsed = 1,     ///< the task has a stream
  kSlotWriting = 2,  ///< a process is changing it, or died while it did
};

/// One per task, in task order of the whole container.
struct Slot {
  SessionId layout{};
  std::uint32_t task = 0;
  std::uint32_t rank = 0;  ///< that created the stream
  std::uint32_t flags = 0;
  std::uint64_t turn = 0;   ///< as in JoinedHeader
  std::uint64_t bytes = 0;  ///< of the stream, when nobody writes
  std::uint64_t reach = 0;  ///< at least as much as its writer has written; zeros behind its bytes
  Hash128 job{};            ///< hash of the name of the job that created the stream
  std::string name;         ///< of the file, relative to the container's folder

  bool operator==(const Slot&) const = default;
  [[nodiscard]] bool used() const { return (flags & kSlotUsed) != 0; }
  /// Length of the stream where no process writes it: of one that was killed all that it may have.
  [[nodiscard]] std::uint64_t length() const { return (flags & kSlotWriting) != 0 ? reach : bytes; }
};

/// One of two places; decode gives nothing for bytes that are none, or torn.
std::array<std::byte, kSlotBytes> encode_joined_header(const JoinedHeader& header);
std::optional<JoinedHeader> decode_joined_header(std::span<const std::byte> place);
std::array<std::byte, kSlotBytes> encode_slot(const Slot& slot);
std::optional<Slot> decode_slot(std::span<const std::byte> place);

/// Reads the header of a physical file. Errors: kCorrupt (none is valid, or of another layout:
/// names the file), kIo.
Result<JoinedHeader> read_joined_header(File& file, const FilePlan& plan, const SessionId& layout);
/// Writes it, to the place that does not hold the newest. `turn` is set.
Status write_joined_header(File& file, const FilePlan& plan, JoinedHeader& header);

/// The newest valid slot of a task; one that was never used, if there is none. Errors: kCorrupt (it
/// says another task, more bytes than fit the file, a name that is none), kIo.
Result<Slot> read_slot(File& first, const FilePlan& plan, const SessionId& layout,
                       std::uint32_t task);
/// Calls `each` for the slots of all tasks, in order, until it returns false. Reads a MiB at a
/// time.
Status visit_slots(File& first, const FilePlan& plan, const SessionId& layout, std::uint32_t tasks,
                   const std::function<bool(const Slot&)>& each);
/// The slot of the stream with this name, if there is one. Reads all of them, and decodes few.
Result<std::optional<Slot>> find_slot(File& first, const FilePlan& plan, const SessionId& layout,
                                      std::uint32_t tasks, std::string_view name);
/// Writes a slot, to the place that does not hold the newest. `turn` is set.
Status write_slot(File& first, const FilePlan& plan, Slot& slot);

}  // namespace bento
