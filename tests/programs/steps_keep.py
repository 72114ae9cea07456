#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Old steps that keep= has kept are read with step=K, each as a native file of that step; those it has dropped are an
error with the list of those that can be opened.

    steps_keep.py
"""

import os
import re
import sys

import harness
from harness import check, native_env, python, run, run_test, say
from native_view_check import COMPARE
from steps_run import Judge, environment, write_steps

STEPS, KEEP = 5, 3

OPEN = """
import sys, h5py
try:
    h5py.File(sys.argv[1], sys.argv[2]).close()
    print('opens')
except OSError as error:
    print(f'error: {error}')
"""


def opens(path, options, mode="r"):
    return run([python(), "-c", OPEN, path, mode], environment(options)).out.strip()


def compare_step(step):
    """Everything that h5py shows: names, attributes, extents, values, types."""
    env = environment(f"step={step}", H5BENTO_STATS=os.path.abspath(f"stats-{step}"))
    result = run([python(), "-B", COMPARE, f"native-{step}.h5", "x.h5"], env, ok=None)
    check(result.status == 0, f"step={step} differs from a native file of that step:\n{result.tail()}")
    read = harness.Stats(f"stats-{step}")
    check(read.files() == ["x.h5"] and read.diverted["bytes_read"] > 0, f"step={step}: not read as a container")
    say(f"step={step}: {result.out.strip()}")


def check_dropped(step, kept, text):
    """A clear error that lists what can be opened."""
    check(text.startswith("error: "), f"step={step}: {text}")
    numbers = {int(x) for x in re.findall(r"\d+", text.replace("x.h5", ""))}
    check(step in numbers, f"step={step} is not named: {text}")
    in_words = re.search(rf"\b{kept[0]}\b\D+\b{kept[-1]}\b", text)
    check(set(kept) <= numbers or in_words, f"step={step}: {kept} are not listed: {text}")
    say(f"step={step}: {text}")


def test():
    if harness.REHEARSAL:
        raise harness.Skip("native files have no steps")
    for step in range(1, STEPS + 1):
        write_steps(f"native-{step}.h5", "new", step, 1, native_env())
    with Judge.native() as judge:
        for step in range(1, STEPS + 1):
            judge.expect(step, f"native-{step}.h5", "native")
    # The close changes nothing, so it is no step of its own.
    write_steps("x.h5", "new", STEPS, 3, environment(f"keep={KEEP}"))
    kept = list(range(STEPS - KEEP + 1, STEPS + 1))
    for step in kept:
        compare_step(step)
    check_dropped(STEPS - KEEP, kept, opens("x.h5", f"step={STEPS - KEEP}"))
    writing = opens("x.h5", f"step={kept[0]}", "r+")
    say(f"step={kept[0]}, for writing: {writing}")
    check(writing.startswith("error: "), "an old step opens for writing")

    with Judge() as judge:
        for step in (1, STEPS + 1, 1000000):  # by H5BENTO_STEP
            check_dropped(step, kept, judge("x.h5", step))
        later_sessions(judge)


def later_sessions(judge):
    """Another session keeps counting, and keeps what it is told to keep."""
    write_steps("x.h5", "append", 2, 2, environment("keep=all"))
    judge.expect(STEPS + 2, "x.h5", "the newest")
    found = {step: judge("x.h5", step) for step in range(STEPS - KEEP, STEPS + 4)}
    say(f"after a session with keep=all: {sorted(step for step, answer in found.items() if answer == f'step {step}')}")
    for step in range(STEPS, STEPS + 3):
        check(found[step] == f"step {step}", f"step={step}: {found[step]}")
    for step, answer in found.items():
        check(answer == f"step {step}" or answer.startswith("error: "), f"step={step}: {answer}")
    write_steps("x.h5", "append", 1, 4, environment())
    judge.expect(STEPS + 3, "x.h5", "the newest")
    answer = judge("x.h5", STEPS + 2)
    check(answer.startswith("error: "), f"a session with keep=1 kept step {STEPS + 2}: {answer}")
    write_steps("all.h5", "new", 40, 2, environment("keep=all"))
    for step in range(1, 41):
        judge.expect(step, "all.h5", f"keep=all, step={step}", step)
    say("keep=all: 40 of 40 steps read right")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.argv[1:]:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    run_test(test, containers=2)
