// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/cache_note.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/base/hex.hpp"
#include "core/layout/names.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/file_stamp.hpp"
#include "transfer/kvtree.hpp"

namespace bento::transfer {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using Text = std::unique_ptr<char, Free>;

constexpr std::uint64_t kMostNoteBytes = 64u << 10;

/// Where a symbolic link leads; empty if `path` is none.
std::string target_of(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length <= 0) return {};
  target.resize(static_cast<std::size_t>(length));
  return target.front() == '/' ? target : folder_of(path) + "/" + target;
}

/// The inode of a folder: a rename keeps it, a copy has another one. Empty if it cannot be had.
std::string number_of_folder(const std::string& folder) {
  struct stat about{};
  return ::stat(folder.c_str(), &about) == 0 ? fmt::format("{}", about.st_ino) : std::string{};
}

/// Some file systems give a folder another inode after a while: then the name counts. On another
/// node the name may be another one: then the inode counts.
bool is_copied(const KvTree& note, const std::string& final_name) {
  const std::string folder(note.value("FOLDER"));
  return !folder.empty() && note.value("FILE") != final_name &&
         folder != number_of_folder(folder_of(final_name));
}

}  // namespace

std::string this_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

bool is_here(const CacheNote& note) {
  return id_of_copy(note.copy) == note.id;
}

Result<std::string> final_name_of(const std::string& name) {
  std::string path = absolute_name(name);
  constexpr int kMostLinks = 40;  // as the kernel
  for (int links = 0; links < kMostLinks; ++links) {
    const std::string base = base_of(path);
    if (base.empty() || base == "." || base == "..")
      return fail(Code::kInvalidArgument, fmt::format("'{}' is no name of a file", name), EISDIR);
    const std::string folder = folder_of(path);
    const Text real(::realpath(folder.c_str(), nullptr));
    if (!real) return fail(os_error(errno, "looking for the folder of", name));
    path =
        fmt::format("{}/{}", *real.get() == '/' && real.get()[1] == '\0' ? "" : real.get(), base);
    const std::string target = target_of(path);
    if (target.empty()) return path;
    path = target;
  }
  return fail(os_error(ELOOP, "looking for", name));
}

// By the last part alone: the folder may have another name on another node.
std::string note_name(const std::string& final_name) {
  const std::string base = base_of(final_name);
  const Hash128 hash = hash128(std::as_bytes(std::span(base)));
  return folder_of(final_name) + "/.h5bento-" + hex(std::span(hash).first(8)) + ".cache";
}

Result<std::optional<CacheNote>> read_note(const std::string& final_name) {
  const std::string name = note_name(final_name);
  const auto file = open_at(AT_FDCWD, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, name);
  if (!file) {
    if (file.error().code == Code::kNotFound || file.error().os_errno == ENOTDIR)
      return std::optional<CacheNote>();
    return fail(file.error());
  }
  const auto bad = [&](const std::string& why) {
    return fail(Code::kCorrupt,
                fmt::format("'{}', which says where the newest state of '{}' is, cannot be read: "
                            "{}. If that state is not needed: rm '{}'",
                            name, final_name, why, name));
  };
  const auto bytes = read_whole(file->get(), kMostNoteBytes, name);
  if (!bytes) return bad(bytes.error().text);
  const auto tree = decode_kvtree(*bytes);
  if (!tree) return bad(tree.error().text);
  CacheNote note;
  note.copy = tree->value("COPY");
  note.id = tree->value("ID");
  note.host = tree->value("HOST");
  note.transfer_file = tree->value("TRANSFER");
  note.arrive = tree->value("ARRIVE");
  note.evict = tree->find("EVICT") != nullptr;
  if (tree->find("BEFORE") != nullptr) note.before = tree->value("BEFORE");
  note.file = tree->value("FILE");
  note.copied = is_copied(*tree, final_name);
  if (note.copy.empty() || note.copy.front() != '/' || note.id.empty())
    return bad("it names no copy");
  return std::optional<CacheNote>(std::move(note));
}

Status write_note(const std::string& final_name, const CacheNote& note) {
  const std::string name = note_name(final_name);
  const std::string next = fmt::format("{}.{}", name, note.id);
  const std::string folder = folder_of(final_name);
  BENTO_ASSIGN(const Descriptor opened,
               open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0, folder));
  KvTree tree;
  tree.append("FILE", final_name);
  tree.append("FOLDER", number_of_folder(folder));
  tree.append("BEFORE", stamp_of(opened.get(), base_of(final_name)));
  tree.append("COPY", note.copy);
  tree.append("ID", note.id);
  tree.append("HOST", note.host);
  tree.append("TRANSFER", note.transfer_file);
  if (!note.arrive.empty()) tree.append("ARRIVE", note.arrive);
  if (note.evict) tree.append("EVICT");
  BENTO_ASSIGN(const auto bytes, encode_kvtree(tree));
  const auto write = [&]() -> Status {
    BENTO_ASSIGN(const Descriptor file,
                 open_at(AT_FDCWD, next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666, next));
    BENTO_TRY(write_whole(file.get(), 0, bytes, next));
    BENTO_TRY(sync(file.get(), next));
    if (::rename(next.c_str(), name.c_str()) != 0) return fail(os_error(errno, "rename to", name));
    return {};
  };
  if (auto written = write(); !written) {
    ::unlink(next.c_str());
    return written;
  }
  return sync(opened.get(), folder);
}

Status remove_note(const std::string& final_name, const std::string& copy) {
  BENTO_ASSIGN(const auto note, read_note(final_name));
  if (!note || note->copy != copy) return {};
  const std::string name = note_name(final_name);
  if (::unlink(name.c_str()) != 0 && errno != ENOENT)
    return fail(os_error(errno, "removal of", name));
  return {};
}

}  // namespace bento::transfer
