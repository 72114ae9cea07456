// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The lock of a file's writers. It lies on one open file description, which any number of
/// processes of a node can hold, and lasts until the last of them has closed it or died. Two locks
/// of the operating system make it up:
/// - a range lock (F_OFD_SETLK) on one byte far beyond any data: between writers of h5bento. A new
///   owner takes it exclusive, so nobody else lives; then turns it into shared, so that other nodes
///   can take it too.
/// - flock, shared: against programs that know nothing of h5bento. HDF5's readers take it shared
///   too, and come in; its writers want it exclusive, and stay out.
/// Nothing is ever unlocked by hand: that would unlock it for all who hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento {

/// What to do where a file system has no locks, or has them switched off.
enum class Locking {
  kOff = 0,     ///< take no lock and heed none
  kBestEffort,  ///< go on without
  kRequired,    ///< an error
};

class FileLock {
 public:
  /// Beyond the largest container and far from what an off_t can hold.
  static constexpr std::int64_t kRangeAt = std::int64_t{1} << 62;

  /// Takes it as the only writer of the file that `file` has open, through a descriptor of its own.
  /// Null for files without a descriptor (tests), with kOff, and with kBestEffort where the file
  /// system has no locks. Errors: kBusy (text says which kind of program holds it), kUnsupported
  /// (kRequired, no locks), kPermission, kIo.
  static Result<std::unique_ptr<FileLock>> take_alone(const File& file, Locking locking);
  /// Takes it as one of several nodes that write together, while the owner's is shared. Sets
  /// `sees_owner` to whether anybody's lock was seen here before this one: if not, each node has
  /// locks of its own. Null and errors as take_alone().
  static Result<std::unique_ptr<FileLock>> take_shared(const File& file, Locking locking,
                                                       bool& sees_owner);
  /// Keeps writers of h5bento from beginning, as long as it lives, while HDF5 itself opens the file
  /// for writing: the range lock alone, shared, since HDF5 wants flock. Null as take_alone().
  /// Errors: kBusy (one has begun), kUnsupported, kPermission, kIo.
  static Result<std::unique_ptr<FileLock>> keep_writers_out(const File& file, Locking locking);
  /// A lock that another process of this node holds and has handed over.
  static std::unique_ptr<FileLock> handed_over(PrivateDescriptor descriptor);

  /// From exclusive to shared, at no moment without. Errors: kIo.
  Status share();
  /// Has a program without h5bento the file open for reading, with HDF5's lock? Such a reader holds
  /// nobody up, but must not see the file emptied. Asks by trying. Errors: kBusy (one that writes
  /// came in between).
  Result<bool> others_read();
  /// Device and inode of what is locked, for comparison with what a name leads to. Errors: kIo.
  [[nodiscard]] Result<std::pair<std::uint64_t, std::uint64_t>> identity() const;
  /// -1 in a forked child, which holds no lock.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  FileLock(PrivateDescriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  static Result<std::unique_ptr<FileLock>> begin(const File& file);

  PrivateDescriptor descriptor_;
  std::string path_;
};

/// Does some process hold the writers' lock of this file? Also for who may not write to it. False
/// where the file system has no locks.
bool is_locked(const File& file);
/// The same for the lock that HDF5 itself takes on a file that it writes. To find out, this one is
/// shared for a moment, so `file` must be of the caller alone.
bool is_locked_by_hdf5(const File& file);

}  // namespace bento
