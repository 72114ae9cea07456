// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/mpi/mpi_constants.hpp"

namespace bento::vol {

const MpiConstants& mpi_constants() {
  static const MpiConstants kAll = {MPI_COMM_NULL, MPI_INFO_NULL, MPI_BYTE, MPI_REQUEST_NULL,
                                    MPI_ERRORS_RETURN};
  return kAll;
}

}  // namespace bento::vol
