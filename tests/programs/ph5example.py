#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""ph5example, from HDF5's source package, under the connector; its files must equal those of a native run."""

import os

from harness import (
    api_program,
    bento_env,
    check,
    check_container,
    check_diverted,
    check_equal,
    hdf5_tool,
    mpirun,
    native_env,
    run,
    run_test,
    say,
    some,
)

NAMES = ("ParaEg0.h5", "ParaEg1.h5")


def run_example(folder, ranks, env):
    os.mkdir(folder)
    result = mpirun(ranks, [api_program("ph5example"), "-c"], env, cwd=folder)  # -c: keep the files
    check("finished with no errors" in result.out, f"ph5example:\n{result.tail()}")


def test():
    for ranks in some(1, (4, 1, 2)):
        say(f"{ranks} ranks")
        native, found = f"native-{ranks}", f"bento-{ranks}"
        run_example(native, ranks, native_env())
        run_example(found, ranks, bento_env(stats=f"stats-{ranks}"))
        check_diverted(f"stats-{ranks}", processes=ranks)
        for name in NAMES:
            pair = os.path.join(native, name), os.path.join(found, name)
            check_container(pair[1])
            say("  " + check_equal(*pair))
            say("  on 3 ranks: " + check_equal(*pair, ranks=3))
            run([hdf5_tool("h5diff"), *pair], bento_env())


if __name__ == "__main__":
    run_test(test)
