// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/shared_groups.hpp"

#include "vol/file/destination.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

void note_shared_group(const Object* object, const H5VL_loc_params_t& place, unsigned links) {
  const auto file = context_of(object);
  if (!file || !file->writable()) return;
  const auto info = info_at(object, place);
  if (info && info->type == H5O_TYPE_GROUP && info->rc >= links)
    file->container().note_counted_references();
}

}  // namespace bento::vol
