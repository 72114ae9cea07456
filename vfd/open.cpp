// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vfd/open.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "hdf5/joined/joined_view.hpp"
#include "vfd/plain.hpp"
#include "vfd/who.hpp"

namespace bento::vfd {

namespace {

JoinAccess access_of(unsigned flags) {
  if ((flags & H5F_ACC_EXCL) != 0) return JoinAccess::kNew;
  if ((flags & (H5F_ACC_TRUNC | H5F_ACC_CREAT)) != 0) return JoinAccess::kTruncate;
  return (flags & H5F_ACC_RDWR) != 0 ? JoinAccess::kWrite : JoinAccess::kRead;
}

/// While the library closes what a program has left open, parts of it are gone that a view needs.
class LibraryEnd {
 public:
  static void watch() {
    if (state().watched) return;
    state() = {H5atclose(&note, nullptr) >= 0, false};
  }
  static bool begun() { return state().begun; }

 private:
  struct State {
    bool watched = false;
    bool begun = false;
  };
  static State& state() {
    static State instance;
    return instance;
  }
  // The library may be started again.
  static void note(void*) { state() = {false, true}; }
};

/// What is said of a view that could not be made, or not whole, goes where the program's own words
/// go: its files are there and whole without it.
std::function<void(JoinedFiles&)> view_builder(std::uint64_t copy_bytes) {
  LibraryEnd::watch();
  return [copy_bytes](JoinedFiles& files) {
    if (LibraryEnd::begun())
      return fmt::print(stderr,
                        "h5bento: '{}' has no native view, since the program ended without closing "
                        "its file; 'h5bento view build' makes it\n",
                        files.path());
    const auto notes = vol::build_joined_view(files, {copy_bytes});
    if (!notes)
      fmt::print(stderr, "h5bento: '{}' has no native view: {}\n", files.path(),
                 notes.error().text);
    else if (!notes->empty())
      fmt::print(stderr, "h5bento: the native view of '{}' is not whole: {}{}\n", files.path(),
                 notes->front(),
                 notes->size() > 1 ? fmt::format(" (and {} more)", notes->size() - 1) : "");
  };
}

/// Nothing if the name is that of an ordinary file.
Result<std::optional<JoinRequest>> request_for(const char* name, const DriverConfig& config) {
  const Environment environment = [](const char* variable) { return std::getenv(variable); };
  BENTO_ASSIGN(const auto names, ContainerTemplate::parse(config.match, config.container));
  const auto container = names.container_of(name);
  if (!container) return std::optional<JoinRequest>{};
  BENTO_ASSIGN(Who who, who_are_we(config, environment));
  JoinRequest request;
  request.container = *container;
  request.file = name;
  request.rank = who.rank;
  request.size = who.size;
  request.job = std::move(who.job);
  request.files = config.shared.files;
  request.chunk = config.shared.chunk;
  request.timeout = config.shared.timeout;
  if (config.shared.view) request.when_finished = view_builder(config.shared.view_copy);
  return std::optional<JoinRequest>(std::move(request));
}

/// Is it to be looked for as a name beside the container, too? So a reader in another folder finds
/// `ckpt.0003.h5` of `container=/data/run.bento`.
bool try_beside(const JoinRequest& request, const std::string& beside) {
  return !request.file.empty() && request.file.front() != '/' &&
         name_in_container(request.container, request.file) !=
             name_in_container(request.container, beside);
}

std::string beside_container(const JoinRequest& request) {
  const std::size_t slash = request.container.rfind('/');
  return slash == std::string::npos ? request.file
                                    : request.container.substr(0, slash + 1) + request.file;
}

Result<std::shared_ptr<JoinedStream>> find_stream(JoinRequest request, JoinAccess access) {
  auto stream = join(request, access);
  if (stream || stream.error().code != Code::kNotFound || access != JoinAccess::kRead)
    return stream;
  if (exists(request.file.c_str())) return stream;
  const std::string beside = beside_container(request);
  if (!try_beside(request, beside)) return stream;
  request.file = beside;
  auto other = join(request, access);
  return other ? std::move(other) : std::move(stream);
}

/// A name that is nowhere: most likely it was mistyped, and the container is not to blame.
Error nowhere(const char* name, const std::string& container, const Error& why) {
  return Error{
      Code::kNotFound,
      fmt::format("there is no file '{}', neither an ordinary one nor a stream of '{}': {}", name,
                  container, why.text),
      why.os_errno};
}

}  // namespace

Result<std::shared_ptr<JoinedStream>> open_stream(const char* name, unsigned flags,
                                                  const DriverConfig& config) {
  BENTO_ASSIGN(const auto request, request_for(name, config));
  if (!request) return std::shared_ptr<JoinedStream>{};
  const JoinAccess access = access_of(flags);
  const bool creates = access == JoinAccess::kNew || access == JoinAccess::kTruncate;
  if (access == JoinAccess::kNew && exists(name))
    return fail(os_error(EEXIST, "creating, as a stream, the ordinary file", name));
  if (creates && name_in_container(request->container, request->container) ==
                     name_in_container(request->container, name))
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' would be its own container; let container= name another file, "
                            "such as container=%s.bento",
                            name));
  auto stream = find_stream(*request, access);
  if (!stream && stream.error().code == Code::kNotFound && !creates) {
    if (exists(name)) return std::shared_ptr<JoinedStream>{};
    return fail(nowhere(name, request->container, stream.error()));
  }
  if (stream && (flags & (H5F_ACC_SWMR_WRITE | H5F_ACC_SWMR_READ)) != 0) {
    (void)(*stream)->close();
    return fail(no_swmr(name));
  }
  return stream;
}

Error no_swmr(const std::string& name) {
  return Error{
      Code::kUnsupported,
      fmt::format("'{}': SWMR is not possible in a container, whose streams have no order of "
                  "writes that a reader could rely on; let match= leave this name out",
                  name),
      0};
}

Result<bool> delete_stream(const char* name, const DriverConfig& config) {
  BENTO_ASSIGN(const auto request, request_for(name, config));
  if (!request) return false;
  auto removed = remove_stream(*request);
  if (removed) return true;
  if (removed.error().code == Code::kNotFound && exists(name)) return false;
  return fail(std::move(removed).error());
}

}  // namespace bento::vfd
