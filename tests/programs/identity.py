#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Files that are not what their names say: physical files swapped for others, ranks with other working directories,
copies that were written separately, links, leftovers of a removed container. Right data, or an error that names the file
and the reason; and no byte of a file that belongs to somebody else changes."""

import os

import harness
from harness import Skip, bento_env, check, mpirun, native_env, python, run, run_test, say

COMMON = """
import ctypes, hashlib, os, shutil, sys
import h5py, numpy
try:
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
except ImportError:
    comm = None
N = 20000

def digest(path):
    return hashlib.md5(open(path, "rb").read()).hexdigest()

def values(step, total):
    return numpy.arange(total, dtype="f8") * 3 + step * 1000000

def only_rank_0(work):
    said = None
    if comm.rank == 0:
        try:
            said = (True, work())
        except Exception as error:
            said = (False, repr(error))
    done, said = comm.bcast(said)
    assert done, said
    return said

def write(path, step, mode):
    total = N * comm.size
    with h5py.File(path, mode, driver="mpio", comm=comm) as f:
        if mode == "w":
            f.create_dataset("x", (total,), "f8")
        f["x"][comm.rank * N:(comm.rank + 1) * N] = values(step, total)[comm.rank * N:(comm.rank + 1) * N]

def steps_seen(path):
    with h5py.File(path, "r", driver="mpio", comm=comm) as f:
        found = f["x"][...]
    for step in range(10):
        if (found == values(step, N * comm.size)).all():
            return step
    return "wrong data"

def attempt(work):
    try:
        return str(work())
    except Exception as error:
        return "error: " + str(error)

def tell(name, said):
    if comm.rank == 0:
        print(f"{name}:", said, flush=True)
    comm.Barrier()

def on_all(name, work):
    lines = comm.gather(attempt(work))
    for rank, line in enumerate(lines or []):
        print(f"{name}: rank {rank}: " + line.replace("\\n", " "), flush=True)
    comm.Barrier()
"""

# Rank 0 swaps files; then all ranks try to read, and to write.
SWAP = (
    COMMON
    + """
def make():
    write("one.h5", 1, "w")
    if comm.rank == 0:
        os.mkdir("old"); os.mkdir("sibling"); os.mkdir("new"); os.mkdir("strange")
        for name in ("one.h5", "one.h5.000001"):
            shutil.copy(name, "old"); shutil.copy(name, "sibling")
    comm.Barrier()
    write("one.h5", 2, "r+")
    write("sibling/one.h5", 3, "r+")
    write("two.h5", 4, "w")
    if comm.rank == 0:
        for name in ("one.h5", "one.h5.000001"):
            shutil.copy(name, "new")
        open("strange/text", "w").write("a text\\n" * 5000)
    comm.Barrier()

def swapped(what, name, source):
    def put():
        os.remove(name)
        if source:
            shutil.copy(source, name)
    only_rank_0(put)
    def seen():
        return {each: os.path.exists(each) and digest(each) for each in ("one.h5", "one.h5.000001")}
    before = only_rank_0(seen)
    on_all(f"{what} read", lambda: steps_seen("one.h5"))
    on_all(f"{what} write", lambda: write("one.h5", 5, "r+"))
    after = only_rank_0(seen)
    tell(f"{what} files", "same" if before == after else "changed")
    def back():
        for each in ("one.h5", "one.h5.000001"):
            shutil.copy("new/" + each, each)
    only_rank_0(back)
    on_all(f"{what} back", lambda: steps_seen("one.h5"))

make()
on_all("siblings", lambda: (steps_seen("one.h5"), steps_seen("sibling/one.h5")))
part = "one.h5.000001"
swapped("other", part, "two.h5.000001")
swapped("first", part, "new/one.h5")
swapped("older", part, "old/one.h5.000001")
swapped("diverged", part, "sibling/one.h5.000001")
swapped("hdf5", part, "../native.h5")
swapped("text", part, "strange/text")
swapped("nothing", part, None)
swapped("older first", "one.h5", "old/one.h5")
swapped("diverged first", "one.h5", "sibling/one.h5")
def native():
    shutil.copy("../native.h5", "one.h5")
    with h5py.File("one.h5", "r") as f:
        return f["native"][...].tolist()
tell("native first", only_rank_0(native))
"""
)

# Its native view is whole, but the container's own beginning is not.
DAMAGED = (
    COMMON
    + """
write("d.h5", 1, "w")
def link():
    with h5py.File("link.h5", "w") as f:
        f["d"] = h5py.ExternalLink("d.h5", "/x")
only_rank_0(link)
whole = open("d.h5", "rb").read()
superblock = whole.find(b"BNTOPART") - 1024
def followed():
    with h5py.File("link.h5", "r") as f:
        return f["d"][0]
