// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/mount/mount_table.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace bento::tools {

namespace {

/// A line of /proc/self/mountinfo, of which this is read.
struct Mount {
  std::string device;  ///< "major:minor"
  std::string type;
};

Mount mount_on(const std::string& folder) {
  Mount found;
  std::FILE* const table = std::fopen("/proc/self/mountinfo", "re");
  if (table == nullptr) return found;
  char* line = nullptr;
  std::size_t size = 0;
  while (::getline(&line, &size, table) > 0) {
    std::vector<std::string> words;
    char* rest = nullptr;
    for (char* word = ::strtok_r(line, " \n", &rest); word != nullptr;
         word = ::strtok_r(nullptr, " \n", &rest))
      words.emplace_back(word);
    constexpr std::size_t kDevice = 2;
    constexpr std::size_t kFolder = 4;
    if (words.size() <= kFolder) continue;
    std::string name;  // spaces and the like are \040
    const std::string& text = words[kFolder];
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 3 < text.size()) {
        name += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
        i += 3;
      } else {
        name += text[i];
      }
    }
    if (name != folder) continue;
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash != words.end() && dash + 1 != words.end()) found = {words[kDevice], *(dash + 1)};
  }
  std::free(line);
  (void)std::fclose(table);
  return found;
}

/// Runs fusermount3, which may unmount what its user has mounted. Its text; empty if it succeeded.
Result<std::string> run_fusermount(const std::string& folder) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return fail(os_error(errno, "a pipe for", folder));
  const pid_t child = ::fork();
  if (child < 0) return fail(os_error(errno, "starting fusermount3 for", folder));
  if (child == 0) {
    ::dup2(pipe[1], 2);
    ::execlp("fusermount3", "fusermount3", "-u", "--", folder.c_str(), nullptr);
    constexpr int kNoProgram = 127;
    ::_exit(kNoProgram);
  }
  ::close(pipe[1]);
  std::string text;
  std::array<char, 512> part{};
  ssize_t got = 0;
  while ((got = ::read(pipe[0], part.data(), part.size())) > 0)
    text.append(part.data(), static_cast<std::size_t>(got));
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::string();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return std::string("fusermount3 is missing: install the package fuse3");
  return text.empty() ? std::string("fusermount3 failed") : text;
}

}  // namespace

std::string mounted_type(const std::string& folder) {
  return mount_on(folder).type;
}

void read_ahead(const std::string& folder, std::size_t bytes) {
  const Mount mount = mount_on(folder);
  if (mount.type != kMountType) return;
  const std::string name = fmt::format("/sys/class/bdi/{}/read_ahead_kb", mount.device);
  const int file = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const std::string text = fmt::format("{}\n", bytes / 1024);
  if (::write(file, text.data(), text.size()) < 0) {
    // It stays as it is, and so do the values that are read.
  }
  ::close(file);
}

Status unmount(const std::string& folder) {
  const std::string type = mounted_type(folder);
  if (type != kMountType)
    return fail(Code::kNotFound, fmt::format("on '{}' no container is mounted{}", folder,
                                             type.empty() ? "" : ", but " + type));
  if (::umount2(folder.c_str(), 0) == 0) return {};
  const int error = errno;
  if (error == EBUSY)
    return fail(Code::kBusy, fmt::format("files of '{}' are open, or a program works in it (try "
                                         "'fuser -m {}')",
                                         folder, folder));
  BENTO_ASSIGN(const std::string text, run_fusermount(folder));
  if (text.empty()) return {};
  if (text.find("busy") != std::string::npos) return fail(Code::kBusy, text);
  return fail(Code::kPermission, fmt::format("{}: {}", std::strerror(error), text), error);
}

}  // namespace bento::tools
