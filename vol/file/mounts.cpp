// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/mounts.hpp"

#include <algorithm>

#include "hdf5/base/native_connector.hpp"
#include "vol/file/destination.hpp"

namespace bento::vol {

namespace {

struct Mount {
  unsigned long parent = 0;  ///< file number
  unsigned long child = 0;
  bool is_container = false;  ///< an ordinary file may have containers mounted on it in turn
  std::weak_ptr<FileContext> container;
};

// Never destroyed: the library may close objects after static destructors have run.
std::vector<Mount>& mounts() {
  static auto* const instance = new std::vector<Mount>;
  return *instance;
}

}  // namespace

void note_mounted(std::optional<unsigned long> above, const Object* child) {
  const auto container = context_of(child);
  const auto below = fileno_of(child);
  std::erase_if(mounts(),
                [](const Mount& mount) { return mount.is_container && mount.container.expired(); });
  if (above && below) mounts().push_back({*above, *below, container != nullptr, container});
}

void note_unmounted(const Object* where, const H5VL_loc_params_t& loc, const char* name) {
  const auto info = info_at(where, by_name(loc.obj_type, name));
  if (!info) return;
  std::erase_if(mounts(), [&](const Mount& mount) { return mount.child == info->fileno; });
}

std::vector<std::shared_ptr<FileContext>> mounted_below(const Object* object) {
  std::vector<std::shared_ptr<FileContext>> found;
  if (mounts().empty()) return found;
  std::vector<unsigned long> files;
  if (const auto fileno = fileno_of(object)) files.push_back(*fileno);
  for (std::size_t at = 0; at < files.size(); ++at)
    for (const Mount& mount : mounts()) {
      if (mount.parent != files[at] ||
          std::find(files.begin(), files.end(), mount.child) != files.end())
        continue;
      files.push_back(mount.child);
      if (auto container = mount.container.lock()) found.push_back(std::move(container));
    }
  return found;
}

}  // namespace bento::vol
