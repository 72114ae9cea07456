// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#define FUSE_USE_VERSION 312
#include "tools/mount/fuse_mount.hpp"

#include <fcntl.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fuse_lowlevel.h>

#include "core/base/guarded.hpp"
#include "tools/mount/mount_table.hpp"

namespace bento::tools {

namespace {

// How long a step may be in the kernel's cache after its writer has dropped it.
constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr std::size_t kMostRead = 1u << 20;
constexpr unsigned kThreads = 3;

int errno_of(const Error& error) {
  switch (error.code) {
    case Code::kBusy:
      return ESTALE;
    case Code::kNotFound:
      return error.os_errno != 0 ? error.os_errno : ENOENT;
    case Code::kPermission:
      return error.os_errno != 0 ? error.os_errno : EACCES;
    case Code::kNoSpace:
      return ENOMEM;
    default:
      return error.os_errno != 0 ? error.os_errno : EIO;
  }
}

/// The files that the kernel has open. Those that are open when the mount is taken away it never
/// closes.
class OpenFiles {
 public:
  MountedFile* keep(std::unique_ptr<MountedFile> file) {
    MountedFile* const handle = file.get();
    const std::lock_guard lock(mutex_);
    files_.emplace(handle, std::move(file));
    return handle;
  }
  void close(MountedFile* handle) {
    std::unique_lock lock(mutex_);
    const auto closed = files_.extract(handle);
    lock.unlock();  // the file's own end may wait
  }

 private:
  std::mutex mutex_;
  std::unordered_map<MountedFile*, std::unique_ptr<MountedFile>> files_;
};

/// What the callbacks get.
struct Served {
  MountedContainer& mounted;
  MountedContainer::Log log;
  std::string folder;
  OpenFiles open{};
  std::once_flag first_open{};
};

Served& served(fuse_req_t request) {
  return *static_cast<Served*>(fuse_req_userdata(request));
}

/// Nobody looks at a name that does not exist; everything else that fails is worth a line.
void refuse(fuse_req_t request, const Error& error) {
  if (error.code != Code::kNotFound) served(request).log(error.text);
  fuse_reply_err(request, errno_of(error));
}

/// Memory may run out in any of them, and libfuse is C.
template <class Body>
void answer(fuse_req_t request, const Body& body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
    fuse_reply_err(request, ENOMEM);
  }
}

// --- callbacks ---------------------------------------------------------------------------------

void on_init(void*, fuse_conn_info* connection) {
  connection->max_readahead = kMostRead;
  connection->max_write = kMostRead;  // libfuse takes the pages of a read from it, too
  // The bytes of an inode never change, so the kernel need not ask for its time at each read of
  // what it has. What it has of a step that is gone, the Keeper takes away.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  answer(request, [&] {
    MountedContainer& mounted = served(request).mounted;
    const auto inode = mounted.lookup(parent, name);
    if (!inode) return refuse(request, inode.error());
    const auto attributes = mounted.attributes(*inode);
    if (!attributes) return refuse(request, attributes.error());
    fuse_entry_param entry{};
    entry.ino = *inode;
    entry.attr = *attributes;
    // A name may mean another step in a moment.
    fuse_reply_entry(request, &entry);
  });
}

void on_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  answer(request, [&] {
    const auto attributes = served(request).mounted.attributes(inode);
    if (!attributes) return refuse(request, attributes.error());
    fuse_reply_attr(request, &*attributes, 0.0);
  });
}

void on_readdir(fuse_req_t request, fuse_ino_t folder, std::size_t size, off_t offset,
                fuse_file_info*) {
  answer(request, [&] {
    MountedContainer& mounted = served(request).mounted;
    std::vector<char> buffer(size);
    std::size_t used = 0;
    const auto add = [&](const char* name, Inode inode, bool is_folder, off_t next) {
      struct stat about{};
      about.st_ino = inode;
      about.st_mode = is_folder ? S_IFDIR : S_IFREG;
      const std::size_t bytes =
          fuse_add_direntry(request, buffer.data() + used, size - used, name, &about, next);
      if (bytes > size - used) return false;
      used += bytes;
      return true;
    };
    for (;; ++offset) {
      if (offset < 2) {
        if (!add(offset == 0 ? "." : "..", folder, true, offset + 1)) break;
        continue;
      }
      const auto entry = mounted.entry(folder, static_cast<std::uint64_t>(offset) - 2);
      if (!entry && entry.error().code == Code::kNotFound) break;
      if (!entry) return refuse(request, entry.error());
      if (!add(entry->first.c_str(), entry->second, mounted.is_folder(entry->second), offset + 1))
        break;
    }
    fuse_reply_buf(request, buffer.data(), used);
  });
}

MountedFile* file_of(const fuse_file_info* info) {
  return reinterpret_cast<MountedFile*>(info->fh);
}

