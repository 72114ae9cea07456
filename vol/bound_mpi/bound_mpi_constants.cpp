// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What takes the place of vol/mpi/mpi_constants.cpp in the plugin that links no MPI: Open MPI's
/// constants from the addresses that binding/ has found. MPICH's are numbers.
#include "vol/mpi/mpi_constants.hpp"

#if defined(OPEN_MPI)
// Defined by cmake/H5bentoSymbols.cmake: the address of the variable behind the prefix.
extern "C" {
extern void* h5bento_address_ompi_mpi_comm_null;
extern void* h5bento_address_ompi_mpi_info_null;
extern void* h5bento_address_ompi_mpi_byte;
extern void* h5bento_address_ompi_request_null;
extern void* h5bento_address_ompi_mpi_errors_return;
}
#endif

namespace bento::vol {

const MpiConstants& mpi_constants() {
#if defined(OPEN_MPI)
  static const MpiConstants kAll = {
      static_cast<MPI_Comm>(h5bento_address_ompi_mpi_comm_null),
      static_cast<MPI_Info>(h5bento_address_ompi_mpi_info_null),
      static_cast<MPI_Datatype>(h5bento_address_ompi_mpi_byte),
      static_cast<MPI_Request>(h5bento_address_ompi_request_null),
      static_cast<MPI_Errhandler>(h5bento_address_ompi_mpi_errors_return)};
#else
  static const MpiConstants kAll = {MPI_COMM_NULL, MPI_INFO_NULL, MPI_BYTE, MPI_REQUEST_NULL,
                                    MPI_ERRORS_RETURN};
#endif
  return kAll;
}

}  // namespace bento::vol
