// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Tells a container what a reader gets of a dataset's elements that nobody has written.
#pragma once

#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// Of a kDiverted dataset that was just written, if its container asks:
/// Container::asks_unwritten(). Where the fill value is not known, small pieces stay records of
/// their own. Task-local.
void tell_unwritten(const Object* object, DatasetState& state);

}  // namespace bento::vol
