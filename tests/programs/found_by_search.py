#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A container without a native view where only HDF5_PLUGIN_PATH is set: HDF5 finds the module by itself.

What programs then see, and may change, is the same as with HDF5_VOL_CONNECTOR=bento: values of every kind, of variable
length and references too, and what references lead to."""

import os
import sys

from harness import Skip, bento_env, check, hdf5_tool, mpirun, python, require_plugin, run, run_test, say

WRITE = r"""
import h5py, numpy as np
with h5py.File("all.h5", "w") as f:
    f["numbers"] = np.arange(20000) * 1.5
    f["texts"] = ["a", "", "three words long"]
    f["word"] = "alone"
    lists = f.create_dataset("lists", (3,), dtype=h5py.vlen_dtype("i4"))
    lists[0], lists[2] = np.arange(4), np.arange(9)
    f["group/deep"] = np.arange(7)
    f["objects"] = np.array([f["numbers"].ref, f["group"].ref, f["texts"].ref], dtype=h5py.ref_dtype)
    f["regions"] = np.array([f["numbers"].regionref[3:9]], dtype=h5py.regionref_dtype)
    f.create_dataset("mixed", data=np.array([(1, "one"), (2, "two")], dtype=[("n", "i4"), ("t", h5py.string_dtype())]))
    f["numbers"].attrs["text"] = "of variable length"
    f["numbers"].attrs["to"] = f["group/deep"].ref
    f.attrs["several"] = ["x", "yy"]
"""
# Prints all of it, and what lies behind each reference.
READ = r"""
import sys, h5py, numpy as np
def shown(value):
    return np.asarray(value).tolist() if not isinstance(value, (h5py.Reference, h5py.RegionReference)) else "reference"
with h5py.File("all.h5", sys.argv[1]) as f:
    for name in ("numbers", "texts", "word", "mixed", "group/deep"):
        print(name, shown(f[name][()])[:30] if f[name].shape else shown(f[name][()]))
    print([shown(each) for each in f["lists"][()]])
    for reference in f["objects"][()]:
        target = f[reference]
        print(target.name, shown(target[()])[:30] if isinstance(target, h5py.Dataset) else sorted(target))
    region = f["regions"][0]
    print(f[region].name, shown(f["numbers"][region]))
    print(f["numbers"].attrs["text"], shown(f[f["numbers"].attrs["to"]][()]), list(f.attrs["several"]))
    if sys.argv[1] == "r+":
        f["texts"][1] = sys.argv[2]
        f["numbers"][5] = float(sys.argv[2])
        f["more" + sys.argv[2]] = "another text"
        f.flush()
        print(shown(f["texts"][()]), f["numbers"][5], shown(f["more" + sys.argv[2]][()]))
"""
OPEN_WITH = r"""
import sys, h5py
try:
    h5py.File(sys.argv[1], "r", driver=sys.argv[2]).close()
except (OSError, KeyError) as error:
    print(error)
"""
READ_BY_RANKS = """
import h5py
from mpi4py import MPI
with h5py.File("all.h5", "r", driver="mpio", comm=MPI.COMM_WORLD) as f:
    said = f"{f['texts'][()]} {f['numbers'][4]} {f[f['objects'][1]].name}"
print("\\n".join(MPI.COMM_WORLD.gather(said) or []), end="")
"""


def test():
    require_plugin()
    chosen = bento_env()
    found = dict(chosen)
    found.pop("HDF5_VOL_CONNECTOR", None)
    run([python(), "-c", WRITE], bento_env(string="bento view=off"))
    version = run([python(), "-c", "import h5py; print(h5py.version.hdf5_version_tuple[0])"], found).out
    if int(version) >= 2:
        raise Skip("HDF5 2 takes what the connector that it finds opens for a file of its native one, so it is not offered any")

    def same(command, **more):
        outputs = [run(command, env, **more).out for env in (chosen, found)]
        check(outputs[0] == outputs[1], "with the connector chosen:\n%s\nfound:\n%s" % tuple(outputs))
        return outputs[1]

    said = same([python(), "-c", READ, "r"])
    check("three words long" in said and "['deep']" in said and "6.0" in said, "unexpected:\n%s" % said)
    for options in ([], ["-d", "texts"], ["-d", "word"], ["-a", "/numbers/text"], ["-d", "objects"], ["-R", "-d", "regions"]):
        same([hdf5_tool("h5dump"), *options, "all.h5"])
    same([hdf5_tool("h5ls"), "-r", "all.h5"])
    # What no program can open, and drivers under which no container is: the tools try them all. What the library leaves
    # of its search must not be in its way when it ends.
    with open("all.h5", "rb") as whole, open("cut.h5", "wb") as cut:
        cut.write(whole.read(70000))
    for tool in ("h5dump", "h5ls", "h5stat"):
        result = run([hdf5_tool(tool), "cut.h5"], found, ok=(1,))
        check("cut.h5" in result.err + result.out, "it said:\n%s" % result.tail())
    os.remove("cut.h5")
    for driver in ("family", "split", "core"):
        run([python(), "-c", OPEN_WITH, "all.h5", driver], found)
    ranks = [mpirun(2, [python(), "-c", READ_BY_RANKS], env).out for env in (chosen, found)]
    check(ranks[0] == ranks[1] and "/group" in ranks[0], "ranks read\n%s\n%s" % tuple(ranks))
    # Who appends goes on in the container.
    for env, value in ((found, "17"), (chosen, "18"), (found, "19")):
        said = run([python(), "-c", READ, "r+", value], dict(env, H5BENTO_VIEW="off")).out
        check("'%s'" % value in said.splitlines()[-1] and "%s.0" % value in said, "after a change:\n%s" % said)
    check("more19" in same([hdf5_tool("h5ls"), "all.h5"]), "a dataset is not there")
    say("found and chosen: the same")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(test)
