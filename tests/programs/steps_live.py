#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Readers of a container that is being written: each sees one step, whole, or is told to open the file again.

    steps_live.py [SECONDS [READS]]     for each kind of reader, default 10; or until it has made so many reads
"""

import collections
import os
import re
import signal
import socket
import subprocess
import sys
import time

import harness
from forked_programs import Forked
from harness import check, kill_tree, python, run_test, say, some
from steps_run import STATE, Judge, Writer, environment, write_steps

# Large enough to be read in many calls: 4 MiB and 2 MiB, and small ones beside them.
LARGE = 1 << 20
PAUSE = 40  # ms: about 50 ms a step

# The one error that a reader may meet.
GONE = (
    r"error: .*\('{name}': step \d+, as of which it was opened, is gone: its writer has committed newer ones and keeps "
    r"steps? \d+(?: to \d+)?\. Open the file again, or let the writer keep more steps \(keep=\)\)"
)
# And the one for a step that was asked for.
NOT_KEPT = r"step {step} is not kept; steps \d+ to \d+ are"


class Reader:
    """steps_state.py in the background. hold: seconds between opening and reading; None opens once and refreshes."""

    def __init__(self, path, seconds, reads, hold, ranks=0, env=None):
        # Each rank's reads count.
        limits = [path, str(seconds), str(int(reads) // max(1, ranks))]
        how = ["--refresh", *limits] if hold is None else ["--loop", *limits, str(hold)]
        command = [python(), "-B", STATE, *(["--mpi"] if ranks else []), *how]
        self.name = f"{ranks or 'one'} reader{'s' if ranks else ''}, {'refreshed' if hold is None else f'hold {hold:g} s'}"
        self.out = open(f"{path}.reader{ranks}-{hold}", "w+")
        self.process = subprocess.Popen(
            ["mpirun", "-n", str(ranks), *command] if ranks else command,
            env=env or environment(),
            stdin=subprocess.DEVNULL,
            stdout=self.out,
            stderr=subprocess.STDOUT,
        )
        self.seconds = seconds

    def answers(self):
        try:
            status = self.process.wait(self.seconds + 60)
            self.out.seek(0)
            text = self.out.read()
            check(status == 0, f"{self.name}: exit status {status}\n{text[-2000:]}")
        finally:
            self.stop()
        found = [re.match(r"([\d.]+) (step (\d+)|error: .*|WRONG: .*)", line) for line in text.splitlines()]
        check(all(found), f"{self.name}: unexpected output\n{text[-2000:]}")
        return [(m[2], int(m[3]) if m[3] else None) for m in found]

    def stop(self):
        if self.process.poll() is None:
            kill_tree(self.process)
        self.out.close()


def judge(what, name, answers, least):
    """No mixed data, and no error but GONE. name: of the file. least: reads that have to succeed; how many of
    them do depends on the machine. Returns the steps seen."""
    steps = [step for _, step in answers if step is not None]
    errors = collections.Counter(re.sub(r"\d+", "N", text) for text, step in answers if step is None)
    say(f"{what}: {len(steps)} of {len(answers)} reads succeeded, {len(set(steps))} different steps")
    for text, count in errors.most_common(5):
        say(f"  {count} x {text[:300]}")
    for text, _ in answers:
        check(not text.startswith("WRONG"), f"{what}: {text}")
        gone = re.fullmatch(GONE.format(name=re.escape(name)), text)
        check(text.startswith("step ") or gone, f"{what}: another error than the one for a step that is gone: {text}")
    check(len(answers) >= 3, f"{what}: only {len(answers)} reads")
    check(len(steps) >= least, f"{what}: only {len(steps)} of {len(answers)} reads succeeded")
    check(steps == sorted(steps) or "rank" in what, f"{what}: went back in time: {steps}")
    return steps


def watch(now, reads, path, seconds, options, readers):
    """A writer of 2 ranks, with readers at work at the same time. readers: (hold, ranks, reads that must succeed)."""
    with Writer(path, "new", 1000000, 2, environment(options), big=LARGE, pause=PAUSE) as writer:
        first, begun = writer.wait_for("flushed"), time.monotonic()
        running = [Reader(path, seconds, reads, hold, ranks) for hold, ranks, _ in readers]
        try:
            results = [reader.answers() for reader in running]
        finally:
            for reader in running:
                reader.stop()
        last, took = writer.last("flushed"), time.monotonic() - begun
        check(writer.process.poll() is None, f"the writer ended early:\n{writer.text()}")
        # Opened again: what is newest now.
        answer = now(path)
        newest = writer.last("flushed")
        writer.kill()
    say(f"{options or 'keep=1'}: steps {first} to {last}, {1000 * took / max(1, last - first):.0f} ms each")
    for reader, answers, (_, ranks, least) in zip(running, results, readers):
        steps = judge(f"{options or 'keep=1'}, {reader.name}", path, answers, least)
        check(len(set(steps)) >= min(2, len(steps)), f"{reader.name}: opening again showed no newer steps: {steps}")
        check(all(first <= step <= last + 1 for step in steps), f"{reader.name}: steps {steps}")
    check(answer.startswith("error: ") or last <= int(answer.split()[1]) <= newest + 1, f"opened again: {answer}, {last}")


def old_steps(now, reads, path, seconds):
    """step=K of a running program with keep=3: step K as long as it is kept, then an error."""
    with Writer(path, "new", 1000000, 2, environment("keep=3"), big=LARGE // 8, pause=4 * PAUSE) as writer:
        writer.wait_for("flushed", 4)
        good, answers, end = 0, [], time.monotonic() + seconds
        while time.monotonic() < end and len(answers) < int(reads):
            step = writer.last("flushed") - 1
            answer = now(path, step)
            answers.append(answer)
            gone = re.search(NOT_KEPT.format(step=step), answer) or re.fullmatch(GONE.format(name=re.escape(path)), answer)
            check(answer == f"step {step}" or gone, f"step={step} of a running program: {answer}")
            good += answer == f"step {step}"
        dropped = now(path, 1)
    errors = {re.sub(r"\d+", "N", answer) for answer in answers if answer.startswith("error: ")}
    say(f"keep=3 with step=K: {good} of {len(answers)} reads of the step before the newest; else {errors or 'nothing'}")
    check(good >= 3, f"only {good} of {len(answers)} reads of a kept step succeeded")
    check(re.search(NOT_KEPT.format(step=1), dropped), f"step=1: {dropped}")


# ---- a second writer ----

OPEN = """
import sys, h5py
try:
    file = h5py.File(sys.argv[1], "r+")
    print("opens", int(file.attrs["step"]))
    file.close()
