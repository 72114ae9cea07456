// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The files that are copied together: one file, or all physical files of a container. They may
/// be written anew, replaced or removed while they are copied; then the copy is worth nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/layout/root.hpp"
#include "transfer/descriptor.hpp"

namespace bento::transfer {

/// What a container was when it was looked at.
struct ContainerState {
  FileId file_id{};
  SessionId session{};
  std::uint64_t sequence = 0;
  std::uint32_t files = 1;
  std::uint64_t step = 0;    ///< the newest
  std::uint64_t oldest = 0;  ///< that is kept
  bool closed = false;
  bool operator==(const ContainerState&) const = default;
  /// Equal for equal states, and only for these.
  [[nodiscard]] std::string text() const;
};

/// An id as text.
std::string text_of(const FileId& id);

/// Looks at a file. Nothing for a file that is no container. Errors: kNotFound, kPermission, kIo,
/// kCorrupt, kUnsupported.
Result<std::optional<ContainerState>> look_at_container(const std::string& path);
/// Names of all physical files, the master first. Errors: as above, kNotFound (one is missing).
Result<std::vector<std::string>> physical_files(const std::string& path);

class Source {
 public:
  /// Opens all and notes what they are; paths[0] is the master. Errors: kNotFound (vanished), kBusy
  /// (a program writes to it), kInvalidArgument (no regular file; another number of physical
  /// files), kPermission, kIo.
  static Result<Source> open(const std::vector<std::string>& paths, bool container);

  [[nodiscard]] std::size_t files() const { return files_.size(); }
  [[nodiscard]] int descriptor(std::size_t index) const { return files_[index].fd.get(); }
  [[nodiscard]] std::uint64_t size(std::size_t index) const { return files_[index].size; }
  [[nodiscard]] unsigned mode(std::size_t index) const { return files_[index].mode; }
  /// What the files are and when they were written, beside what state_text() says.
  [[nodiscard]] std::string files_text() const;
  /// The same of one, and of whatever lies under a name now; empty if nothing does.
  [[nodiscard]] std::string stamp(std::size_t index) const { return files_[index].stamp(); }
  static std::string stamp_of(const std::string& path);
  /// Of the container, ContainerState::text().
  [[nodiscard]] std::string state_text() const { return container_ ? container_->text() : ""; }
  /// Are they still what they were, and do the names still lead to them? Errors: kBusy with the
  /// reason, if not: then the copy has to begin anew.
  [[nodiscard]] Status unchanged() const;
  /// None of these names in an open folder may lead to one of the files: it would be lost. Errors:
  /// kInvalidArgument.
  [[nodiscard]] Status check_is_none_of(int folder, const std::vector<std::string>& names) const;

 private:
  struct OneFile {
    std::string path;
    Descriptor fd;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    unsigned mode = 0;
    [[nodiscard]] std::string stamp() const;
  };
  static Result<OneFile> open_one(const std::string& path);

  std::vector<OneFile> files_;
  std::optional<ContainerState> container_;
};

}  // namespace bento::transfer
