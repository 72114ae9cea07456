#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Drivers that h5bento does not serve open containers to read. They do not change one behind h5bento: the change would be
lost, and what is committed damaged."""

from harness import bento_env, check, python, run, run_test, say
from native_view_check import stock_env, stock_python

MAKE = """
import h5py, numpy
with h5py.File("x.h5", "w") as file:
    file["x"] = numpy.arange(100000)
"""

# What each says, one line each; the file is as it was.
TRY = """
import h5py, numpy
def attempt(name, act):
    try:
        print(name, act())
    except OSError as error:
        print(name, "refused:", error)
def changed(**more):
    with h5py.File("x.h5", "r+", **more) as file:
        file["x"][0] = 42
        return file["x"][0]
def seen(**more):
    with h5py.File("x.h5", "r", **more) as file:
        return file["x"][:3].tolist()
attempt("core", lambda: changed(driver="core"))
attempt("core, split", lambda: changed(driver="split"))
attempt("core in memory", lambda: changed(driver="core", backing_store=False))
attempt("core, read", lambda: seen(driver="core"))
attempt("read", lambda: seen())
with h5py.File("x.h5", "r+"), h5py.File("s-m.h5", "w"):
    attempt("block over", lambda: h5py.File("x.h5", "w", userblock_size=512))
    attempt("core over", lambda: h5py.File("x.h5", "w", driver="core"))
    attempt("member over", lambda: h5py.File("s", "w", driver="split"))
"""

READ = "import h5py; print(h5py.File('x.h5', 'r')['x'][:3].tolist())"


def test():
    run([python(), "-c", MAKE], bento_env())
    said = run([python(), "-c", TRY], bento_env()).out.splitlines()
    say("\n".join(said))
    by_name = dict(line.split(" refused:", 1) for line in said if " refused:" in line)
    check("core" in by_name and "'x.h5' is a container of h5bento" in by_name["core"], f"{said}")
    for name, path in (("block over", "x.h5"), ("core over", "x.h5"), ("member over", "s-m.h5")):
        check(f"'{path}' is a container that is open for writing" in by_name.get(name, ""), f"{name}: {said}")
    check("core in memory 42" in said, f"{said}")
    check("core, read [0, 1, 2]" in said and "read [0, 1, 2]" in said, f"{said}")
    for name, command, env in (("stock", stock_python(), stock_env()), ("h5bento", python(), bento_env())):
        found = run([command, "-c", READ], env).out.strip()
        check(found == "[0, 1, 2]", f"{name}: {found}")
    appended = run([python(), "-c", "import h5py; h5py.File('x.h5', 'r+')['y'] = 1"], bento_env())
    check("changed by another program" not in appended.text, appended.text)


if __name__ == "__main__":
    run_test(test)
