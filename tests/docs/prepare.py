#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: prepare.py NAME...   makes the files that the examples of docs/tools.md speak of: run.h5, find.h5, ..."""

import os
import shutil
import subprocess
import sys

# Four ranks, two files, four steps of which three are kept.
RUN = """
from mpi4py import MPI
import h5py, numpy as np
comm = MPI.COMM_WORLD
band = slice(64 * comm.rank, 64 * (comm.rank + 1))
with h5py.File("run.h5", "w", driver="mpio", comm=comm) as file:
    t = file.create_dataset("temperature", (1, 256, 1024), "f8", maxshape=(None, 256, 1024), chunks=(1, 256, 256))
    t.attrs["unit"], t.attrs["height"] = "K", 2.0
    time = file.create_dataset("time", (1,), "f8", maxshape=(None,), chunks=(64,))
    time.attrs["unit"] = "s"
    for step, extent in enumerate((4, 8, 11)):
        t.resize(extent, 0), time.resize(extent, 0)
        t[extent - 3 : extent, band] = np.random.rand(3, 64, 1024)
        if comm.rank == 0:
            time[extent - 3 : extent] = range(3)
        file.flush()
    t[0, band] = 1.0
"""
FIND = """
import h5py, numpy as np
with h5py.File("find.h5", "w") as file:
    energy = file.create_dataset("energy", (4000,), "f8")
    for part in range(4):
        energy[1000 * part : 1000 * (part + 1)] = np.linspace(12 * part, 12 * part + 11, 1000)
        file.flush()
"""
TORN = """
import h5py, numpy as np, os
file = h5py.File("torn.h5", "w")
file["a"] = np.arange(1000)
file.flush()
file["b"] = np.arange(1 << 17)
os._exit(0)
"""
EDITED = """
import h5py
with h5py.File("edited.h5", "r+") as file:
    file["note"] = "changed by another program"
"""


def python(text, settings="", ranks=0, kind="H5BENTO_PYTHON"):
    env = dict(os.environ, HDF5_PLUGIN_PATH=os.path.join(os.environ["H5BENTO_BUILD"], "plugins"))
    if settings is not None:
        env["HDF5_VOL_CONNECTOR"] = f"bento {settings}"
    else:
        env.pop("HDF5_PLUGIN_PATH")
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    subprocess.run([*launcher, os.environ[kind], "-c", text], env=env, check=True)


def damage():
    """One byte in the middle of a rank's data."""
    shutil.copy("run.h5", "damaged.h5")
    shutil.copy("run.h5.000001", "damaged.h5.000001")
    with open("damaged.h5", "r+b") as file:
        for at in range(1 << 20, os.path.getsize("damaged.h5"), 4096):
            file.seek(at)
            byte = file.read(1)
            if byte not in (b"", b"\0"):
                file.seek(at)
                file.write(bytes([byte[0] ^ 1]))
                return


def main(names):
    for name in names:
        if name == "run.h5":
            python(RUN, "files=2;keep=3", 4)
        elif name == "find.h5":
            python(FIND, "minmax=on")
        elif name == "torn.h5":
            python(TORN)
        elif name == "damaged.h5":
            damage()
        elif name == "edited.h5":
            python(TORN.replace("torn", "edited").replace("os._exit(0)", "file.close()"))
            python(EDITED, None, kind="H5BENTO_PYTHON_NATIVE")


main(sys.argv[1:])
