# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What a program of a test needs to know of how it was started: by mpirun, or by itself; and several programs in one start."""

import contextlib
import os


def world():
    """Rank, number of ranks, what h5py.File takes, and a barrier."""
    if not {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & os.environ.keys():  # of Open MPI and of MPICH
        return 0, 1, {}, lambda: None
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    return comm.rank, comm.size, {"driver": "mpio", "comm": comm}, comm.Barrier


@contextlib.contextmanager
def settings(text):
    """Environment variables while it lasts: NAME=VALUE,NAME=VALUE. The connector looks at its own when a file is opened."""
    given = dict(word.split("=", 1) for word in text.split(",") if word)
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def run_in_turn(programs, words):
    """Some of the programs, {name: function}, each as NAME or NAME,VARIABLE=VALUE,..."""
    for word in words:
        name, _, given = word.partition(",")
        with settings(given):
            programs[name]()
