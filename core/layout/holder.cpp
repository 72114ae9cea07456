// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/holder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <unistd.h>

#include "core/bytes/byte_reader.hpp"
#include "core/io/host.hpp"

namespace bento {

namespace {

// In the superblock's sector, behind what HDF5 reads of it.
constexpr std::uint64_t kNoteAt = 2048;
constexpr std::size_t kNoteBytes = 256;
constexpr std::string_view kMagic = "BNTHOLD1";

using Note = std::array<std::byte, kNoteBytes>;

std::string host_name() {
  std::array<char, 128> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return host.data();
}

std::string who_we_are() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::array<char, 32> when{};
  if (::gmtime_r(&now, &utc) == nullptr ||
      std::strftime(when.data(), when.size(), "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
    when[0] = '\0';
  return fmt::format("process {} on host {} since {}", ::getpid(), host_name(), when.data());
}

/// Who has the lock, as far as the note of who took it can tell: any process of that program may
/// hold it by now.
std::string describe_holder(const std::string& note) {
  int process = 0;
  std::array<char, 128> host{};
  const bool read =
      std::sscanf(note.c_str(), "process %d on host %127s", &process, host.data()) == 2;
  const bool gone = read && host_name() == host.data() && ::kill(process, 0) != 0 && errno == ESRCH;
  return gone ? fmt::format("held by what is left of the program of {}, which is gone itself", note)
              : fmt::format("held by {}", note);
}

}  // namespace

std::string read_holder_note(File& first) {
  constexpr std::uint64_t kTasksAt = 24;
  std::array<std::byte, 4> count{};
  const auto head = first.read_some(kTasksAt, count);
  if (!head || *head != count.size()) return {};
  ByteReader in(count, std::endian::little, "META1");
  const auto tasks = in.u32();
  if (!tasks || *tasks > kMaxWriters + 1) return {};
  Note note{};
  const auto got = first.read_some(superblock_address(*tasks) + kNoteAt, note);
  if (!got || std::memcmp(note.data(), kMagic.data(), kMagic.size()) != 0) return {};
  const auto* const text = reinterpret_cast<const char*>(note.data()) + kMagic.size();
  std::string said(text, ::strnlen(text, kNoteBytes - kMagic.size()));
  // It comes from a file that anybody may have written, and goes to a terminal.
  std::ranges::replace_if(said, [](char c) { return c < ' ' || c > '~'; }, '?');
  return said;
}

Result<std::unique_ptr<FileLock>> lock_container(File& first, Locking locking) {
  auto lock = FileLock::take_alone(first, locking);
  // The note speaks of writers of ours only; another program may hold HDF5's own lock.
  if (lock || lock.error().code != Code::kBusy || !is_locked(first)) return lock;
  const std::string note = read_holder_note(first);
  if (note.empty()) return lock;
  return fail(std::move(lock).error().with_context(describe_holder(note)));
}

Status write_holder_note(File& first, const FilePlan& plan) {
  const std::string text = fmt::format("{}{}", kMagic, who_we_are());
  Note note{};
  std::memcpy(note.data(), text.data(), std::min(text.size(), note.size() - 1));
  return first.write_at(plan.superblock_address() + kNoteAt, note);
}

Status clear_holder_note(File& first, const FilePlan& plan) {
  return first.write_at(plan.superblock_address() + kNoteAt, Note{});
}

}  // namespace bento
