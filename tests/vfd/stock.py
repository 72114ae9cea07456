#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Stock HDF5 never takes the first stream of a container for the whole: h5ls, then a change with stock r+, at every stage; then
all streams are what they were. And the connector says what such a container is."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from joiners import Joiner, report, stock_view, streams  # noqa: E402

from harness import bento_env, check, hdf5_tool, native_env, python, run, run_test, say  # noqa: E402

CHANGE = """
import h5py, sys
file = h5py.File(sys.argv[1], "r+")
file.attrs["changed by stock HDF5"] = list(range(5000))
file.create_dataset("foreign", data=list(range(100000)))
file.close()
"""


def change(container, refused=False):
    """A change by stock HDF5; while somebody writes, HDF5's own lock keeps it out."""
    stock_view(container)
    result = run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", CHANGE, container], native_env(), ok=(0, 1))
    check((result.status != 0) == refused, "stock r+: status %d: %s" % (result.status, result.tail(3)))


def config(rank, files):
    return "container=c%d.bento;rank=%d;size=3;session=s;chunk=32K;files=%d" % (files, rank, files)


def stages(files):
    box = "c%d.bento" % files
    parts = [box] + ["%s.%06d" % (box, k) for k in range(1, files)]
    with Joiner(config(0, files)) as a, Joiner(config(1, files)) as b:
        a.say("create a.h5")
        stock_view(box)
        a.say("add x 1 20000")
        change(box, refused=True)
        a.say("close")
        before = streams(box)
        for part in parts:
            change(part)
        check(streams(box) == before, "fresh: stock r+ changed a stream")
        # What stock HDF5 has added lies where the next chunks come to be: they must begin with zeros.
        a.say("rw a.h5", "add y 2 60000", "close")
        b.say("create b.h5", "add x 3 50000")
        b.kill()
        for part in parts:
            stock_view(part)
        before = report(box, repair=True)[1]
        streams_before = streams(box)
        for part in parts:
            change(part)
        check(report(box)[1] == before and streams(box) == streams_before, "after a kill: stock r+ changed a stream")
        a.say("ro a.h5")
        check(a.say("sum") == "2 80000 %d" % (sum(range(1, 20001)) + sum(range(2, 60002))), "values")
        a.say("close", "rw a.h5", "add z 4 1000", "close")
        stock_view(box)
        streams(box)
    say("  %d files: good" % files)


def by_the_connector(container):
    script = "import h5py, sys; h5py.File(sys.argv[1], sys.argv[2])"
    for mode in ("r", "r+"):
        result = run([python(), "-c", script, container, mode], bento_env(), ok=(1,))
        check("HDF5_DRIVER=bento" in result.err, "the connector does not say what it is: %s" % result.tail(5))
    result = run([hdf5_tool("h5dump"), "-H", "a.h5"],
                 bento_env(HDF5_DRIVER="bento", HDF5_DRIVER_CONFIG="container=" + container))
    check("DATASET" in result.out, "connector and driver together: %s" % result.tail(5))


def stock():
    stages(1)
    stages(2)
    by_the_connector("c1.bento")


if __name__ == "__main__":
    run_test(stock, containers=2)