void on_open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  answer(request, [&] {
    if ((info->flags & O_ACCMODE) != O_RDONLY) {
      fuse_reply_err(request, EROFS);
      return;
    }
    auto file = served(request).mounted.open_file(inode);
    if (!file) return refuse(request, file.error());
    const bool cached = (*file)->may_be_cached();
    info->keep_cache = cached ? 1 : 0;
    info->direct_io = cached ? 0 : 1;
    Served& here = served(request);
    // Not before the mount is there and the kernel has answered on_init(), which sets it, too.
    std::call_once(here.first_open, [&] { read_ahead(here.folder, kMostRead); });
    info->fh = reinterpret_cast<std::uint64_t>(here.open.keep(std::move(*file)));
    // Nobody waits for the answer any more: then no release comes either.
    if (fuse_reply_open(request, info) == -ENOENT) here.open.close(file_of(info));
  });
}

void on_release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  served(request).open.close(file_of(info));
  fuse_reply_err(request, 0);
}

void on_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  answer(request, [&] {
    thread_local std::vector<std::byte> buffer;
    if (buffer.size() < size) buffer.resize(size);
    const auto read =
        file_of(info)->read(static_cast<std::uint64_t>(offset), std::span(buffer).first(size));
    if (!read) return refuse(request, read.error());
    fuse_reply_buf(request, reinterpret_cast<const char*>(buffer.data()), *read);
  });
}

const fuse_lowlevel_ops kOperations = [] {
  fuse_lowlevel_ops ops{};
  ops.init = on_init;
  ops.lookup = on_lookup;
  ops.getattr = on_getattr;
  ops.readdir = on_readdir;
  ops.open = on_open;
  ops.release = on_release;
  ops.read = on_read;
  return ops;
}();

// --- a session ---------------------------------------------------------------------------------

/// Looks now and then whether steps are gone, and takes them out of the kernel's cache. In a thread
/// of its own, because the kernel may wait there for a read that the other thread has to answer.
class Keeper {
 public:
  Keeper(MountedContainer& mounted, fuse_session* session)
      : mounted_(mounted), session_(session), thread_([this] { run(); }) {}
  ~Keeper() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    std::vector<Inode> gone;
    while (!wake_.wait_for(lock, kLookEvery, [this] { return ended_; })) {
      lock.unlock();
      // And once more those of the last time: a read may have been answered meanwhile.
      for (const Inode inode : gone) forget(inode);
      gone = mounted_.gone();
      for (const Inode inode : gone) forget(inode);
      while (const Inode inode = mounted_.begin_eviction()) {
        forget(inode);
        mounted_.finish_eviction(inode);
      }
      lock.lock();
    }
  }
  void forget(Inode inode) { (void)fuse_lowlevel_notify_inval_inode(session_, inode, 0, 0); }

  MountedContainer& mounted_;
  fuse_session* session_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

/// libfuse leaves a signal alone that has a handler. UCX, which comes with many an MPI, takes
/// SIGHUP when it is loaded.
void give_back_signals() {
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction now{};
    const bool known = ::sigaction(number, nullptr, &now) == 0;
    const bool own = (now.sa_flags & SA_SIGINFO) != 0 ||
                     (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    if (known && own) (void)std::signal(number, SIG_DFL);
  }
}

