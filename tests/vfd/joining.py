#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/vfd.md, "Joining", row by row: processes that open files as they are told, without knowing of each other."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from joiners import Joiner, report, slots, stock_view, streams  # noqa: E402

from harness import check, driver_env, python, run, run_test, say  # noqa: E402


def config(container, rank=0, size=2, session="one", **more):
    text = "container=%s;rank=%d;size=%d;chunk=64K" % (container, rank, size)
    text += ";session=%s" % session if session else ""
    return text + "".join(";%s=%s" % item for item in more.items())


def sums(joiner, name):
    joiner.say("ro " + name)
    found = joiner.say("sum")
    joiner.say("close")
    return found


def write(joiner, how, name, seed, n=1000):
    joiner.say("%s %s" % (how, name), "add d%d %d %d" % (seed, seed, n), "close")


def total(seed, n=1000):
    return "1 %d %d" % (n, sum(range(seed, seed + n)))


def first_and_late(a, b):
    for number, (first, late) in enumerate((("create", "create"), ("new", "new"), ("create", "new"), ("new", "create"))):
        box = "join%d.bento" % number
        a.say("as " + config(box), first + " a.h5", "add x 1 1000")
        b.say("as " + config(box, 1))
        stock_view(box)
        write(b, late, "b.h5", 2)
        check(report(box)[0][3] == "unfinished", "finished, though a process writes")
        a.say("close")
        check(report(box)[0][3:5] == ["finished", "free"], "not finished: %s" % report(box)[0])
        check(set(streams(box)) == {"a.h5", "b.h5"}, "streams %s" % set(streams(box)))
        check(sums(b, "a.h5") == total(1) and sums(a, "b.h5") == total(2), "other values")
        # A rank that comes when the last one has closed, and what it has created before.
        write(b, "create", "b.h5", 3)
        b.refused("new b.h5", "exists", "errno = 17")
        check(sums(a, "b.h5") == total(3) and sums(b, "a.h5") == total(1), "other values after a new creation")
        streams(box)


def in_the_way(a, _):
    with open("text.bento", "w") as file:
        file.write("a text")
    a.say("as " + config("text.bento"))
    a.refused("create a.h5", "text.bento", "no file of h5bento")
    check(open("text.bento").read() == "a text", "another file was changed")
    a.say("as " + config("plain%s.none;match=zzz"))
    write(a, "create", "ordinary.h5", 1)
    a.say("as " + config("ordinary.h5"))
    a.refused("create a.h5", "an ordinary HDF5 file")
    a.refused("create ordinary.h5", "own container")
    a.say("as " + config("no/such/folder.bento"))
    a.refused("create a.h5", "errno = 2")
    # Of a process that died before it had written anything, or the magic alone.
    for name, content in (("empty.bento", b""), ("begun.bento", b"sion")):
        with open(name, "wb") as file:
            file.write(content)
        a.say("as " + config(name))
        write(a, "create", "a.h5", 4)
        check(sums(a, "a.h5") == total(4), "values after a layout in %s" % name)
    with open("other.bento", "wb") as file:
        file.write(b"sion and more")
    a.say("as " + config("other.bento"))
    a.refused("create a.h5", "a SION file")
    check(open("other.bento", "rb").read() == b"sion and more", "another SION file was changed")
    os.remove("other.bento")


def same_name(a, b):
    a.say("as " + config("name.bento"), "create a.h5", "close")
    b.say("as " + config("name.bento", 1))
    b.refused("create a.h5", "rank 0", "rank 1")
    a.refused("create other.h5", "'a.h5'", "container=%s.bento")
    b.say("as " + config("name.bento", 2, 3))
    b.refused("create c.h5", "2 processes", "session=")
    b.say("as container=name.bento;rank=2;size=2")
    b.refused("create c.h5", "process 2 of 2")


