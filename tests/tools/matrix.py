#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Every command of h5bento on every kind of input: its exit status, and words that must stand in what it prints."""

import glob
import os
import re
import shutil
import signal

from tool import bento_env, check, content, copy, h5bento, native_env, python, run, write, write_ranks

from harness import Failure, run_test, say

OUT = "out"
# Command: words; FILE is the input, and OUT does not exist.
COMMANDS = {
    "info": ["info", "FILE"],
    "ls": ["ls", "-r", "-l", "FILE"],
    "steps": ["steps", "FILE"],
    "layout": ["layout", "FILE", "--svg", OUT],
    "find": ["find", "FILE", "/d", "--min", "1"],
    "verify": ["verify", "FILE"],
    "repair": ["repair", "FILE"],
    "view status": ["view", "status", "FILE"],
    "view build": ["view", "build", "FILE"],
    "view drop": ["view", "drop", "FILE"],
    "view take-over": ["view", "take-over", "FILE"],
    "defrag": ["defrag", "FILE", OUT],
    "defrag in place": ["defrag", "FILE"],
    "export": ["export", "FILE", OUT],
    "export fti": ["export", "FILE", OUT, "--format", "fti"],
    "export fti16": ["export", "FILE", OUT, "--format", "fti16"],
    "export per-rank": ["export", "FILE", OUT, "--format", "per-rank"],
    "import": ["import", "FILE", OUT],
    "mount": ["mount", "FILE", "mounted"],
}
# What a file is called that is none of ours.
FOREIGN = {
    "text.txt": "no h5bento container",
    "nothing": "file' is an empty file",
    "plain.h5": "file' is an ordinary HDF5 file",
    "folder": "file' is a folder",
    "missing": "'file' failed: errno = 2",
}
WHOLE = ("good.h5", "empty.h5", "files.h5", "sparse.h5")
NONE_COMMITTED = "file' holds no committed data|nothing committed yet|without any committed data"
# Command: {input: (status, words)}; "whole": of all inputs that are sound and closed, "": of all others.
EXPECTED = {
    "info": {"whole": (0, "container, closed"), "files.h5": (0, "4 ranks, 2 physical files"), "sparse.h5": (0, "1.00 TiB apparent"),
             "torn.h5": (0, "not closed by its last writer"), "uncommitted.h5": (0, "without any committed data"),
             "cut.h5": (1, "problem: .*stream table cannot be read: 'file' ends at byte")},
    "ls": {"whole": (0, r"/d  dataset \{5000\} float64\n    data     39.1 KiB in 1 piece"), "empty.h5": (0, "^$"),
           "files.h5": (0, "/temperature  dataset .*in 44 pieces"), "torn.h5": (0, "/d  dataset")},
    "steps": {"whole": (0, "1  /d"), "empty.h5": (0, "1  .metadata only"), "files.h5": (0, "3  /temperature /time"), "torn.h5": (0, "1  /d")},
    "layout": {"whole": (0, r"task 0 .*\n.*catalogue .*the picture is in out"), "files.h5": (0, r"task 3 "),
               "sparse.h5": (0, "chunks of 1.00 TiB"), "torn.h5": (0, "task 0"), "uncommitted.h5": (0, "nothing committed yet")},
    "find": {"whole": (0, "5,000 of 5,000"), "good.h5": (0, r"0:5000"), "empty.h5": (2, "'/d' is no dataset in 'file'"),
             "files.h5": (2, "'/d' is no dataset"), "torn.h5": (0, "70,000 of 70,000")},
    "verify": {"whole": (0, "sound as of step"), "torn.h5": (0, "sound as of step 1 .*not closed"),
               "cut.h5": (1, "faults found as of step 1"), "uncommitted.h5": (0, "sound")},
    "repair": {"whole": (0, "its last writer had closed it"), "torn.h5": (0, "1 block written and never committed")},
    "view status": {"whole": (0, "there: HDF5 without h5bento"), "torn.h5": (0, "none: only"), "uncommitted.h5": (0, "none: only")},
    "view build": {"whole": (0, "shows what is committed"), "torn.h5": (0, "shows what is committed")},
    "view drop": {"whole": (0, "built anew"), "torn.h5": (0, "built anew")},
    "view take-over": {"whole": (2, "'file' was not changed by another program"), "torn.h5": (2, "not changed by another program")},
    "defrag": {"whole": (0, "'out': a container of"), "torn.h5": (0, "'out': a container of")},
    "defrag in place": {"whole": (0, "file': a container of"), "torn.h5": (0, "file': a container of")},
    "export": {"whole": (0, "'out': an HDF5 file of .*, step 1 of 'file'"), "files.h5": (0, "step 3 of 'file'"), "torn.h5": (0, "step 1 of 'file'")},
    "export fti": {"whole": (0, "'out': 1 rank file of FTI 1.1"), "files.h5": (0, "4 rank files of FTI 1.1"), "torn.h5": (0, "1 rank file")},
    "export fti16": {"whole": (0, "'out': 1 rank file of FTI 1.6"), "files.h5": (0, "4 rank files of FTI 1.6"), "torn.h5": (0, "1 rank file")},
    "export per-rank": {"whole": (0, "'out': 1 stream, "), "files.h5": (0, "'out': 4 streams, "), "torn.h5": (1, "h5bento repair file")},
    "import": {"whole": (2, "'file' is a container already"), "torn.h5": (2, "a container already"), "cut.h5": (2, "a container already"),
               "uncommitted.h5": (2, "a container already"), "plain.h5": (0, "'out': a container of"), "folder": (2, "Is a directory"),
               "text.txt": (2, "'file' cannot be opened as an HDF5 file"), "nothing": (2, "'file' cannot be opened as an HDF5 file")},
    "mount": {"whole": (0, ""), "torn.h5": (0, "")},
}