def damaged(what, *places):
    def put():
        damage = bytearray(whole)
        for place in places:
            damage[place] ^= 4
        open("d.h5", "wb").write(damage)
        return digest("d.h5")
    before = only_rank_0(put)
    on_all(f"{what} read", lambda: steps_seen("d.h5"))
    on_all(f"{what} write", lambda: write("d.h5", 2, "r+"))
    on_all(f"{what} link", followed)
    tell(f"{what} accessible", only_rank_0(lambda: h5py.is_hdf5("d.h5")))
    tell(f"{what} file", only_rank_0(lambda: "same" if digest("d.h5") == before else "changed"))
damaged("one root", superblock + 4096 + 40)
only_rank_0(lambda: open("d.h5", "wb").write(whole))
damaged("roots", superblock + 4096 + 40, superblock + 8192 + 40)
damaged("magic", 0)
damaged("tasks", 24)
on_all("created over", lambda: (write("d.h5", 3, "w"), steps_seen("d.h5")))
"""
)

# Rank 1 is elsewhere, among files with the same relative names.
FOLDERS = (
    COMMON
    + """
only_rank_0(lambda: [os.mkdir(d) for d in ("here", "there")])
strangers = ["there/a.h5", "there/a.h5.000001"]
def strange():
    shutil.copy("../native.h5", "there/a.h5")
    open("there/a.h5.000001", "w").write("a stranger's file\\n" * 100)
only_rank_0(strange)
top = os.getcwd()
hashes = [digest(s) for s in strangers]
comm.Barrier()
os.chdir("there" if comm.rank == 1 else "here")
on_all("create", lambda: write("a.h5", 1, "w"))
on_all("created", lambda: steps_seen(top + "/here/a.h5"))
on_all("append", lambda: write("a.h5", 2, "r+"))
on_all("appended", lambda: steps_seen("a.h5"))
def moving():
    with h5py.File("a.h5", "r+", driver="mpio", comm=comm) as f:
        os.chdir(top + "/there")
        f["x"][comm.rank * N:(comm.rank + 1) * N] = values(3, N * comm.size)[comm.rank * N:(comm.rank + 1) * N]
on_all("moving", moving)
on_all("moved", lambda: steps_seen(top + "/here/a.h5"))
os.chdir(top)
tell("strangers", "same" if [digest(s) for s in strangers] == hashes else "changed")
"""
)

# Names that are links, leftovers, and files in the way.
NAMES = (
    COMMON
    + """
write("a.h5", 1, "w")
only_rank_0(lambda: (os.mkdir("links"), os.symlink("../a.h5", "links/l.h5")))
on_all("link read", lambda: steps_seen("links/l.h5"))
on_all("link write", lambda: write("links/l.h5", 2, "r+"))
on_all("link wrote", lambda: steps_seen("a.h5"))
on_all("link create", lambda: write("links/l.h5", 3, "w"))
on_all("link created", lambda: steps_seen("a.h5"))
only_rank_0(lambda: os.remove("a.h5"))
on_all("removed first", lambda: write("a.h5", 4, "w"))
on_all("created again", lambda: steps_seen("a.h5"))
only_rank_0(lambda: (os.rename("a.h5", "b.h5"), os.rename("a.h5.000001", "b.h5.000001")))
on_all("renamed", lambda: (steps_seen("b.h5"), write("b.h5", 5, "r+"), steps_seen("b.h5")))
only_rank_0(lambda: os.link("b.h5.000001", "kept"))
kept = only_rank_0(lambda: digest("kept"))
on_all("create over", lambda: (write("b.h5", 6, "w"), steps_seen("b.h5")))
tell("hard link", "same" if digest("kept") == kept else "changed")
# A part of another container, and a text, where a new part should go.
only_rank_0(lambda: (shutil.copy("b.h5.000001", "c.h5.000001"), open("d.h5.000001", "w").write("text\\n" * 2000)))
before = [digest(f) for f in ("c.h5.000001", "d.h5.000001")]
on_all("foreign part", lambda: write("c.h5", 1, "w"))
on_all("text part", lambda: write("d.h5", 1, "w"))
tell("in the way", "same" if before == [digest(f) for f in ("c.h5.000001", "d.h5.000001")] else "changed")
# A name that is a part of a container in use.
on_all("part as a file", lambda: write("b.h5.000001", 1, "w"))
on_all("whole", lambda: steps_seen("b.h5"))
# A root that claims a file which is none of its own.
def delete(name):
    hdf5 = ctypes.CDLL(next(l.split()[-1] for l in open("/proc/self/maps") if "libhdf5.so" in l))
    hdf5.H5Fdelete.argtypes = [ctypes.c_char_p, ctypes.c_int64]
    return hdf5.H5Fdelete(name.encode(), 0)
def claims():
    shutil.copy("b.h5", "e.h5"); shutil.copy("d.h5.000001", "e.h5.000001")
    failed = delete("e.h5") < 0
    return failed, os.path.exists("e.h5"), digest("e.h5.000001") == before[1]
tell("delete", only_rank_0(claims))
def removes():
    delete("b.h5")
    return sorted(f for f in os.listdir(".") if f.startswith("b.h5"))
