#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A tool copies a file, and another program writes what the copy is to replace. What that program has written stays, or it is told
that the file is in use.

The tool is stopped while it copies; a copy that is through before that is made again.
"""

import glob
import os
import signal
import struct
import subprocess
import time

from forked_programs import Forked
from harness import Failure, bento_env, built, check, native_env, run_test, say
from native_view_check import stock_env, stock_python

TRIES = 20
SOURCE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as file:
    for number in range(20):
        file[f"x{number}"] = np.random.default_rng(number).random(200_000)
"""
EDIT = "import sys, h5py\nwith h5py.File(sys.argv[1], 'r+') as file:\n    file['new'] = 5"
WRITE = "import sys, h5py\nwith h5py.File(sys.argv[1], sys.argv[2]) as file:\n    file['mine'] = 42"
LOOK = "import sys, h5py\nassert h5py.File(sys.argv[1], 'r')['mine'][()] == 42"


def stopped(command, pattern):
    """The tool, stopped while a file of this pattern is there that holds something; None if it was through before."""
    process = subprocess.Popen([built("bin", "h5bento"), *command], env=native_env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while process.poll() is None:
        if any(os.path.exists(name) and os.stat(name).st_blocks > 0 for name in glob.glob(pattern)):
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(0.01)
            if glob.glob(pattern):
                return process
            os.kill(process.pid, signal.SIGCONT)
    process.communicate()
    return None


def while_it_copies(prepare, command, pattern):
    for _ in range(TRIES):
        prepare()
        process = stopped(command, pattern)
        if process:
            return process
    raise Failure(f"{command}: it was through before it could be stopped, {TRIES} times")


def go_on(process):
    os.kill(process.pid, signal.SIGCONT)
    text = process.communicate(timeout=60)[0].decode()
    return process.returncode, text


def write(forked, path, mode, **more):
    return forked.run(WRITE, (path, mode), bento_env(), **more)


def with_force(forked):
    for command, source, mode in (("defrag", "source.h5", "w"), ("defrag", "source.h5", "r+"), ("import", "native.h5", "r+")):

        def prepare():
            forked.run(EDIT.replace("r+", "w"), ("out.h5",), bento_env())

        process = while_it_copies(prepare, [command, "--force", source, "out.h5"], ".out.h5.*.unfinished")
        write(forked, "out.h5", mode)
        status, text = go_on(process)
        check(status != 0 and "changed by another program" in text, f"{command}, {mode}: {text}")
        forked.run(LOOK, ("out.h5",), bento_env())
    say("--force does not replace what was written after it had looked")


def in_place(forked):
    """The name leads to another file when the copy is complete."""
    for command, edit in ((["defrag"], False), (["view", "take-over"], True)):

        def prepare():
            forked.run(SOURCE, ("b.h5",), bento_env())
            if edit:
                forked.run(EDIT, ("b.h5",), stock_env(), stock_python())

        write(forked, "other.h5", "w")
        process = while_it_copies(prepare, [*command, "b.h5"], "b.h5.taken-over" if edit else ".b.h5.*.unfinished")
        os.rename("other.h5", "b.h5")
        status, text = go_on(process)
        check(status != 0 and "renamed or replaced by another program" in text, f"{command}: {text}")
        forked.run(LOOK, ("b.h5",), bento_env())
        check(not glob.glob("*.taken-over") and not glob.glob(".*.unfinished"), f"left: {os.listdir('.')}")
    say("a file that was put under the name while a tool copied in its place stays")


def on_the_way(forked):
    """What takes the place of a private file is private before it has its name, whatever the folder gives to new files."""
    entries = ((0x01, 7, 0xFFFFFFFF), (0x02, 7, 1001), (0x04, 7, 0xFFFFFFFF), (0x10, 7, 0xFFFFFFFF), (0x20, 7, 0xFFFFFFFF))
    given = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.makedirs("giving", exist_ok=True)
    try:
        os.setxattr("giving", "system.posix_acl_default", given)
    except OSError as error:
        say(f"no access control lists in this folder: {error}")

    def prepare():
        forked.run(SOURCE, ("giving/c.h5",), bento_env())
        os.chmod("giving/c.h5", 0o600)

    for command in (["defrag", "giving/c.h5"], ["import", "--force", "native.h5", "giving/c.h5"]):
        process = while_it_copies(prepare, command, "giving/.c.h5.*.unfinished")
        (made,) = glob.glob("giving/.c.h5.*.unfinished")
        mode = os.stat(made).st_mode & 0o777
        check(mode == 0o600, f"{command}: {oct(mode)} on the way")
        status, text = go_on(process)
        check(status == 0, text)
        mode = os.stat("giving/c.h5").st_mode & 0o777
        check(mode == 0o600, f"{command}: {oct(mode)}")
    say("what replaces a private file is private on the way")


def take_over(forked):
    def prepare():
        forked.run(SOURCE, ("a.h5",), bento_env())
        forked.run(EDIT, ("a.h5",), stock_env(), stock_python())

    process = while_it_copies(prepare, ["view", "take-over", "a.h5"], "a.h5.taken-over")
    refused = write(forked, "a.h5", "w", ok=None)
    check(refused.status != 0 and "open for writing" in refused.text, f"created over it: {refused.text}")
    status, text = go_on(process)
    check(status == 0, text)
    forked.run("import h5py; assert h5py.File('a.h5', 'r')['new'][()] == 5", (), bento_env())
    say("nobody creates a file anew while its view is taken over")


def test():
    with Forked() as forked:
        forked.run(SOURCE, ("source.h5",), bento_env())
        forked.run(SOURCE, ("native.h5",), native_env())
        with_force(forked)
        in_place(forked)
        on_the_way(forked)
        take_over(forked)


if __name__ == "__main__":
    run_test(test)
