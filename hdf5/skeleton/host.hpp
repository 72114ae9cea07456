// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the skeleton driver needs from the container it belongs to. The connector's file context
/// implements it; the driver knows nothing else of the connector.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/catalogue/paged_image.hpp"

namespace bento::vol {

/// Device and inode of physical file 0: what makes two names one file. A container that is read as
/// of a step that was asked for is a file of its own: different steps can be open side by side. So
/// is one that this process has opened again together with other ranks, as natively a file that is
/// opened by two drivers, and one that a forked child has inherited: the child can open the file
/// anew beside it.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t step = 0;       ///< absolute step that was asked for, 0 if none
  std::uint64_t session = 0;    ///< what one open begins, 0 for ordinary files and names
  std::uint64_t inherited = 0;  ///< 1 if another process opened it
  auto operator<=>(const FileIdentity&) const = default;
};
inline bool same_inode(const FileIdentity& a, const FileIdentity& b) {
  return a.device == b.device && a.inode == b.inode;
}

class SkeletonHost {
 public:
  virtual ~SkeletonHost() = default;

  /// The name under which the connector opened the container; a driver open under any other name is
  /// a foreign file (external link, virtual source).
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual FileIdentity identity() const = 0;
  [[nodiscard]] virtual PagedImage& image() = 0;
  [[nodiscard]] virtual bool writable() const = 0;
  /// POSIX descriptor of physical file 0, -1 if none.
  [[nodiscard]] virtual int descriptor() const = 0;

  /// May the native library reach containers by name from here, as a ForeignOpener does it? If not,
  /// they are opened as the HDF5 files that their native views are.
  [[nodiscard]] virtual bool reaches_containers() const { return true; }
  /// How many processes have the container open together, each with a skeleton of its own.
  [[nodiscard]] virtual std::uint32_t ranks() const { return 1; }
  /// A change of an ordinary file behind a link was not written; `text` says why.
  virtual void note_refused_change(const std::string& /*text*/) {}

  /// Called by the driver's close callback when the last handle of an armed host goes: the native
  /// library has flushed everything. Commits and closes the container; collective over the file's
  /// communicator.
  virtual Status finalise() = 0;

  /// Until armed (the native open succeeded), closing handles finalises nothing: the library opens
  /// twice and closes the first, tentative handle.
  bool armed = false;
  int open_handles = 0;
  bool reached_by_link = false;  ///< the native library came here by itself, through a link
};

/// Opens a container that the native library reached by itself under a parent's fapl (external
/// link). Asked for files that do not begin as HDF5 files; null means that it is an ordinary file
/// all the same.
using ForeignOpener = std::function<Result<std::shared_ptr<SkeletonHost>>(
    const std::string& name, unsigned h5f_flags, const std::shared_ptr<SkeletonHost>& parent)>;

}  // namespace bento::vol
