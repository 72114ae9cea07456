// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An object that is opened natively for a while, without an identifier.
#pragma once

#include <string>

#include <hdf5.h>

#include "vol/file/object.hpp"

namespace bento::vol {

class OpenedObject {
 public:
  /// Opens what `name` leads to from `where`, whose object type is `type`.
  OpenedObject(const Object* where, H5I_type_t type, const std::string& name);
  ~OpenedObject();
  OpenedObject(const OpenedObject&) = delete;
  OpenedObject& operator=(const OpenedObject&) = delete;
  /// Null if it could not be opened.
  Object* get() { return object_.under != nullptr ? &object_ : nullptr; }

 private:
  Object object_;
};

}  // namespace bento::vol
