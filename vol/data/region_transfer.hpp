// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Transfers of references to regions in datasets whose values lie in the skeleton, of a file that
/// keeps regions elsewhere: see vol/file/skeleton_regions.hpp.
#pragma once

#include <functional>

#include "vol/data/transfer.hpp"

namespace bento::vol {

/// Writes elements in the native library.
using WriteNatively = std::function<herr_t(TransferArgs args, const void* elements)>;

/// Writes by `write`, with the references of the skeleton. Errors: as write_with_regions().
Status write_selected_regions(const Object* object, FileContext& file, const TransferArgs& args,
                              const void* buffer, const WriteNatively& write);
/// Translates what was read. Errors: as take_regions().
Status take_selected_regions(const Object* object, FileContext& file, const TransferArgs& args,
                             void* buffer);

}  // namespace bento::vol
