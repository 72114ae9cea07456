#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's interface for a single writer and multiple readers (SWMR).

    swmr.py calls                   what each call answers, beside the same natively
    swmr.py beside SECONDS [SEED]   readers open, refresh and read beside a writer that appends at random
    swmr.py gone SECONDS            a reader that never refreshes, beside a writer that changes all and keeps one step
    swmr.py slow SECONDS            a reader whose reads take as long as many commits
    swmr.py many COUNT              so many appends and flushes: the file and the writer's memory stay small
    swmr.py kill COUNT [SEED]       SIGKILL at random moments: what the last flush left, and no h5clear
    swmr.py parallel                refused in a file that is opened with mpio
"""

import json
import os
import random
import subprocess
import sys
import time

from harness import REHEARSAL, bento_env, check, check_container, mpirun, native_env, python, run, run_test, say

# ---- calls ---------------------------------------------------------------------------------------

# Each line is what one call answers. An error is shown by its innermost text where that is HDF5's own.
CALLS = """
import ctypes, os, subprocess, sys
import h5py, numpy as np
from h5py import h5f, h5p

WORDS = ("no write intent on file", "file superblock version - should be at least 3",
         "file already in SWMR writing mode", "superblock version for SWMR is less than 3",
         "file is already open for read-only", "SWMR write access flag not the same",
         "SWMR read access flag not the same", "needs to be 1.10 or greater")

def tell(what, call):
    try:
        said = call()
    except Exception as error:
        said = next((word for word in WORDS if word in str(error)), "an error")
    print(f"{what}: {said}", flush=True)

def intent(file):
    flags = (file.id if isinstance(file, h5py.File) else file).get_intent()
    names = {h5f.ACC_RDWR: "RDWR", h5f.ACC_SWMR_READ: "SWMR_READ", h5f.ACC_SWMR_WRITE: "SWMR_WRITE"}
    return "|".join(name for bit, name in names.items() if flags & bit) or "RDONLY"

def opened(name, flags, libver=None):
    access = h5p.create(h5p.FILE_ACCESS)
    if libver:
        access.set_libver_bounds(libver, h5f.LIBVER_LATEST)
    return h5f.open(name, flags, access)

def created(name, flags, low=None, high=None):
    access = h5p.create(h5p.FILE_ACCESS)
    if low is not None:
        access.set_libver_bounds(low, high)
    return h5f.create(name, flags, None, access)

# Another process, which opens a file anew for each line: its mode, whether by SWMR, its name, and the dataset.
code = '''
import sys, h5py
for line in sys.stdin:
    mode, swmr, name, data = line.split()
    try:
        with h5py.File(name, mode, swmr=swmr == "True", libver="latest") as file:
            said = f"{sorted(file)} {file[data][...].tolist()}"
    except OSError as error:
        said = "refused"
    print(said, flush=True)
'''
other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def elsewhere(mode, swmr=False, name="new.h5", data="d"):
    print(mode, swmr, name, data, file=other.stdin, flush=True)
    return other.stdout.readline().strip() or "the other process has ended"

# The old format has no SWMR writing.
with h5py.File("old.h5", "w") as file:
    file["d"] = [1, 2]
    tell("start in the old format", lambda: file.id.start_swmr_write())
    tell("its intent then", lambda: intent(file))
with h5py.File("old.h5", "r+", libver="latest") as file:
    tell("start in an old file with new bounds", lambda: file.id.start_swmr_write())
