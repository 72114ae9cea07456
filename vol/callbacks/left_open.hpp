// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a program leaves open when it ends. HDF5 closes files at its exit after it has forgotten
/// its type conversions and link classes, without which no native view can be built. So what was
/// opened through the connector is closed before that, as the program would have done it.
#pragma once

namespace bento::vol {

/// To be called when a container was opened. When the library ends, at exit, in H5close() or in
/// MPI_Finalize, it closes first of all what is open through this connector then, but not what a
/// forked child has from its parent. That is collective over the ranks that opened a file, like
/// H5Fclose; files are closed in the order in which they were opened. A close that fails reports
/// itself. Without memory it is as if this had not been called.
void close_at_library_end();

}  // namespace bento::vol