except OSError as error:
    print(f"error: {error}")
"""


def exclusion(now, forked, path):
    def second_writer(path, **more):
        return forked.run(OPEN, (path,), environment(**more), seconds=30).out.strip()

    for more in ({}, {"HDF5_USE_FILE_LOCKING": "FALSE"}):  # started now: ranks that wait for others take all of a processor
        check(second_writer("missing.h5", **more).startswith("error: "), "a missing file opens")
    with Writer(path, "new", 3, 2, hold=1) as writer:
        writer.wait_for("flushed", 3)
        holder = writer.wait_for("pid")
        answer = second_writer(path)
        say(f"second writer: {answer}")
        check(answer.startswith("error: "), f"a second writer got in: {answer}")
        check(socket.gethostname() in answer, f"{socket.gethostname()} is not named: {answer}")
        check(re.search(rf"\b{holder}\b", answer), f"process {holder} is not named: {answer}")
        check(second_writer(path, HDF5_USE_FILE_LOCKING="FALSE") == "opens 3", "HDF5_USE_FILE_LOCKING=FALSE is not honoured")
        answer = second_writer(path)
        check(answer.startswith("error: "), f"after a writer without lock, a second one got in: {answer}")
        now.expect(3, path, "a reader needs no lock")
        writer.go_on()
        writer.wait()
    answer = second_writer(path)
    check(answer == "opens 3", f"after the holder's close: {answer}")

    with Writer(path, "append", 100000, 2, pause=PAUSE) as writer:
        writer.wait_for("flushed", 2)
        os.kill(writer.last("pid"), signal.SIGSTOP)  # a holder that is not working holds it as well
        answer = second_writer(path)
        check(answer.startswith("error: "), f"a second writer got in: {answer}")
        writer.kill()
    answer = second_writer(path)
    check(answer.startswith("opens "), f"after SIGKILL of the holder: {answer}")

    with Writer(path, "append", 1, 2, environment(HDF5_USE_FILE_LOCKING="FALSE"), hold=1) as writer:
        writer.wait_for("flushed")
        answer = second_writer(path)
        check(answer.startswith("opens "), f"the holder without lock: {answer}")
        writer.kill()
    say("second writers: refused while the holder lives, let in after its close and its SIGKILL")


def test(seconds="10", reads="1000000"):
    if harness.REHEARSAL:
        raise harness.Skip("native files cannot be read while they are written")
    with Judge() as now, Judge.stock() as stock, Forked() as forked:
        exclusion(now, forked, "lock.h5")
        steps(now, stock, float(seconds), reads)


def steps(now, stock, seconds, reads):
    ways = (
        ("one.h5", seconds, "", [(0, 0, 1), (0.2, 0, 0)]),
        ("three.h5", seconds, "keep=3", [(0, 0, 3), (0.03, 0, 3)]),
        ("fresh-ranks.h5", seconds / 2, "keep=3", [(None, 2, 3)]),
        ("ranks.h5", seconds / 2, "", [(0, 2, 1)]),
        ("fresh.h5", seconds / 2, "keep=3", [(None, 0, 3)]),
    )
    watched = some(3, ways)
    for way in watched:
        watch(now, reads, *way)
    old_steps(now, reads, "old.h5", seconds / 2)
    for path in [way[0] for way in watched] + ["old.h5"]:
        step = write_steps(path, "append", 1, 2, big=LARGE // 8 if path == "old.h5" else LARGE)
        for reader in (now, stock):
            reader.expect(step, path, "after another session")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if len(sys.argv) > 3 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    run_test(test, *sys.argv[1:], containers=4, unfinished={"lock.h5": "its last writer is killed"})
