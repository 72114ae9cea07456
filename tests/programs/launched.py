# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What a program of a test needs to know of how it was started: by mpirun, or by itself."""

import os


def world():
    """Rank, number of ranks, what h5py.File takes, and a barrier."""
    if not {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & os.environ.keys():  # of Open MPI and of MPICH
        return 0, 1, {}, lambda: None
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    return comm.rank, comm.size, {"driver": "mpio", "comm": comm}, comm.Barrier
