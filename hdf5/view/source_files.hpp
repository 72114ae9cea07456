// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The HDF5 files of one native view, one in each physical file that has something to show, and the
/// source datasets in their group /.h5bento that lie exactly where ranks wrote.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/container/native_view.hpp"
#include "core/container/pieces.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/view/open_view.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

/// Name of the group that holds the sources; programs may not create it.
inline constexpr const char* kViewGroup = ".h5bento";

/// Writes the notes of a native view into its group `top`, /.h5bento.
Status write_notes(hid_t top, const std::vector<std::string>& notes);
/// The notes in a native view (open as an HDF5 file, `path`): what it does not show, and why. One
/// more if the container has another name now, by which its other physical files are not found.
std::vector<std::string> read_notes(hid_t file, const std::string& path);

/// Opens a physical file as stock HDF5 does, for reading and without a lock; invalid if it is no
/// HDF5 file.
FileHandle open_stock(const std::string& path);

class SourceFiles {
 public:
  explicit SourceFiles(ViewJob& job);
  /// Closes what finish() did not; nothing of it reaches the container.
  ~SourceFiles();
  SourceFiles(const SourceFiles&) = delete;
  SourceFiles& operator=(const SourceFiles&) = delete;

  /// Makes file 0's HDF5 file; `like` is the file whose root group's properties it gets.
  Result<hid_t> create_main(hid_t like);
  [[nodiscard]] ViewFile& main_view() { return parts_[0].open->view(); }

  /// Adds a source dataset, made by adopt_source(). Returns its path; file_name() says in which
  /// file.
  Result<std::string> add(const ViewSource& source, hid_t type, hid_t list,
                          const std::string& name);
  /// As a virtual mapping names it: "." or the physical file's name without folder.
  [[nodiscard]] std::string file_name(std::uint32_t index) const;

  /// What the drivers met so far, which the library does not get to see.
  [[nodiscard]] Status failure() const;

  /// Text in the file about what it does not show, as an attribute of /.h5bento.
  Status write_notes(const std::vector<std::string>& notes);
  /// Closes the HDF5 files and stores them, file 0 after `last_of_main`. Returns one superblock for
  /// each physical file that has a view.
  Result<std::vector<std::optional<Superblock>>> finish(const OpenView::Last& last_of_main);

 private:
  /// Fresh space in one physical file of the container.
  class Place final : public ViewPlace {
   public:
    explicit Place(ViewSpace& space) : space_(space) {}
    Result<std::uint64_t> allocate(std::uint64_t bytes) override { return space_.allocate(bytes); }
    [[nodiscard]] File& file() const override { return space_.file(); }
    [[nodiscard]] std::uint64_t base() const override { return space_.plan().superblock_address(); }

   private:
    ViewSpace& space_;
  };
  struct Part {
    std::unique_ptr<Place> place;
    std::unique_ptr<OpenView> open;
    GroupHandle top;      ///< /.h5bento
    GroupHandle sources;  ///< /.h5bento/ and group_name()
    bool used = false;

    void close_groups() {
      sources.reset();
      top.reset();
    }
  };

  Result<Part*> part(std::uint32_t index);
  /// Of the sources in this physical file.
  [[nodiscard]] std::string group_name(std::uint32_t index) const;
  Status begin_groups(Part& part, std::uint32_t index);
  Status create_file(Part& part, std::uint32_t index, hid_t like);
  Status carry_previous(Part& part, std::uint32_t index);

  ViewJob& job_;
  std::vector<Part> parts_;
};

}  // namespace bento::vol
