#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of a file in a cache when people handle its final name meanwhile: folders that are copied and renamed, other
files under the name, names by way of a link, long names.

    cache_names.py copied | renamed | replaced | links | long_name | recreated | slow_start | ending | index | failing
"""

import glob
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

from cache import PROGRAM, WORLD, alone, arrived, cached, daemon_pid, end_all, end_daemon, environment, fresh, holds, lives, plain, program, settings, state, tool, wait_for
from harness import Skip, built, check, check_is, mpirun, native_env, python, run, run_test, some

DIRECT = "bento chunk=1M"
DELETE = """
import ctypes, sys
import h5py
name = next(line.split()[-1] for line in open("/proc/self/maps") if "libhdf5.so" in line)
hdf5 = ctypes.CDLL(name)
hdf5.H5Fdelete.argtypes = [ctypes.c_char_p, ctypes.c_int64]
sys.exit(hdf5.H5Fdelete(sys.argv[1].encode(), 0) < 0)
"""


def failed(path):
    """What the status says when the job for this name has failed for good."""
    end_daemon()
    result = tool("run", "--until-done", ok=None)
    check_is(state(path), "failed", f"{path}: {result.text}")
    return tool("status", ok=None).text


def copied():
    """A copy of the folder, note and all: nobody reaches the original's state from there."""
    for action in ("create", "delete"):
        fresh()
        os.makedirs("pfs/run")
        program(1, settings(flush="off"), "pfs/run/a.h5", "create=1", "close")
        run(["cp", "-a", "pfs/run", "pfs/backup"], native_env())
        for what in ("check=1", "append"):
            refused = program(1, "bento", "pfs/backup/a.h5", what, ok=None)
            check(refused.status != 0 and "is a copy of one" in refused.text and "pfs/run/a.h5" in refused.text, refused.text)
        if action == "create":
            program(1, DIRECT, "pfs/backup/a.h5", "create=2", "close")
            holds("pfs/backup/a.h5", 2)
            plain("pfs/backup/a.h5", 2)
        else:
            alone(DELETE, environment("bento"), "pfs/backup/a.h5", ok=None)
            check(not glob.glob("pfs/backup/.h5bento-*"), f"{os.listdir('pfs/backup')}")
            program(1, settings(flush="off"), "pfs/backup/a.h5", "create=3", "close")
            holds("pfs/backup/a.h5", 3)
            check(len(cached()) == 2, f"{cached()}")
        holds("pfs/run/a.h5", 1)
        tool("submit", "pfs/run/a.h5", "--wait")
        plain("pfs/run/a.h5", 1)


def renamed():
    """The folder gets another name while the file is on its way, and a new one gets its name."""
    fresh()
    os.makedirs("pfs/run")
    program(1, settings(flush="off"), "pfs/run/a.h5", "create=1", "close")
    os.rename("pfs/run", "pfs/old")
    holds("pfs/old/a.h5", 1)
    os.makedirs("pfs/run")
    for value in (2, 3):
        program(1, settings(flush="off"), "pfs/run/a.h5", f"create={value}", "close")
        check(len(cached()) == 2, f"the older one went, or another stayed: {cached()}")
    holds("pfs/old/a.h5", 1)
    holds("pfs/run/a.h5", 3)
    tool("submit", "pfs/run/a.h5", "--wait")
    tool("submit", "pfs/old/a.h5", "--wait")
    plain("pfs/run/a.h5", 3)
    plain("pfs/old/a.h5", 1)
    end_daemon()
    check(not cached() and not glob.glob("pfs/*/.h5bento-*.cache"), f"left: {cached()} {glob.glob('pfs/*/.h5*')}")
    # Submitted before the folder is renamed: it is not made again, and the job says what to do.
    shutil.rmtree("pfs/run")
    os.makedirs("pfs/run")
    program(1, settings(flush="off"), "pfs/run/b.h5", "create=4", "close")
    tool("submit", "pfs/run/b.h5", "--no-start")
    os.rename("pfs/run", "pfs/moved")
    text = failed("pfs/run/b.h5")
    check("was renamed" in text and "transfer submit" in text and not os.path.exists("pfs/run"), text)
    tool("cancel", os.path.abspath("pfs/run/b.h5"), ok=None)
    tool("submit", "pfs/moved/b.h5", "--wait")
    plain("pfs/moved/b.h5", 4)
    holds("pfs/moved/b.h5", 4)


