#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over the project's sources in a build folder's compile_commands.json, as many at once as there are processors.

With --seconds, no file is begun after that time. Files come in an order that changes with the date, so that within some
days each has been looked at.

exit status: 0 clean; 1 something found, or nothing looked at
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

FOLDERS = ("core", "hdf5", "vol", "vfd", "transfer", "library", "tools")


# What CMake adds for a precompiled header. GCC's is of no use to clang, which says so once per file.
PRECOMPILED = re.compile(r" (?:-Winvalid-pch|-include \S*cmake_pch\.hxx)(?= )")


def compile_commands(build):
    """The commands of a build folder, without precompiled headers."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    for entry in entries:
        entry["command"] = PRECOMPILED.sub("", entry["command"])
    return entries


def sources(entries):
    listed = {os.path.realpath(os.path.join(entry["directory"], entry["file"])) for entry in entries}
    root = os.getcwd()
    ours = tuple(os.path.join(root, folder) + os.sep for folder in FOLDERS)
    return sorted(os.path.relpath(name, root) for name in listed if name.startswith(ours))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=float, default=0, help="0: all files")
    parser.add_argument("--only", metavar="CHECKS", help="these checks and no others")
    parser.add_argument("--without", metavar="CHECKS", help="all of .clang-tidy but these")
    args = parser.parse_args()
    entries = compile_commands(args.build)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(entries, file)
        return look_at_all(args, folder, sources(entries))


def look_at_all(args, commands, files):
    command = [args.program, "--quiet", "-p", commands]
    if args.only:
        command.append(f"--checks=-*,{args.only}")
    if args.without:
        command.append(f"--checks=-{args.without}")
    random.Random(datetime.date.today().toordinal()).shuffle(files)
    begin, seen, wrong = time.monotonic(), 0, set()

    def look_at(name):
        if args.seconds and time.monotonic() - begin > args.seconds:
            return None
        return subprocess.run([*command, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, result in zip(files, pool.map(look_at, files)):
            if result is None:
                continue
            seen += 1
            if result.returncode != 0:
                wrong.add(name)
                print(result.stdout, flush=True)
    print(f"tidy: {seen} of {len(files)} files in {time.monotonic() - begin:.0f} s, {len(wrong)} with findings")
    return 0 if seen and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
