// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Who may change a container: the ranks that share its lock, in the processes that opened it.
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes/byte_writer.hpp"
#include "core/container/container.hpp"
#include "core/container/shared_lock.hpp"
#include "core/io/host.hpp"
#include "core/layout/holder.hpp"

namespace bento {

Status Container::owner_lock(File& first) {
  BENTO_ASSIGN(lock_, lock_container(first, options_.lock));
  if (!lock_ && options_.lock != Locking::kOff && first.descriptor() >= 0)
    lock_warning_ =
        "this file system has no working locks: nothing keeps a second program from writing to the "
        "file at the same time";
  return {};
}

// Programs without h5bento that read the old file must not see it emptied, and must not keep this
// one out: it stays theirs, and the name goes to a new one.
Status Container::leave_to_readers(std::unique_ptr<File>& first, std::size_t old_files) {
  const auto failed = [this](std::string_view why) {
    return fail(Code::kBusy,
                fmt::format("'{}' is open for reading in another program, which would see it "
                            "emptied, and cannot be replaced: {}. Close it there, or remove the "
                            "file (errno = {})",
                            path_, why, EBUSY),
                EBUSY);
  };
  // Sources of its native view in other files are opened by name, when they are needed.
  if (old_files > 1) return failed(fmt::format("it has {} physical files", old_files));
  std::error_code unresolved;
  const std::string target = std::filesystem::canonical(path_, unresolved).string();
  if (unresolved) return failed(unresolved.message());
  struct stat old{};
  if (::fstat(first->descriptor(), &old) != 0)
    return fail(os_error(errno, "fstat of", first->path()));
  if (auto removed = remove_file(target); !removed) return failed(removed.error().text);
  BENTO_ASSIGN(first, options_.opener(target, OpenMode::kCreateExclusive));
  (void)::fchmod(first->descriptor(), old.st_mode & 07777);
  lock_.reset();
  return owner_lock(*first);
}

// A rank without its lock writes nothing: it does not come beyond this.
Status Container::join_writers(const Status& mine) {
  if (!writable_) return mine;
  LockSharing sharing;
  sharing.locking = options_.lock;
  sharing.first = [this] { return file(0); };
  sharing.session = [](File& first) -> Result<Hash128> {
    BENTO_ASSIGN(const Probe seen, probe(first));
    ByteWriter out;
    out.bytes(seen.root.file_id);
    const std::string note = read_holder_note(first);
    out.bytes(std::as_bytes(std::span(note)));
    return hash128(out.view());
  };
  BENTO_ASSIGN(std::string warning, share_lock(*comm_, mine, sharing, lock_));
  if (!warning.empty()) lock_warning_ = std::move(warning);
  return {};
}

Status Container::check_home() const {
  if (!home_.elsewhere()) return {};
  return fail(Code::kPermission,
              fmt::format("'{}' was opened by process {}; process {} is a forked child of it and "
                          "cannot change it, only read what was committed before. Write, flush and "
                          "close it in process {}, or open the file anew in the child",
                          path_, home_.id(), ::getpid(), home_.id()));
}

// The process that wrote them may write them anew at any time; only what still gathers in memory is
// the child's own copy.
Status Container::check_inherited(DatasetNumber dataset, const Lookup& fresh) {
  for (const auto& piece : fresh.pieces)
    if (!StreamWriter::buffered(index_.record(dataset, piece.record).where))
      return fail(Code::kPermission,
                  fmt::format("'{}': dataset {} was written since the last H5Fflush by process {}; "
                              "process {}, a forked child of it, can read only what was committed "
                              "before it was forked",
                              path_, dataset, home_.id(), ::getpid()));
  return {};
}

}  // namespace bento