def new_job(a, b):
    for size in (2, 1, 5):
        box = "job%d.bento" % size
        a.say("as " + config(box))
        write(a, "create", "a.h5", 1)
        b.say("as " + config(box, 1))
        write(b, "create", "b.h5", 2)
        # Its creating process lays it out; what the old job left is gone. Others of it join.
        a.say("as " + config(box, size - 1, size, "two"))
        write(a, "create", "new.h5", 3)
        check(set(streams(box)) == {"new.h5"} and report(box)[0][0] == str(size), "%s of %s" % (set(streams(box)), report(box)[0]))
        b.refused("ro a.h5", "errno = 2")
        if size > 1:
            b.say("as " + config(box, 0, size, "two"))
            write(b, "create", "b.h5", 4)
            check(set(streams(box)) == {"new.h5", "b.h5"}, "a late process of the new job laid it out anew")


def kept_by_excl(a, b):
    """H5F_ACC_EXCL of a name that is there destroys nothing, whatever job made it."""
    for job in ("one", "two"):
        box = "kept.bento"
        if job == "one":
            a.say("as " + config(box))
            write(a, "create", "a.h5", 1)
            b.say("as " + config(box, 1))
            write(b, "create", "b.h5", 2)
        a.say("as " + config(box, 0, 2, job))
        a.refused("new a.h5", "errno = 17")
        check(set(streams(box)) == {"a.h5", "b.h5"}, f"job {job}: {set(streams(box))}")


def part_missing(a, b):
    """Who cannot create changes nothing: its physical file is not there, or another file is."""
    box, part = "part.bento", "part.bento.000001"
    a.say("as " + config(box, files=2))
    b.say("as " + config(box, 1, files=2))
    write(a, "create", "a.h5", 1)
    write(b, "create", "b.h5", 2)
    with open(box, "rb") as file:
        before = file.read()
    os.rename(part, "away")
    for content in (None, b"a text", before[:5000]):
        if content is not None:
            with open(part, "wb") as file:
                file.write(content)
        b.refused("create b.h5", part)
        with open(box, "rb") as file:
            check(file.read() == before, "a create that failed with %s changed the container" % (content and content[:6]))
    os.rename("away", part)
    check(report(box)[0][3:5] == ["finished", "free"], "not finished: %s" % report(box)[0])
    check(sums(a, "b.h5") == total(2), "other values")


def new_job_while_used(a, b):
    a.say("as " + config("busy.bento"), "create a.h5", "add x 1 1000")
    b.say("as " + config("busy.bento", 0, 2, "two", timeout=0.2))
    b.refused("create b.h5", "another job")
    a.say("close", "ro a.h5")
    b.refused("create b.h5", "another job")
    check(a.say("sum") == total(1), "a reader's stream is gone")
    a.say("close")
    write(b, "create", "b.h5", 2)
    check(set(slots("busy.bento")) == {"b.h5"}, "not laid out anew when nobody used it any more")


def nameless_job(a, b):
    a.say("as " + config("tool.bento"))
    write(a, "create", "a.h5", 1)
    b.say("as container=tool.bento")
    b.refused("create result.h5", "'a.h5'")
    check(sums(b, "a.h5") == total(1), "a tool destroyed a stream")
    write(b, "create", "a.h5", 5)
    check(sums(a, "a.h5") == total(5), "a stream was not begun anew")


def append_by_another_job(a, b):
    a.say("as " + config("append.bento"))
    write(a, "create", "a.h5", 1)
    b.say("as " + config("append.bento", 1))
    write(b, "create", "b.h5", 2)
    # Fewer, and more processes than before; ranks that do not match.
    b.say("as " + config("append.bento", 6, 9, "two"))
    write(b, "rw", "a.h5", 7)
    check(sums(a, "a.h5") == "2 2000 %d" % (sum(range(1, 1001)) + sum(range(7, 1007))), "appended values")
    a.say("as " + config("append.bento", 0, 1, "two"))
    write(a, "create", "a.h5", 8)
    check(set(slots("append.bento")) == {"a.h5", "b.h5"}, "a job that appended laid the container out anew")
    a.refused("rw missing.h5", "errno = 2")


