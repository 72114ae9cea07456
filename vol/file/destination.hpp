// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where a path leads: through links and mounts it may leave the file of the object that it begins
/// at.
#pragma once

#include <memory>
#include <optional>

#include <hdf5.h>

#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"
#include "vol/file/opened_object.hpp"

namespace bento::vol {

/// Asks the native library for the basic facts of the object at `place`, seen from `object`. False
/// if it does not know; its error stack says why. Makes no communication.
bool ask_info(const Object* object, const H5VL_loc_params_t& place, H5O_info2_t& info);
/// The native library's answer about the object at `place`, seen from `object`; nothing where it
/// finds none. Leaves the error stack alone. Task-local.
std::optional<H5O_info2_t> info_at(const Object* object, const H5VL_loc_params_t& place);

/// Where an object would be created by a name.
struct Destination {
  /// Null: an ordinary file.
  std::shared_ptr<FileContext> container;
  /// Keeps that file open, where nothing else may.
  std::unique_ptr<OpenedObject> group;
};
/// `name` is seen from `where`; it may be null, for an object without a name. Task-local.
Destination destination_of(const Object* where, const H5VL_loc_params_t& loc, const char* name);

}  // namespace bento::vol