/// fuse_session, from its options to its end.
class Session {
 public:
  static Result<std::unique_ptr<Session>> mount(const MountOptions& options, Served& served) {
    std::unique_ptr<Session> made(new Session);
    std::string list = "ro,nosuid,nodev,default_permissions,subtype=h5bento,fsname=";
    for (const char c : options.path) {  // its separators
      if (c == ',' || c == '\\') list += '\\';
      list += c;
    }
    if (options.allow_other) list += ",allow_other";
    std::string program = "h5bento";
    std::string flag = "-o";
    std::array<char*, 3> argv{program.data(), flag.data(), list.data()};
    fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
    made->session_ = fuse_session_new(&arguments, &kOperations, sizeof kOperations, &served);
    fuse_opt_free_args(&arguments);
    if (made->session_ == nullptr) return fail(Code::kInternal, "libfuse refuses its options");
    give_back_signals();
    if (fuse_set_signal_handlers(made->session_) != 0)
      return fail(Code::kInternal, "the signal handlers cannot be set");
    made->signals_ = true;
    if (fuse_session_mount(made->session_, options.folder.c_str()) != 0)
      return fail(
          Code::kPermission,
          fmt::format("'{}' cannot be mounted on '{}': see the line above. Mounting needs "
                      "/dev/fuse and, without root's rights, the program fusermount3 (of the "
                      "package fuse3) and a folder of your own{}",
                      options.path, options.folder,
                      options.allow_other
                          ? "; --allow-other needs 'user_allow_other' in /etc/fuse.conf"
                          : ""));
    made->mounted_ = true;
    return made;
  }
  ~Session() {
    if (mounted_) fuse_session_unmount(session_);
    if (signals_) fuse_remove_signal_handlers(session_);
    if (session_ != nullptr) fuse_session_destroy(session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  [[nodiscard]] fuse_session* get() const { return session_; }

 private:
  Session() = default;
  fuse_session* session_ = nullptr;
  bool signals_ = false;
  bool mounted_ = false;
};

Status check_device() {
  if (::access("/dev/fuse", R_OK | W_OK) == 0) return {};
  if (errno == ENOENT)
    return fail(
        Code::kUnsupported,
        "/dev/fuse is missing, so nothing can be mounted. Load the kernel's module (as root: "
        "modprobe fuse); in a container, start it with --device /dev/fuse --cap-add "
        "SYS_ADMIN. Without either, 'h5bento export' makes an ordinary file");
  return fail(Code::kPermission,
              "/dev/fuse may not be used by you: ask for membership in the group that owns it. "
              "'h5bento export' makes an ordinary file without it");
}

Status check_folder(const std::string& folder) {
  struct stat about{};
  if (::stat(folder.c_str(), &about) != 0) {
    if (errno == ENOTCONN)
      return fail(Code::kBusy, fmt::format("on '{}' is a mount whose program was killed; take it "
                                           "away with 'h5bento umount {}'",
                                           folder, folder));
    return fail(os_error(errno, "mounting on", folder));
  }
  if (!S_ISDIR(about.st_mode)) return fail(os_error(ENOTDIR, "mounting on", folder));
  if (const std::string type = mounted_type(folder); !type.empty())
    return fail(Code::kExists,
                fmt::format("on '{}' something is mounted already ({})", folder, type));
  return {};
}

int open_log(const std::string& name) {
  return ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

// Before the process goes into the background, where nobody would hear of it.
Status check_log(const std::string& name) {
  if (name.empty()) return {};
  const int file = open_log(name);
  if (file < 0) return fail(os_error(errno, "opening the log", name));
  ::close(file);
  return {};
}

MountedContainer::Log make_log(const MountOptions& options) {
  if (options.foreground)
    return [](const std::string& text) { fmt::print(stderr, "h5bento mount: {}\n", text); };
  if (options.log.empty()) {
    ::openlog("h5bento", LOG_PID, LOG_USER);
    return [](const std::string& text) { ::syslog(LOG_WARNING, "mount: %s", text.c_str()); };
  }
  const int file = open_log(options.log);
  return [file](const std::string& text) {
    const std::string line = text + "\n";
    if (file >= 0 && ::write(file, line.data(), line.size()) < 0) return;
  };
}

Status serve(const MountOptions& options, const MountedContainer::Log& log,
             const std::function<void()>& ready) {
  BENTO_ASSIGN(const auto mounted, MountedContainer::open(options.path, log));
  Served all{*mounted, log, options.folder};
  BENTO_ASSIGN(const auto session, Session::mount(options, all));
  ready();
  const Keeper keeper(*mounted, session->get());
  // Reads wait for each other in MountedContainer; what takes as long, copying them to the kernel,
  // does not.
  const std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> threads(
      fuse_loop_cfg_create(), fuse_loop_cfg_destroy);
  if (!threads) return fail(os_error(ENOMEM, "serving", options.folder));
  fuse_loop_cfg_set_max_threads(threads.get(), kThreads);
  fuse_loop_cfg_set_idle_threads(threads.get(), kThreads);
  const int ended =
      fuse_session_loop_mt(session->get(), threads.get());  // the signal's number, if one did
  return ended < 0 ? fail(os_error(-ended, "serving", options.folder)) : Status{};
}

}  // namespace

// The process that goes on in the background is made first, before HDF5 is started and any file or
// thread is there; what it says of the mount comes back through a pipe.
Status serve_mount(const MountOptions& options, const std::function<Status()>& start,
                   const std::function<void()>& ready) {
  BENTO_TRY(check_device());
  BENTO_TRY(check_folder(options.folder));
  BENTO_TRY(check_log(options.log));
  if (options.foreground) {
    BENTO_TRY(start());
    return serve(options, make_log(options), ready);
  }
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail(os_error(errno, "a pipe for", options.folder));
  const pid_t child = ::fork();
  if (child < 0) return fail(os_error(errno, "starting the process for", options.folder));
  if (child > 0) {
    ::close(pipe[1]);
    std::string text;
    std::array<char, 4096> part{};
    ssize_t got = 0;
    while ((got = ::read(pipe[0], part.data(), part.size())) > 0 || (got < 0 && errno == EINTR))
      if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    ::close(pipe[0]);
    if (text == "+") {
      ready();
      return {};
    }
    if (text.size() < 2)
      return fail(Code::kInternal, "the process that should serve the mount ended");
    return fail(static_cast<Code>(text[0] - 'a'), text.substr(1));
  }
  ::close(pipe[0]);
  ::setsid();
  const auto say = [&pipe](const std::string& text) {
    if (pipe[1] < 0) return;
    if (::write(pipe[1], text.data(), text.size()) < 0) return;
    ::close(std::exchange(pipe[1], -1));
  };
  Status done = guarded([&]() -> Status {
    BENTO_TRY(start());
    return serve(options, make_log(options), [&] {
      // Whoever started us must not wait for our standard output to close.
      const int none = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      for (const int standard : {0, 1, 2})
        if (none >= 0) ::dup2(none, standard);
      if (::chdir("/") != 0) return;
      say("+");
    });
  });
  if (!done)
    say(std::string(1, static_cast<char>('a' + static_cast<int>(done.error().code))) +
        done.error().text);
  ::_exit(done ? 0 : 1);
}

}  // namespace bento::tools
