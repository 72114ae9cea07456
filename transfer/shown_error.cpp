// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/shown_error.hpp"

#include <cstddef>

namespace bento::transfer {

Error readable(Error error, const std::string& at, const std::string& shown) {
  for (std::size_t where = 0; (where = error.text.find(at, where)) != std::string::npos;
       where += shown.size())
    error.text.replace(where, at.size(), shown);
  return error;
}

}  // namespace bento::transfer
