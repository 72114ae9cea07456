// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/submit.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/io/host.hpp"
#include "core/layout/names.hpp"
#include "core/layout/plan.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/kvtree_file.hpp"
#include "transfer/one_name.hpp"
#include "transfer/share.hpp"
#include "transfer/source.hpp"
#include "transfer/spill.hpp"

namespace bento::transfer {
namespace {

constexpr std::size_t kRememberedArrivals = 100;

std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
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

/// Of a share only those physical files are on this node in which its ranks have streams.
Result<std::vector<Entry>> entries_for_share(const Submission& submission,
                                             const std::string& source, const Share& share) {
  BENTO_ASSIGN(const auto container, look_at_container(root_file_of_copy(source)));
  if (!container)
    return fail(Code::kCorrupt, fmt::format("'{}' is no container", root_file_of_copy(source)));
  BENTO_TRY(check_not_written(root_file_of_copy(source)));
  std::vector<Entry> entries;
  const std::string ticket = new_ticket();
  for (std::uint32_t part = 0; part < container->files; ++part) {
    Entry entry;
    entry.source = physical_name(source, part);
    struct stat about{};
    if (::stat(entry.source.c_str(), &about) != 0) {
      if (errno == ENOENT) continue;
      return fail(os_error(errno, "looking for the share", entry.source));
    }
    entry.container = clean_name(submission.destination);
    entry.part = part;
    entry.destination = physical_name(entry.container, part);
    entry.size = static_cast<std::uint64_t>(about.st_size);
    entry.ticket = ticket;
    entry.evict = submission.evict;
    entry.cached = true;
    entry.keep = submission.keep;
    entry.root = text_of(container->file_id);
    entry.share = share.index;
    entry.shares = share.count;
    entry.copy = id_of_copy(source);
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return fail(os_error(ENOENT, "looking for the share", source));
  return entries;
}

Result<std::vector<Entry>> entries_for(const Submission& submission) {
  const std::string source = clean_name(submission.source);
  const std::string destination = final_name(submission);
  const Share share = submission.cached ? share_of_copy(source) : Share{};
  if (share.index > 0) return entries_for_share(submission, source, share);
  BENTO_ASSIGN(const auto container, look_at_container(source));
  BENTO_ASSIGN(const auto parts, physical_files(source));
  for (const auto& part : parts)
    if (lead_to_one_file(part, destination))
      return fail(Code::kInvalidArgument, fmt::format("'{}' is its own destination", part));
  if (container) BENTO_TRY(check_not_written(source));
  BENTO_TRY(check_can_arrive(source, submission.arrive));
  // One file arrives as one file by a copy.
  const Arrive arrive = submission.arrive == Arrive::kOneFile && parts.size() == 1
                            ? Arrive::kContainer
                            : submission.arrive;
  const bool anew = arrive != Arrive::kContainer;
  if (!anew && parts.size() > 1 && base_of(source) != base_of(destination))
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}' has {} physical files, which name each other: it must keep its "
                    "name, '{}' is another. As onefile or native it may arrive under any name",
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
    entry.destination = i == 0 || anew ? destination : physical_name(destination, entry.part);
    entry.size = static_cast<std::uint64_t>(about.st_size);
    if (container) entry.container = destination;
    entry.ticket = ticket;
    entry.evict = submission.evict;
    entry.cached = submission.cached;
    entry.keep = submission.keep;
    if (anew) entry.arrive = arrive_name(arrive);
    entry.share = share.index;
    entry.shares = share.count;
    if (share.count > 0) entry.copy = id_of_copy(source);
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// A transfer file is written as a whole with each burst, so it must not grow for ever. What SCR's
/// library has submitted, it removes itself.
void forget_old_arrivals(KvTree& tree) {
  std::vector<Entry> arrived = read_state(tree).entries;
  std::erase_if(arrived, [](const Entry& one) { return !one.named || one.ticket.empty(); });
  std::set<std::pair<std::size_t, std::string>> tickets;  // longer numbers are larger
  for (const auto& one : arrived) tickets.emplace(one.ticket.size(), one.ticket);
  while (tickets.size() > kRememberedArrivals) {
    const std::string oldest = tickets.begin()->second;
    tickets.erase(tickets.begin());
    for (const auto& one : arrived)
      if (one.ticket == oldest) remove_entry(tree, one.source);
  }
}

Status put_all(KvTree& tree, const std::vector<Entry>& entries, const Submission& submission) {
  const TransferState before = read_state(tree);
  std::set<std::string> targets;
  for (const auto& entry : entries) targets.insert(one_name(entry.destination));
  const std::string container = one_name(entries.front().container);
  for (const auto& known : before.entries) {
    const bool same_source =
        std::ranges::find(entries, known.source, &Entry::source) != entries.end();
    const bool same_target = targets.contains(one_name(known.destination));
    // Nodes that share a transfer file, but not what lies under the names in it.
    const bool other_share = known.shares > 0 && known.copy == entries.front().copy &&
                             known.share != entries.front().share;
    if (other_share && !same_source) continue;
    if (other_share && !known.complete() && !known.failed)
      return fail(Code::kBusy,
                  fmt::format("share {} of '{}' is in the transfer file that share {} needs: give "
                              "each node a transfer file of its own (H5BENTO_TRANSFER_FILE)",
                              known.share, known.container, entries.front().share),
                  EBUSY);
    if (same_source && !same_target && !known.complete() && !known.failed)
      return fail(Code::kExists,
                  fmt::format("'{}' is being copied to '{}'; wait for it, or cancel it",
                              known.source, known.destination));
    // What was submitted for this name before is outdated, with all its parts.
    const bool same_container = !known.container.empty() && one_name(known.container) == container;
    if (same_source || same_target || same_container) remove_entry(tree, known.source);
  }
  forget_old_arrivals(tree);
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

}  // namespace

std::string clean_name(const std::string& name) {
  return std::filesystem::path(absolute_name(name)).lexically_normal().string();
}

std::string default_transfer_file() {
  const std::string named = variable("H5BENTO_TRANSFER_FILE", "");
  if (!named.empty()) return absolute_name(named);
  const std::string user = variable("USER", fmt::format("{}", ::geteuid()));
  return absolute_name(
      fmt::format("{}/{}/h5bento/transfer.scrinfo", variable("TMPDIR", "/tmp"), user));
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
  if (submission.cached) release_room(clean_name(submission.source));
  BENTO_TRY(update_kvfile(transfer_file,
                          [&](KvTree& tree) { return put_all(tree, entries, submission); }));
  return entries;
}

Status withdraw(const std::string& transfer_file, const std::string& destination) {
  if (::access(transfer_file.c_str(), F_OK) != 0) return {};
  return update_kvfile(transfer_file, [&](KvTree& tree) -> Status {
    const std::string name = one_name(destination);
    for (const auto& entry : read_state(tree).entries)
      if (one_name(entry.destination) == name || one_name(entry.container) == name)
        remove_entry(tree, entry.source);
    return {};
  });
}

}  // namespace bento::transfer
