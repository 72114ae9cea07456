// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An HDF5 file of our making while the library writes it through a ViewFile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/layout/superblock.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/view/group_properties.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

enum class LinkTables : std::uint8_t { kNone, kKept };

/// What the library does later on with space that a program frees in the file. Where data is
/// adopted, it must leave it: who deletes a dataset of a native view frees bytes of the container,
/// which is to have them if the change is dropped.
enum class FreedSpace : std::uint8_t { kLeft, kUsedAgain };

/// Whatever happens, the library's file is closed before its place goes. Not thread-safe.
class OpenView {
 public:
  /// `place` must outlive it.
  explicit OpenView(ViewPlace& place) : view_(std::make_shared<ViewFile>(place)) {}
  /// Closes what finish() did not; nothing more of it reaches the place.
  ~OpenView();
  OpenView(const OpenView&) = delete;
  OpenView& operator=(const OpenView&) = delete;

  /// `name` is for error texts. The root group gets the properties of that of the open file `like`;
  /// those of any new file if that is no id. Errors: kInternal, and those of the place.
  /// `tables`: has it a symbol table if that has one (symbol_table.hpp)?
  Status create(const std::string& name, hid_t like, ObjectTimes times = ObjectTimes::kAsWanted,
                LinkTables tables = LinkTables::kNone, FreedSpace freed = FreedSpace::kLeft);
  /// Closes the library's file, which allocates nothing after that, and stores what gathered in
  /// memory. All other ids in it must be closed. Returns the superblock, whose end of file is not
  /// set. Between the two `last` may change the file's bytes. Errors: as create(), kIo.
  using Last = std::function<Status()>;
  Result<Superblock> finish(const Last& last = {});
  /// The first half of finish(): nothing that gathered in memory is stored.
  Status complete();

  [[nodiscard]] hid_t id() const { return file_.get(); }
  [[nodiscard]] ViewFile& view() { return *view_; }
  [[nodiscard]] const Status& failure() const { return view_->failure(); }

 private:
  Status close();

  std::shared_ptr<ViewFile> view_;
  FileHandle file_;
};

}  // namespace bento::vol
