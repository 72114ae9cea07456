// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Builds a container's native view: what stock HDF5 without a plugin sees. Source: docs/format.md,
/// "Native view".
#pragma once

#include "core/base/error.hpp"
#include "core/container/native_view.hpp"
#include "hdf5/view/dataset_view.hpp"

namespace bento::vol {

/// Writes all of the view but the superblocks, which it returns. Runs on the owner; not collective.
/// Errors: kIo, kNoSpace (also a container whose chunks are too small for the view's metadata),
/// kInternal.
Result<NativeView> build_native_view(const ViewSettings& settings, ViewJob& job);

}  // namespace bento::vol
