// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector's info: the text behind the name in the connector string, as given. The library
/// copies, compares and frees it; a null info means defaults everywhere. It is parsed when a file
/// is created or opened.
#pragma once

#include <string>

#include <hdf5.h>

namespace bento::vol {

struct Info {
  std::string text;
};

/// How the library copies, compares, prints, parses and frees one.
extern const H5VL_info_class_t kInfoClass;

}  // namespace bento::vol
