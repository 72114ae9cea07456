#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The comparison of native_view_compare.py finds each of many small differences between two native files. No
arguments."""

import os
import shutil
import sys

from harness import HERE, check, native_env, python, run, run_test, say
from native_view_check import COMPARE, stock_env, stock_python

CHANGES = {
    "a value": 'file["types/f4/large"][7] = 99',
    "a value of many pieces": 'file["boxes"][3, 4] = 12345',
    "a string": 'file["strings/variable"][2] = "else"',
    "a value of an attribute": 'file["strings"].attrs["words"] = ["a"]',
    "the type of an attribute": 'file["strings"].attrs["fixed"] = "fixed"',
    "one more attribute": 'file["links"].attrs["new"] = 1',
    "one attribute less": 'del file["types/i4/small"].attrs["value"]',
    "one more group": 'file.create_group("links/new")',
    "one dataset less": 'del file["types/f8/small"]',
    "the target of a soft link": 'del file["links/soft"]; file["links/soft"] = h5py.SoftLink("/types/i4/small")',
    "the file of an external link": 'del file["links/external"]; file["links/external"] = h5py.ExternalLink("no.h5", "/inner/data")',
    "a copy in place of a hard link": 'del file["also hard"]; file["also hard"] = file["links/hard"][...]',
    "a hard link less": 'del file["links/hard"]',
    "the order of links": 'file.move("links/alpha", "x"); file.move("x", "links/alpha")',
    "the order of attributes": 'a = file["attributes"].attrs; x = a["a005"]; del a["a005"]; a["a005"] = x',
    "an uncommitted type": 'a = file["committed/small"].attrs; x = a["colour"]; del a["colour"]; a.create("colour", x, dtype="i2")',
    "the type in place of the committed one": 'a = file["committed"].attrs; x = a["particle"]; a.create("particle", x, dtype=x.dtype)',
    "a reference": 'file["references/objects"][1] = file["types/f4/large"].ref',
    "a reference in an attribute": 'file["references"].attrs["object"] = file["types/f4/large"].ref',
    "a region": 'file["references/regions"][2] = file["boxes"].regionref[100:300, 50:61]',
    "an extent": 'file["scales/time"].resize((10,))',
    "a fill value": 'x = file["strings/filled"]; v = x[...]; del file["strings/filled"]; file.create_dataset("strings/filled", data=v, dtype=x.dtype)',
    "the greatest extent": 'v = file["types/f4/pieces"][...]; del file["types/f4/pieces"]; file["types/f4/pieces"] = v',
    "the byte order": 'v = file["types/f8/small"][...]; del file["types/f8/small"]; file.create_dataset("types/f8/small", data=v, dtype=">f8")',
    "a dimension scale": 'file["scales/temperature"].dims[1].detach_scale(file["scales/y"])',
    "a label": 'file["scales/temperature"].dims[1].label = "other"',
}


def test():
    for folder in ("a", "b"):
        os.mkdir(folder)
        run([python(), "-B", os.path.join(HERE, "native_view_program.py"), folder, "quick"], native_env())
    compared = run([stock_python(), "-B", COMPARE, "a/main.h5", "b/main.h5"], stock_env())
    say(f"unchanged: {compared.out.strip()}")
    program = "import h5py\n"
    for number, change in enumerate(CHANGES.values()):
        shutil.copy("a/main.h5", f"b/{number}.h5")
        program += f"with h5py.File('b/{number}.h5', 'r+') as file:\n    {change}\n"
    run([python(), "-c", program], native_env())
    pairs = [name for number in range(len(CHANGES)) for name in ("a/main.h5", f"b/{number}.h5")]
    result = run([stock_python(), "-B", COMPARE, *pairs], stock_env(), ok=None)
    verdicts = [line.split(": ")[0] for line in result.out.splitlines() if line.startswith(("DIFFERENT: ", "equal: "))]
    check(len(verdicts) == len(CHANGES), f"{len(verdicts)} verdicts on {len(CHANGES)} changes:\n{result.tail()}")
    for what, verdict in zip(CHANGES, verdicts):
        check(verdict == "DIFFERENT", f"{what} changed, and was not found:\n{result.out}")
    # What it says by its exit status.
    one = run([stock_python(), "-B", COMPARE, "a/main.h5", "b/0.h5"], stock_env(), ok=None)
    check((result.status, one.status) == (1, 1), f"exit status {result.status} of all, {one.status} of one")
    say(f"each of {len(CHANGES)} differences was found")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    run_test(test, containers=0)  # of files that HDF5 wrote by itself