def open_changes_nothing(a, b):
    a.say("as " + config("still.bento"))
    write(a, "create", "a.h5", 1)
    before = open("still.bento", "rb").read()
    b.say("as " + config("still.bento", 1), "ro a.h5", "sum", "close")
    b.refused("rw b.h5", "errno = 2")
    # HDF5 has opened it to write before it says this.
    a.refused("new a.h5", "errno = 17")
    check(open("still.bento", "rb").read() == before, "an open that changed nothing changed the container")
    stream = streams("still.bento")["a.h5"]
    a.say("rw a.h5", "close")
    check(streams("still.bento")["a.h5"] == stream, "an open to write, and a close, changed the stream")
    a.say("rw a.h5")
    b.refused("rw a.h5", "open in another process")
    b.refused("ro a.h5", "open for writing in another process")
    a.say("close")


def names(a, b):
    os.makedirs("ranks/3", exist_ok=True)
    a.say("as " + config("names.bento"))
    write(a, "create", "ranks/3/data.h5", 1)
    b.say("as " + config("names.bento", 1))
    write(b, "create", os.path.abspath("ranks/data.h5"), 2)
    check(set(slots("names.bento")) == {"ranks/3/data.h5", "ranks/data.h5"}, "names %s" % set(slots("names.bento")))
    check(sums(b, "./ranks/../ranks/3/data.h5") == total(1), "the same name, written otherwise")
    a.say("as match=state_*.r*.h5;container=box_%1.bento;rank=0;size=2;session=x")
    write(a, "create", "state_10.r0.h5", 3)
    write(a, "create", "state_20.r0.h5", 4)
    write(a, "create", "log.h5", 5)
    check(set(slots("box_10.bento")) == {"state_10.r0.h5"} and set(slots("box_20.bento")) == {"state_20.r0.h5"}, "templates")
    check(open("log.h5", "rb").read(4) == b"\x89HDF", "a name that does not match is no ordinary file")
    check(sums(a, "log.h5") == total(5), "an ordinary file through the driver")
    a.say("as container=%s.bento")
    write(a, "create", "log.h5", 6)
    check(sums(a, "log.h5") == total(6), "the stream does not hide the ordinary file")
    a.refused("new log.h5", "errno = 17")
    a.say("as container=elsewhere.bento;match=*")
    check(sums(a, "log.h5") == total(5), "an ordinary file where there is no container")
    # What natively cannot be a file is refused, and nothing is left of the attempt.
    a.say("as " + config("no_names.bento"))
    for bad, words in (("./", "names a folder"), ("ranks/", "names a folder"), ("..", "names a folder"), ("x" * 256, "255 bytes"),
                       ("y" * 256 + "/z.h5", "255 bytes"), ("/".join(["w" * 100] * 4), "384 bytes")):
        a.refused("create " + bad, words)
        check(not os.path.exists("no_names.bento"), "a container for %s" % bad)
    write(a, "create", "v" * 255, 7)
    for bad, words in (("container=%9.bento", "needs a star"), ("match=*", "container= is missing"), ("container=a;keep=1", "known keys"),
                       ("container=a;rank=x", "accepted"), ("container=a;files=0", "accepted"), ("nonsense", "no key=value")):
        a.say("as " + bad)
        a.refused("create z.h5", words)


def deletions(a, b):
    a.say("as " + config("del.bento", files=2))
    write(a, "create", "a.h5", 1)
    b.say("as " + config("del.bento", 1, files=2), "create b.h5", "add x 2 1000")
    a.say("delete a.h5")
    a.refused("delete b.h5", "open in another process")
    a.refused("ro a.h5", "errno = 2")
    b.say("close")
    check(set(streams("del.bento")) == {"b.h5"}, "a deleted stream is still there")
    check(os.path.exists("del.bento.000001"), "no second physical file")
    b.say("delete b.h5")
    check(not os.path.exists("del.bento") and not os.path.exists("del.bento.000001"), "the empty container stays")
    b.refused("delete b.h5", "errno = 2")


