// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/native_writing.hpp"

#include <memory>

#include <hdf5.h>

#include "core/comm/status_message.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/posix_file.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/container_open.hpp"

namespace bento::vol {

namespace {

enum class Found : std::uint8_t { kOther, kNothing, kContainer };

/// Rank 0 looks, and tells all. With `kept`, no process of h5bento begins to write what is there
/// until that is given up.
Result<Found> look(const char* name, const AgreedFile& file, std::unique_ptr<FileLock>* kept) {
  ByteWriter out;
  if (file.comm->rank() == 0) {
    const auto mine = [&]() -> Result<Found> {
      const auto there = open_posix_file(name, OpenMode::kRead);
      if (!there) return Found::kNothing;
      if (kept != nullptr) {
        const auto locking = static_cast<Locking>(file.decision.locking);
        BENTO_ASSIGN(*kept, FileLock::keep_writers_out(**there, locking));
      }
      BENTO_ASSIGN(const bool ours, is_ours(name));
      return ours ? Found::kContainer : Found::kOther;
    }();
    put_status(out, mine ? Status{} : fail(mine.error()));
    out.u8(static_cast<std::uint8_t>(mine ? *mine : Found::kNothing));
  }
  BENTO_ASSIGN(const Bytes blob, file.comm->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "what is there to be opened");
  BENTO_TRY(get_status(in));
  BENTO_ASSIGN(const std::uint8_t found, in.u8());
  return static_cast<Found>(found);
}

/// NFS makes of the lock that HDF5 wants one of the whole file, against which `kept` stands, too:
/// what fails beside it is tried once more without.
Result<void*> open_beside(std::unique_ptr<FileLock>& kept, const NativeCalls& native,
                          unsigned flags, bool parallel) {
  if (!kept || parallel) return native.open(flags);
  {
    const QuietErrors quiet;
    auto opened = native.open(flags);
    if (opened) return opened;
  }
  kept.reset();
  return native.open(flags);
}

}  // namespace

Result<std::optional<void*>> open_to_write(const char* name, unsigned flags, const AgreedFile& file,
                                           const NativeCalls& native) {
  std::unique_ptr<FileLock> kept;
  BENTO_ASSIGN(Found found, look(name, file, &kept));
  if (found == Found::kNothing) {
    // The error that this gives is the one that is wanted, but what is there by then is not
    // changed.
    BENTO_ASSIGN(void* const opened, native.open(H5F_ACC_RDONLY));
    native.close(opened);
    BENTO_ASSIGN(found, look(name, file, &kept));
  }
  if (found == Found::kContainer) return std::optional<void*>{};
  // If nothing is there still, it is a name that only MPI knows how to read, as "ufs:FILE".
  auto opened = open_beside(kept, native, flags, file.access.parallel);
  // The name may lead to another file than a moment ago, of which nobody was kept away. Without a
  // lock, which HDF5's own would refuse on NFS.
  const auto after = look(name, file, nullptr);
  if (!opened) return fail(opened.error());
  if (after && *after != Found::kContainer) return std::optional<void*>(*opened);
  native.close(*opened);
  if (!after) return fail(after.error());
  return std::optional<void*>{};
}

}  // namespace bento::vol
