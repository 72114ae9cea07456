// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A file system in memory with the interface of core/io/file.hpp: for tests, and for building a
/// container that is written elsewhere in one piece. Holes cost memory here; sparse files of
/// terabytes do not fit.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/file.hpp"

namespace bento {

/// A named set of files. Copies of the object share the files. Thread-safe; two open files of the
/// same name see each other's writes, as in an operating system.
class MemoryFileSystem {
 public:
  MemoryFileSystem();

  /// Opens by the rules of open_posix_file. Errors: kNotFound, kExists.
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) const;
  /// The same as a FileOpener, which keeps the files alive.
  [[nodiscard]] FileOpener opener() const;

  [[nodiscard]] bool exists(const std::string& path) const;
  /// Content of a file; empty if there is none.
  [[nodiscard]] std::vector<std::byte> content(const std::string& path) const;
  /// Puts a file there, or replaces its content.
  void put(const std::string& path, std::vector<std::byte> content) const;
  void remove(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> names() const;

  struct Disk;

 private:
  std::shared_ptr<Disk> disk_;
};

}  // namespace bento
