// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/submit.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/layout/names.hpp"
#include "core/layout/plan.hpp"
#include "transfer/daemon.hpp"
#include "transfer/kvtree_file.hpp"
#include "transfer/source.hpp"

namespace bento::transfer {
namespace {

std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string clean_name(const std::string& name) {
  return std::filesystem::path(absolute_name(name)).lexically_normal().string();
}

/// A folder, by a slash at its end or because it is one, gets the name of the source in it.
std::string final_name(const Submission& submission) {
  std::error_code problem;
  std::string name = clean_name(submission.destination);
  if (submission.destination.ends_with('/') || std::filesystem::is_directory(name, problem))
    name = (std::filesystem::path(name) / base_of(submission.source)).lexically_normal().string();
  return name;
}

Status check_not_written(const std::string& path) {
  BENTO_ASSIGN(const auto file, open_posix_file(path, OpenMode::kRead));
  if (!is_locked(*file)) return {};
  return fail(Code::kBusy,
              fmt::format("a program writes to '{}'; submit it when it is closed", path), EBUSY);
}

Result<std::vector<Entry>> entries_for(const Submission& submission) {
  const std::string source = clean_name(submission.source);
  const std::string destination = final_name(submission);
  if (source == destination)
    return fail(Code::kInvalidArgument, fmt::format("'{}' is its own destination", source));
  BENTO_ASSIGN(const auto container, look_at_container(source));
  BENTO_ASSIGN(const auto parts, physical_files(source));
  if (container) BENTO_TRY(check_not_written(source));
  if (parts.size() > 1 && base_of(source) != base_of(destination))
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' has {} physical files, which name each other: it must keep its "
                            "name, '{}' is another",
                            source, parts.size(), base_of(destination)));
  std::vector<Entry> entries;
  const std::string ticket = new_ticket();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    struct stat about{};
    if (::stat(parts[i].c_str(), &about) != 0)
      return fail(os_error(errno, "looking for the source", parts[i]));
    Entry entry;
    entry.source = parts[i];
    entry.part = static_cast<std::uint32_t>(i);
    entry.destination = i == 0 ? destination : physical_name(destination, entry.part);
    entry.size = static_cast<std::uint64_t>(about.st_size);
    if (container) entry.container = destination;
    entry.ticket = ticket;
    entry.evict = submission.evict;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Status put_all(KvTree& tree, const std::vector<Entry>& entries, const Submission& submission) {
  const TransferState before = read_state(tree);
  for (const auto& known : before.entries) {
    const bool same_source =
        std::ranges::find(entries, known.source, &Entry::source) != entries.end();
    const bool same_target =
        std::ranges::find(entries, known.destination, &Entry::destination) != entries.end();
    if (same_source && !same_target && !known.complete() && !known.failed)
      return fail(Code::kExists,
                  fmt::format("'{}' is being copied to '{}'; wait for it, or cancel it",
                              known.source, known.destination));
    // What was submitted for this name before is outdated, with all its parts.
    const bool same_container =
        !known.container.empty() && known.container == entries.front().destination;
    if (same_source || same_target || same_container) remove_entry(tree, known.source);
  }
  for (const auto& entry : entries) put_entry(tree, entry);
  const auto number = [&](const char* key, std::optional<double> wanted, double otherwise) {
    if (wanted || tree.find(key) == nullptr) set_number(tree, key, wanted.value_or(otherwise));
  };
  number("BW", submission.bytes_per_second, 0);
  number("PERCENT", submission.cpu_percent, 0);
  set_command(tree, "RUN");
  set_flag(tree, "DONE", false);
  set_flag(tree, "FAILED", false);
  return {};
}

/// Closes what a parent may have open, so that nobody waits for the daemon to close it.
void close_descriptors_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < (most > 0 ? most : 1024); ++fd) ::close(fd);
}

