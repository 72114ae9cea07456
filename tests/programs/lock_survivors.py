#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The lock of a file's writers lasts as long as any of them lives, and no longer.

    lock_survivors.py [ROUNDS]     4 ranks that are killed one after the other, default 3 rounds
"""

import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import alive, bento_env, built, check, descendants, kill_tree, mpi_leftovers, python, run, run_test, say
from native_view_check import stock_env, stock_python

RANKS = 4
PROGRAM = "tests/lock_writer"


class Lines:
    """A program whose lines of output are waited for."""

    def __init__(self, command, env, name):
        self.log = open(f"{name}.log", "w+")
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0
        )
        self.text = b""

    def wait_for(self, pattern, seconds=60):
        """Returns the match of the first line, from the last one found on, that matches."""
        end = time.monotonic() + seconds
        while True:
            lines = self.text.split(b"\n")
            for number, line in enumerate(lines[:-1]):
                found = re.search(pattern, line.decode())
                if found:
                    self.text = b"\n".join(lines[:number] + lines[number + 1 :])
                    return found
            left = end - time.monotonic()
            check(left > 0 and self.process.poll() is None, f"no line like {pattern}: {self.all_text()}")
            if select.select([self.process.stdout], [], [], min(left, 1))[0]:
                self.text += os.read(self.process.stdout.fileno(), 65536)

    def all_text(self):
        self.log.seek(0)
        return f"{self.text.decode()}\n{self.log.read()[-3000:]}"

    def ask(self, line):
        self.process.stdin.write(f"{line}\n".encode())
        return self.wait_for(r"^(opens|open error: .*)$")[1]

    def end(self):
        if self.process.poll() is None:
            below = descendants(self.process.pid)
            left = mpi_leftovers(below, self.process.pid)
            kill_tree(self.process)
            for path in left:
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                elif os.path.exists(path):
                    os.remove(path)
        self.log.close()
        self.process.stdin.close()
        self.process.stdout.close()


def let_in(other, path, what):
    """The next writer, within a second of now."""
    begin = time.monotonic()
    answer = other.ask(path)
    while answer != "opens" and time.monotonic() < begin + 1:
        time.sleep(0.01)
        answer = other.ask(path)
    check(answer == "opens", f"{what}: not let in: {answer}")


PLAIN = """
import sys, h5py
file = h5py.File(sys.argv[1], "r")
print("plain", file["x"][0, 0], flush=True)
sys.stdin.readline()
"""

PLAIN_WRITER = """
import sys, h5py
try:
    h5py.File(sys.argv[1], "r+")
    print("opens")
except OSError as error:
    print("error", error)
