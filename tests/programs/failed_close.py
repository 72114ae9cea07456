#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A dataset is the last thing of its file that is open, and the commit at its close fails: that is said, the process ends as
ever, and another file that it left open is whole."""

import os

from harness import bento_env, check, check_container, native_env, python, run, run_test

PROGRAM = """
import resource, sys
import h5py, numpy as np
other = h5py.File("other.h5", "w")
other["y"] = np.arange(1000.0)
file = h5py.File("full.h5", "w")
data = file.create_dataset("d", (0,), maxshape=(None,), chunks=(50000,), dtype="f8")
resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, resource.RLIM_INFINITY))
data.resize((1000000,))
try:
    data[:] = 1
except OSError:
    pass
if sys.argv[1] == "file":
    del data  # the file itself is the last thing
else:
    file.id.close()  # HDF5 waits for the dataset
print("end", flush=True)
"""


def test():
    for last in ("dataset", "file"):
        done = run([python(), "-c", PROGRAM, last], bento_env())
        check("end" in done.out and "File too large" in done.err, f"{last}: {done.tail()}")
        said = run([python(), "-c", "import h5py; print(h5py.File('other.h5')['y'][999])"], native_env()).out
        check(said == "999.0\n", f"{last}: the other file gives {said}")
        check_container("other.h5")
        os.rename("other.h5", f"{last}.h5")
        os.remove("full.h5")


if __name__ == "__main__":
    run_test(test)