tell("old file for SWMR writing", lambda: intent(opened(b"old.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE)))
with h5py.File("old.h5", "r", swmr=True) as file:
    tell("SWMR reader of an old file", lambda: (intent(file), file.swmr_mode, file["d"][...].tolist()))
    tell("start by a reader", lambda: file.id.start_swmr_write())

# Started.
file = h5py.File("new.h5", "w", libver="latest")
data = file.create_dataset("d", (0,), "i4", maxshape=(None,), chunks=(4,))
tell("before the start", lambda: (intent(file), file.swmr_mode, file.mode))
tell("start", lambda: file.id.start_swmr_write())
tell("after it", lambda: (intent(file), file.swmr_mode, file.mode, data.file.swmr_mode))
tell("start again", lambda: file.id.start_swmr_write())
data.resize((3,))
data[:] = [1, 2, 3]
tell("flush of the dataset", lambda: data.flush())
tell("refresh of the writer's dataset", lambda: data.refresh())
tell("what it has then", lambda: data[...].tolist())
tell("SWMR reader beside it", lambda: elsewhere("r", True))
tell("second writer", lambda: elsewhere("r+"))
tell("the same file once more", lambda: intent(opened(b"new.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE, h5f.LIBVER_LATEST)))
tell("the same file to write plainly", lambda: intent(opened(b"new.h5", h5f.ACC_RDWR, h5f.LIBVER_LATEST)))
tell("the same file to read", lambda: intent(opened(b"new.h5", h5f.ACC_SWMR_READ, h5f.LIBVER_LATEST)))
file.close()
del data
tell("SWMR reader afterwards", lambda: elsewhere("r", True))
tell("plain reader afterwards", lambda: elsewhere("r"))
tell("writer afterwards", lambda: elsewhere("r+"))

# Opened or created for it.
again = opened(b"new.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE)
tell("opened for SWMR writing", lambda: intent(again))
tell("start of that", lambda: again.start_swmr_write())
again.close()
made = created(b"made.h5", h5f.ACC_TRUNC | h5f.ACC_SWMR_WRITE)
tell("created for SWMR writing", lambda: intent(made))
made.close()
tell("what was created is new enough", lambda: intent(opened(b"made.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE)))
tell("created with bounds against it", lambda: intent(
    created(b"bound.h5", h5f.ACC_TRUNC | h5f.ACC_SWMR_WRITE, h5f.LIBVER_EARLIEST, h5f.LIBVER_V18)))
tell("SWMR writing of a read-only file", lambda: intent(opened(b"new.h5", h5f.ACC_SWMR_WRITE)))
tell("SWMR reading of one to write", lambda: intent(opened(b"new.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_READ)))

# Beside another handle of the same process.
plain = h5py.File("new.h5", "r+", libver="latest")
tell("SWMR writing beside a plain writer", lambda: intent(opened(b"new.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE, h5f.LIBVER_LATEST)))
tell("SWMR reading beside a plain writer", lambda: intent(opened(b"new.h5", h5f.ACC_SWMR_READ)))
tell("plain writing still", lambda: intent(plain))
plain.close()
plain = h5py.File("new.h5", "r")
tell("SWMR reading beside a plain reader", lambda: intent(opened(b"new.h5", h5f.ACC_SWMR_READ)))
tell("SWMR writing beside a plain reader", lambda: intent(opened(b"new.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE)))
plain.close()

# Through links, which hand on how their file is open.
with h5py.File("main.h5", "w", libver="latest") as main:
    main["there"] = h5py.ExternalLink("new.h5", "/")
for swmr in (False, True):
    with h5py.File("main.h5", "r", swmr=swmr) as main:
        tell(f"linked from a reader, {swmr}", lambda: intent(main["there"].file))
        tell(f"linked to read, {swmr}", lambda: intent(main.get("there", elink_swmr=False).file))
        tell(f"linked to read by SWMR, {swmr}", lambda: intent(main.get("there", elink_swmr=True).file))
with h5py.File("main.h5", "r+", libver="latest") as main:
    main.swmr_mode = True
    tell("linked from a writer", lambda: intent(main["there"].file))
    tell("flush of what is linked", lambda: main["there"]["d"].flush())
    tell("and read elsewhere", lambda: elsewhere("r", True))

# A file is flushed by any of its objects. What the program asks to be called at that finds the flush done.
with open("/proc/self/maps") as maps:
    library = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libhdf5" in line and "_hl" not in line))
Told = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_void_p)

def rows():
    return elsewhere("r", True, "more.h5", "g/d").replace("['g', 't'] ", "")

@Told
def told(thing, data):
    print(f"{count} elsewhere when told: {rows()}", flush=True)
    return 0

access = h5p.create(h5p.FILE_ACCESS)
access.set_libver_bounds(h5f.LIBVER_LATEST, h5f.LIBVER_LATEST)
library.H5Pset_object_flush_cb(ctypes.c_int64(access.id), told, None)
with h5py.File(h5f.create(b"more.h5", h5f.ACC_TRUNC, None, access)) as file:
    file["t"] = np.dtype("i4")
    data = file.create_group("g").create_dataset("d", (0,), "i4", maxshape=(None,), chunks=(4,))
    group = file["g"]
    file.swmr_mode = True
    committed = file["t"]
    for count, (function, thing) in enumerate((("H5Gflush", group), ("H5Dflush", data), ("H5Tflush", committed), ("H5Oflush", group),
            ("H5Oflush", data), ("H5Odisable_mdc_flushes", data), ("H5Dflush", data), ("H5Oenable_mdc_flushes", data)), 1):
        data.resize((count,))
        data[count - 1] = count
        done = getattr(library, function)(ctypes.c_int64(thing.id.id))
        print(f"{count} {function}: {done >= 0}", flush=True)
    del data, group, committed, thing
other.stdin.close()
other.wait()
print("done")
"""

# {what: (natively, in a container)}: natively other objects stay behind; a commit is of the whole file.
ALLOWED = {
    "1 elsewhere when told": ("[]", "[1]"),
    "3 elsewhere when told": ("[1, 2]", "[1, 2, 3]"),
    "4 elsewhere when told": ("[1, 2]", "[1, 2, 3, 4]"),
}


def calls():
    def answers(folder, env):
        os.mkdir(folder)
        lines = run([python(), "-c", CALLS], env, cwd=folder).out.splitlines()
        check(lines and lines[-1] == "done", "\n".join(lines))
        return dict(line.split(": ", 1) for line in lines[:-1])

    native = answers("native", native_env())
    ours = answers("ours", bento_env(stats="stats"))
    check(list(native) == list(ours), "other calls")
    for what, said in native.items():
        wanted = (said, said) if REHEARSAL else ALLOWED.get(what, (said, said))
        say(f"  {what}: {ours[what]}" + ("" if ours[what] == said else f" (natively: {said})"))
        check((said, ours[what]) == wanted, f"{what}: natively {said}, in a container {ours[what]}")
    for name in ("new.h5", "made.h5", "main.h5", "more.h5"):
        check_container(f"ours/{name}")


# ---- readers beside a writer ---------------------------------------------------------------------

# Row K of dataset N is K * 7 + N; all lengths of one commit are those of its turn. `state` is changed as a whole.
WRITER = """
import os, random, sys, time
import h5py, numpy as np
path, seed, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
how = random.Random(seed)
if os.path.exists(path):
    file = h5py.File(path, "r+", libver="latest")
else:
    file = h5py.File(path, "w", libver="latest")
    file.create_dataset("a", (0,), "i8", maxshape=(None,), chunks=(64,))
    file.create_dataset("b", (0, 5), "f8", maxshape=(None, 5), chunks=(16, 5))
    file.create_dataset("c", (0,), "i4", maxshape=(None,), chunks=(256,), compression="gzip")
    file.create_dataset("lengths", (0, 3), "i8", maxshape=(None, 3), chunks=(64, 3))
    file.create_dataset("state", (4096,), "i8", chunks=(512,))
    file.attrs["note"] = "made before"
sets = [file[name] for name in "abc"]
lengths, state = file["lengths"], file["state"]
file.swmr_mode = True
os.write(1, b"started\\n")
turn = len(lengths)
end = turn + turns
while turn != end:
    for number, data in enumerate(sets):
        old, more = len(data), how.randrange(1, 40)
        data.resize(old + more, 0)
        rows = (np.arange(old, old + more) * 7 + number).astype(data.dtype)
        data[old:] = rows if data.ndim == 1 else np.repeat(rows[:, None], 5, 1)
    state[...] = turn + 1
    lengths.resize(turn + 1, 0)
    lengths[turn] = [len(data) for data in sets]
    turn += 1
    how.choice(sets + [lengths]).flush()
    if turn % 64 == 0:
        file.attrs["turn"] = turn
    os.write(1, f"{turn}\\n".encode())
    time.sleep(how.choice((0, 0, 0.0002, 0.002)))
file.close()
"""

# Each reader has one of the datasets refreshed in turn; `whole`: all of a commit is seen at once.
READER = """
import random, sys, time
import h5py, numpy as np
path, seconds, seed, whole = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "whole"
how = random.Random(seed)
end = time.monotonic() + seconds
opens = refreshes = turns = 0
while time.monotonic() < end:
    file = h5py.File(path, "r", swmr=True, libver="latest")
    assert file.swmr_mode and file.attrs["note"] == "made before"
    opens += 1
    sets = [file[name] for name in "abc"]
    lengths, state = file["lengths"], file["state"]
    seen = [0, 0, 0]
    until = min(end, time.monotonic() + 0.3 * how.random() + 0.05)
    while time.monotonic() < until:
        everything = sets + [lengths, state]
        lengths.refresh()
        turn = len(lengths)
        refreshes += 1
        counts = lengths[...]
        assert len(counts) == turn, "lengths"
        assert not whole or (np.diff(counts, axis=0) > 0).all(), "lengths"
        wanted = counts[-1] if turn else [0, 0, 0]
        for number in how.sample(range(3), 3):
            data = sets[number]
            data.refresh()
            found = data[...]
            rows = len(found)
            assert rows == len(data) >= max(wanted[number] if whole else 0, seen[number]), (rows, wanted, seen)
            values = (np.arange(rows) * 7 + number).astype(found.dtype)
            if whole:
                right = found == (values if found.ndim == 1 else np.repeat(values[:, None], 5, 1))
                assert right.all(), (number, rows, found[~right][:4])
            seen[number] = rows
        found = state[...]
        if whole:
            assert (found == found[0]).all() and found[0] >= turn, (turn, found)
        turns = max(turns, turn)
    file.close()
print(opens, refreshes, turns)
"""


def begun(path, env, seed=0, turns=-1):
    process = subprocess.Popen([python(), "-c", WRITER, path, str(seed), str(turns)], env=env, stdout=subprocess.PIPE)
    check(process.stdout.readline() == b"started\n", "the writer did not start")
    return process


def ended(process):
    """The last turn that it told; it was killed."""
    process.kill()
    lines = process.stdout.read().split(b"\n")
    process.wait()
    process.stdout.close()
    whole = [int(line) for line in lines[:-1] if line and line != b"started"]
    return whole[-1] if whole else 0


def beside(seconds, seed):
    say(f"seed {seed}")
    for name, env, kind in (("native.h5", native_env(), "loose"), ("live.h5", bento_env(), "whole")):
        writer = begun(name, env, seed)
        try:
            # The pipe holds some thousand turns; the readers run meanwhile.
            drain = subprocess.Popen(["cat"], stdin=writer.stdout, stdout=subprocess.DEVNULL)
            readers = [
                subprocess.Popen([python(), "-c", READER, name, str(seconds), str(seed + i), kind],
                                 env=env, stdout=subprocess.PIPE, text=True)
                for i in range(2)
            ]
            said = [reader.communicate()[0].split() for reader in readers]
            check(writer.poll() is None, "the writer has ended")
        finally:
            writer.kill()
            writer.wait()
            drain.wait()
            writer.stdout.close()
        check([reader.returncode for reader in readers] == [0, 0], f"{name}: a reader failed: {said}")
        say(f"  {name}: opens, refreshes and last turn of the readers: {said}")
        check(all(int(refreshes) > 3 and int(turns) > 3 for _, refreshes, turns in said), f"{name}: {said}")
    check_container("live.h5")


# ---- a reader that stays behind ------------------------------------------------------------------

CHANGER = """
import os, time
import h5py, numpy as np
file = h5py.File("gone.h5", "w", libver="latest")
state = file.create_dataset("state", (1 << 16,), "i8", chunks=(1 << 12,))
grows = file.create_dataset("grows", (0,), "i8", maxshape=(None,), chunks=(512,))
file.swmr_mode = True
turn = 0
while True:
    turn += 1
    state[...] = turn
    grows.resize((turn,))
    grows[turn - 1] = turn
    state.flush()
    if turn == 1:
        os.write(1, b"started\\n")
    time.sleep(0.01)
"""

STAYS = """
import sys, time
import h5py, numpy as np
end = time.monotonic() + float(sys.argv[1])
with h5py.File("gone.h5", "r", swmr=True) as file:
    state = file["state"]
    reads, values = 0, []
    while time.monotonic() < end:
        found = state[...]
        assert (found == found[0]).all(), "a mixture of commits"
        assert not values or found[0] >= values[-1], "an older commit"
        values.append(int(found[0]))
        reads += 1
        time.sleep(0.01)
print(reads, len(set(values)))
"""


def gone(seconds):
    env = bento_env()
    with subprocess.Popen([python(), "-c", CHANGER], env=env, stdout=subprocess.PIPE) as writer:
        try:
            check(writer.stdout.readline() == b"started\n", "the writer did not start")
            reads, values = map(int, run([python(), "-c", STAYS, seconds], env).out.split())
        finally:
            writer.kill()
    say(f"  {reads} reads, {values} different commits")
    check(reads > 10 and values > 1, "the reader saw nothing new, so nothing was gone")
    smaller()


SHRINKER = """
import os, sys, time
import h5py, numpy as np
file = h5py.File("small.h5", "w", libver="latest")
data = file.create_dataset("d", (200000,), "i8", maxshape=(None,), chunks=(1000,))
data[...] = np.arange(1, 200001)
beat = file.create_dataset("beat", (1,), "i8")
file.swmr_mode = True
def flushes(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        beat[0] += 1
        beat.flush()
        time.sleep(0.01)
os.write(1, b"started\\n")
sys.stdin.readline()
data[...] = 2 * np.arange(1, 200001)
flushes(2.5)
data.resize((100000,))
data[...] = 3 * np.arange(1, 100001)
flushes(2.5)
os.write(1, b"small\\n")
flushes(30)
"""

BEHIND = """
import os, sys
import h5py, numpy as np
with h5py.File("small.h5", "r", swmr=True) as file:
    data = file["d"]
    assert (data[...] == np.arange(1, 200001)).all()
    os.write(1, b"read\\n")
    sys.stdin.readline()
    try:
        found = data[...]
        assert 0, f"no error, but {len(found)} values, {np.count_nonzero(found == 0)} of them 0"
    except OSError as error:
        assert "made it smaller" in str(error), error
    data.refresh()
    assert (data[...] == 3 * np.arange(1, 100001)).all()
print("right")
"""


def smaller():
    """A reader does not refresh a dataset, its step is gone, and in the newest one the dataset is smaller."""
    env = bento_env()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env}
    with subprocess.Popen([python(), "-c", SHRINKER], **pipes) as writer:
        try:
            check(writer.stdout.readline() == b"started\n", "the writer did not start")
            with subprocess.Popen([python(), "-c", BEHIND], **pipes) as reader:
                check(reader.stdout.readline() == b"read\n", "the reader did not start")
                writer.stdin.write(b"\n")
                writer.stdin.flush()
                check(writer.stdout.readline() == b"small\n", "the writer ended early")
                found = reader.communicate(b"\n")[0]
            check(found == b"right\n", f"the reader says {found}")
        finally:
            writer.kill()
    os.remove("small.h5")  # a killed writer's, which nobody has closed
    say("  a dataset that became smaller is no longer read by its old extent")


# ---- a reader that takes its time ----------------------------------------------------------------

APPENDER = """
import os
import h5py, numpy as np
file = h5py.File("slow.h5", "w", libver="latest")
file["large"] = np.full(1 << 22, 7)
grows = file.create_dataset("grows", (0,), "i8", maxshape=(None,), chunks=(512,))
file.swmr_mode = True
os.write(1, b"started\\n")
while True:
    grows.resize((len(grows) + 1,))
    grows[-1] = len(grows)
    grows.flush()
"""

SLOW = """
import sys, time
import h5py, numpy as np
end = time.monotonic() + float(sys.argv[1])
with h5py.File("slow.h5", "r", swmr=True) as file:
    reads = 0
    while time.monotonic() < end:
        file["grows"].refresh()
        assert (file["large"][...] == 7).all()
        reads += 1
print(reads)
"""


def slow(seconds):
    """Each read takes as long as many commits."""
    env = bento_env()
    with subprocess.Popen([python(), "-c", APPENDER], env=env, stdout=subprocess.PIPE) as writer:
        try:
            check(writer.stdout.readline() == b"started\n", "the writer did not start")
            reads = int(run([python(), "-c", SLOW, seconds], env).out)
        finally:
            writer.kill()
    say(f"  {reads} reads")
    check(reads > 2, "the reader did not come to an end")


# ---- many flushes --------------------------------------------------------------------------------

MANY = """
import json, os, resource, sys, time
import h5py, numpy as np
name, count, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
file = h5py.File(name, "w", libver="latest")
data = file.create_dataset("d", (0,), "i8", maxshape=(None,), chunks=(1024,))
if kind == "swmr":
    file.swmr_mode = True
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
taken = lambda: os.stat(name).st_blocks * 512  # the file is sparse
begin, early = time.monotonic(), 0
for i in range(count):
    data.resize((i + 1,))
    data[i] = i
    data.flush() if kind == "swmr" else file.flush()
    if i == count // 4:
        early = peak()
took = time.monotonic() - begin
size, late = taken(), peak()
begin = time.monotonic()
for i in range(count):
    data.flush() if kind == "swmr" else file.flush()
idle = time.monotonic() - begin
grown = taken() - size
file.close()
print(json.dumps(dict(took=took, idle=idle, size=size, grown=grown, early=early, late=late)))
"""


def many(count):
    said = {}
    for kind in ("plain", "swmr"):
        said[kind] = json.loads(run([python(), "-c", MANY, f"{kind}.h5", count, kind], bento_env(), timeout=600).out)
        one = said[kind]
        say(
            f"  {kind}: {one['took'] / count * 1e6:.0f} us an append and flush, {one['idle'] / count * 1e6:.0f} us a "
            f"flush of nothing, {one['size']} bytes, peak {one['early']} KiB after a quarter, {one['late']} at the end"
        )
        check(one["grown"] == 0, f"{kind}: flushes of nothing make the file grow by {one['grown']} bytes")
        check(one["late"] < one["early"] + 20000, f"{kind}: the writer's memory grows")
    # The catalogue of the steps of the last seconds.
    check(said["swmr"]["size"] < 1.2 * said["plain"]["size"] + (32 << 20), "the file grows more than by plain flushes")
    check(said["swmr"]["idle"] < said["swmr"]["took"], "a flush of nothing costs as much as one of something")


# ---- killed --------------------------------------------------------------------------------------

LEFT = """
import sys
import h5py, numpy as np
with h5py.File("killed.h5", sys.argv[1], libver="latest") as file:
    turn = len(file["lengths"])
    lengths = file["lengths"][-1] if turn else [0, 0, 0]
    for number, name in enumerate("abc"):
        found = file[name][...]
        assert len(found) == lengths[number], (turn, name, len(found), lengths)
        values = (np.arange(len(found)) * 7 + number).astype(found.dtype)
        assert (found == (values if found.ndim == 1 else values[:, None])).all(), name
    assert (file["state"][...] == turn).all(), "state"
print(turn)
"""


def kill(count, seed):
    say(f"seed {seed}")
    moments = random.Random(seed)
    turns = 0
    for session in range(count):
        writer = begun("killed.h5", bento_env(), seed + session)
        time.sleep(0.05 + 0.4 * moments.random())
        told = ended(writer)
        left = int(run([python(), "-c", LEFT, moments.choice(("r", "r+"))], bento_env()).out)
        # It dies between the commit and its telling, or before that commit.
        check(left in (max(told, turns), max(told, turns) + 1), f"told {told}, left {left}, before {turns}")
        turns = left
    run([python(), "-c", LEFT, "r+"], bento_env())  # a close, for the checkers
    say(f"  {count} kills, {turns} turns")
    check_container("killed.h5")


# ---- in parallel ---------------------------------------------------------------------------------

PARALLEL = """
import h5py
from h5py import h5f, h5p
from mpi4py import MPI
comm = MPI.COMM_WORLD
def tell(what, call):
    try:
        call()
        said = "accepted"
    except Exception as error:
        said = "refused" if "SWMR access is not possible in a file that is opened with mpio" in str(error) else str(error)
    for line in comm.allgather(said):
        if comm.rank == 0:
            print(f"{what}: {line}", flush=True)
access = h5p.create(h5p.FILE_ACCESS)
access.set_fapl_mpio(comm, MPI.INFO_NULL)
access.set_libver_bounds(h5f.LIBVER_LATEST, h5f.LIBVER_LATEST)
tell("create", lambda: h5f.create(b"p.h5", h5f.ACC_TRUNC | h5f.ACC_SWMR_WRITE, None, access))
with h5py.File("p.h5", "w", driver="mpio", comm=comm, libver="latest") as file:
    data = file.create_dataset("d", (4,), "i4")
    tell("start", file.id.start_swmr_write)
    data[comm.rank] = 7
    del data
tell("read", lambda: h5f.open(b"p.h5", h5f.ACC_SWMR_READ, access))
tell("write", lambda: h5f.open(b"p.h5", h5f.ACC_RDWR | h5f.ACC_SWMR_WRITE, access))
with h5py.File("p.h5", "r", driver="mpio", comm=comm) as file:
    assert (file["d"][: comm.size] == 7).all()
"""


def parallel():
    said = mpirun(2, [python(), "-c", PARALLEL], bento_env()).out.splitlines()
    wanted = [f"{what}: refused" for what in ("create", "start", "read", "write") for _ in range(2)]
    check(REHEARSAL or said == wanted, f"{said}")


MODES = {
    "calls": lambda: calls(),
    "beside": lambda seconds, seed=None: beside(float(seconds), int(seed or random.randrange(1 << 20))),
    "gone": lambda seconds: gone(float(seconds)),
    "slow": lambda seconds: slow(float(seconds)),
    "many": lambda count: many(int(count)),
    "kill": lambda count, seed=None: kill(int(count), int(seed or random.randrange(1 << 20))),
    "parallel": lambda: parallel(),
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in MODES:
        sys.exit(__doc__)
    run_test(
        lambda: MODES[sys.argv[1]](*sys.argv[2:]),
        containers=0 if sys.argv[1] in ("beside", "gone", "slow") else 1,
        unfinished={name: "killed" for name in ("live.h5", "gone.h5", "slow.h5", "killed.h5")},
    )
