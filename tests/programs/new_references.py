#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""References of HDF5 1.12 (H5T_STD_REF) to objects, regions and attributes, by new_references.c: what ranks write, other
numbers of ranks, a serial program and HDF5 without the connector read as what HDF5 itself writes and reads.

    new_references.py written      elements, members, arrays, sequences; overwritten, converted, copied, exported
    new_references.py refused      references to other files, fill values
    new_references.py deleted      references to what is gone
    new_references.py elsewhere    what a serial program stores to objects of another file
"""

import os
import re
import sys

WRITERS = 3


def program():
    return built("tests", "new_references")


def ranks_do(ranks, mode, path, env=None):
    result = mpirun(ranks, [program(), mode, path, WRITERS], env or bento_env())
    check(result.out.count("right") == 1, f"not right:\n{result.tail()}")
    return result.out


def serial(mode, path):
    """Through the connector, in one process."""
    return run([program(), mode, path, WRITERS], bento_env(NEW_REFERENCES_SERIAL="1")).out


def stock(mode, path):
    """HDF5 as it is: a container's native view, or an ordinary file."""
    return run([program(), mode, path, WRITERS], native_env(NEW_REFERENCES_SERIAL="1", NEW_REFERENCES_NATIVE="1")).out


def told(text):
    """Without the copy, which HDF5 itself does not make."""
    return [line for line in text.splitlines() if line != "right" and not line.startswith("copy")]


def compare(path, wanted, *numbers):
    """On the first of these numbers of ranks, serially and by HDF5 as it is."""
    for ranks in some(1, numbers):
        check(told(ranks_do(ranks, "read", path)) == wanted, f"{ranks} ranks read something else")
    check(told(serial("read", path)) == wanted, "a serial program reads something else")
    check(told(stock("read", path)) == wanted, "without the connector something else is read")


def dumped(path, env):
    """What h5dump says, without what differs from file to file: names and addresses."""
    said = run([hdf5_tool("h5dump"), "-d", "refs", "-d", "pairs", "-d", "old regions", path], env).out
    return re.sub(r"DATASET \d+ ", "DATASET ", said.replace(path, "FILE"))


def test_written():
    stock("write", "ordinary.h5")
    wanted = told(stock("read", "ordinary.h5"))
    check(len(wanted) > 150, "too little is told")
    for ranks, *readers in some(3, ((2, 4, 1, 2), (WRITERS, 1, 2, 4), (5, 2, 4, 1), (1, 4, 2, 1))):
        path = f"{ranks}.h5"
        ranks_do(ranks, "write", path, bento_env(stats="stats"))
        check_diverted("stats", at_least=True)
        os.remove("stats")
        compare(path, wanted, *readers)
    say("written by ranks: what HDF5 itself writes, on other ranks, serially and without h5bento")
    natively = dumped("ordinary.h5", native_env())
    for path, env in (("3.h5", native_env()), ("3.h5", bento_env()), ("ordinary.h5", bento_env())):
        check(dumped(path, env) == natively, f"h5dump says something else of {path}")
    run([built("bin", "h5bento"), "export", "3.h5", "exported.h5"], bento_env())
    check(told(stock("read", "exported.h5")) == wanted, "something else is exported")
    for command, source, to in (("defrag", "3.h5", "packed.h5"), ("import", "ordinary.h5", "imported.h5")):
        run([built("bin", "h5bento"), command, source, to], bento_env())
        # The copy holds them as a serial program's file does, so the library reads them by itself.
        found = run([program(), "read", to, WRITERS], bento_env(NEW_REFERENCES_SERIAL="1", NEW_REFERENCES_NATIVE="1"))
        check(told(found.out) == wanted, f"{command} makes something else")
        check(told(stock("read", to)) == wanted, f"{command}: without the connector something else is read")
    ranks_do(3, "write", "arrived.h5", bento_env(string="bento arrive=native;cache=" + os.path.abspath("cache")))
    check(told(stock("read", "arrived.h5")) == wanted, "arrive=native: something else")
    say("h5dump, export, defrag, import and arrive=native: the same")
    for mode in ("convert", "swap"):
        stock(mode, "ordinary.h5")
        ranks_do(2, mode, "3.h5")
        serial(mode, "2.h5")
    wanted = told(stock("read", "ordinary.h5"))
    compare("3.h5", wanted, 4, 2, 1)
    compare("2.h5", wanted, 1, 2, 4)
    lines = serial("read", "3.h5").splitlines()
    copied = [line.replace("copy", "refs", 1) for line in lines if line.startswith("copy")]
    check(copied and copied == [line for line in lines if line.startswith("refs")], "H5Ocopy makes something else")
    run([built("bin", "h5bento"), "verify", "3.h5"], native_env())
    say("other types in memory, some members, written to other elements, copied: right")


def test_refused():
    ranks_do(3, "write", "x.h5")
    ranks_do(3, "other", "x.h5")
    ranks_do(3, "fill", "x.h5")
    say("references to other files, to regions of groups, and fill values that are references, are refused")


def test_deleted():
    ranks_do(3, "write", "x.h5")
    stock("write", "ordinary.h5")
    ranks_do(2, "delete", "x.h5")
    stock("delete", "ordinary.h5")
    natively = stock("read-deleted", "ordinary.h5")
    check(ranks_do(1, "read-deleted", "x.h5") == natively, "through the connector it is not as natively")
    check(serial("read-deleted", "x.h5") == natively, "serially it is not as natively")
    check("gone 0" in stock("read-deleted", "x.h5"), "the native view has references to what is gone")
    say("a deleted target: through the connector as natively, null in the native view")


def said_of_elsewhere(text):
    return [line.strip() for line in text.splitlines() if line != "right"]


def test_elsewhere():
    """The other file is neither opened nor changed by what copies the reference, which cannot know what it holds by then."""
    whole = ["second.h5 /far", "second.h5 /far", "here /lead"]
    null = ["nowhere", "nowhere", "here /lead"]
    stock("elsewhere", "ordinary.h5")
    check(said_of_elsewhere(stock("read-elsewhere", "ordinary.h5")) == whole, "HDF5 itself")
    result = run([program(), "elsewhere", "x.h5", WRITERS], bento_env(NEW_REFERENCES_SERIAL="1"))
    check("2 references lead to" in result.err and "null in the native view" in result.err, f"nothing is said: {result.err}")
    check(said_of_elsewhere(serial("read-elsewhere", "x.h5")) == whole, "through the connector")
    before = open("second.h5", "rb").read()
    check(said_of_elsewhere(stock("read-elsewhere", "x.h5")) == null, "in the native view")
    for command, source, read in (("export", "x.h5", stock), ("defrag", "x.h5", serial), ("import", "ordinary.h5", serial)):
        result = run([built("bin", "h5bento"), command, source, f"{command}.h5"], bento_env())
        check("2 references lead to" in result.text, f"{command} says nothing: {result.text}")
        check(said_of_elsewhere(read("read-elsewhere", f"{command}.h5")) == null, command)
    check(open("second.h5", "rb").read() == before, "the other file was changed")
    say("references to another file: through the connector as natively, null and counted in view, export, defrag and import")


TESTS = {"written": test_written, "refused": test_refused, "deleted": test_deleted, "elsewhere": test_elsewhere}


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if not sys.argv[1:2] or sys.argv[1] not in TESTS:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    from harness import bento_env, built, check, check_diverted, hdf5_tool, mpirun, native_env, run, run_test, say, some

    run_test(TESTS[sys.argv[1]], *sys.argv[2:])