tell("deleted", only_rank_0(removes))
"""
)


class Said:
    def __init__(self, result):
        self.text = result.out
        self.lines = {}
        for line in result.out.splitlines():
            name, _, rest = line.partition(": ")
            self.lines.setdefault(name, []).append(rest)

    def is_all(self, name, text, ranks):
        found = [line.partition(": ")[2] for line in self.lines.get(name, [])]
        check(found == [text] * ranks, f"{name}: {text} wanted on {ranks} ranks, found {found}\n{self.text}")

    def is_error(self, name, ranks, *parts):
        found = [line.partition(": ")[2] for line in self.lines.get(name, [])]
        check(len(found) == ranks, f"{name}: {found}\n{self.text}")
        for line in found:
            for part in ("error: ",) + parts:
                check(part in line, f"{name}: '{part}' is not in: {line}\n{self.text}")

    def is_line(self, name, text):
        found = self.lines.get(name)
        check(found == [text], f"{name}: {text} wanted, found {found}\n{self.text}")


def in_folder(name, ranks, script, string):
    os.mkdir(name)
    # Native errors name files, ours too: h5py shows the whole stack only in part.
    with open(f"{name}.py", "w") as file:
        file.write(script)
    return Said(mpirun(ranks, [python(), f"../{name}.py"], bento_env(string=string), cwd=name, timeout=150))


def swaps(ranks):
    said = in_folder("swaps", ranks, SWAP, "bento files=2;chunk=64K")
    said.is_all("siblings", "(2, 3)", ranks)
    reasons = {
        "other": "'two.h5'",
        "first": "part 0 of it",
        "older": "older copy",
        "diverged": "written separately",
        "hdf5": "an ordinary HDF5 file",
        "text": "no file of h5bento",
        "nothing": "is not there",
    }
    for what, reason in reasons.items():
        for how in ("read", "write"):
            said.is_error(f"{what} {how}", ranks, "one.h5.000001", reason)
    for what in ("older first", "diverged first"):
        for how in ("read", "write"):
            said.is_error(f"{what} {how}", ranks, "one.h5.000001", "older copy")
    for what in list(reasons) + ["older first", "diverged first"]:
        said.is_line(f"{what} files", "same")
        said.is_all(f"{what} back", "2", ranks)
    said.is_line("native first", "[0, 1, 2, 3, 4]")
    say(f"{len(reasons) + 2} swaps on {ranks} ranks: errors that say what is wrong, nothing changed")


def damaged(ranks):
    said = in_folder("damaged", ranks, DAMAGED, "bento chunk=64K")
    said.is_all("one root read", "1", ranks)
    said.is_all("one root write", "None", ranks)
    for what, reason in (("roots", "neither of its two roots is whole"), ("magic", "it does not begin as a SION file"), ("tasks", "META1")):
        for how in ("read", "write"):
            said.is_error(f"{what} {how}", ranks, "'d.h5'", reason)
        said.is_error(f"{what} link", ranks, "can't open file")
        said.is_line(f"{what} file", "same")
    for what in ("roots", "magic"):
        said.is_line(f"{what} accessible", "False")
    said.is_all("created over", "(None, 3)", ranks)
    say(f"damage at the beginning, on {ranks} ranks: no data by way of the native view")


def folders(ranks):
    said = in_folder("folders", ranks, FOLDERS, "bento files=2;chunk=64K")
    for what in ("create", "append", "moving"):
        said.is_all(what, "None", ranks)
    said.is_all("created", "1", ranks)
    said.is_all("appended", "2", ranks)
    said.is_all("moved", "3", ranks)
    said.is_line("strangers", "same")
    say(f"{ranks} ranks with other working directories write the right files")


def names(ranks):
    said = in_folder("names", ranks, NAMES, "bento files=2;chunk=64K")
    for what, seen in (
        ("link read", "1"),
        ("link wrote", "2"),
        ("link created", "3"),
        ("created again", "4"),
        ("renamed", "(4, None, 5)"),
        ("create over", "(None, 6)"),
        ("whole", "6"),
    ):
        said.is_all(what, seen, ranks)
    said.is_line("hard link", "same")
    said.is_error("foreign part", ranks, "'b.h5'", "rm '")
    said.is_error("text part", ranks, "no file of h5bento", "rm '")
    said.is_line("in the way", "same")
    said.is_error("part as a file", ranks, "b.h5.000001", "physical file 1 of the container 'b.h5'")
    said.is_line("delete", "(True, True, True)")
    said.is_line("deleted", "[]")
    for left in ("c.h5.000001", "e.h5", "e.h5.000001", "kept"):
        os.remove(os.path.join("names", left))  # no containers, for the checkers
    say("links, leftovers and files in the way")


def test():
    if harness.REHEARSAL:
        raise Skip("natively a file has no parts")
    run([python(), "-c", 'import h5py; h5py.File("native.h5", "w")["native"] = range(5)'], native_env())
    swaps(3)
    damaged(2)
    folders(3)
    names(2)


if __name__ == "__main__":
    run_test(test, containers=6)
