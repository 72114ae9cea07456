#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What people see in a terminal: a progress bar with rate and time left there, and nothing of it in a pipe."""

import os
import pty
import re
import select
import subprocess
import time

from tool import bento_env, built, h5bento, native_env, python, run

from harness import check, run_test, say


def in_terminal(command, columns):
    """What a program writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    run(["stty", "-F", os.ttyname(theirs), "cols", str(columns), "rows", "24"], native_env())
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=native_env(TERM="xterm"))
    os.close(theirs)
    text, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
    os.close(ours)
    check(process.wait(10) == 0, f"{command}: {text[-500:]}")
    return text.decode()


def main():
    program = (
        "import h5py, numpy as np\n"
        "with h5py.File('large.h5', 'w') as f:\n"
        "    d = f.create_dataset('d', (1 << 25,), 'f8')\n"
        "    for i in range(0, 1 << 25, 1 << 22): d[i : i + (1 << 22)] = 1.5\n"
    )
    run([python(), "-c", program], bento_env(string="bento checksum=md5"))  # slow enough for a bar
    for columns in (80, 200):
        shown = in_terminal([built("bin", "h5bento"), "verify", "large.h5"], columns)
        drawn = [part for part in shown.replace("\x1b[K", "").split("\r") if part.startswith("verify")]
        check(drawn, f"no bar in {shown!r}")
        check(all(len(part) < columns for part in drawn), f"a bar is wider than {columns}: {drawn}")
        check(re.fullmatch(r"verify \[=*>? *\] +\d+%  [\d.]+ \w+/s(  [\d:]+ left)?", drawn[-1]), f"{drawn[-1]!r}")
        check("large.h5: sound" in shown, f"{shown!r}")
        say(f"  {columns} columns, {len(drawn)} times: {drawn[-1]}")
        layout = in_terminal([built("bin", "h5bento"), "layout", "large.h5"], columns)
        check(max(len(line) for line in layout.split("\r\n") if "[" in line) <= columns, f"{layout}")
    piped = h5bento("verify", "large.h5")
    check(piped.err == "" and "\r" not in piped.out, f"a bar in a pipe: {piped.err!r}")


if __name__ == "__main__":
    run_test(main)
