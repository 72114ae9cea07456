#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A program under mpirun is killed with SIGKILL at random moments: what it committed last is there, all of it, and
a new session goes on from there; before every other one the file is recovered, and stock HDF5 sees that step.

    steps_kill.py COUNT [RANKS [FILES]]     the first and later sessions in turn. BENTO_FAULT_SEED: other moments
"""

import os
import random
import sys
import time

import harness
from harness import built, check, check_is, native_env, run_test, say
from steps_run import Judge, Writer, environment, write_steps


class Campaign:
    def __init__(self, ranks, files, connector, stock):
        self.ranks, self.env = ranks, environment(f"files={files}")
        self.connector, self.stock = connector, stock
        self.seen = {}
        self.recovered = self.lost = 0

    def kill_one(self, number, first, delay):
        """first: the session that creates the file. The file is left at a step closed properly."""
        path = f"{number}.h5" if first else "x.h5"
        how = "new" if first else "append"
        closed_before = 0 if first else self.closed
        with Writer(path, how, 100000, self.ranks, self.env) as writer:
            time.sleep(delay)
            check(writer.process.poll() is None, f"the writer ended by itself:\n{writer.text()}")
            writer.kill()
            flushed = writer.last("flushed", closed_before)
        where = f"kill {number} ({how}, after {delay:.2f} s)"
        found = self.state_after(path, where, flushed, closed_before)
        if found and number % 2:
            self.recover(path, where, found)
        if found:
            steps = 1 + number % 3
            step = write_steps(path, "append", steps, 1 + number % 4, self.env)
            check(step == found + steps, f"{where}: the next session came from {found} to {step}")
            for judge in (self.connector, self.stock):
                check_is(judge(path), f"step {step}", f"{where}: after the next session")
            self.closed = self.closed if first else step
        if first and os.path.exists(path):
            harness.run(["sh", "-c", f"rm -f {path} {path}.*"], dict(os.environ))

    def recover(self, path, where, step):
        result = harness.run([built("tests", "recover_file"), path], native_env(), timeout=120)
        check(result.status == 0, f"{where}: recovery: {result.tail()}")
        check(result.out.startswith(f"step {step} sound\n"), f"{where}: step {step} was recovered as: {result.out}")
        for judge in (self.connector, self.stock):
            check_is(judge(path), f"step {step}", f"{where}: after the recovery")
        harness.check_container(path)
        self.recovered += 1
        self.lost += "\nlost: " in result.out

    def state_after(self, path, where, flushed, closed):
        """The step at which the file is; 0: it holds none."""
        answer = self.connector(path)
        right = [f"step {flushed}", f"step {flushed + 1}"]
        if flushed == 0:
            check(answer in right[1:] or answer.startswith("error: "), f"{where}: nothing was committed, but: {answer}")
        else:
            check(answer in right, f"{where}: flushed {flushed}, but: {answer}")
        view = self.stock(path) if os.path.exists(path) else "error: no file"
        if closed:
            check(view == f"step {closed}", f"{where}: step {closed} was closed last, the view is: {view}")
        else:
            check(view.startswith("error: "), f"{where}: nothing was closed, but the view is: {view}")
        kind = "none" if not answer.startswith("step ") else "the last" if answer == right[0] else "one more"
        self.seen[kind] = self.seen.get(kind, 0) + 1
        return int(answer.split()[1]) if answer.startswith("step ") else 0


def test(count, ranks="3", files="1"):
    count, ranks = int(count), int(ranks)
    if harness.REHEARSAL:
        raise harness.Skip("native files do not survive a kill")
    chance = random.Random(int(os.environ.get("BENTO_FAULT_SEED", "1")))
    with Judge() as connector, Judge.stock() as stock:
        campaign = Campaign(ranks, files, connector, stock)
        campaign.closed = write_steps("x.h5", "new", 2, ranks, campaign.env)
        for number in range(count):
            campaign.kill_one(number, number % 3 == 0, 0.2 + 0.1 * ranks * chance.random() + 0.8 * chance.random())
    say(f"{count} SIGKILLs on {ranks} ranks, files={files}: found {campaign.seen}; ends at step {campaign.closed}")
    say(f"{campaign.recovered} of them recovered, {campaign.lost} with uncommitted data that is lost")
    check(campaign.recovered, "none was recovered")
    # Of a few all may come in the middle of one; the tier long has many.
    check(count < 20 or campaign.seen.get("the last"), "no kill came after a flush: the moments are wrong")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if len(sys.argv) not in (2, 3, 4) or not all(x.isdigit() for x in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    run_test(test, *sys.argv[1:])
