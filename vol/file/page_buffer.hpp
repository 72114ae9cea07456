// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The library's page buffer (H5Pset_page_buffer_size) of a container that is open for reading.
/// Such a file is opened without one: its metadata is in memory, and no refresh could empty the
/// buffer. A program that asks is shown what it has set, and that nothing went through it.
#pragma once

#include <optional>

#include <hdf5.h>

#include <H5VLnative.h>

#include "core/base/error.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// What the access list says of a page buffer.
PageBuffer page_buffer_of(hid_t fapl);

/// The buffer that `file` would have natively and is opened without; nothing if there is none.
/// Task-local. Errors: kInternal.
Result<std::optional<PageBuffer>> unused_page_buffer(const Object* file,
                                                     const FileContext& context);

/// Makes the list show that buffer, if there is one.
Status show_page_buffer(hid_t fapl, const Object* file, const FileContext& context);

/// H5Fget_page_buffering_stats and H5Freset_page_buffering_stats for such a file: nothing was
/// accessed. False if the library has to answer.
Result<bool> answer_page_buffering(const Object* file, const FileContext& context,
                                   H5VL_optional_args_t& args);

}  // namespace bento::vol
