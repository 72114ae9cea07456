// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_export.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/joined/joined_files.hpp"
#include "core/joined/joined_place.hpp"
#include "core/joined/joined_report.hpp"

namespace bento {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1u << 20;

/// What it is called below the folder; empty if it cannot be called so.
fs::path relative_path(const std::string& name) {
  fs::path path;
  for (const auto& part : fs::path(name).relative_path()) {
    if (part.native().size() > NAME_MAX) return {};
    if (!part.empty() && part != ".") path /= part == ".." ? fs::path("__") : part;
  }
  return path;
}

/// Names of files that do not stand in each other's way.
class FileNames {
 public:
  /// False: a file is there, or has to be a folder, or would have to be one.
  bool take(const fs::path& path) {
    if (path.empty() || files_.contains(path) || folders_.contains(path)) return false;
    std::vector<fs::path> above;
    for (fs::path at = path.parent_path(); !at.empty(); at = at.parent_path()) above.push_back(at);
    if (std::ranges::any_of(above, [&](const fs::path& at) { return files_.contains(at); }))
      return false;
    folders_.insert(above.begin(), above.end());
    files_.insert(path);
    return true;
  }

 private:
  std::set<fs::path> files_;
  std::set<fs::path> folders_;
};

/// By slot. Whose own name can be had has it, whatever becomes of the others.
std::vector<fs::path> choose_paths(const std::vector<Slot>& slots) {
  FileNames names;
  std::vector<fs::path> paths;
  for (const auto& slot : slots) {
    const fs::path own = relative_path(slot.name);
    paths.push_back(names.take(own) ? own : fs::path());
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!paths[i].empty()) continue;
    std::string other = fmt::format("task-{}", slots[i].task);
    while (!names.take(other)) other += '_';
    paths[i] = other;
  }
  return paths;
}

Status copy_stream(JoinedFiles& files, const Slot& slot, File& to,
                   const ExportJoinedOptions& options) {
  const JoinedPlace place(files, slot.task);
  std::vector<std::byte> piece;
  for (std::uint64_t at = 0; at < slot.length();) {
    piece.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, slot.length() - at)));
    BENTO_TRY(place.read(slot.length(), at, piece));
    if (std::ranges::any_of(piece, [](std::byte b) { return b != std::byte{0}; }))
      BENTO_TRY(to.write_at(at, piece));
    at += piece.size();
    if (options.progress) options.progress(piece.size());
  }
  return to.truncate(slot.length());
}

}  // namespace

Result<std::vector<ExportedStreamFile>> export_joined(const std::string& path,
                                                      const std::string& folder,
                                                      const ExportJoinedOptions& options) {
  BENTO_ASSIGN(JoinedFiles files, open_joined(path));
  if (is_locked(files.first()))
    return fail(
        Code::kBusy,
        fmt::format("'{}' is open for writing in another program (errno = {})", path, EAGAIN),
        EAGAIN);
  std::vector<Slot> slots;
  std::uint64_t bytes = 0;
  BENTO_TRY(files.visit([&](const Slot& slot) {
    if (slot.used()) {
      slots.push_back(slot);
      bytes += slot.length();
    }
    return true;
  }));
  if (options.total) options.total(bytes);
  std::vector<ExportedStreamFile> made;
  const std::vector<fs::path> paths = choose_paths(slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    const fs::path target = folder / paths[i];
    std::error_code failed;
    fs::create_directories(target.parent_path(), failed);
    if (failed)
      return fail(os_error(failed.value(), "creation of folder", target.parent_path().string()));
    BENTO_ASSIGN(const auto file, open_posix_file(target.string(), OpenMode::kCreateExclusive));
    auto copied = copy_stream(files, slot, *file, options);
    if (!copied) return fail(std::move(copied).error().with_context(slot.name));
    made.push_back({slot.name, slot.task, target.string(), slot.length(),
                    (slot.flags & kSlotWriting) != 0, paths[i] != relative_path(slot.name)});
  }
  return made;
}

}  // namespace bento
