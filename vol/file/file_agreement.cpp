// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/file_agreement.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/comm/agree.hpp"
#include "core/io/host.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "hdf5/skeleton/plain_file.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/cached_copy.hpp"
#include "vol/file/container_open.hpp"
#include "vol/file/fapl.hpp"
#include "vol/file/stats.hpp"
#include "vol/file/striping_use.hpp"

namespace bento::vol {

namespace {

using What = FileDecision::What;

std::vector<std::shared_ptr<FileContext>> open_files() {
  std::vector<std::shared_ptr<FileContext>> files;
  for (const auto& host : armed_hosts())
    if (host->identity().inherited == 0)
      files.push_back(std::static_pointer_cast<FileContext>(host));
  return files;
}

/// Where a container of this name is that this process writes or reads in a cache; else the name.
std::string place_of_open(const char* name) {
  for (const auto& file : open_files()) {
    if (!file->cached()) continue;
    const auto final_name = transfer::final_name_of(name);
    if (final_name && *final_name == file->cached()->final_name) return file->cached()->path;
  }
  return name;
}

std::shared_ptr<FileContext> open_by_name(const char* name, std::uint64_t step) {
  FileIdentity identity = identity_of_name(name);
  if (identity == FileIdentity{}) return nullptr;
  identity.step = step;
  return std::static_pointer_cast<FileContext>(host_of_identity(identity));
}

std::vector<std::uint64_t> open_sessions() {
  std::vector<std::uint64_t> sessions;
  for (const auto& file : open_files()) sessions.push_back(file->session());
  std::sort(sessions.begin(), sessions.end());
  return sessions;
}

bool is_among(std::span<const std::uint64_t> sorted, std::uint64_t session) {
  return std::binary_search(sorted.begin(), sorted.end(), session);
}

/// The call as the application made it; flags that the library adds by itself are left out.
std::string describe(const FileRequest& request) {
  struct Flag {
    unsigned bit;
    const char* name;
  };
  static const std::array kFlags = {
      Flag{H5F_ACC_TRUNC, "H5F_ACC_TRUNC"}, Flag{H5F_ACC_EXCL, "H5F_ACC_EXCL"},
      Flag{H5F_ACC_RDWR, "H5F_ACC_RDWR"}, Flag{H5F_ACC_SWMR_WRITE, "H5F_ACC_SWMR_WRITE"},
      Flag{H5F_ACC_SWMR_READ, "H5F_ACC_SWMR_READ"}};
  std::string flags;
  for (const auto& [bit, name] : kFlags)
    if ((request.flags & bit) != 0) flags += fmt::format("{}{}", flags.empty() ? "" : "|", name);
  if (flags.empty() && request.function == "H5Fopen") flags = "H5F_ACC_RDONLY";
  std::string text(request.function);
  if (!flags.empty()) text += fmt::format(" with {}", flags);
  if (!request.native_because.empty()) text += fmt::format(" and {}", request.native_because);
  return text;
}

FileCall call_of(const FileRequest& request, const Result<RequestedConfig>& requested) {
  FileCall call{describe(request), request.name, request.name, requested, open_sessions()};
  std::error_code unknown;  // then the name stands for the place
  if (const auto place = std::filesystem::absolute(request.name, unknown); !unknown)
    call.place = place.lexically_normal().string();
  return call;
}

std::uint8_t locking_of(const FileRequest& request) {
  return static_cast<std::uint8_t>(locking_wanted(request.fapl));
}

/// A file that is open already is opened again: the same settings, or none.
Status join(const FileRequest& request, const RequestedConfig& requested, AgreedFile& file) {
  for (auto& open : open_files())
    if (open->session() == file.decision.session) file.open = std::move(open);
  const auto judge = [&]() -> Status {
    if (!file.open)
      return fail(Code::kInternal, fmt::format("'{}' is not open here", request.name));
    auto same = check_second_open(requested, file.open->settings().requested,
                                  file.open->settings().created);
    if (!same) return fail(std::move(same).error().with_context(fmt::format("'{}'", request.name)));
    return {};
  };
  return agree(*file.comm, judge());
}

/// Each rank of a parallel program that follows a link has the target open for itself, as it was
/// then. Natively, too, a file that is open for reading cannot be opened for writing beside that.
Status check_no_linked_reader(const FileRequest& request) {
  if ((request.flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC)) == 0) return {};
  const FileIdentity wanted = identity_of_name(request.name);
  for (const auto& host : armed_hosts())
    if (host->reached_by_link && !host->writable() && host->identity().step == 0 &&
        same_inode(host->identity(), wanted))
      return fail(Code::kBusy,
                  fmt::format("'{}' is open for reading already, through a link: close what was "
                              "opened through it before the file is opened for writing",
                              request.name));
  return {};
}

Result<AgreedFile> agree_on(const FileRequest& request, bool creates, const FileDecider& decide) {
  AgreedFile file;
  BENTO_ASSIGN(file.access, user_access(request.fapl));
  // A file that is not ours asks for nothing.
  Result<RequestedConfig> requested =
      request.native_because.empty() ? config_of(request.fapl) : RequestedConfig{};
  if (requested)
    if (auto free = check_no_linked_reader(request); !free) requested = fail(free.error());
  BENTO_ASSIGN(file.comm, make_communicator(
                              file.access, requested ? requested->config.timeout : Config{}.timeout,
                              request.name));
  if (requested && file.access.parallel && request.native_because.empty())
    if (auto fit = check_parallel_settings(request.fapl, file.comm->size()); !fit)
      requested = fail(fit.error());
  if (requested && creates && file.access.parallel)
    take_striping_hints(*requested, *file.access.mpi);
  if (requested) Stats::get().set_output(requested->config.stats);
  auto agreed = agree_on_call(*file.comm, call_of(request, requested), creates, decide);
  if (!agreed) return fail(std::move(agreed).error());
  file.decision = agreed->decision;
  if (file.decision.what == What::kJoin) BENTO_TRY(join(request, *requested, file));
  file.settings = {
      {std::move(agreed->config), std::move(requested->given)}, file.decision.session, creates};
  return file;
}

}  // namespace

