#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write through a cache (cache=): what dies, what else may be asked for, what is refused, a full cache.

    cache_trouble.py deaths | lost | two_caches | evicting | modes | refused | full | full_finish | restarts
"""

import glob
import json
import os
import signal
import subprocess
import sys

from cache import (
    PROGRAM,
    arrived,
    cached,
    end_all,
    end_daemon,
    entries,
    environment,
    fresh,
    holds,
    plain,
    program,
    settings,
    started,
    state,
    tool,
    wait_for,
)
from harness import ANY, Skip, built, check, hdf5_tool, mpirun, native_env, python, run, run_test, say, some


# ---- deaths ----


def deaths():
    fresh()
    path = "pfs/d.h5"
    program(1, "bento chunk=1M", path, "create=1", "close")
    # Before anything is committed: what was there is there.
    check(program(2, settings(), path, "create=2", "die", ok=ANY).status != 0, "it did not die")
    holds(path, 1)
    plain(path, 1)
    # After a commit: that is what h5bento finds; nothing arrives.
    check(program(2, settings(), path, "create=3", "flush", "change=4", "die", ok=ANY).status != 0, "it did not die")
    check(entries() == [], "something was submitted")
    plain(path, 1)
    holds(path, 3)
    # Right after the close; and the daemon, twice, in the middle.
    check(program(2, settings(bw="500K"), path, "create=5", "close", "die", ok=ANY).status != 0, "it did not die")
    for _ in range(2):
        wait_for("some is copied", lambda: entries()[0]["written"] > 0)
        end_daemon(signal.SIGKILL)
        plain(path, 1)
        holds(path, 5)
        subprocess.Popen([built("bin", "h5bento"), "transfer", "run", "--until-done", "--file", os.path.abspath("t")],
                         env=native_env(), start_new_session=True)  # fmt: skip
        wait_for("another runs", lambda: json.loads(tool("status", "--json", ok=ANY).out)["daemon"])
    arrived(path)
    plain(path, 5)
    check(not cached(), f"not evicted: {cached()}")
    for kind in ("native", "onefile"):
        path = f"pfs/{kind}.h5"
        check(program(2, settings(arrive=kind), path, "create=7", "close", "die", ok=ANY).status != 0, "it did not die")
        arrived(path)
        plain(path, 7)
        wait_for("it is evicted", lambda: not cached())


def lost():
    """The data of the newest state is gone from the cache: nobody gets an older one for it, and nothing replaces that."""
    path = "pfs/l.h5"

    def cut(copy):
        os.truncate(copy, 0)

    def overwrite(copy):
        with open(copy, "r+b") as file:
            file.write(bytes(64 << 10))

    for ranks, damage in some(3, ((1, os.remove), (2, cut), (1, overwrite), (1, cut), (2, os.remove), (2, overwrite))):
        fresh()
        program(1, "bento chunk=1M", path, "create=1", "close")
        program(ranks, settings(flush="off"), path, "create=2", "close")
        damage(os.path.realpath(cached()[0]))
        before = open(path, "rb").read()
        note = glob.glob("pfs/.h5bento-*.cache")[0]
        for action in ("check=1", "append"):
            failed = program(ranks, "bento", path, action, ok=ANY)
            check(failed.status != 0, f"{damage.__name__}: an older state was opened for the newest, {action}")
            check("cannot be read" in failed.text and os.path.basename(note) in failed.text, failed.text)
        refused = tool("submit", path, ok=ANY)
        check(refused.status != 0 and "cannot be read" in refused.text, f"submitted: {refused.text}")
        check(open(path, "rb").read() == before, "the older state was changed")
        if damage is cut:
            os.remove(note)
            holds(path, 1)
        else:
            program(ranks, settings(), path, "create=3", "close")
            arrived(path)
            plain(path, 3)


def two_caches():
    """Two programs write one file, each through a cache of its own: one of them is told so."""
    path, busy = "pfs/w.h5", "open for writing in another process"
    held = ["touch=made", "await=go", "close"]
    others = {"create=2": ["close"], "append": ["change=2", "close"]}

    def begun(process):
        wait_for("made", lambda: os.path.exists("made") or process.poll() is not None)
        check(process.poll() is None, f"{process.returncode}: it died")

    for action, more in others.items():
        fresh()
        first = started(2, settings(), path, "create=1", "flush", *held)
        begun(first)
        second = program(1, settings("c2"), path, action, *more, ok=ANY)
        check(second.status != 0 and busy in second.text, f"not refused: {second.text}")
        open("go", "w").close()
        error = first.communicate(timeout=60)[1].decode()
        check(first.returncode == 0, error)
        arrived(path)
        plain(path, 1)
        for name in ("made", "go"):
            os.remove(name)
    # Neither has committed anything when the other one begins: the one that does so later learns of it.
    fresh()
    first = started(1, settings(), path, "create=1", *held)
    begun(first)
    os.remove("made")
    second = started(1, settings("c2"), path, "create=2", "flush", "touch=made", "await=go2", "close")
    begun(second)
    open("go", "w").close()
    error = first.communicate(timeout=60)[1].decode()
    check(first.returncode != 0 and busy in error, f"both write: {error}")
    open("go2", "w").close()
    error = second.communicate(timeout=60)[1].decode()
    check(second.returncode == 0, error)
    arrived(path)
    plain(path, 2)


def evicting():
    """The daemon dies at each change in the cache while it takes the copy away; the next one leaves nothing of it."""
    work = [built("bin", "h5bento"), "transfer", "run", "--until-done", "--file", os.path.abspath("t")]
    # Names before and behind those of what else lies beside the copy.
    for path in ("pfs/a.h5", "pfs/k.h5"):
        at, died = 0, True
        while died:
            at += 1
            fresh()
            program(1, settings(flush="off"), path, "create=1", "close")
            tool("submit", path, "--no-start")
            faults = native_env(LD_PRELOAD=built("tests", "faults.so"), FAULT_NAME="/c/h5bento", FAULT_KILL=str(at))
            died = run(work, faults, ok=ANY).status != 0
            run(work, native_env())
            check(os.listdir("c") == [], f"{path}, change {at}: left: {glob.glob('c/**', recursive=True)}")
            plain(path, 1)
        check(at > 3, f"it died at {at - 1} changes only")


# ---- flush=, evict= ----


def modes():
    fresh()
    program(2, settings(flush="sync"), "pfs/s.h5", "create=1", "close", "check=1")
    check(state("pfs/s.h5") == "arrived" and not cached(), "sync")
    plain("pfs/s.h5", 1)
    program(1, settings(evict="off", flush="sync"), "pfs/e.h5", "create=2", "close")
    check(len(cached()) == 1, f"evict=off: {cached()}")
    holds("pfs/e.h5", 2)
    program(1, settings(evict="off", flush="sync"), "pfs/e.h5", "create=3", "close")
    check(len(cached()) == 1, f"the one before stays: {cached()}")
    plain("pfs/e.h5", 3)
    for number in range(4):
        program(1, settings("k", evict="keep=2", flush="sync"), f"pfs/k{number}.h5", f"create={number}", "close")
    kept = [os.path.basename(name) for name in cached("k")]
    check(sorted(kept) == ["k2.h5", "k3.h5"], f"keep=2: {kept}")
    # A copy that has not arrived is never evicted.
    program(1, settings("k", evict="keep=1", bw="500K"), "pfs/slow.h5", "create=9", "close")
    check("slow.h5" in [os.path.basename(name) for name in cached("k")], "evicted before it arrived")
    plain("pfs/k3.h5", 3)
    tool("submit", "k", "pfs", ok=(2,))
    check(tool("wait", "pfs/nothing.h5", ok=ANY).status != 0, "wait for what nobody submitted")
    check(tool("wait", "--seconds", "0", "pfs/slow.h5", ok=ANY).status == 1, "wait that is over")
    tool("wait", "pfs/slow.h5")
    # Deleted before it arrives.
    program(1, settings(bw="100K"), "pfs/x.h5", "create=1", "close")
    run([hdf5_tool("h5delete"), "-f", os.path.abspath("pfs/x.h5")], environment("bento"))
    check(not [name for name in cached() if "x.h5" in name] and state("pfs/x.h5") == "none", f"{cached()} {entries()}")
    wait_for("nothing is left", lambda: not glob.glob("pfs/.h5bento-*"))
    check(not os.path.exists("pfs/x.h5"), "deleted, and there")


# ---- what is refused ----


def failing(string, path, *words, ranks=2, **more):
    env = environment(string)
    env.update(more)
    result = mpirun(ranks, [python(), "-c", PROGRAM, path, "create=1", "close"], env, ok=ANY)
    check(result.status != 0, f"{string}: no error")
    for word in words:
        check(word in result.text, f"{string}: no '{word}' in {result.text}")


def refused():
    fresh()
    program(1, "bento chunk=1M", "pfs/r.h5", "create=4", "close")
    failing(settings(), "nowhere/a.h5", "nowhere/a.h5", "errno = 2")
    failing(settings(), "pfs", "Is a directory")
    failing(settings("no/such"), "pfs/r.h5", "no/such", "errno = 2")
    failing(settings(), "pfs/r.h5", "H5BENTO_PROGRAM", H5BENTO_PROGRAM="/nowhere/h5bento")
    failing("bento cache=here", "pfs/r.h5", "absolute path")
    for name in ("id", "share", "spilled", "arrived"):
        failing(settings(), f"pfs/{name}", "cannot be written through a cache", f"'{name}'")
        program(1, "bento", f"pfs/{name}", "create=1", "close", f"check=1")
        os.remove(f"pfs/{name}")
    with open("file", "w"):
        pass
    failing(settings("file"), "pfs/r.h5", "file", "errno = 20")
    # A stranger in the place of a part would be lost.
    with open("pfs/r.h5.000001", "w") as file:
        file.write("precious")
    failing(settings(files=2), "pfs/r.h5", "would be lost", "rm '")
    check(open("pfs/r.h5.000001").read() == "precious", "lost")
    # Ranks with different values, and ranks that do not see the same folder.
    command = [python(), "-c", PROGRAM, "pfs/r.h5", "create=1", "close"]
    ranks = []
    for name in ("c1", "c2"):
        variable = f"H5BENTO_CACHE={os.path.abspath(name)}"
        ranks += [":", "-n", "1", "env", variable, *command]
    result = run(["mpirun", *ranks[1:]], environment("bento"), ok=ANY)
    check(result.status != 0 and "settings differ: cache=" in result.text, result.text)
    holds("pfs/r.h5", 4)
    check(not cached() and not glob.glob("pfs/.h5bento*"), f"left: {cached()}")


# ---- a full cache ----


def full():
    fresh()
    os.makedirs("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "small"], capture_output=True).returncode != 0:
        raise Skip("no right to mount")
    try:
        # It fills up while it is written, on 1, 2 and 4 ranks, with one file and with several; others read meanwhile.
        for ranks, files in ((1, 1), (2, 1), (4, 2)):
            path = f"pfs/f{ranks}.h5"
            program(1, "bento chunk=1M", path, "create=9", "close")
            writer = started(ranks, settings("small", files=files), path, "create=1", "flush", "change=2", "flush", "touch=made",
                             "await=go", "change=3", "close")  # fmt: skip
            wait_for("made", lambda: os.path.exists("made") or writer.poll() is not None)
            check(writer.poll() is None, f"{writer.returncode}: it died")
            holds(path, 2)
            program(2, "bento", path, "check=2")
            plain(path, 9)
            open("go", "w").close()
            error = writer.communicate(timeout=60)[1].decode()
            check(writer.returncode == 0, error)
            check(error.count("h5bento: warning: ") == 1 and "written directly" in error, error)
            check(not os.listdir("small") and not glob.glob("pfs/.h5bento*"), f"{os.listdir('small')} {os.listdir('pfs')}")
            for read in (holds, plain):
                read(path, 3)
            run([built("bin", "h5bento"), "verify", path], native_env())
            for name in ("made", "go"):
                os.remove(name)
        # Dead in the middle: what is under the name stays, and the next create removes what is left.
        check(program(2, settings("small"), "pfs/f1.h5", "create=4", "flush", "change=5", "die", ok=ANY).status != 0, "alive")
        plain("pfs/f1.h5", 3)
        holds("pfs/f1.h5", 4)
        program(2, settings("small", flush="sync"), "pfs/f1.h5", "create=6", "close")
        plain("pfs/f1.h5", 6)
        check(not os.listdir("small") and not glob.glob("pfs/.h5bento*"), f"{os.listdir('small')} {os.listdir('pfs')}")
        # A daemon does not bring the half of it that is in the cache; submitted, all of it arrives.
        run(["mount", "-o", "remount,size=4m", "small"], native_env())
        program(2, settings("small", flush="off"), "pfs/d.h5", "create=1", "close")
        tool("submit", "pfs/d.h5", "--no-start")
        run(["mount", "-o", "remount,size=3m", "small"], native_env())
        check(program(2, settings("small"), "pfs/d.h5", "append", "change=2", "change=3", "change=4", "flush", "die", ok=ANY).status != 0, "alive")
        holds("pfs/d.h5", 4)
        result = tool("run", "--until-done", "--no-verify", ok=(1,))
        check("the cache was full" in result.text and not os.path.exists("pfs/d.h5"), result.text)
        tool("submit", "pfs/d.h5")
        check(os.path.exists("pfs/d.h5"), "it has not arrived")
        holds("pfs/d.h5", 4)
        check(not os.listdir("small") and not glob.glob("pfs/.h5bento*"), f"{os.listdir('small')} {os.listdir('pfs')}")
        run(["mount", "-o", "remount,size=1m", "small"], native_env())
        # Nothing at all fits in.
        with open("small/ballast", "wb") as file:
            file.write(bytes(900000))
        result = program(2, settings("small"), "pfs/n.h5", "create=1", "close")
        check(result.text.count("h5bento: warning: ") == 1 and "directly" in result.text, result.text)
        plain("pfs/n.h5", 1)
        failing(settings("small", cache_full="fail"), "pfs/g.h5", "full")
        os.remove("small/ballast")
        # What a failed program leaves makes room for the next one, where it has none.
        failing(settings("small", cache_full="fail"), "pfs/g.h5", "errno = 28")
        check(not os.path.exists("pfs/g.h5") and len(cached("small")) == 1, f"{cached('small')}")
        program(1, settings("small"), "pfs/h.h5", "create=1", "close")
        plain("pfs/h.h5", 1)
        check(not cached("small"), f"left: {cached('small')}")
    finally:
        run(["umount", "-l", "small"], native_env())


def full_finish():
    """Who brings together what a full cache has and has not dies before each of its changes at the destination."""
    for files in (2, 1):
        fresh()
        os.makedirs("small", exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "small"], capture_output=True).returncode != 0:
            raise Skip("no right to mount")
        try:
            path, at, died = "pfs/d.h5", 0, True
            program(2, f"bento chunk=1M;files={files}", path, "create=9", "close")
            check(program(2, settings("small", files=files), path, "create=1", "flush", "die", ok=ANY).status != 0, "alive")
            holds(path, 1)
            run(["mount", "-o", "remount,size=20m", "small"], native_env())
            run(["sh", "-c", "rm -rf kept; mkdir kept; cp -a --sparse=always small pfs kept"], native_env())
            faults = {"LD_PRELOAD": built("tests", "faults.so"), "FAULT_NAME": "/pfs/"}
            while died:
                at += 1
                run(["sh", "-c", "rm -rf small/* pfs; cp -a --sparse=always kept/small kept/pfs ."], native_env())
                submit = [built("bin", "h5bento"), "transfer", "submit", path, "--file", os.path.abspath("t")]
                died = run(submit, native_env(**faults, FAULT_KILL=str(at)), ok=ANY).status < 0
                # It is there, or missed; never another one.
                result = program(1, "bento", path, "check=1", ok=ANY)
                check(result.status == 0 or "the full cache" in result.text, f"change {at}: {result.text}")
                if glob.glob("pfs/.h5bento-*.cache"):
                    run(submit, native_env())
                holds(path, 1)
                if os.listdir("small"):  # it has arrived; what is left of the copy goes with the next one
                    program(2, settings("small", files=files, flush="sync"), path, "create=1", "close")
                    holds(path, 1)
                check(not os.listdir("small") and not glob.glob("pfs/.h5bento*"), f"change {at}: {os.listdir('small')} {os.listdir('pfs')}")
                check(len(glob.glob(path + "*")) == files, f"{os.listdir('pfs')}")
            say(f"{files} files: died before each of {at - 1} changes")
            check(at > 5, "too few to say anything")
            program(1, "bento", path, "append", "change=2", "close", "check=2")
            run(["rm", "-rf", "kept"], native_env())
        finally:
            run(["umount", "-l", "small"], native_env())


# ---- a daemon that dies whenever it is started ----


def restarts():
    fresh()
    starts = os.path.abspath("starts")
    with open("dying", "w") as file:
        file.write(f'#!/bin/sh\necho >>{starts}\nexec timeout -s KILL 0.2 {built("bin", "h5bento")} "$@"\n')
    os.chmod("dying", 0o755)
    env = environment(settings(flush="sync", bw="10K"))
    env["H5BENTO_PROGRAM"] = os.path.abspath("dying")
    result = run([python(), "-c", PROGRAM, "pfs/a.h5", "create=1", "close"], env, ok=ANY, timeout=40)
    with open(starts) as file:
        count = len(file.readlines())
    check(result.status != 0 and 2 <= count <= 7, f"{count} starts, then {result.status}: {result.text}")
    for word in ("pfs/a.h5", "has not arrived", os.path.abspath("t"), os.path.abspath("t.log")):
        check(word in result.text, f"no '{word}' in {result.text}")
    # On a busy machine it dies before it has started.
    check("has died" in result.text or "did not start" in result.text, result.text)
    holds("pfs/a.h5", 1)
    tool("submit", "pfs/a.h5", "--bw", "0", "--wait")
    plain("pfs/a.h5", 1)


def main(which):
    if not os.path.exists(built("bin", "h5bento")):
        raise Skip("the program h5bento is not built")
    try:
        parts = {"deaths": deaths, "lost": lost, "two_caches": two_caches, "evicting": evicting, "modes": modes, "refused": refused, "full": full, "full_finish": full_finish, "restarts": restarts}
        parts[which]()
    finally:
        end_all()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=1)
