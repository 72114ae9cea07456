# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A fault of Open MPI 4.1 with PMIx 4.2 on a busy machine: mpirun fails although every rank has ended well.

In MPI_Finalize a rank tells mpirun that it ends, and waits two seconds for the answer (PMIx_Finalize, `fin_timeout`). If
mpirun is not given a processor in that time, it sees the rank's end first, takes it for one without MPI_Finalize, and
exits with 1 (github.com/open-mpi/ompi/issues/9389 and 12607). Seen by stopping mpirun for four seconds in MPI_Finalize.

It says this of no rank that has another exit status than 0, or was killed: those have messages of their own.
"""

import re

_MESSAGE = re.compile(r"exited due to process rank \d+ with PID 0 on\s+node \S+ exiting improperly")
# What mpirun says when something else is wrong, too.
_OTHERS = re.compile(r"exited on signal|exited with non-zero status|MPI_ABORT was invoked")


def ended_unseen(status, text):
    """Whether this exit status of mpirun, and all that it printed, say only that a rank with exit status 0 ended unseen."""
    return status == 1 and _MESSAGE.search(text) is not None and _OTHERS.search(text) is None
