#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Judges the states that sessions leave which die at each of their writes, without any of h5bento's own code.

    check_crash_states.py CORE_TESTS CASES [EVERY]

Runs the cases of the program CORE_TESTS that Catch2's expression CASES selects. They write each state of a container
(every EVERY-th one) to a folder, with what our own SION reader says of it: refused, accepted, or whole, which is a closed
container that was recovered or written on. check_sion.py has to say the same; a whole one must pass all checkers.
"""

import collections
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_containers  # noqa: E402
import check_sion  # noqa: E402

LEAST = 100  # states of a run


def sion_problems(path):
    """What is wrong with a container as SION, as a list of text."""
    if not os.path.exists(path):
        return ["no such file"]
    report = check_sion.check_container(path, bento=True)
    report.container.close()
    return [f"{problem.file} @ {problem.offset}: {problem.text}" for problem in report.problems]


def judge(folder, said):
    """What the checkers say against the word of our reader, or an empty list."""
    if said == "whole":
        result = check_containers.check_folder(folder)
        wrong = result.problems + result.unfinished + result.unhashed
        return wrong or ([] if result.containers == 1 else [f"{result.containers} containers"])
    problems = sion_problems(os.path.join(folder, "box"))
    if said == "accepted":
        return problems
    return [] if problems else ["our reader refuses it, and nothing is wrong with it"]


def judge_all(folder):
    counts, wrong = collections.Counter(), []
    for name in sorted(os.listdir(folder), key=lambda name: int(name.split(".")[0])):
        said = name.split(".")[1]
        counts[said] += 1
        wrong += [f"{name}: {text}" for text in judge(os.path.join(folder, name), said)]
    return counts, wrong


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.strip())
        return 2
    program, cases, every = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else "1"
    # Hundreds of megabytes that nobody keeps: not onto a disk if there is another place.
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="crash-states-", dir=shared)
    try:
        env = dict(os.environ, H5BENTO_SION_STATES=folder, H5BENTO_SION_STATES_EVERY=every)
        result = subprocess.run([program, cases], env=env, capture_output=True, text=True)
        if result.returncode != 0:
            print(result.stdout[-4000:], result.stderr[-1000:])
            return 1
        counts, wrong = judge_all(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for text in wrong[:20]:
        print(text)
    print(f"{', '.join(f'{number} {said}' for said, number in sorted(counts.items()))}; {len(wrong)} judged otherwise")
    if sum(counts.values()) < LEAST:
        print(f"fewer than {LEAST} states")
        return 1
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