/// In a child of a process that may have threads: nothing but system calls.
[[noreturn]] void become_daemon(char* const* arguments, const char* log) {
  if (::setsid() < 0) ::_exit(1);
  if (const pid_t again = ::fork(); again != 0) ::_exit(again < 0 ? 1 : 0);
  if (::chdir("/") != 0) ::_exit(1);
  const int null = ::open("/dev/null", O_RDWR);
  int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (out < 0) out = null;
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  close_descriptors_from(3);
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

}  // namespace

std::string default_transfer_file() {
  const std::string named = variable("H5BENTO_TRANSFER_FILE", "");
  if (!named.empty()) return absolute_name(named);
  const std::string user = variable("USER", fmt::format("{}", ::geteuid()));
  return fmt::format("{}/{}/h5bento/transfer.scrinfo", variable("TMPDIR", "/tmp"), user);
}

Status make_transfer_folder(const std::string& transfer_file) {
  const std::string folder = folder_of(transfer_file);
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  struct stat about{};
  if (::stat(folder.c_str(), &about) != 0)
    return fail(os_error(errno, "making the folder", folder));
  if (about.st_uid != ::geteuid() && ::geteuid() != 0)
    return fail(Code::kPermission,
                fmt::format("the folder '{}' of the transfer file belongs to user {}", folder,
                            about.st_uid),
                EPERM);
  return {};
}

Result<std::vector<Entry>> submit(const std::string& transfer_file, const Submission& submission) {
  BENTO_ASSIGN(auto entries, entries_for(submission));
  BENTO_TRY(make_transfer_folder(transfer_file));
  BENTO_TRY(update_kvfile(transfer_file,
                          [&](KvTree& tree) { return put_all(tree, entries, submission); }));
  return entries;
}

Result<std::vector<Entry>> cancel(const std::string& transfer_file,
                                  const std::vector<std::string>& names) {
  std::vector<Entry> taken;
  BENTO_TRY(read_kvfile(transfer_file));  // makes none
  BENTO_TRY(update_kvfile(transfer_file, [&](KvTree& tree) -> Status {
    const TransferState state = read_state(tree);
    const auto is_one = [](const Entry& entry, const std::string& name) {
      return entry.source == name || entry.destination == name || entry.container == name;
    };
    std::vector<std::string> wanted;
    for (const auto& name : names) {
      wanted.push_back(clean_name(name));
      const auto found = std::ranges::find_if(
          state.entries, [&](const Entry& entry) { return is_one(entry, wanted.back()); });
      if (found == state.entries.end())
        return fail(Code::kNotFound,
                    fmt::format("'{}' is neither source nor destination of anything in '{}'", name,
                                transfer_file));
      if (!found->container.empty()) wanted.push_back(found->container);
    }
    for (const auto& entry : state.entries) {
      if (!wanted.empty() && std::ranges::none_of(wanted, [&](const std::string& name) {
            return is_one(entry, name);
          }))
        continue;
      if (!entry.complete()) taken.push_back(entry);
      remove_entry(tree, entry.source);
    }
    if (wanted.empty()) set_command(tree, "STOP");
    return {};
  }));
  BENTO_ASSIGN(const auto lock, DaemonLock::take(transfer_file));
  if (lock)
    for (const auto& entry : taken)
      if (entry.part == 0) clean_destination(entry, AllowedFolders());
  return taken;
}

Result<bool> start_daemon(const std::string& program, const std::string& transfer_file,
                          const std::vector<std::string>& arguments) {
  if (DaemonLock::held(transfer_file)) return false;
  std::vector<std::string> words{program, "transfer", "run", "--file", transfer_file};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string log = transfer_file + ".log";
  const pid_t child = ::fork();
  if (child < 0) return fail(os_error(errno, "fork for the daemon of", transfer_file));
  if (child == 0) become_daemon(pointers.data(), log.c_str());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // A second one would find the lock taken and end; so this is about errors, not about doubles.
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    if (DaemonLock::held(transfer_file)) return true;
    ::usleep(10'000);
  }
  return fail(Code::kIo, fmt::format("the daemon for '{}' did not start ('{}'); '{}' may say why",
                                     transfer_file, program, log));
}

}  // namespace bento::transfer