def expected(command, name):
    row = EXPECTED[command]
    if name in row:
        return row[name]
    if name in WHOLE:
        return row["whole"]
    if name == "cut.h5":
        return 1, "file' ends at byte|file': META1"
    if name == "uncommitted.h5":
        return 2, NONE_COMMITTED
    return 2, FOREIGN[name]


CHANGES = ("repair", "view build", "view drop", "view take-over", "defrag in place")
SAYS_ALL = ("info", "verify")  # damage is what they tell

GOOD = (
    "import h5py, numpy as np\n"
    "with h5py.File('good.h5', 'w') as f: f['d'] = np.arange(5000.0)\n"
)
TORN = (
    "import h5py, numpy as np, os, signal\n"
    "f = h5py.File('torn.h5', 'w')\n"
    "f['d'] = np.arange(70000.0); f.flush()\n"
    "f['late'] = np.arange(70000.0)\n"
    "os.kill(os.getpid(), signal.SIGKILL)\n"
)
UNCOMMITTED = TORN.replace("torn.h5", "uncommitted.h5").replace("f.flush()", "pass")


def make_inputs():
    """The inputs by name; each lies in a folder `inputs`."""
    os.mkdir("inputs")
    os.chdir("inputs")
    run([python(), "-c", GOOD], bento_env(string="bento minmax=on"))
    run([python(), "-c", "import h5py; h5py.File('empty.h5', 'w').close()"], bento_env())
    write_ranks("files.h5", 4, "bento files=2;chunk=256K", "--rows", "64", "--columns", "128")
    run([python(), "-c", GOOD.replace("good.h5", "sparse.h5")], bento_env(string="bento chunk=1T"))
    for program in (TORN, UNCOMMITTED):
        run([python(), "-c", program], bento_env(string="bento chunk=4M"), ok=(-signal.SIGKILL,))
    shutil.copyfile("good.h5", "cut.h5")
    os.truncate("cut.h5", os.path.getsize("cut.h5") // 2)
    with open("text.txt", "w") as file:
        file.write("a text\n" * 1000)
    open("nothing", "w").close()
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", GOOD.replace("good.h5", "plain.h5")], native_env())
    os.mkdir("folder")
    names = sorted(name for name in os.listdir(".") if not name.endswith(".000001"))
    os.chdir("..")
    return [*names, "missing"]


def forget(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def place(name):
    """A fresh copy of an input as `FILE`."""
    for old in glob.glob("file*"):
        forget(old)
    source = os.path.join("inputs", name)
    if os.path.isdir(source):
        os.mkdir("file")
    elif os.path.exists(source):
        copy(source, "file")


def is_mounted(folder):
    with open("/proc/self/mountinfo") as file:
        return any(line.split()[4] == os.path.abspath(folder) for line in file)


def one(name, command, placed):
    """A command on an input, which is there already if `placed`. Returns whether it is there as it was."""
    if not placed:
        place(name)
    before = content("file") if os.path.isfile("file") and name != "sparse.h5" else None
    result = h5bento(*["file" if word == "FILE" else word for word in COMMANDS[command]], ok=None, timeout=30)
    said = (result.out + result.err).strip()
    status, words = expected(command, name)
    shown = f"h5bento {command} of {name}: status {result.status}, want {status} and '{words}':\n{said}"
    check(result.status == status and re.search(words, said, re.S), shown)
    check(status == 0 or command in SAYS_ALL or (result.err and not result.out), f"an error on the standard output: {shown}")
    if command == "mount" and status == 0:
        check(is_mounted("mounted") and "data.h5" in os.listdir("mounted"), "nothing is mounted")
        h5bento("umount", "mounted")
    check(os.path.exists(OUT) == (status == 0 and OUT in COMMANDS[command]), f"'{OUT}' {os.path.exists(OUT)}: {shown}")
    if before is not None and (status != 0 or command not in CHANGES):
        check(content("file") == before, f"the input was changed: {shown}")
    forget(OUT)
    return before is not None and content("file") == before and not glob.glob("file?*")


def main():
    inputs = make_inputs()
    failures = []
    os.mkdir("mounted")
    commands = [command for command in COMMANDS if command != "mount" or os.access("/dev/fuse", os.R_OK | os.W_OK)]
    for name in inputs:
        placed = False
        for command in commands:
            try:
                placed = one(name, command, placed)
            except Failure as reason:
                failures.append(str(reason))
                placed = False
                forget(OUT)
    check(not failures, "\n".join(failures))
    say(f"{len(commands)} commands on {len(inputs)} inputs")
    for name in ("torn.h5", "uncommitted.h5", "cut.h5"):  # not for the checkers
        os.remove(f"inputs/{name}")


if __name__ == "__main__":
    run_test(main)
