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
  std::weak_ptr<FileContext> above;  ///< the parent, if that is a container
};

// Never destroyed: the library may close objects after static destructors have run.
std::vector<Mount>& mounts() {
  static auto* const instance = new std::vector<Mount>;
  return *instance;
}

}  // namespace

void note_mounted(const MountPlace& above, const Object* child) {
  const auto container = context_of(child);
  const auto below = fileno_of(child);
  std::erase_if(mounts(),
                [](const Mount& mount) { return mount.is_container && mount.container.expired(); });
  if (above.fileno && below)
    mounts().push_back({*above.fileno, *below, container != nullptr, container, above.container});
}

std::optional<unsigned long> mounted_at(const Object* where, const H5VL_loc_params_t& loc,
                                        const char* name) {
  if (mounts().empty()) return std::nullopt;
  const auto info = info_at(where, by_name(loc.obj_type, name));
  if (!info) return std::nullopt;
  return info->fileno;
}

void note_unmounted(unsigned long child) {
  std::erase_if(mounts(), [&](const Mount& mount) { return mount.child == child; });
}

// As natively, where a flush goes up to the topmost file and down to all that are mounted below it.
// A mount is noted with the file that the path began in, which may be one above the file that has
// it: what hangs together is the same either way.
std::vector<std::shared_ptr<FileContext>> mounted_with(const Object* object) {
  std::vector<std::shared_ptr<FileContext>> found;
  if (mounts().empty()) return found;
  const auto own = fileno_of(object);
  if (!own) return found;
  std::vector<unsigned long> files{*own};
  const auto add = [&](unsigned long file, const std::weak_ptr<FileContext>& container) {
    if (std::find(files.begin(), files.end(), file) != files.end()) return;
    files.push_back(file);
    if (auto context = container.lock()) found.push_back(std::move(context));
  };
  for (std::size_t at = 0; at < files.size(); ++at)
    for (const Mount& mount : mounts()) {
      if (mount.parent == files[at]) add(mount.child, mount.container);
      if (mount.child == files[at]) add(mount.parent, mount.above);
    }
  return found;
}

}  // namespace bento::vol
