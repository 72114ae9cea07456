// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Constants of MPI that are addresses of variables in Open MPI. Two sources have them:
/// mpi_constants.cpp, and vol/bound_mpi/ for the plugin that links no MPI. What uses MPI takes them
/// from here: by their own names they would have to be linked.
#pragma once

#include <mpi.h>

namespace bento::vol {

struct MpiConstants {
  MPI_Comm comm_null;
  MPI_Info info_null;
  MPI_Datatype byte;
  MPI_Request request_null;
  MPI_Errhandler errors_return;
};
const MpiConstants& mpi_constants();

}  // namespace bento::vol
