// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_export.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/joined/joined_files.hpp"
#include "core/joined/joined_place.hpp"
#include "core/joined/joined_report.hpp"

namespace bento {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1u << 20;

fs::path path_below(const fs::path& folder, const std::string& name) {
  fs::path path = folder;
  for (const auto& part : fs::path(name).relative_path())
    if (!part.empty() && part != ".") path /= part == ".." ? fs::path("__") : part;
  return path;
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
  for (const auto& slot : slots) {
    const fs::path target = path_below(folder, slot.name);
    std::error_code failed;
    fs::create_directories(target.parent_path(), failed);
    if (failed)
      return fail(os_error(failed.value(), "creation of folder", target.parent_path().string()));
    BENTO_ASSIGN(const auto file, open_posix_file(target.string(), OpenMode::kCreateExclusive));
    auto copied = copy_stream(files, slot, *file, options);
    if (!copied) return fail(std::move(copied).error().with_context(slot.name));
    made.push_back({slot.name, target.string(), slot.length(), (slot.flags & kSlotWriting) != 0});
  }
  return made;
}

}  // namespace bento
