#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are killed leave a file which is, for stock HDF5, the view of the last close, or the new one, or (if
nothing was closed before) no HDF5 file: never a view with wrong or missing values. A later session mends it.

    native_view_kill.py walk SESSION RANKS FILES [EVERY]   dies at every change of SESSION (1 or 2), whole and torn;
                                                           EVERY: only at each so many-th
    native_view_kill.py random COUNT [RANKS] [FILES]       COUNT times SIGKILL to all ranks at a random moment
    native_view_kill.py quick                              a few of both

A walk uses the module of tests/faults, in which rank 0 (BENTO_FAULT_RANK: another) dies by itself.
"""

import os
import random
import re
import subprocess
import sys
import time

import harness
from harness import HERE, Skip, bento_env, build_folder, built, check, check_is, run, run_test, say
from native_view_check import copy_folder, stock_env, stock_python

DIED = 42  # exit status of the module
NOTHING = "not HDF5"


class Judge:
    """Stock HDF5's answers about the state of files, from one process as long as it lives."""

    def __init__(self):
        self.process = None
        self.answers = {}

    def __call__(self, path):
        if self.process is None:
            command = [stock_python(), "-B", os.path.join(HERE, "native_view_state.py")]
            self.process = subprocess.Popen(
                command, env=stock_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            self.close()
            answer = "WRONG: the reader crashed"
        self.answers[answer] = self.answers.get(answer, 0) + 1
        return answer

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(10)
            self.process.stdout.close()
            self.process = None


def command_of(ranks, path, first, last):
    command = [built("tests", "view_sessions"), path, str(first), str(last)]
    return command if ranks == 1 else ["mpirun", "-n", str(ranks), *command]


def environment(files, **more):
    string = None if harness.REHEARSAL else f"{harness.connector()} files={files}"
    return bento_env(string=string, **more)


def dying_environment(files, **more):
    folder = os.path.join(build_folder(), "tests", "dying_plugin")
    check(os.path.isfile(os.path.join(folder, "libdying_vol.so")), f"libdying_vol.so is not in {folder}")
    rank = os.environ.get("BENTO_FAULT_RANK", "0")
    return environment(files, HDF5_PLUGIN_PATH=folder, BENTO_FAULT_RANK=rank, **more)


def sessions(ranks, path, first, last, env):
    result = run(command_of(ranks, path, first, last), env, timeout=60)
    check(f"closed {last}" in result.out, f"session {last} did not end: {result.tail()}")
    if not harness.REHEARSAL:
        check(harness.is_container(path), f"{path} is not a container")


def start(session, ranks, files, judge):
    """A folder with the file as it is before the session."""
    os.makedirs("base", exist_ok=True)
    if session > 1:
        sessions(ranks, "base/x.h5", 1, session - 1, environment(files))
        check(judge("base/x.h5") == f"state {session - 1}", "the view before the session is wrong")


def count_changes(session, ranks, files, judge):
    copy_folder("base", "work")
    env = dying_environment(files, BENTO_FAULT_COUNT=os.path.abspath("count"))
    sessions(ranks, "work/x.h5", session, session, env)
    check_is(judge("work/x.h5"), f"state {session}", f"the view after session {session}")
    with open("count") as file:
        return int(file.read())


def walk(session, ranks, files, every=1):
    session, ranks, files, every = int(session), int(ranks), int(files), int(every)
    if harness.REHEARSAL:
        raise Skip("native HDF5 does not die by itself")
    judge = Judge()
    try:
        walk_with(judge, session, ranks, files, every)
    finally:
        judge.close()


def walk_with(judge, session, ranks, files, every):
    start(session, ranks, files, judge)
    changes = count_changes(session, ranks, files, judge)
    check(changes > 10, f"only {changes} changes were counted: the module counts nothing")
    before = f"state {session - 1}" if session > 1 else NOTHING
    after = f"state {session}"
    failures, seen, latest = [], {}, before
    runs = 0
    for number in range(1, changes + 1, every):
        for torn in ("0", "1"):
            runs += 1
            copy_folder("base", "work")
            env = dying_environment(files, BENTO_FAULT_AT=str(number), BENTO_FAULT_TORN=torn)
            result = run(command_of(ranks, "work/x.h5", session, session), env, timeout=60, ok=None)
            check(result.status not in (0, None), f"change {number}: the process did not die:\n{result.tail()}")
            if ranks == 1:
                check(result.status == DIED, f"change {number}: exit status {result.status}\n{result.tail()}")
            answer = judge("work/x.h5") if os.path.exists("work/x.h5") else NOTHING
            where = f"change {number} of {changes}{', torn' if torn == '1' else ''}"
            seen[answer] = seen.get(answer, 0) + 1
            if answer not in (before, after):
                failures.append(f"{where}: {answer}")
                say(f"  {where}: {answer}")
                continue
            # With other ranks at work, a change is not the same one in each run.
            if ranks == 1 and latest == after and answer == before:
                failures.append(f"{where}: the old view after the new one had been there")
            latest = answer
            again(judge, session, ranks, files, where, failures)
    say(f"session {session} on {ranks} ranks, files={files}: died {runs} times at {changes} changes: {seen}")
    check(not failures, f"{len(failures)} wrong views: {failures[:5]}")
    check(before in seen, "no death left the view before: the walk does not see what it should")


def again(judge, session, ranks, files, where, failures):
    """The session once more: it mends whatever the dead one left."""
    result = run(command_of(ranks, "work/x.h5", session, session), environment(files), timeout=60, ok=None)
    answer = judge("work/x.h5")
    if result.status != 0 or answer != f"state {session}":
        failures.append(f"{where}: the same session again: {answer}, exit status {result.status}\n{result.tail(5)}")


def killed_at_random(count, ranks="1", files="1"):
    count, ranks, files = int(count), int(ranks), int(files)
    judge, chance = Judge(), random.Random(int(os.environ.get("BENTO_FAULT_SEED", "1")))
    try:
        os.mkdir("work")
        sessions(ranks, "work/x.h5", 1, 1, environment(files))
        last = 1
        for number in range(count):
            last = kill_once(judge, ranks, files, last, 0.1 * ranks + chance.random() * 0.6, number)
    finally:
        judge.close()
    say(f"{count} SIGKILLs on {ranks} ranks, files={files}: {last} sessions, no wrong view")


def kill_once(judge, ranks, files, last, delay, number):
    with open("out", "w+") as out:
        process = subprocess.Popen(
            command_of(ranks, "work/x.h5", last + 1, last + 500), env=environment(files), stdout=out, stderr=subprocess.STDOUT
        )
        time.sleep(delay)
        check(process.poll() is None, f"the sessions ended by themselves:\n{open('out').read()[-2000:]}")
        harness.kill_ranks(process)
    with open("out") as out:
        closed = [int(x) for x in re.findall(r"closed (\d+)", out.read())] or [last]
    answer = judge("work/x.h5")
    # `closed` is printed after the close: the next state may be there already.
    check(answer in (f"state {closed[-1]}", f"state {closed[-1] + 1}"), f"kill {number}: {answer} after closing {closed[-1]}")
    # What the connector itself finds may be one commit further.
    following = closed[-1] + 1
    sessions(ranks, "work/x.h5", following, following, environment(files))
    check_is(judge("work/x.h5"), f"state {following}", f"kill {number}: the next session's view")
    return following


def quick():
    walk(1, 1, 1, 9)
    walk(2, 1, 1, 9)
    os.rename("work", "walked")
    killed_at_random(5)


def main():
    arguments = sys.argv[1:]
    known = {"walk": walk, "random": killed_at_random, "quick": quick}
    if not arguments or arguments[0] not in known:
        print(__doc__.strip())
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    run_test(known[arguments[0]], *arguments[1:])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