def replaced():
    """What something else put under the name after the close is not lost."""
    fresh()
    program(1, DIRECT, "pfs/a.h5", "create=1", "close")
    program(1, settings(flush="off"), "pfs/a.h5", "create=2", "close")
    tool("submit", "pfs/a.h5", "--no-start")
    program(1, DIRECT, "other.h5", "create=3", "close")
    os.rename("other.h5", "pfs/a.h5")
    text = failed("pfs/a.h5")
    check("not replaced" in text and "transfer submit" in text, text)
    plain("pfs/a.h5", 3)
    holds("pfs/a.h5", 2)
    # Asked for by name, it is.
    tool("submit", "pfs/a.h5", "--wait")
    plain("pfs/a.h5", 2)
    arrived("pfs/a.h5")
    # A file that was removed, or an old one that nobody touched, is in nobody's way.
    program(1, settings(flush="off"), "pfs/a.h5", "create=4", "close")
    os.remove("pfs/a.h5")
    end_daemon()
    tool("submit", "pfs/a.h5", "--no-start")
    tool("run", "--until-done")
    plain("pfs/a.h5", 4)


def links():
    """One job for each destination, by whatever name of its folder: what was submitted later wins."""
    fresh()
    os.symlink("pfs", "link")
    for value in (1, 2):
        os.makedirs(f"s{value}")
        program(1, DIRECT, f"s{value}/x.h5", f"create={value}", "close")
    tool("submit", "s1/x.h5", "pfs/x.h5", "--no-start")
    tool("submit", "s2/x.h5", "link/x.h5", "--no-start")
    check(tool("status", "--json").out.count('"destination"') == 1, "two jobs for one name")
    tool("run", "--until-done")
    plain("pfs/x.h5", 2)


def long_name():
    """A cache that fills up needs a second name beside the file's, which may be as long as a name can be."""
    fresh()
    os.makedirs("small")
    name = "pfs/" + "n" * 252 + ".h5"
    check(len(os.path.basename(name)) == 255, "the longest name")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "small"], capture_output=True).returncode != 0:
        raise Skip("no right to mount")
    try:
        program(1, settings("small"), name, "create=5", "close")
        holds(name, 5)
        plain(name, 5)
        check(not cached("small"), f"left: {cached('small')}")
    finally:
        run(["umount", "small"], native_env())


def recreated():
    """Without a daemon, too, an older copy goes when a newer one is closed."""
    fresh()
    for value in (1, 2, 3):
        program(1, settings(flush="off"), "pfs/a.h5", f"create={value}", "close")
        check(len(cached()) == 1, f"{cached()}")
    holds("pfs/a.h5", 3)
    tool("submit", "pfs/a.h5", "--wait")
    arrived("pfs/a.h5")
    check(not cached(), f"{cached()}")
    natively()
    by_tools()


NATIVE = WORLD + """
import sys, h5py
if sys.argv[2] == "block":
    how["userblock_size"] = 512
elif sys.argv[2] == "split":
    how["driver"] = "split"
else:
    how.update(driver="core", backing_store=sys.argv[2] == "core")
with h5py.File(sys.argv[1], "w", **how) as f:
    f["native"] = 5
"""


def natively():
    """So it goes when HDF5 itself creates a file of that name, a member of a split file among them; not when the core driver only
    keeps one in memory, or a driver makes files of other names."""
    fresh()
    for ranks, how in ((1, "block"), (2, "block"), (1, "core"), (1, "memory"), (1, "split"), (1, "member")):
        path = f"pfs/{how}{ranks}.h5"
        program(1, settings(flush="off"), f"{path}-m.h5" if how == "member" else path, "create=1", "close")
        words = [path, "split" if how == "member" else how]
        env = environment("bento")
        mpirun(ranks, [python(), "-c", NATIVE, *words], env) if ranks > 1 else alone(NATIVE, env, *words)
        if how in ("memory", "split"):
            holds(path, 1)
            continue
        if how == "member":
            continue
        for string in (native_env(), env):
            alone("import h5py, sys; assert list(h5py.File(sys.argv[1])) == ['native']", string, path)
    check(len(cached()) == 2, f"{cached()}")


def by_tools():
    """So it goes when a tool replaces the file. Without --force the tool says that there is a newer state; and it copies no older one
    in the place of the file, over which the newer one could not arrive."""
    fresh()
    program(1, DIRECT, "source.h5", "create=7", "close")
    alone(PROGRAM, native_env(), "native.h5", "create=7", "close")
    for command, source in (("defrag", "source.h5"), ("import", "native.h5"), ("export", "source.h5")):
        path = f"pfs/{command}.h5"
        program(1, settings(flush="off"), path, "create=1", "close")
        refused = run([built("bin", "h5bento"), command, source, path], native_env(), ok=None)
        check(refused.status != 0 and "its newest state is in a cache" in refused.text, refused.text)
        holds(path, 1)
        run([built("bin", "h5bento"), command, "--force", source, path], native_env())
        holds(path, 7)
        plain(path, 7)
    check(not cached(), f"{cached()}")

    program(1, DIRECT, "pfs/old.h5", "create=1", "close")
    program(1, settings(flush="off"), "pfs/old.h5", "create=2", "close")
    refused = run([built("bin", "h5bento"), "defrag", "pfs/old.h5"], native_env(), ok=None)
    check(refused.status != 0 and "has not arrived" in refused.text, refused.text)
    tool("submit", "pfs/old.h5", "--wait")
    arrived("pfs/old.h5")
    plain("pfs/old.h5", 2)


