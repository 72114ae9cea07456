#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""keep=4: readers of each kept step beside a writer. Each opens the newest step, waits until it is the oldest kept one
(or the second, or third), and reads it: right values, or the step is gone by then. Nothing else is an answer.

    steps_kept.py READS [READERS]                 of each reader, default 1
    steps_kept.py --read FILE LOG READS           one reader
"""

import os
import re
import subprocess
import sys
import time

import harness
from harness import check, kill_tree, python, run_test, say
from steps_run import Writer, environment

KEEP = 4
BIG = 1 << 16
PAUSE = 60  # ms
GONE = re.compile(r"step (\d+), as of which it was opened, is gone: .* keeps steps (\d+) to (\d+)")


def newest(log):
    """The last step whose flush came back, as far as the writer's log says."""
    with open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - 200))
        found = re.findall(rb"^flushed (\d+)$", file.read(), re.M)
    return int(found[-1]) if found else 0


def read_kept(path, log, reads):
    import h5py
    from steps_state import check_state, one_line

    for number in range(reads):
        try:
            with h5py.File(path, "r") as file:
                step = int(file.attrs["step"])
                while newest(log) < step + number % KEEP:
                    time.sleep(0.002)
                answer = check_state(file)
        except OSError as error:
            answer = f"error: {one_line(error)}"
        print(answer, flush=True)


def judge(answers):
    """How many were read, how many came too late. Anything else fails the test."""
    read = late = 0
    for answer in answers:
        if answer.startswith("step "):
            read += 1
            continue
        gone = GONE.search(answer)
        check(gone, f"neither the step nor that it is gone: {answer}")
        check(int(gone[1]) < int(gone[2]), f"told that it is gone while it is kept: {answer}")
        late += 1
    return read, late


def test(reads, readers="1"):
    if harness.REHEARSAL:
        raise harness.Skip("native files cannot be read while they are written")
    path = "kept.h5"
    with Writer(path, "new", 1000000, 2, environment(f"keep={KEEP}"), big=BIG, pause=PAUSE) as writer:
        writer.wait_for("flushed", KEEP + 1)
        command = [python(), "-B", os.path.abspath(__file__), "--read", path, writer.log, reads]
        outs = [open(f"reader{i}", "w+") for i in range(int(readers))]
        running = [
            subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            for out in outs
        ]
        try:
            for process in running:
                process.wait(60 + int(reads))
        finally:
            for process in running:
                if process.poll() is None:
                    kill_tree(process)
        last = writer.last("flushed")
        writer.kill()
    for number, (process, out) in enumerate(zip(running, outs)):
        out.seek(0)
        text = out.read()
        out.close()
        check(process.returncode == 0, f"reader {number}: exit status {process.returncode}\n{text[-2000:]}")
        answers = text.splitlines()
        check(len(answers) == int(reads), f"reader {number}: {len(answers)} answers\n{text[-2000:]}")
        read, late = judge(answers)
        say(f"keep={KEEP}, reader {number} of {readers}: {read} reads are right, {late} came too late")
        # How many are in time depends on how busy the machine is.
        check(read >= len(answers) / 10, f"reader {number}: only {read} of {len(answers)} reads succeeded")
    say(f"the writer came to step {last}")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if len(sys.argv) == 5 and sys.argv[1] == "--read":
        read_kept(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif len(sys.argv) in (2, 3) and all(argument.isdigit() for argument in sys.argv[1:]):
        run_test(test, *sys.argv[1:], containers=0, unfinished={"kept.h5": "its writer is killed"})
    else:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
