// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/open_files.hpp"

#include <algorithm>

namespace bento::vol {

// Never destroyed, since the library may close files after static destructors have run.
std::vector<SkeletonFile*>& open_skeleton_files() {
  static auto* const instance = new std::vector<SkeletonFile*>;
  return *instance;
}

void skeleton_changed(const SkeletonHost& host) {
  for (auto* const file : open_skeleton_files())
    if (file->host.get() == &host) file->eoa = std::max(file->eoa, file->host->image().size());
}

std::shared_ptr<SkeletonHost> host_of_fileno(unsigned long fileno) {
  for (const auto* const file : open_skeleton_files())
    if (file->host && file->pub.fileno == fileno) return file->host;
  return nullptr;
}

std::shared_ptr<SkeletonHost> host_of_identity(const FileIdentity& identity) {
  for (const auto& host : armed_hosts())
    if (const auto known = host->identity(); same_inode(known, identity) &&
                                             known.step == identity.step &&
                                             known.inherited == identity.inherited)
      return host;
  return nullptr;
}

bool any_armed_host() {
  const auto& open = open_skeleton_files();
  return std::any_of(open.begin(), open.end(),
                     [](const SkeletonFile* file) { return file->host && file->host->armed; });
}

std::vector<std::shared_ptr<SkeletonHost>> armed_hosts() {
  std::vector<std::shared_ptr<SkeletonHost>> hosts;
  for (const auto* const file : open_skeleton_files())
    if (file->host && file->host->armed &&
        std::find(hosts.begin(), hosts.end(), file->host) == hosts.end())
      hosts.push_back(file->host);
  return hosts;
}

}  // namespace bento::vol
