// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which source datasets one open virtual dataset keeps open: until it is closed, flushed or
/// refreshed, as natively, or until the program opens or creates a file.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/library_state.hpp"
#include "vol/file/file_place.hpp"
#include "vol/file/object.hpp"
#include "vol/file/open_source.hpp"

namespace bento::vol {

class VirtualSources {
 public:
  using For = SourcePurpose;

  /// `holder` is the virtual dataset, `dapl` the access list that it was opened with.
  VirtualSources(const Object* holder, PlistHandle dapl);
  ~VirtualSources();
  VirtualSources(const VirtualSources&) = delete;
  VirtualSources& operator=(const VirtualSources&) = delete;

  /// The dataset `name` of the file `file`, which is "." for the virtual dataset's own; null if
  /// there is no such file or dataset. To be used at once: another open() may close it. Only while
  /// a Use lives. Errors: those of opening the file or the dataset.
  Result<Object*> open(const std::string& file, const std::string& name, For purpose);
  /// Closes all of them. Errors: those of the commit, if they were written.
  Status let_go();

  /// While it lives, what open() gives is not closed by others.
  class Use {
   public:
    explicit Use(VirtualSources& sources) : sources_(sources) { ++sources_.uses_; }
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    VirtualSources& sources_;
  };

 private:
  using Key = std::pair<std::string, std::string>;

  Result<OpenSource> open_source(const Key& key, For purpose);
  Status close(OpenSource& source);
  Status close_readers();
  /// Those of `own`, and of all that no transfer uses.
  static Status let_go_of_readers(VirtualSources& own);
  Status close_passing();

  const Object* holder_;
  PlistHandle dapl_;
  std::string prefix_;
  FilePlace file_;  ///< of the holder
  std::map<Key, OpenSource> sources_;
  unsigned uses_ = 0;
  KeptLibraryState call_;  ///< in which sources were opened

  friend Status let_go_of_sources();
};

/// Closes all sources of all virtual datasets that no transfer uses just now. Errors: those of
/// commits.
Status let_go_of_sources();

/// The same, but a failure is told on stderr. Leaves the error stack alone. To be called before the
/// program opens, creates or removes a file, which may be one of them: the program finds it as if
/// no virtual dataset had it open. Does nothing while a source is being opened.
void let_go_of_sources_aloud() noexcept;

}  // namespace bento::vol
