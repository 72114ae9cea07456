// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/hdf5/check_edited.hpp"

#include <fmt/format.h>

namespace bento::tools {

Status check_edited(const Survey& survey) {
  if (survey.view() != ViewState::kEdited) return {};
  return fail(Code::kPermission,
              fmt::format("'{}' was changed by another program through its native view: decide "
                          "first, with 'h5bento view take-over' or 'h5bento view drop'",
                          survey.path()));
}

}  // namespace bento::tools
