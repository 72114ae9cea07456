#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write through a cache (cache=), with the real daemon behind them.

    cache.py arrive | slow | read | append
"""

import glob
import json
import os
import signal
import subprocess
import sys
import time

from forked_programs import Forked
from harness import (
    ANY,
    Skip,
    bento_env,
    built,
    check,
    check_is,
    check_equal,
    hdf5_tool,
    mpirun,
    native_env,
    python,
    run,
    run_test,
)

COUNT = 200000
BYTES = 8 * COUNT
# A program without mpirun does without MPI, too, the start of which takes as long as all the rest.
WORLD = f"""
import os, sys
sys.path.insert(0, "{os.path.dirname(os.path.abspath(__file__))}")
from launched import world
rank, size, how, barrier = world()
"""
# What each rank does, in order: create, append, flush, close, die, check=V, touch=F, await=F.
PROGRAM = WORLD + """
import sys, time, h5py, numpy as np
path, f = sys.argv[1], None
N = 200000
mine = slice(N * rank // size, N * (rank + 1) // size)
def values(v):
    return np.random.default_rng(v).random(N)
for action in sys.argv[2:]:
    what, _, value = action.partition("=")
    if what == "create":
        f = h5py.File(path, "w", **how)
        f.create_dataset("v", N, "f8", fillvalue=-1.0)
        f["v"][mine] = values(int(value))[mine]
    elif what == "append":
        f = h5py.File(path, "r+", **how)
    elif what == "change":
        f["v"][mine] = values(int(value))[mine]
    elif what == "check":
        with h5py.File(path, "r", **how) as r:
            assert np.array_equal(r["v"][...], values(int(value))), "other values"
    elif what == "flush":
        f.flush()
    elif what == "close":
        f.close()
    elif what == "barrier":
        barrier()
    elif what == "die":
        barrier()
        time.sleep(0.1)
        os.kill(os.getpid(), 9)
    elif what == "touch":
        barrier()
        open(value, "w").close()
    elif what == "await":
        while not os.path.exists(value):
            time.sleep(0.01)
        barrier()
"""
# Starts programs of one process that have the same environment again and again.
FORKED = Forked()


def settings(cache="c", **keys):
    text = ";".join(f"{key}={value}" for key, value in keys.items())
    return f"bento chunk=1M;cache={os.path.abspath(cache)};{text}"


def environment(string):
    return bento_env(string=string, H5BENTO_TRANSFER_FILE=os.path.abspath("t"))


def program(ranks, string, path, *actions, ok=(0,), timeout=60):
    command = [python(), "-c", PROGRAM, path, *actions]
    env = environment(string)
    if ranks > 1:
        return mpirun(ranks, command, env, ok=ok, timeout=timeout)
    if string in ("bento", "bento chunk=1M", settings(), settings(flush="off")):
        return alone(PROGRAM, env, path, *actions, ok=ok, timeout=timeout)
    return run(command, env, ok=ok, timeout=timeout)


def alone(code, env, *words, ok=(0,), timeout=60, interpreter=None):
    """A process of its own, in an environment that others of this test have, too."""
    return FORKED.run(code, words, env, interpreter, None if ok is ANY else ok, timeout)


def started(ranks, string, path, *actions):
    command = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    process = subprocess.Popen([*command, python(), "-c", PROGRAM, path, *actions], env=environment(string), stderr=subprocess.PIPE)
    RUNNING.append(process)
    return process


def tool(*arguments, ok=(0,), timeout=60):
    return run([built("bin", "h5bento"), "transfer", *arguments, "--file", os.path.abspath("t")], native_env(), ok=ok, timeout=timeout)


def entries():
    if not os.path.exists("t"):
        return []
    return json.loads(tool("status", "--json", ok=None).out)["files"]


def state(path):
    found = [one["state"] for one in entries() if os.path.basename(one["destination"]) == os.path.basename(path)]
    return found[0] if found else "none"


def wait_for(what, condition, seconds=40):
    until = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < until, f"after {seconds} s: not {what}")
        time.sleep(0.02)


def arrived(path):
    wait_for(f"{path} has arrived", lambda: state(path) == "arrived" and not glob.glob("pfs/.h5bento-*"))


def daemon_pid():
    try:
        with open("t.daemon") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def lives(pid):
    """Is it the daemon, and no dead process that nobody has waited for?"""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"h5bento" in file.read()
    except OSError:
        return False


RUNNING = []  # what started() has started


def end_all():
    for process in RUNNING:
        if process.poll() is None:
            process.terminate()
    FORKED.__exit__()
    end_daemon()


def end_daemon(how=signal.SIGTERM):
    pid = daemon_pid()
    if pid and lives(pid):
        os.kill(pid, how)
        wait_for("the daemon has ended", lambda: not lives(pid))


def holds(path, value, string="bento"):
    """Through the connector, as the newest state."""
    program(1, string, path, f"check={value}")


def plain(path, value):
    """Without the connector, what lies under the name."""
    alone(PROGRAM, native_env(), path, f"check={value}")


def cached(folder="c"):
    return sorted(glob.glob(f"{folder}/h5bento-*/*/*.h5*"))


def fresh():
    end_daemon()
    run(["rm", "-rf", "pfs", "c", *glob.glob("t*")], native_env())
    os.makedirs("pfs")


# ---- create, close, arrive ----


def arrive():
    fresh()
    for ranks, files in ((2, 1), (4, 2)):
        path = f"pfs/a{ranks}.h5"
        program(ranks, f"bento chunk=1M;files={files}", "direct.h5", f"create={ranks}", "close")
        program(ranks, settings(files=files), path, f"create={ranks}", "close")
        arrived(path)
        check(not cached(), f"not evicted: {cached()}")
        check(not glob.glob("c/*"), f"left in the cache: {os.listdir('c')}")
        run([hdf5_tool("h5diff"), path, "direct.h5"], native_env())
        check_equal(path, "direct.h5")
        plain(path, ranks)
        check(len(glob.glob(path + "*")) == files, f"{glob.glob(path + '*')}")
    pid = daemon_pid()
    check(os.readlink(f"/proc/{pid}/cwd") == "/" and os.getsid(pid) != os.getsid(0), "the daemon's folder or session")
    held = [os.readlink(fd) for fd in glob.glob(f"/proc/{pid}/fd/*")]
    check(not [name for name in held if "pfs" in name or "pipe:" in name], f"the daemon holds {held}")


def slow():
    """The program and whoever reads its output end while the daemon copies; the old file stays until then."""
    fresh()
    path = "pfs/old.h5"
    program(1, "bento chunk=1M", path, "create=1", "close")
    begin = time.monotonic()
    shell = f"mpirun -n 2 {python()} -c '{PROGRAM}' {path} create=2 close 2>&1 | cat"
    run(["sh", "-c", shell], environment(settings(bw="300K")))
    took = time.monotonic() - begin
    os.kill(daemon_pid(), signal.SIGSTOP)
    check_is(state(path), "copying", f"after {took:.1f} s, which may be too fast to show anything")
    plain(path, 1)
    holds(path, 2)
    os.kill(daemon_pid(), signal.SIGCONT)
    check(tool("wait", path).status == 0, "wait")
    plain(path, 2)
    arrived(path)
    check(not cached(), "not evicted")


# ---- which state a reader finds ----


def read():
    fresh()
    path = "pfs/b.h5"
    program(2, settings(flush="off"), path, "create=1", "close")
    check(not os.path.exists(path) and entries() == [], "it was submitted")
    holds(path, 1)
    program(2, "bento", path, "check=1")
    run([hdf5_tool("h5dump"), "-H", path], environment("bento"))
    # Beside its writer, before and after a commit.
    writer = started(2, settings(flush="off"), path, "create=2", "touch=made", "await=go", "flush", "touch=flushed", "await=end", "close")
    wait_for("made", lambda: os.path.exists("made"))
    holds(path, 1)
    open("go", "w").close()
    wait_for("flushed", lambda: os.path.exists("flushed"))
    holds(path, 2)
    for string, action in ((settings(), "create=3"), ("bento", "create=3"), ("bento", "append")):
        result = program(1, string, path, action, "close", ok=None)
        check(result.status != 0 and "open for writing" in result.text, f"{string} {action}: {result.text}")
    open("end", "w").close()
    check(writer.wait(timeout=60) == 0, "writer")
    holds(path, 2)
    # Elsewhere there is no such cache: the name says where it is, and nothing older is given out.
    program(1, "bento chunk=1M", "pfs/c.h5", "create=5", "close")
    program(1, settings(flush="off"), "pfs/c.h5", "create=6", "close")
    plain("pfs/c.h5", 5)
    os.rename("c", "away")
    for name in (path, "pfs/c.h5"):
        lost = program(1, "bento", name, "check=6", ok=None)
        check(lost.status != 0 and "has not arrived" in lost.text and "rm '" in lost.text, f"{name}: {lost.text}")
    # Another program may create it anew, there or directly: then that is the newest.
    for cache, value in (("n1", 1), ("n2", 2)):
        program(1, settings(cache, flush="off"), "pfs/d.h5", f"create={value}", "close")
        holds("pfs/d.h5", value)
        os.rename(cache, f"{cache}.gone")
    program(1, "bento chunk=1M", "pfs/d.h5", "create=4", "close")
    holds("pfs/d.h5", 4)
    run(["rm", "-rf", "n1.gone", "n2.gone"], native_env())
    os.rename("away", "c")
    tool("submit", "pfs/c.h5", "--wait")
    plain("pfs/c.h5", 6)
    holds("pfs/c.h5", 6)
    # Written directly, it takes the place of what would have come.
    program(2, "bento chunk=1M", path, "create=8", "close")
    holds(path, 8)
    plain(path, 8)
    check(not cached() and not glob.glob("pfs/.h5bento-*"), f"left: {cached()}")


# ---- writing on while the daemon copies ----


def append():
    fresh()
    path = "pfs/w.h5"
    program(1, "bento chunk=1M", path, "create=1", "close")
    program(2, settings(bw="150K"), path, "create=2", "close")
    wait_for("some is copied", lambda: entries()[0]["written"] > 0)
    # Written to, while it is copied: the half of it is never named.
    writer = started(2, "bento", path, "append", "change=3", "flush", "touch=half", "await=go", "change=4", "close")
    wait_for("half", lambda: os.path.exists("half"))
    holds(path, 3)
    plain(path, 1)
    time.sleep(1)
    plain(path, 1)
    open("go", "w").close()
    check(writer.wait(timeout=60) == 0, "writer")
    plain(path, 1)
    holds(path, 4)
    # And created anew, several times.
    for value in (5, 6, 7):
        program(2, settings(bw="2M"), path, f"create={value}", "close")
        holds(path, value)
        run([hdf5_tool("h5dump"), "-H", path], native_env())
    arrived(path)
    plain(path, 7)
    check(not cached(), f"not evicted: {cached()}")


def main(which):
    if not os.path.exists(built("bin", "h5bento")):
        raise Skip("the program h5bento is not built")
    try:
        {"arrive": arrive, "slow": slow, "read": read, "append": append}[which]()
    finally:
        end_all()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=1)
