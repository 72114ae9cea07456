#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""An unmodified program that writes a file per rank, with 8 ranks, natively and through the driver: one container, whose
streams are the native files byte for byte, and which reads by the original names without MPI."""

import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from joiners import report, split, stock_view, streams  # noqa: E402

from harness import built, check, driver_env, hdf5_tool, mpirun, native_env, python, run, run_test, say  # noqa: E402

RANKS = 8


def counts(path):
    """Sums over the lines of the driver's statistics."""
    total = {}
    with open(path) as file:
        for line in file:
            for kind, values in json.loads(line)["driver"].items():
                for key, value in values.items():
                    total[kind, key] = total.get((kind, key), 0) + value
    return total


def one_container(files):
    box = os.path.abspath("run%d.bento" % files)
    config = "container=%s;files=%d;stats=stats%d.json" % (box, files, files)
    os.makedirs("driver", exist_ok=True)
    mpirun(RANKS, [built("tests", "file_per_process"), "driver"], driver_env(config), timeout=120)
    check(not os.listdir("driver"), "files beside the container: %s" % os.listdir("driver"))
    done = counts("stats%d.json" % files)
    check(done["streams", "opens"] >= 2 * RANKS and done["streams", "writes"] > 0 and done["plain", "opens"] == 0, "counted: %s" % done)
    stock_view(box)
    check(report(box)[0][3:5] == ["finished", "free"] and len(report(box)[1]) == RANKS, "report: %s" % (report(box),))
    found = streams(box)
    for rank in range(RANKS):
        name = "ckpt.%04d.h5" % rank
        native = open(os.path.join("native", name), "rb").read()
        check(found["driver/" + name] == native, "%s: the stream is not the native file" % name)
    for path in split(box, "split%d" % files).values():
        run([hdf5_tool("h5ls"), path], native_env())
    return box


def by_name(box):
    """By one process without MPI, in another folder too."""
    for rank in (0, 3, 7):
        name = "driver/ckpt.%04d.h5" % rank
        native = "native/ckpt.%04d.h5" % rank
        run([hdf5_tool("h5diff"), name, native], driver_env("container=" + box))
        ours = run([hdf5_tool("h5dump"), name], driver_env("container=" + box)).out
        theirs = run([hdf5_tool("h5dump"), native], native_env()).out
        check(ours.split("\n", 1)[1] == theirs.split("\n", 1)[1], "%s: h5dump differs" % name)
        info = run([hdf5_tool("h5dump"), "--vfd-name", "bento", "--vfd-info", "container=" + box, name], driver_env()).out
        check(info == ours, "%s: h5dump --vfd-info differs" % name)
    os.makedirs("elsewhere", exist_ok=True)
    script = "import h5py; f = h5py.File('driver/ckpt.0005.h5'); print(f['plain'].shape[0], f['texts'][1].decode())"
    found = run([python(), "-c", script], driver_env("container=" + box), cwd="elsewhere").out
    check(found == "105000 a longer text\n", "h5py: %s" % found)


def file_per_process():
    os.makedirs("native")
    mpirun(RANKS, [built("tests", "file_per_process"), "native"], native_env(), timeout=120)
    check(len(glob.glob("native/*.h5")) == RANKS, "the native run wrote %s" % glob.glob("native/*"))
    box = one_container(1)
    one_container(3)
    by_name(box)
    say("  8 ranks: streams equal native files")


if __name__ == "__main__":
    run_test(file_per_process, containers=2)
