// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The seven calls through which every container byte passes. Tests put a fault-injecting file
/// below the same interface; nothing above it calls the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.hpp"

namespace bento {

/// One open physical file. Not thread-safe; not collective.
class File {
 public:
  virtual ~File() = default;

  /// Fills `into` completely. Errors: kCorrupt (end of file inside the range: names offset and
  /// size), kIo.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> into);
  /// Reads up to `into.size()` bytes, fewer only at the end of the file. Returns the count.
  virtual Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// Writes all of `from`. Errors: kNoSpace, kIo.
  virtual Status write_at(std::uint64_t offset, std::span<const std::byte> from) = 0;
  virtual Result<std::uint64_t> size() = 0;
  virtual Status truncate(std::uint64_t bytes) = 0;
  virtual Status sync() = 0;
  /// Closes; a failed close is an error that must not be lost. Further calls are invalid.
  virtual Status close() = 0;

  [[nodiscard]] virtual const std::string& path() const = 0;
  /// A POSIX descriptor for callers that ask for one (H5Fget_vfd_handle), -1 if there is none.
  [[nodiscard]] virtual int descriptor() const { return -1; }
};

enum class OpenMode {
  kRead,
  kReadWrite,
  kCreate,           ///< create or truncate, read-write
  kCreateExclusive,  ///< fails with kExists if the file is there
  kCreatePrivate,    ///< the same, and nobody but its owner may open it, whatever the umask
  kDirectory,        ///< a folder: only sync() and close() are of use, to keep names of files
};

constexpr bool makes_a_file(OpenMode mode) {
  return mode == OpenMode::kCreate || mode == OpenMode::kCreateExclusive ||
         mode == OpenMode::kCreatePrivate;
}
/// Not if there is one already.
constexpr bool makes_a_new_file(OpenMode mode) {
  return mode == OpenMode::kCreateExclusive || mode == OpenMode::kCreatePrivate;
}

/// Permissions of a file that is made, before the umask.
constexpr unsigned permissions_of(OpenMode mode) {
  return mode == OpenMode::kCreatePrivate ? 0600 : 0666;
}

/// Opens files; replaced by tests to inject faults.
using FileOpener =
    std::function<Result<std::unique_ptr<File>>(const std::string& path, OpenMode mode)>;

/// Opens a file of the operating system. Errors carry errno.
Result<std::unique_ptr<File>> open_posix_file(const std::string& path, OpenMode mode);

}  // namespace bento
