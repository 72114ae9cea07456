// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Who may change a container: the ranks that share its lock, in the processes that opened it.
#include <fmt/format.h>
#include <unistd.h>

#include "core/bytes/byte_writer.hpp"
#include "core/container/container.hpp"
#include "core/container/shared_lock.hpp"
#include "core/layout/holder.hpp"

namespace bento {

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
