// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container as a folder of read-only files, without a word of FUSE: which names there are, how
/// long each file is, and its bytes. Source: docs/mount.md.
///
///     data.h5             the newest step as an ordinary HDF5 file
///     steps/K/data.h5     each kept step
///     streams/rank-R      each rank's stream, of a container that nobody writes
///     catalogue.txt       what is in it
///
/// A step is one file, whatever name leads to it: it has an inode number of its own, and its bytes
/// never change. When a writer drops it, reads of it fail.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/root.hpp"
#include "hdf5/native/native_file.hpp"

namespace bento::tools {

/// Inode number: what it is, and the number of the step or the rank.
using Inode = std::uint64_t;
inline constexpr Inode kRootInode = 1;

/// An open file: its bytes do not change while it is open.
class MountedFile {
 public:
  virtual ~MountedFile() = default;
  /// Reads up to `into.size()` bytes, fewer only at the end. Errors: kBusy (what it showed is
  /// gone), kCorrupt, kIo.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// May pages of it be kept when it is closed? They are dropped when gone() says so.
  [[nodiscard]] virtual bool may_be_cached() const { return false; }
};

/// Any thread may call it; calls wait for each other, because HDF5 is used by one at a time.
/// Errors of all: kNotFound (no such name, or a step that is not kept), kBusy (it was there, and is
/// gone; or the file was replaced), kPermission (a stream while somebody writes), kCorrupt, kIo.
class MountedContainer {
 public:
  using Log = std::function<void(const std::string&)>;

  /// `path` must be absolute. Errors: also what opening a container says.
  static Result<std::unique_ptr<MountedContainer>> open(const std::string& path, Log log);
  ~MountedContainer();

  Result<Inode> lookup(Inode folder, const std::string& name);
  /// Type, size, times and number of an inode.
  Result<struct stat> attributes(Inode inode);
  /// Is it a folder?
  [[nodiscard]] static bool is_folder(Inode inode);
  /// The entry number `index` of a folder, "." and ".." excluded. Errors: kNotFound behind the
  /// last.
  Result<std::pair<std::string, Inode>> entry(Inode folder, std::uint64_t index);
  Result<std::unique_ptr<MountedFile>> open_file(Inode inode);

  /// Steps that were shown and that a writer has dropped since the last call: what anybody keeps of
  /// their bytes must go. The log is told of those that are open. To be called now and then.
  std::vector<Inode> gone();
  /// A step that nobody has open, if more are kept in memory than need be: what anybody keeps of
  /// its bytes must go before finish_eviction(). 0: none.
  Inode begin_eviction();
  void finish_eviction(Inode inode);

 private:
  class StepFile;
  class StreamFile;
  class TextFile;
  struct Step {
    std::unique_ptr<vol::NativeFile> file;
    unsigned open = 0;
    bool gone = false;
    bool evicting = false;
    std::uint64_t used = 0;  ///< when it was asked for last
  };
  struct Snapshot;  ///< streams and text of one state of the container

  MountedContainer(std::string path, Log log) : path_(std::move(path)), log_(std::move(log)) {}
  Result<Root> root();
  Result<Step*> step(std::uint64_t number);
  Result<std::shared_ptr<const Snapshot>> snapshot();
  Status no_longer(std::uint64_t number) const;
  Result<std::uint64_t> size_of(Inode inode);

  std::mutex mutex_;
  std::string path_;
  Log log_;
  std::unique_ptr<File> first_;
  FileId file_id_{};
  struct stat about_{};
  std::map<std::uint64_t, Step> steps_;
  std::uint64_t clock_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace bento::tools
