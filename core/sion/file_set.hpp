// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The physical files of one container, opened when needed: a container may have more of them than
/// a process may have descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

class SionFileSet {
 public:
  SionFileSet() = default;
  /// `name` is that of physical file 0; `mode` is kRead or kReadWrite.
  SionFileSet(FileOpener opener, std::string name, OpenMode mode)
      : opener_(std::move(opener)), name_(std::move(name)), mode_(mode) {}

  /// The open file; it stays valid until the next call. Errors: as the opener's, and those of
  /// closing another file to make room.
  Result<File*> get(std::uint32_t index);
  /// Creates or truncates physical file `index`.
  Result<File*> create(std::uint32_t index);
  /// Closes all. The first error is returned after all have been tried.
  Status close();

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Slot {
    std::uint32_t index = 0;
    std::unique_ptr<File> file;
  };
  Result<File*> open(std::uint32_t index, OpenMode mode);

  FileOpener opener_;
  std::string name_;
  OpenMode mode_ = OpenMode::kRead;
  std::vector<Slot> slots_;  // most recently used last
};

}  // namespace bento
