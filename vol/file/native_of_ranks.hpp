// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which ordinary files ranks have opened together: nothing else tells, since asking HDF5 for the
/// access list of such a file is collective.
#pragma once

namespace bento::vol {

/// To be called when one was opened with the mpio driver. `fileno` is never used again.
void note_native_of_ranks(unsigned long fileno);
bool is_native_of_ranks(unsigned long fileno);

}  // namespace bento::vol