"""


def one_round(path, other, seed, nodes):
    order = random.Random(seed).sample(range(RANKS), RANKS)
    env = bento_env(**({"H5BENTO_TEST_NODES": str(nodes)} if nodes else {}))
    job = Lines(["mpirun", "--enable-recovery", "-n", str(RANKS), built(PROGRAM), "work", path], env, path)
    try:
        pids = {}
        while len(pids) < RANKS:
            found = job.wait_for(r"^rank (\d+) pid (\d+)$")
            pids[int(found[1])] = int(found[2])
        wrote = 0
        for killed, rank in enumerate([None, *order]):
            if rank is not None:
                os.kill(pids[rank], signal.SIGKILL)
                while alive(pids[rank]):
                    time.sleep(0.002)
            if killed == RANKS:
                break
            answer = other.ask(path)
            check(answer.startswith("open error: "), f"{killed} of {RANKS} ranks are dead, order {order}: a new writer got in")
            check("open for writing" in answer, f"the refusal says: {answer}")
            # Survivors live: each ends a write that it began after the refusal.
            wrote += 1
            for survivor in order[killed:]:
                with open(f"{path}.{survivor}.new", "w") as command:
                    command.write(str(wrote))
                os.rename(f"{path}.{survivor}.new", f"{path}.{survivor}")
            for survivor in order[killed:]:
                job.wait_for(rf"^rank {survivor} wrote {wrote}$")
        let_in(other, path, f"all ranks are dead, order {order}")
    finally:
        job.end()
        for rank in range(RANKS):
            if os.path.exists(f"{path}.{rank}"):
                os.remove(f"{path}.{rank}")
    return order


def survivors(rounds, other):
    say(f"{rounds} rounds, 4 ranks, killed one after the other; on one node, two, and four")
    for number in range(rounds):
        path = f"survivors{number}.h5"
        run([built(PROGRAM), "create", path, RANKS], bento_env())
        order = one_round(path, other, number, [0, 2, 4][number % 3])
        say(f"  round {number}: killed {order}; refused {RANKS} times, then let in")


def plain_readers(other):
    """Stock HDF5 with its default locking, beside writers of ours."""
    path = "plain.h5"
    run([built(PROGRAM), "create", path, RANKS], bento_env())
    job = Lines(["mpirun", "--enable-recovery", "-n", str(RANKS), built(PROGRAM), "work", path], bento_env(), path)
    reader = None
    try:
        pids = [int(job.wait_for(r"^rank \d+ pid (\d+)$")[1]) for _ in range(RANKS)]
        reader = Lines([stock_python(), "-B", "-c", PLAIN, path], stock_env(), "reader")
        check(reader.wait_for(r"^plain (.*)$")[1] == "1.0", "a plain reader does not see the last close")
        answer = run([stock_python(), "-B", "-c", PLAIN_WRITER, path], stock_env()).out
        check(answer.startswith("error"), f"a plain writer got in: {answer}")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        while any(alive(pid) for pid in pids):
            time.sleep(0.002)
        let_in(other, path, "a plain reader has the file open")
    finally:
        job.end()
        if reader:
            reader.end()
    say("a plain reader came in while the file was written, a plain writer did not; the reader kept no writer out")


PLAIN_HOLDER = """
import sys, h5py
file = h5py.File(sys.argv[1], "r+")
print("plain", flush=True)
sys.stdin.readline()
"""

CREATE = """
import sys, h5py
with h5py.File(sys.argv[1], "w") as file:
    file["y"] = 2.0
print("created")
"""


def create_over_readers(other):
    path = "create.h5"
    run([built(PROGRAM), "create", path, 1], bento_env())
    reader = Lines([stock_python(), "-B", "-c", PLAIN.replace("sys.stdin.readline()", "sys.stdin.readline(); print('again', file['x'][0, 7], flush=True); sys.stdin.readline()"), path], stock_env(), "create_reader")
    try:
        reader.wait_for(r"^plain 1.0$")
        created = run([python(), "-c", CREATE, path], bento_env(), ok=None)
        check("created" in created.out, f"a plain reader keeps a create out: {created.tail(5)}")
        reader.process.stdin.write(b"\n")
        reader.wait_for(r"^again 8.0$")
    finally:
        reader.end()
    path = "held.h5"
    run([built(PROGRAM), "create", path, 1], bento_env())
    holder = Lines([stock_python(), "-B", "-c", PLAIN_HOLDER, path], stock_env(), "holder")
    try:
        holder.wait_for(r"^plain$")
        answer = other.ask(path)
        check("without h5bento" in answer, f"a plain writer holds the file: {answer}")
    finally:
        holder.end()
    say("a create leaves a plain reader its file; a plain writer is named as such")


def forked_child(other):
    """A child that sleeps on after its parent was killed keeps nobody out."""
    path = "child.h5"
    run([built(PROGRAM), "create", path, 1], bento_env())
    job = Lines([built(PROGRAM), "child", path], bento_env(), "child")
    child = 0
    try:
        found = job.wait_for(r"pid (\d+) child (\d+)$")
        parent, child = int(found[1]), int(found[2])
        check(other.ask(path).startswith("open error: "), "a second writer got in")
        os.kill(parent, signal.SIGKILL)
        job.process.wait(10)
        let_in(other, path, "a forked child of the dead writer lives")
        check(alive(child), "the child did not live on: this proves nothing")
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
        job.end()
    say("a sleeping child of a killed writer let the next one in")


def test(rounds="3"):
    if harness.REHEARSAL:
        raise harness.Skip("native HDF5 has other locks")
    if os.environ.get("H5BENTO_MPI") == "mpich":
        raise harness.Skip("it kills ranks one by one, and MPICH's mpiexec ends, with all output, when the first one dies")
    other = Lines([built(PROGRAM), "try", "-"], bento_env(), "other")
    try:
        forked_child(other)
        plain_readers(other)
        create_over_readers(other)
        survivors(int(rounds), other)
    finally:
        other.end()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(test, *sys.argv[1:], containers=3)
