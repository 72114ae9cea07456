// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/hdf5/container_name.hpp"

#include <fmt/format.h>

#include "core/sion/constants.hpp"
#include "core/sion/meta1.hpp"

namespace bento::tools {

Status call_container(File& file, const std::string& name) {
  BENTO_ASSIGN(Meta1 head, read_meta1(file));
  head.prefix = name.substr(0, kSionPrefixBytes - 1);
  BENTO_ASSIGN(const auto bytes, encode_meta1(head, false));
  return file.write_at(0, bytes);
}

Status check_edited(const Survey& survey) {
  if (survey.view() != ViewState::kEdited) return {};
  return fail(Code::kPermission,
              fmt::format("'{}' was changed by another program through its native view: decide "
                          "first, with 'h5bento view take-over' or 'h5bento view drop'",
                          survey.path()));
}

}  // namespace bento::tools