def refusals(a, b):
    a.say("as " + config("ref.bento"))
    a.refused("swmr a.h5", "SWMR")
    a.say("create a.h5", "handle", "add x 1 30000")
    a.refused("handle", "pieces")
    a.say("close")
    # H5Fstart_swmr_write does not ask the driver; the file stays as it was, and is written on.
    swmr = (
        "import h5py\nfile = h5py.File('s.h5', 'w', libver='latest')\nfile['x'] = 1\n"
        "try: file.swmr_mode = True\nexcept Exception as error: print(error)\n"
        "file['y'] = 2; file.flush(); file.close(); print(sorted(h5py.File('s.h5')))"
    )
    text = run([python(), "-c", swmr], driver_env(config("swmr.bento"))).out
    check("SWMR is not possible" in text and "['x', 'y']" in text, text)


def killed(a, b):
    with Joiner(config("kill.bento", 1)) as dying:
        dying.say("create b.h5", "add x 2 1000", "flush", "add y 3 200000")
        a.say("as " + config("kill.bento"), "create a.h5", "add x 1 1000")
        dying.kill()
    a.say("close")
    fields, found = report("kill.bento")
    check(fields[3:5] == ["finished", "free"] and found["b.h5"][3] and not found["a.h5"][3], "after a kill: %s %s" % (fields, found))
    check(len(streams("kill.bento")["b.h5"]) >= 800000 + 4000, "bytes of the killed process are missing")
    stock_view("kill.bento")
    with Joiner(config("kill.bento", 1)) as dying:
        dying.say("create b.h5", "add x 2 1000")
        dying.kill()
    check(report("kill.bento")[0][3] == "unfinished", "finished by nobody")
    check(report("kill.bento", repair=True)[0][3] == "finished", "not repaired")
    check(sums(a, "a.h5") == total(1), "another's stream was touched")
    check(set(streams("kill.bento")) == {"a.h5", "b.h5"}, "streams after repair")
    b.say("as " + config("kill.bento", 1))
    write(b, "create", "b.h5", 9)
    check(sums(a, "b.h5") == total(9), "the name of a killed process cannot be used again")
    a.say("rw a.h5")
    check("open for writing" in report("kill.bento", repair=True, ok=(0, 1)), "repaired while it is used")
    a.say("close")


def locking_switched_off(a, _):
    """HDF5's setting is for its own locks: two writers of a stream are refused in any case."""
    a.say("as " + config("locks.bento"), "create a.h5", "add x 1 1000")
    with Joiner(config("locks.bento"), HDF5_USE_FILE_LOCKING="FALSE") as other:
        other.refused("rw a.h5", "open in another process")
        other.refused("create a.h5", "open in another process")
    a.say("close")


def from_the_launcher(a, _):
    """Rank, size and job from the environment; no session=, no rank=."""
    for rank in range(2):
        env = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "4711"}
        with Joiner("container=launched.bento", **env) as process:
            write(process, "create", "rank%d.h5" % rank, rank)
    check({name: slot[:2] for name, slot in slots("launched.bento").items()} == {"rank0.h5": (0, 0), "rank1.h5": (1, 1)}, "slots")
    check(report("launched.bento")[0][5] == "PMIX_NAMESPACE:4711", "job %s" % report("launched.bento")[0])
    with Joiner("container=launched.bento", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1", PMIX_NAMESPACE="4712") as process:
        write(process, "create", "rank0.h5", 5)
    check(set(slots("launched.bento")) == {"rank0.h5"}, "another run of the launcher did not lay it out anew")


CASES = (first_and_late, in_the_way, same_name, new_job, kept_by_excl, part_missing, new_job_while_used, nameless_job, append_by_another_job,
         open_changes_nothing, names, deletions, refusals, killed, locking_switched_off, from_the_launcher)


def joining(only):
    with Joiner() as a, Joiner() as b:
        for case in CASES:
            if not only or case.__name__ in only:
                say("  " + case.__name__)
                case(a, b)


if __name__ == "__main__":
    run_test(joining, sys.argv[1:], containers=1)