def slow_start():
    """A daemon may need seconds to start; one that ends at once is told of at once."""
    fresh()
    for name, line in (("slow", f"sleep 4; exec {built('bin', 'h5bento')} \"$@\""), ("dead", "exit 3")):
        with open(name, "w") as file:
            file.write(f"#!/bin/sh\n{line}\n")
        os.chmod(name, stat.S_IRWXU)
    env = dict(environment(settings()), H5BENTO_PROGRAM=os.path.abspath("dead"))
    command = [python(), "-c", PROGRAM]
    begin = time.monotonic()
    result = run([*command, "pfs/dead.h5", "create=1", "close"], env, ok=None)
    check("did not start" in result.text and time.monotonic() - begin < 15, result.text)
    env["H5BENTO_PROGRAM"] = os.path.abspath("slow")
    run([*command, "pfs/slow.h5", "create=2", "close"], env)
    check(lives(daemon_pid()), "no daemon")
    wait_for("slow.h5 has arrived", lambda: state("pfs/slow.h5") == "arrived")
    plain("pfs/slow.h5", 2)


def ending():
    """What is submitted while a daemon ends is brought by the next one."""
    fresh()
    # Either signal, from at once to long after.
    for turn in some(4, (0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11)):
        path = f"pfs/e{turn}.h5"
        program(1, DIRECT, "s.h5", f"create={turn}", "close")
        program(1, settings(flush="off"), path, f"create={turn}", "close")
        tool("submit", "s.h5", f"pfs/first{turn}.h5")
        wait_for("a daemon", lambda: lives(daemon_pid()))
        os.kill(daemon_pid(), (signal.SIGTERM, signal.SIGHUP)[turn % 2])
        time.sleep(0.01 * turn)
        tool("submit", path)
        wait_for(f"{path} has arrived", lambda: os.path.exists(path), 20)
        plain(path, turn)


def index():
    """A file that arrives again under its name is recorded once for SCR."""
    fresh()
    for value in (1, 2, 3):
        program(1, settings(), "pfs/a.h5", f"create={value}", "close")
        arrived("pfs/a.h5")
    program(1, settings(), "pfs/b.h5", "create=4", "close")
    arrived("pfs/b.h5")
    check(sorted(os.listdir("pfs/.scr")) == ["index.scr", "scr.dataset.3", "scr.dataset.4"], f"{os.listdir('pfs/.scr')}")
    text = run([built("bin", "h5bento"), "transfer", "show", "pfs/.scr/index.scr"], native_env()).out
    check(text.count("CREATED") == 2 and "a.h5" in text and "b.h5" in text, text)


def failing():
    """A create or a delete that fails drops nothing of what has not arrived."""
    fresh()
    for old in (True, False):
        path = f"pfs/x{old}.h5"
        if old:
            program(1, DIRECT, path, "create=1", "close")
        program(1, settings(flush="off"), path, "create=2", "close")
        exclusive = f"import h5py; h5py.File('{path}', 'x')"
        for string in (DIRECT, settings(flush="off")):
            refused = run([python(), "-c", exclusive], environment(string), ok=None)
            check(refused.status != 0 and "exist" in refused.text.lower(), refused.text)
        holds(path, 2)
    # The old file is open in a program on stock HDF5: it can be neither created over nor deleted.
    path = "pfs/xTrue.h5"
    hold = f"import h5py, time; f = h5py.File('{path}', 'r+'); open('held', 'w').close(); time.sleep(60)"
    holder = subprocess.Popen([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", hold], env=native_env())
    try:
        wait_for("it is held", lambda: os.path.exists("held") or holder.poll() is not None)
        check(program(1, DIRECT, path, "create=3", ok=None).status != 0, "created over an open file")
        holds(path, 2)
        check(run([python(), "-c", DELETE, path], environment("bento"), ok=None).status == 1, "deleted an open file")
        holds(path, 2)
    finally:
        holder.kill()
        holder.wait()
    for path in ("pfs/xTrue.h5", "pfs/xFalse.h5"):
        run([python(), "-c", DELETE, path], environment("bento"))
        check(not os.path.exists(path), f"{path} is there")
    check(not cached() and not glob.glob("pfs/.h5bento-*"), f"left: {cached()} {os.listdir('pfs')}")
    program(1, DIRECT, "pfs/last.h5", "create=4", "close")


def main(which):
    if not os.path.exists(built("bin", "h5bento")):
        raise Skip("the program h5bento is not built")
    try:
        globals()[which]()
    finally:
        end_all()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=1)
