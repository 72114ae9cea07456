#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random schedules of joins, writes, exits and kills, against a model of what each stream must hold.

    schedules.py COUNT [SEED]

What a process has closed is there, to the last value, whatever the others do. What a process was killed over is not asked for,
unless it was closed before and only opened since. At the end repair must finish the container, the tests' own SION checker
must find nothing wrong, and each whole stream, split out, must be what stock HDF5 reads."""

import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from joiners import Joiner, report, split, stock_view, streams  # noqa: E402

from harness import check, first_seed, native_env, run, run_test, say  # noqa: E402

READ = """
import h5py, sys
for line in sys.stdin:
    path, *wanted = line.split()
    with h5py.File(path, "r") as file:
        found = {name: (int(file[name].shape[0]), int(file[name][0]), int(file[name][-1])) for name in file}
    want = {}
    for item in wanted:
        name, seed, n = item.split(":")
        want[name] = int(n), int(seed), int(seed) + int(n) - 1
    if found != want:
        print(path, found, want)
"""


class Process:
    """One rank of the model: what is in its file since the last close, and what it has added since."""

    def __init__(self, schedule, rank):
        self.schedule, self.rank, self.name = schedule, rank, "rank%d.h5" % rank
        self.joiner, self.open, self.changed = None, None, False
        self.closed = None  # {dataset: (seed, n)}; None: nothing is known to be whole
        self.now = {}

    def start(self):
        s = self.schedule
        self.joiner = Joiner("container=%s;rank=%d;size=%d;session=s;chunk=%s;files=%d" % (s.box, self.rank, s.ranks, s.chunk, s.files))

    def create(self):
        self.joiner.say("create " + self.name)
        self.open, self.changed, self.now, self.closed = "w", True, {}, None

    def append(self):
        self.joiner.say("rw " + self.name)
        # HDF5 marks a file that it opens to write, so a kill from here on costs it, as natively.
        self.open, self.now, self.closed = "w", dict(self.closed), None

    def add(self):
        seed, n = random.randrange(1000), random.choice((1, 100, 5000, 20000))
        name = "d%d" % len(self.now)
        self.joiner.say("add %s %d %d" % (name, seed, n))
        self.now[name] = seed, n
        if random.random() < 0.2:
            self.joiner.say("flush")

    def close(self):
        self.joiner.say("close")
        self.closed, self.open = dict(self.now), None

    def read(self, other):
        """Another's whole stream, by its name."""
        self.joiner.say("ro " + other.name)
        found = self.joiner.say("sum")
        self.joiner.say("close")
        values = [value for seed, n in other.closed.values() for value in range(seed, seed + n)]
        check(found == "%d %d %d" % (len(other.closed), len(values), sum(values)), "%s: %s, not what was written" % (other.name, found))

    def kill(self):
        """Between two calls, or somewhere inside one."""
        if random.random() < 0.6:
            if self.open:
                command = random.choice(("add dying 1 50000", "close", "flush"))
            else:
                command = random.choice(("create ", "ro ")) + self.name
            if command.startswith("create"):
                self.closed = None
            self.joiner.send(command)
            time.sleep(random.random() * random.choice((0.0005, 0.005)))
        self.joiner.kill()

    def stop(self, kill):
        if kill:
            self.kill()
        elif self.open:
            # As a program that forgets to close: HDF5 does, when it ends.
            self.closed = dict(self.now)
        self.joiner.end()
        self.joiner, self.open = None, None

    def step(self):
        if self.joiner is None:
            self.start()
            return
        roll = random.random()
        if roll < 0.12:
            self.stop(kill=True)
        elif roll < 0.2:
            self.stop(kill=False)
        elif self.open:
            self.add() if roll < 0.7 else self.close()
        elif self.closed is None or roll < 0.4:
            self.create()
        elif roll < 0.65:
            self.append()
        else:
            whole = [p for p in self.schedule.processes if p.closed is not None]
            self.read(random.choice(whole))


class Schedule:
    def __init__(self, seed):
        random.seed(seed)
        self.box = "s%d.bento" % seed
        self.ranks = random.choice((2, 3, 4))
        self.files = random.choice((1, 1, 2))
        self.chunk = random.choice(("16K", "32K", "64K", "1M"))
        self.processes = [Process(self, rank) for rank in range(self.ranks)]

    def run(self, lines):
        """Returns the number of whole streams; what they must hold is put to the lines."""
        try:
            for number in range(random.randrange(10, 40)):
                random.choice(self.processes).step()
                if number % 7 == 0 and any(process.open or process.closed for process in self.processes):
                    stock_view(self.box)
        finally:
            for process in self.processes:
                if process.joiner:
                    process.stop(kill=random.random() < 0.5)
        return self.judge(lines) if os.path.exists(self.box) else 0

    def judge(self, lines):
        if all(process.closed is None for process in self.processes) and "holds no streams" in report(self.box, ok=(0, 1)):
            return 0  # all were killed before anybody could use it
        fields, found = report(self.box, repair=True)
        check(fields[3:5] == ["finished", "free"], "after repair: %s" % fields)
        streams(self.box)
        paths = split(self.box, self.box + ".split")
        whole = 0
        for process in self.processes:
            if process.closed is None:
                continue
            check(process.name in paths, "%s is not in %s" % (process.name, list(paths)))
            check(not found[process.name][3], "%s was closed and counts as cut off" % process.name)
            lines.append(" ".join([paths[process.name]] + ["%s:%d:%d" % (name, seed, n) for name, (seed, n) in process.closed.items()]))
            whole += 1
        return whole


def schedules(count, seed):
    whole, lines = 0, []
    for number in range(seed, seed + count):
        try:
            whole += Schedule(number).run(lines)
        except Exception:
            say("  again with: schedules.py 1 %d" % number)
            raise
    with open("lines", "w") as file:
        file.write("".join(line + "\n" for line in lines))
    script = READ.replace("sys.stdin", "open('lines')")
    result = run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", script], native_env())
    check(result.out == "", "stock HDF5 reads something else; again with schedules.py 1 SEED of a file sSEED.bento.split: " + result.out)
    say("  %d schedules, %d whole streams compared" % (count, whole))
    check(whole > 0, "no stream was ever whole")


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    run_test(schedules, arguments[0], arguments[1] if len(arguments) > 1 else first_seed(1), containers=1)