std::uint64_t new_session() {
  const auto random = random_id();
  std::uint64_t id = 0;
  std::memcpy(&id, random.data(), sizeof id);
  return id;
}

Result<AgreedFile> agree_on_create(const FileRequest& request) {
  return agree_on(
      request, true, [&](std::span<const std::uint64_t> everywhere) -> Result<FileDecision> {
        if (!request.native_because.empty()) {
          BENTO_TRY(check_may_replace(request.name, request.flags));
          return FileDecision{};
        }
        // Open already, as of whichever step: the native library refuses to truncate it.
        const FileIdentity there = identity_of_name(place_of_open(request.name).c_str());
        for (const auto& open : open_files()) {
          if (!same_inode(there, open->identity())) continue;
          if (is_among(everywhere, open->session()))
            return FileDecision{What::kJoin, open->session(), 0, {}};
          return fail(
              Code::kBusy,
              fmt::format("'{}' is open already on rank 0 of this program, but not together "
                          "with all other ranks: close it first",
                          request.name));
        }
        // Then all ranks hear that there is something to do about it.
        const bool unfinished = transfer::has_note(request.name);
        return FileDecision{What::kBegin, new_session(), locking_of(request),
                            unfinished ? request.name : ""};
      });
}

Result<AgreedFile> agree_on_open(const FileRequest& request) {
  std::shared_ptr<transfer::CachedCopy> found;
  auto agreed = agree_on(
      request, false, [&](std::span<const std::uint64_t> everywhere) -> Result<FileDecision> {
        if (!request.native_because.empty()) return FileDecision{};
        BENTO_ASSIGN(const RequestedConfig requested, config_of(request.fapl));
        std::string place = place_of_open(request.name);
        if (place == request.name) {
          BENTO_ASSIGN(auto copy, transfer::newest_copy(request.name));
          if (copy) {
            BENTO_TRY(transfer::check_whole(*copy));
            place = copy->path;
            found = std::make_shared<transfer::CachedCopy>(std::move(*copy));
          }
        }
        const auto open = open_by_name(place.c_str(), requested.config.step);
        if (open && is_among(everywhere, open->session()))
          return FileDecision{What::kJoin, open->session(), 0, {}};
        BENTO_ASSIGN(const bool ours, is_ours(place.c_str()));
        return FileDecision{ours ? What::kBegin : What::kPass, new_session(), locking_of(request),
                            place == request.name ? "" : place};
      });
  if (agreed) agreed->copy = std::move(found);
  return agreed;
}

Result<AgreedFile> agree_on_delete(const FileRequest& request) {
  return agree_on(request, false, [&](std::span<const std::uint64_t>) -> Result<FileDecision> {
    BENTO_ASSIGN(const bool ours, is_ours(request.name));
    const bool unfinished = transfer::has_note(request.name);
    return FileDecision{ours || unfinished ? What::kRemove : What::kPass, 0, locking_of(request),
                        unfinished ? request.name : ""};
  });
}

}  // namespace bento::vol
