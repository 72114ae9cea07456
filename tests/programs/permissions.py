#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A file that takes another one's place has its permissions, and so has each further physical file of a container."""

import os
import shutil
import stat
import struct

from harness import (
    bento_env,
    built,
    check,
    mpirun,
    native_env,
    python,
    run,
    run_test,
    say,
)

PARALLEL = """
import sys, h5py
from mpi4py import MPI
comm = MPI.COMM_WORLD
name, mode, dataset = sys.argv[1:]
with h5py.File(name, mode, driver="mpio", comm=comm) as file:
    file.create_dataset(dataset, (2000,), "i8")[comm.rank * 1000 : comm.rank * 1000 + 1000] = comm.rank
"""
SERIAL = """
import sys, h5py
name, mode, dataset = sys.argv[1:]
with h5py.File(name, mode) as file:
    file[dataset] = range(1000)
"""


def mode_of(name):
    return stat.S_IMODE(os.stat(name).st_mode)


def is_private(what, *names):
    modes = {name: oct(mode_of(name)) for name in names}
    check(set(modes.values()) == {"0o600"}, f"{what}: {modes}, want 0600")


def parallel(name, mode, dataset, string):
    mpirun(2, [python(), "-c", PARALLEL, name, mode, dataset], bento_env(string=f"bento {string}"))


def serial(name, mode, dataset, string=""):
    run([python(), "-c", SERIAL, name, mode, dataset], bento_env(string=f"bento {string}"))


def h5bento(*arguments):
    run([built("bin", "h5bento"), *arguments], native_env())


# Of the owner, of user 1001, of the group (nothing), the most that others may have, and all others.
LIST = ((0x01, 6, 0xFFFFFFFF), (0x02, 6, 1001), (0x04, 0, 0xFFFFFFFF), (0x10, 6, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF))


def test_lists():
    """Where a file has an access control list, its mode shows the list's mask as what its group may."""
    wanted = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in LIST)
    serial("listed.h5", "w", "d")
    try:
        os.setxattr("listed.h5", "system.posix_acl_access", wanted)
    except OSError as error:
        say(f"no access control lists in this folder: {error}")
        return

    def has_list(what, name):
        check(os.getxattr(name, "system.posix_acl_access") == wanted and mode_of(name) == 0o660, f"{what}: not the list")

    parallel("listed.h5", "r+", "e", "")
    has_list("opened by more ranks", "listed.h5.000001")
    h5bento("defrag", "listed.h5")
    has_list("defrag in place", "listed.h5")
    serial("source.h5", "w", "d")
    for name in ("listed.h5", "plain.h5"):
        shutil.copy("source.h5", name)
    os.chmod("plain.h5", 0o660)
    os.setxattr("listed.h5", "system.posix_acl_access", wanted)
    # A folder that gives such a list to what is made in it.
    os.setxattr(".", "system.posix_acl_default", wanted)
    h5bento("defrag", "--force", "source.h5", "listed.h5")
    has_list("defrag --force", "listed.h5")
    h5bento("defrag", "--force", "source.h5", "plain.h5")
    check("system.posix_acl_access" not in os.listxattr("plain.h5") and mode_of("plain.h5") == 0o660, "a list that the old file had not")
    os.removexattr(".", "system.posix_acl_default")
    say("so it has its access control list")


def test_permissions():
    os.umask(0o022)
    parallel("two.h5", "w", "d", "files=2")
    check(mode_of("two.h5.000001") == 0o644, "a new container has what the umask leaves")
    os.chmod("two.h5", 0o600)
    parallel("two.h5", "w", "d", "files=2")
    is_private("created over it", "two.h5", "two.h5.000001")

    serial("more.h5", "w", "d")
    os.chmod("more.h5", 0o600)
    parallel("more.h5", "r+", "e", "")
    is_private("opened by more ranks", "more.h5", "more.h5.000001")

    h5bento("defrag", "more.h5")
    is_private("defrag in place", "more.h5")
    serial("source.h5", "w", "d")
    os.chmod("source.h5", 0o644)
    h5bento("defrag", "--force", "source.h5", "more.h5")
    is_private("defrag --force", "more.h5")
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", SERIAL, "native.h5", "w", "d"], native_env())
    h5bento("import", "--force", "native.h5", "more.h5")
    is_private("import --force", "more.h5")
    h5bento("export", "more.h5", "plain.h5")
    os.chmod("plain.h5", 0o600)
    h5bento("export", "--force", "more.h5", "plain.h5")
    is_private("export --force", "plain.h5")
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", SERIAL, "more.h5", "r+", "changed"], native_env())
    h5bento("view", "take-over", "more.h5")
    is_private("view take-over", "more.h5")
    for arrive in ("container", "native", "onefile"):
        serial(f"{arrive}.h5", "w", "old")
        os.chmod(f"{arrive}.h5", 0o600)
        serial("copy.h5", "w", "new")
        transfer = ("--file", f"transfer.{arrive}")
        h5bento("transfer", "submit", "copy.h5", f"{arrive}.h5", "--arrive", arrive, "--no-start", *transfer)
        h5bento("transfer", "run", "--until-done", *transfer)
        is_private(f"arrived as {arrive}", f"{arrive}.h5")
    say("what is replaced, and what is added, keeps its permissions")
    test_lists()


if __name__ == "__main__":
    run_test(test_permissions)
