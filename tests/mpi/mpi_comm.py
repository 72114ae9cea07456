# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi_comm_test under mpirun. Each rank must say, behind MPI_Finalize, that it has ended well.

usage: mpi_comm.py RANKS MPIEXEC [ARGUMENT...]
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from harness import check, run, say


def main():
    ranks, command = int(sys.argv[1]), sys.argv[2:]
    found = run(command, os.environ, timeout=600)
    say(found.text)
    ended = {int(rank) for rank in re.findall(r"rank (\d+) has ended well", found.out)}
    check(ended == set(range(ranks)), f"not all of {ranks} ranks have ended well: {sorted(ended)}")


main()
