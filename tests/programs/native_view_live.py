#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""view=commit: stock HDF5 opens a file while it is written, and after a SIGKILL, as of the last commit.

    native_view_live.py plain [RANKS]   each flush is what the wheel finds next; empty right after the create; readers
                                        that keep the file open see the step that they opened, also over a reopening
    native_view_live.py beside SECONDS [RANKS]   readers that open, read slowly and close beside a writer
    native_view_live.py reads COUNT [RANKS]      the same, so many times
    native_view_live.py several SECONDS [RANKS]  the same beside short sessions, of which some are killed
    native_view_live.py handed_on       what killed sessions have left stays for view_grace after it was replaced
    native_view_live.py kill COUNT [RANKS]       SIGKILL at random moments. BENTO_FAULT_SEED: other ones
    native_view_live.py walk EVERY      dies at each so many-th change of the file, whole and torn
    native_view_live.py sessions        many short sessions; readers that keep a closed file open
    native_view_live.py settings        what a commit cannot show is said once, and fails nothing; commit=SECONDS

A view that takes longer than 50 ms makes the next one wait; on a slow machine the tests wait for it, too.
"""

import contextlib
import os
import random
import re
import subprocess
import sys
import time

from harness import bento_env, build_folder, check, check_container, check_is, kill_ranks, mpirun, python, run, run_test, say, some
from forked_programs import Forked
from native_view_check import stock_env, stock_python
import harness

BIG = 40000

# Step K of the file, from any step before. Lines `K begun ended` after each flush.
WRITER = """
import os, sys, time
import h5py, numpy as np
path, steps, talk = sys.argv[1], int(sys.argv[2]), sys.argv[3]
rank, size, how = 0, 1, {}
if {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & os.environ.keys():  # of Open MPI and of MPICH
    from mpi4py import MPI
    rank, size, how = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, {"driver": "mpio", "comm": MPI.COMM_WORLD}
BIG, ROWS = 40000, 5000
low, high = BIG * rank // size, BIG * (rank + 1) // size
def tell(text):
    if rank == 0:
        os.write(1, text.encode())
def wait():
    if talk == "ask":
        if rank == 0:
            sys.stdin.readline()
        if size > 1:
            MPI.COMM_WORLD.Barrier()
new = not os.path.exists(path)
if size > 1:
    MPI.COMM_WORLD.Barrier()
file = h5py.File(path, "w" if new else "r+", **how)
tell("opened\\n")
wait()
if "step" not in file.attrs:
    file.attrs["step"] = 0
if "big" not in file:
    file.create_dataset("big", (BIG,), "i4")
if "packed" not in file:
    file.create_dataset("packed", (BIG,), "i4", chunks=(BIG // 4,), compression="gzip")
if "rows" not in file:
    file.create_dataset("rows", (0, 100), "f8", maxshape=(None, 100), chunks=(10, 100))
if "small" not in file:
    file.create_dataset("small", (100,), "i4")
begin = int(file.attrs["step"])
for step in range(begin + 1, begin + 1 + steps):
    file["big"][low:high] = step % 2000 * 1000003 + np.arange(low, high)
    if rank == 0:
        file["packed"][:] = step + np.arange(BIG) // 100
        file["small"][:] = step
    file["rows"].resize((step - 1) % ROWS + 1, 0)
    if rank == size - 1:
        file["rows"][(step - 1) % ROWS] = step
    for name in list(file):
        if name.startswith("group"):
            del file[name]
    file.create_group(f"group {step}")["data"] = np.full(1000, step)
    file.attrs["step"] = step
    begun = time.monotonic()
    file.flush()
    tell(f"{step} {begun} {time.monotonic()}\\n")
    wait()
    if talk == "ask":
        file.flush()  # a view that was too early
        tell("again\\n")
        wait()
    else:
        time.sleep(0.0005)
file.close()
tell("closed\\n")
"""

CHECK = """
import sys, time
import h5py, numpy as np
BIG, ROWS = 40000, 5000
def state(file, pause=0):
    if not len(file) and "step" not in file.attrs:
        return "empty"
    step = int(file.attrs["step"])
    names = sorted(name for name in file if name != ".h5bento")
    wanted = sorted(["big", "packed", "rows", "small", f"group {step}"])
    if names != wanted:
        return f"WRONG: step {step}: {names}"
    for name, values in (
        ("big", step % 2000 * 1000003 + np.arange(BIG)),
        ("rows", np.repeat(np.arange(step - (step - 1) % ROWS, step + 1.0)[:, None], 100, 1)),
        ("packed", step + np.arange(BIG) // 100),
        ("small", np.full(100, step)),
        (f"group {step}/data", np.full(1000, step)),
    ):
        time.sleep(pause)
        found = file[name][...]
        if found.shape != values.shape or not (found == values).all():
            return f"WRONG: step {step}: {name}: {found.ravel()[:3]}"
    return f"step {step}"
def opened(path):
    # Two errors that a reader may see for a moment (docs/usage.md, "While it is written").
    for again in (True, True, False):
        try:
            return h5py.File(path, "r")
        except OSError as error:
            if not again or not any(text in str(error) for text in ("truncated file", "lock file")):
                raise
            time.sleep(0.01)
kept = []
for line in sys.stdin:
    what, path = line.split()
    try:
        if what == "read":
            with opened(path) as file:
                said = state(file)
        elif what == "slowly":
            with opened(path) as file:
                said = state(file, 0.01)
        elif what == "keep":
            kept.append(h5py.File(path, "r", locking=False))
            said = "step " + str(kept[-1].attrs["step"])
        else:
            said = state(kept.pop())
    except Exception as error:
        said = "WRONG: " + repr(error).replace("\\n", " ")
    print(said, flush=True)
"""


class Reader:
    """The wheel, without a plugin."""

    def __init__(self):
        self.process = subprocess.Popen(
            [stock_python(), "-c", CHECK], env=stock_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def __call__(self, what="read", path="x.h5"):
        self.process.stdin.write(f"{what} {path}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip() or "WRONG: the reader crashed"


def step_of(answer, where):
    check(answer == "empty" or answer.startswith("step "), f"{where}: {answer}")
    return 0 if answer == "empty" else int(answer.split()[1])


class Writer:
    def __init__(self, ranks=1, string="view=commit", steps=10000000, talk="run", path="x.h5"):
        command = [python(), "-c", WRITER, path, str(steps), talk]
        if ranks > 1:
            command = ["mpirun", "-n", str(ranks), *command]
        self.log = open("written", "w+")
        self.read, self.flushed, self.longest = 0, [], 0
        self.errors = open("errors", "w+")
        self.process = subprocess.Popen(
            command, env=bento_env(string=f"bento {string}"), stdin=subprocess.PIPE, stdout=self.log, stderr=self.errors, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            kill_ranks(self.process)
        self.process.stdin.close()
        self.log.close()
        self.errors.close()

    def kill(self):
        check(self.process.poll() is None, f"the writer ended by itself: {self.said('errors')[-2000:]}")
        kill_ranks(self.process)

    def said(self, name="written"):
        with open(name) as file:
            return file.read()

    def wait_for(self, text, seconds=60):
        end = time.monotonic() + seconds
        while text not in self.said():
            check(time.monotonic() < end, f"no '{text}' after {seconds} s: {self.said('errors')[-2000:]}")
            check(text in self.said() or self.process.poll() is None, f"the writer ended: {self.said('errors')[-2000:]}")
            time.sleep(0.002)

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        check(self.process.wait(60) == 0, self.said("errors")[-2000:])

    def flushes(self):
        """Step, begin and end of each flush so far. Only what is new of the log is read."""
        with open("written") as file:
            file.seek(self.read)
            new = file.read()
        new = new[: new.rfind("\n") + 1]
        self.read += len(new)
        for line in new.splitlines():
            if line[:1].isdigit() and line.count(" ") == 2:
                step, begun, ended = map(float, line.split())
                self.flushed.append((int(step), begun, ended))
                self.longest = max(self.longest, ended - begun)
        return self.flushed

    def due(self, at):
        """The step that a reader who opens the file at this time sees at least, and the newest one."""
        flushed = self.flushes()
        late = 0 if self.longest < 0.05 else 20 * self.longest
        return next((step for step, _, ended in reversed(flushed) if ended + late < at), 0), len(flushed) and flushed[-1][0]


# ---- each flush ----------------------------------------------------------------------------------


def plain(ranks="1"):
    ranks, steps = int(ranks), 20
    # One process that has a file open gets the same one again; so another one keeps it open.
    with Reader() as reader, Reader() as keeper:
        with Writer(ranks, steps=steps, talk="ask") as writer:
            writer.wait_for("opened")
            check_is(reader(), "empty", "right after the create")
            writer.go()
            behind = 0
            for step in range(1, steps + 1):
                writer.wait_for(f"\n{step} ")
                found = step_of(reader(), f"after flush {step}")
                behind += found != step
                time.sleep(0.7 if found != step else 0)
                writer.go()
                end = time.monotonic() + 20
                while writer.said().count("again") < step:
                    check(time.monotonic() < end, "no second flush")
                    time.sleep(0.002)
                found = step_of(reader(), f"after flush {step} again")
                check(found == step or behind, f"flush {step} is not seen, but {found}")
                if step == 5:
                    check(keeper("keep") == f"step {found}", "what is kept open")
                writer.go()
            check(behind < steps / 2, f"{behind} of {steps} views came late")
            writer.end()
        check_is(reader(), f"step {steps}", "after the close")
        check_container("x.h5")
        answer = keeper("kept")
        check(answer.startswith("step "), f"kept open over {steps} steps: {answer}")
        reopened(reader, keeper, ranks)
        if ranks == 1:
            without_grace(keeper)
    say(f"{steps} flushes on {ranks} ranks, {behind} views late")


def reopened(reader, keeper, ranks):
    """What a dead session left to plain readers stays as it is under the next one."""
    for string in ("view=commit", "view=on")[: 1 if ranks > 1 else 2]:
        with Writer(ranks) as writer:
            writer.wait_for("opened")
            time.sleep(0.5 + 0.2 * ranks)
            writer.kill()
        before = step_of(reader(), "after the kill")
        check(step_of(keeper("keep"), "keep") == before, "two views")
        with Writer(ranks, string, steps=30) as writer:
            writer.end()
        after = step_of(reader(), "after the next session")
        check(after >= before + 29, f"{before} was seen, then {after}")
        check(keeper("kept") == f"step {before}", f"{string} wrote over what a plain reader had open")
    check_container("x.h5")


def without_grace(keeper):
    """The same is seen to break where nothing is kept: the readers above would have seen it."""
    with Writer(1, "view=commit;view_grace=0", path="y.h5") as writer:
        writer.wait_for("\n3 ")
        step_of(keeper("keep", "y.h5"), "keep")
        time.sleep(2.5)
        writer.kill()
    check(keeper("kept").startswith("WRONG"), "view_grace=0 keeps what was shown")
    os.remove("y.h5")


# ---- beside --------------------------------------------------------------------------------------


def beside(seconds, ranks="1"):
    reading(int(ranks), float(seconds), 1 << 60)


def so_many(count, ranks="1"):
    reading(int(ranks), 1e9, int(count))


def reading(ranks, seconds, count):
    reads, last, steps = 0, 0, set()
    with Reader() as reader, Writer(ranks, "view=commit;view_grace=20") as writer:
        writer.wait_for("opened")
        end = time.monotonic() + seconds
        while reads < count and time.monotonic() < end:
            due, _ = writer.due(time.monotonic())
            found = step_of(reader("slowly" if reads % 4 == 0 else "read"), f"read {reads}")
            check(found >= max(due, last), f"read {reads}: step {found} after {last}, {due} was flushed")
            last, reads = found, reads + 1
            steps.add(found)
        check(writer.process.poll() is None, writer.said("errors")[-2000:])
        flushed = writer.due(time.monotonic())[1]
        writer.kill()
    with Writer(ranks, steps=1) as writer:
        writer.end()
    check(len(steps) > 3, f"only the steps {sorted(steps)} were seen of {flushed}")
    say(f"{reads} reads beside {flushed} flushes on {ranks} ranks: {len(steps)} steps, each whole")


def several(seconds, ranks="1"):
    """Readers, with and without a lock, beside sessions shorter than view_grace, of which some are killed."""
    seconds, ranks, grace = float(seconds), int(ranks), 2
    chance = random.Random(int(os.environ.get("BENTO_FAULT_SEED", "1")))
    reads = kept = sessions = kills = last = 0
    with Reader() as reader, Reader() as keeper:
        begin, opened = time.monotonic(), 0
        # Longer, if that says little: where a kill comes is random, and a machine may be slow.
        while time.monotonic() < begin + (seconds if kept > 3 and kills > 1 else 4 * seconds):
            string = "view=on" if last and chance.random() < 0.2 else "view=commit"
            with Writer(ranks, f"{string};view_grace={grace}", steps=chance.randrange(1, 60)) as writer:
                if not sessions:
                    writer.wait_for("opened")
                until = time.monotonic() + (0.15 + 0.5 * chance.random() if sessions % 3 == 1 or chance.random() < 0.2 else 60)
                while writer.process.poll() is None and time.monotonic() < until:
                    if last and not opened:
                        opened, step = time.monotonic(), keeper("keep")
                    found = step_of(reader("slowly" if reads % 3 == 0 else "read"), f"session {sessions}, read {reads}")
                    check(found >= last, f"session {sessions}: step {found} after {last}")
                    last, reads = found, reads + 1
                    if opened and time.monotonic() > opened + 0.6 * grace:
                        said, took = keeper("again"), time.monotonic() - opened
                        check(took > grace or said == step, f"session {sessions}: {said}, opened {took:.2f} s before as {step}")
                        opened, kept = 0, kept + 1
                if writer.process.poll() is None:
                    writer.kill()
                    kills += 1
                else:
                    writer.end()
                sessions += 1
    with Writer(ranks, steps=1) as writer:
        writer.end()
    check_container("x.h5")
    check(kept > 3 and kills > 1, f"{kept} views kept open, {kills} kills: that says little")
    bytes_ = os.stat("x.h5").st_blocks * 512
    say(f"{reads} reads, {kept} views kept open, beside {sessions} sessions on {ranks} ranks, {kills} of them killed; {bytes_ >> 20} MiB")


# ---- killed --------------------------------------------------------------------------------------

AFTER = "import h5py; file = h5py.File('x.h5', 'r'); print(int(file.attrs['step']))"


def kill(count, ranks="1"):
    count, ranks = int(count), int(ranks)
    chance = random.Random(int(os.environ.get("BENTO_FAULT_SEED", "1")))
    empty = same = newer = 0
    with Reader() as reader:
        for number in range(count):
            # A new file, then one that goes on.
            if number % 2 == 0 and os.path.exists("x.h5"):
                os.remove("x.h5")
            with Writer(ranks) as writer:
                writer.wait_for("opened")
                time.sleep(chance.random() * (0.05 if number % 4 == 0 else 0.6))
                at = time.monotonic()
                writer.kill()
                due, flushed = writer.due(at)
            where = f"kill {number}"
            found = step_of(reader(), where)
            check(due <= found <= (flushed or found) + 1, f"{where}: step {found}, flushed {flushed}, due {due}")
            if not found and not flushed:
                os.remove("x.h5")  # nothing was committed: no program can go on with it
            empty += found == 0
            same += found == flushed
            newer += found == flushed + 1
            if found:
                said = run([python(), "-c", AFTER], bento_env()).out
                check(int(said) >= found, f"{where}: the view shows {found}, the container {said}")
            if found and number % 3 == 1:
                with Writer(ranks, steps=2) as writer:
                    writer.end()
                check(step_of(reader(), where) >= found + 2, f"{where}: the next session")
                check_container("x.h5")
    with Writer(ranks, steps=2) as writer:
        writer.end()
    check(same + newer, "no kill came after a flush")
    say(f"{count} SIGKILLs on {ranks} ranks: {same} files as of the last flush, {newer} of the one in progress, {empty} empty")


# ---- dying at each change ------------------------------------------------------------------------


def dying(**more):
    folder = os.path.join(build_folder(), "tests", "dying_plugin")
    return bento_env(string="bento view=commit", HDF5_PLUGIN_PATH=folder, BENTO_FAULT_RANK="0", **more)


def walk(every):
    """The module of tests/faults ends the process. What stock HDF5 sees goes forward only: no file, empty, step 1, ..."""
    command = [python(), "-c", WRITER, "x.h5", "3", "run"]
    run(command, dying(BENTO_FAULT_COUNT=os.path.abspath("count")))
    with open("count") as file:
        changes = int(file.read())
    seen = {}
    with Reader() as reader:
        for torn in ("0", "1"):
            last = -1
            for number in range(1, changes + 1, int(every)):
                if os.path.exists("x.h5"):
                    os.remove("x.h5")
                died = run(command, dying(BENTO_FAULT_AT=str(number), BENTO_FAULT_TORN=torn), ok=None)
                check(died.status == 42, f"change {number}: it did not die: {died.tail()}")
                answer = reader()
                where = f"change {number} of {changes}, torn={torn}"
                step = -1 if last < 0 and answer.startswith(("WRONG: OSError", "WRONG: FileNotFoundError")) else step_of(answer, where)
                check(step >= last, f"{where}: step {step} after {last}")
                last = step
                flushed = died.out.count(" ") // 2
                check(step in (flushed, flushed + 1) or step < 1 and flushed == 0, f"{where}: step {step}, {flushed} flushed")
                seen[step] = seen.get(step, 0) + 1
                if step > 0:
                    run([python(), "-c", WRITER, "x.h5", "1", "run"], bento_env(string="bento view=commit"))
                    check(step_of(reader(), where) > step, f"{where}: the next session")
    if os.path.exists("x.h5"):
        os.remove("x.h5")
    run(command, bento_env(string="bento view=commit"))
    say(f"died at {changes} changes: {seen}")


# ---- settings ------------------------------------------------------------------------------------

NOTES = """
import sys, time
import h5py, numpy as np
kind = sys.argv[1]
how = {}
if kind == "files":
    from mpi4py import MPI
    how = {"driver": "mpio", "comm": MPI.COMM_WORLD}
with h5py.File(kind + ".h5", "w", **how) as file:
    data = file.create_dataset("x", (40000,), "i4")
    for step in range(3):
        if kind == "large":
            for first in range(0, 40000, 8):
                data[first + step : first + step + 4] = step
        else:
            data[:] = step
        file.flush()
        time.sleep(0.3)
"""

TIMED = """
import sys, time
import h5py
file = h5py.File("timed.h5", "w")
for number in range(6):
    file[f"d{number}"] = number
    time.sleep(0.25)
    file.attrs["last"] = number
time.sleep(0.8)
file.attrs["more"] = 1
print("ready", flush=True)
sys.stdin.readline()
"""


def settings():
    said = mpirun(2, [python(), "-c", NOTES, "files"], bento_env(string="bento view=commit;files=2"))
    check(said.err.count("several physical files") == 1, f"two files: {said.err}")
    # The list of the mappings fits no chunk.
    said = run([python(), "-c", NOTES, "large"], bento_env(string="bento view=commit;chunk=16K;view_maps=100000"), timeout=120)
    check(said.err.count("fits no chunk") == 1, f"a large piece: {said.err}")
    process = subprocess.Popen(
        [python(), "-c", TIMED], env=bento_env(string="bento view=commit;commit=0.2"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    check(process.stdout.readline() == "ready\n", "the program with commit=0.2 failed")
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    said = run([stock_python(), "-c", "import h5py; f = h5py.File('timed.h5'); print([int(f[f'd{n}'][()]) for n in range(6)])"], stock_env())
    check(said.out == "[0, 1, 2, 3, 4, 5]\n", said.out)
    os.remove("timed.h5")


SESSION = """
import sys
import h5py, numpy as np
path, step, flushes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with h5py.File(path, "a") as file:
    data = file.require_dataset("x", (300000,), "i4")
    for turn in range(flushes):
        data[:] = step
        file.attrs["step"] = step
        file.flush()
"""


def killed_session(pause=0):
    """SESSION, killed in place of its close; it sleeps for `pause` seconds after each flush."""
    end = f"        file.flush()\n        time.sleep({pause})\n    os.kill(os.getpid(), 9)\n"
    return "import os, time" + SESSION.replace("        file.flush()\n", end)


KEEPER = """
import sys
import h5py, numpy as np
for line in sys.stdin:
    what = line.strip()
    if what == "see":
        print(file.attrs["step"], *np.unique(file["x"][...]), flush=True)
    elif what == "close":
        file.close()
        print("closed", flush=True)
    else:
        file = h5py.File("x.h5", "r", **({} if what == "lock" else {"locking": False}))
        print("open", flush=True)
"""


# A session that begins without a change, says so, and goes on when its input ends.
LONGER = """
import sys
import h5py
with h5py.File("x.h5", "a") as file:
    print("open", flush=True)
    sys.stdin.read()
    if sys.argv[1] != "0":
        file["x"][:] = int(sys.argv[1])
        file.attrs["step"] = int(sys.argv[1])
"""


class Keeper:
    """The wheel, which opens the file, with HDF5's lock or without, and keeps it open: `with keeper(locking=True)`."""

    def __init__(self):
        self.process = subprocess.Popen(
            [stock_python(), "-c", KEEPER], env=stock_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def told(self, what):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    @contextlib.contextmanager
    def __call__(self, locking=False):
        check(self.told("lock" if locking else "open") == "open", "no reader")
        self.since = time.monotonic()
        yield
        check(self.told("close") == "closed", "the reader ended early")

    def sees(self):
        return self.told("see"), time.monotonic() - self.since

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


def handed_on():
    with Forked() as forked, Keeper() as keeper:
        replaced(forked, keeper)


def replaced(forked, keeper):
    """The view that a killed session has left is replaced by a later session, and used up by the one after that: not at once."""
    grace, seen = 3, []

    def session(string, code, *words, **more):
        return forked.run(code, words, bento_env(string=f"bento {string};view_grace={grace}"), **more)

    def used_up(step, where):
        session("view=commit", SESSION, "x.h5", 500, 3)
        said, took = keeper.sees()
        check(took > grace or said == f"{step} {step}", f"{where}: after {took:.1f} s the reader of step {step} sees {said}")
        seen.append(took <= grace)

    # Replaced by a session with view=on that is longer than view_grace.
    for step in (1, 2):
        session("view=commit", SESSION, "x.h5", step, 1)
    code = killed_session()
    session("view=commit", code, "x.h5", 3, 1, ok=None)
    with subprocess.Popen(
        [python(), "-c", LONGER, "4"],
        env=bento_env(string=f"bento view=on;view_grace={grace}"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        check(other.stdout.readline() == "open\n", "no session")
        time.sleep(grace + 1)
        with keeper():
            other.stdin.close()
            check(other.wait(60) == 0, "the longer session failed")
            used_up(3, "a session with view=on")
    os.rename("x.h5", "on.h5")
    # Killed when its root was there and its view was not; the next session changes nothing.
    for step in (1, 2):
        session("view=commit", SESSION, "x.h5", step, 1)
    os.rename("x.h5", "two.h5")
    for number in range(2, 40):
        run(["cp", "-a", "--sparse=always", "two.h5", "x.h5"], stock_env())
        forked.run(SESSION, ("x.h5", 3, 1), dying(), ok=None, BENTO_FAULT_AT=str(number))
        stock = forked.run(AFTER, (), stock_env(), stock_python()).out.strip()
        newest = forked.run(AFTER, (), bento_env()).out.strip()
        if (stock, newest) == ("2", "3"):
            time.sleep(grace + 1.2)
            with keeper():
                session("view=commit", LONGER, 0)
                used_up(2, f"dead at change {number}")
            break
        os.remove("x.h5")
    else:
        check(False, "no death left a root that is newer than its view")
    os.rename("x.h5", "dead.h5")
    # A lock protects the view of a close, also while an older one of view=commit waits.
    grace = 0.3
    session("view=commit", SESSION, "x.h5", 1, 1)
    with keeper(locking=True):
        session("view=on", SESSION, "x.h5", 2, 1)
        begun = time.monotonic()
        time.sleep(2.2)
    with keeper(locking=True):
        session("view=on", SESSION, "x.h5", 3, 1)
        time.sleep(max(0, begun + 3.4 - time.monotonic()))
        session("view=commit", SESSION, "x.h5", 500, 3)
        said, _ = keeper.sees()
        check(said == "2 2", f"with a lock, the reader of step 2 sees {said}")
    os.rename("x.h5", "locked.h5")
    # Nobody replaces a view if a session makes none.
    grace = 30
    for first, locking in (("commit", False), ("commit", True), ("on", True)):
        for step in (1, 2):
            session(f"view={first}", SESSION, "x.h5", step, 1)
        with keeper(locking):
            session("view=off", SESSION, "x.h5", 3, 1)
            for step in (500, 501):
                session("view=commit", SESSION, "x.h5", step, 3)
                said, _ = keeper.sees()
                check(said == "2 2", f"view={first}, then off, lock {locking}: the reader of step 2 sees {said}")
        os.remove("x.h5")
    # The place of a view that is in use no more.
    grace = 0
    session("view=commit", SESSION, "x.h5", 1, 3)
    time.sleep(1.2)
    grown = code.replace('["step"] = step', '["step"] = np.arange(1000 + turn)')
    session("view=on", grown, "x.h5", 2, 60, ok=None)
    session("view=commit", SESSION, "x.h5", 3, 2)
    run([os.path.join(build_folder(), "bin", "h5bento"), "info", "x.h5"], bento_env())
    check_container("x.h5")
    check(any(seen), f"all of {len(seen)} answers came too late to say anything")
    say(f"{sum(seen)} of {len(seen)} views that were replaced were still whole")


def spaces(string, session, seconds=0):
    """Sessions use the space of the ones before them, also if each is shorter than older views are kept, or killed."""
    sizes, ends, step, begun = [], [], 0, time.monotonic()
    while time.monotonic() < begun + seconds or step < 16:
        step += 1
        session(string, step, 3)
        sizes.append(os.stat("x.h5").st_blocks * 512)
        ends.append(time.monotonic())
    half = len(sizes) // 2
    grace = float(re.search(r"view_grace=([0-9.]+)|$", string)[1] or 0)

    def kept(until):
        """So many views were young enough to be kept at once."""
        return max(sum(end - grace <= other <= end for other in ends) for end in ends[:until])

    # A machine that has become faster in the second half makes more sessions while an older view is kept.
    one = max(b - a for a, b in zip(sizes, sizes[1 : half + 1]))
    faster = one * max(0, kept(len(ends)) - kept(half + 1))
    say(f"{string}: {sizes[half]} bytes on the disk after {half + 1} sessions, {sizes[-1]} after {step}")
    check(sizes[-1] < 1.25 * sizes[half] + faster, f"{string}: it grows: {sizes}, {faster} of it since sessions were faster")
    check_container("x.h5")
    os.remove("x.h5")


def sessions():
    with Forked() as forked, Keeper() as keeper:
        after_another(forked, keeper)


def after_another(forked, keeper):
    """One session after another: the file does not grow by itself, and who reads a closed file keeps what it has opened."""

    def session(string, step, flushes=1):
        forked.run(SESSION, ("x.h5", step, flushes), bento_env(string=f"bento {string}"))

    steps = some(12, range(1, 31))
    for step in steps:
        session("view=commit;view_grace=0", step)
    bytes_ = os.path.getsize("x.h5")
    check(bytes_ < len(steps) << 23, f"{bytes_} bytes long after {len(steps)} sessions")
    os.remove("x.h5")

    def killed(string, step, flushes=1):
        code = killed_session(pause=0.15)
        done = forked.run(code, ("x.h5", step, flushes), bento_env(string=f"bento {string}"), ok=None)
        check(done.status == -9, f"{string}: session {step} ended with {done.status}: {done.tail()}")

    spaces("view=commit;view_grace=1.5", session, 5)
    spaces("keep=3", session)
    for string in some(1, ("view=commit;view_grace=0.1", "view=on", "keep=3")):
        spaces(string + " killed", lambda ignored, step, flushes: killed(string, step, flushes))
    for string in ("view=on", "view=commit;view_grace=0.1"):
        session(string, 1)
        with keeper(locking=True):
            for step in range(2, 6):
                session(string, step, 3)
                said, _ = keeper.sees()
                check(said == "1 1", f"{string}: after session {step} the reader of step 1 sees {said}")
        said = run([stock_python(), "-c", "import h5py; f = h5py.File('x.h5'); print(f.attrs['step'], f['x'][7])"], stock_env()).out
        check(said == "5 5\n", f"{string}: a new reader sees {said}")
        check_container("x.h5")
        os.rename("x.h5", f"{string[5:7]}.h5")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    known = {
        "plain": plain,
        "beside": beside,
        "reads": so_many,
        "several": several,
        "handed_on": handed_on,
        "kill": kill,
        "walk": walk,
        "settings": settings,
        "sessions": sessions,
    }
    if sys.argv[1:2] == [] or sys.argv[1] not in known:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    if harness.REHEARSAL:
        print("native HDF5 has no view=commit")
        sys.exit(0)
    run_test(known[sys.argv[1]], *sys.argv[2:])
