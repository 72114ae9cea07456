// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Virtual datasets are read by native code, which opens their source files by itself and would see
/// only the skeleton of a container: fill values in place of data. Until mappings are expanded
/// here, such a read is refused.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// Errors: kUnsupported if the dataset is virtual and one of its sources is a container; names
/// dataset's source.
Status check_virtual_sources(const Object* dataset, bool in_container);

/// Around a native call that may read the sources of a virtual dataset: names do not say all, since
/// a source may be a virtual dataset itself, or lie behind a link.
class SourceWatch {
 public:
  SourceWatch();
  /// After the call. Errors: kUnsupported if it came to a container, now and for all further reads
  /// of the dataset, because the library keeps its sources open.
  Status check(const Object* dataset) const;

 private:
  std::uint64_t before_;
};

}  // namespace bento::vol
