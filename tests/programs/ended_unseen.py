# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A fault of Open MPI 4.1 with PMIx 4.2 on a busy machine: mpirun fails although every rank has ended well.

In MPI_Finalize a rank tells mpirun that it ends, and waits two seconds for the answer (PMIx_Finalize, `fin_timeout`). If
mpirun is not given a processor in that time, it sees the rank's end first, takes it for one without MPI_Finalize, and
exits with 1 (github.com/open-mpi/ompi/issues/9389 and 12607). Seen by stopping mpirun for four seconds in MPI_Finalize.

It says this of no rank that has another exit status than 0, or was killed: those have messages of their own.
"""

import re
import subprocess
import sys

_MESSAGE = re.compile(r"exited due to process rank \d+ with PID 0 on\s+node \S+ exiting improperly")
# What mpirun says when something else is wrong, too.
_OTHERS = re.compile(r"exited on signal|exited with non-zero status|MPI_ABORT was invoked")


def ended_unseen(status, text):
    """Whether this exit status of mpirun, and all that it printed, say only that a rank with exit status 0 ended unseen."""
    return status == 1 and _MESSAGE.search(text) is not None and _OTHERS.search(text) is None


def main():
    """Runs a command of mpirun whose every rank prints "rank R has ended well" behind MPI_Finalize.

    usage: ended_unseen.py RANKS COMMAND [ARGUMENT...]
    """
    ranks, command = int(sys.argv[1]), sys.argv[2:]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="")
    status = done.returncode
    ended = {int(rank) for rank in re.findall(r"rank (\d+) has ended well", done.stdout)}
    if ended != set(range(ranks)):
        print(f"not all of {ranks} ranks have ended well: {sorted(ended)}")
        status = status or 1
    elif ended_unseen(status, done.stdout):
        print("mpirun did not see the end of a rank, but each of them has said that it ended well")
        status = 0
    return status if 0 <= status < 128 else 1


if __name__ == "__main__":
    sys.exit(main())
