#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose cache (cache=) is another folder on each node, with the real daemons behind them.

    node_caches.py arrive | states | deaths | full | full_deaths | files | refused

A node is a mount namespace here, in which the folder `c` is that node's own.
"""

import glob
import os
import re
import signal
import subprocess
import sys
import time

from forked_programs import Forked
from harness import Skip, bento_env, built, check, mpirun, native_env, python, run, run_test, some

# Takes this rank to its node.
TO_NODE = """
import ctypes, os, sys
nodes, dealt = int(sys.argv[1]), sys.argv[2]
rank, ranks = (int(os.environ.get(key, value)) for key, value in (("OMPI_COMM_WORLD_RANK", 0), ("OMPI_COMM_WORLD_SIZE", 1)))
if "PMI_RANK" in os.environ:
    rank, ranks = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
node = rank % nodes if dealt == "cyclic" else rank * nodes // ranks
if dealt.isdigit():
    node = int(dealt)
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18
def must(status):
    if status != 0:
        print("no namespace:", os.strerror(ctypes.get_errno()), file=sys.stderr)
        sys.exit(99)
must(libc.unshare(CLONE_NEWNS))
must(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
must(libc.mount(os.path.abspath(f"n{node}").encode(), os.path.abspath("c").encode(), None, MS_BIND, None))
del sys.argv[1:3]
"""
ON_NODE = TO_NODE + "os.execvp(sys.argv[1], sys.argv[1:])"

# What each rank does, in order. One program writes several files, or one anew: `on=RANKS` says which ranks do, in which order,
# and `with=SETTINGS` sets the variables of h5bento that hold from there on.
PROGRAM = """
import os, signal, sys, time, h5py, numpy as np
from mpi4py import MPI
comm, path, f, variables = MPI.COMM_WORLD, sys.argv[1], None, []
def failed(*error):
    # If it alone has failed, the others are somewhere else, and would wait for it in MPI's end.
    sys.__excepthook__(*error)
    signal.alarm(3)
sys.excepthook = failed
N = 30000
def chosen(ranks):
    world = MPI.COMM_WORLD
    takes_part = world.rank in ranks
    made = world.Split(0 if takes_part else MPI.UNDEFINED, ranks.index(world.rank) if takes_part else 0)
    return made if takes_part else None
def values(v, rank):
    return np.random.default_rng(1000 * v + rank).random(N) * (v != 0)
def squeezed(v, rank):
    return (np.arange(N, dtype="i4") // 7) * v + rank
mine = slice(N * comm.rank, N * (comm.rank + 1))
for action in sys.argv[2:]:
    what, _, value = action.partition("=")
    if what == "on":
        comm = chosen([int(rank) for rank in value.split(",")])
        mine = comm and slice(N * comm.rank, N * (comm.rank + 1))
    elif comm is None:
        continue
    elif what == "path":
        path = value
    elif what == "with":
        for name in variables:
            del os.environ[name]
        pairs = [pair.split("=") for pair in value.split(";") if pair]
        variables = ["H5BENTO_" + key.upper() for key, _ in pairs]
        os.environ.update(zip(variables, (held for _, held in pairs)))
    elif what == "create":
        f = h5py.File(path, "w", driver="mpio", comm=comm)
    elif what == "step":
        v = int(value)
        g = f.create_group(f"s{v}")
        g.attrs["v"] = v
        x = g.create_dataset("x", N * comm.size, "f8")
        z = g.create_dataset("z", N * comm.size, "i4", chunks=(N,), compression="gzip")
        g["small"] = np.arange(10) + v
        x[mine] = values(v, comm.rank)
        with z.collective:
            z[mine] = squeezed(v, comm.rank)
    elif what == "own":
        step, _, held = value.partition(":")
        g = f[f"s{step}"]
        assert np.array_equal(g["x"][mine], values(int(held or step), comm.rank)), "own values"
        assert np.array_equal(g["z"][mine], squeezed(int(step), comm.rank)), "own compressed values"
    elif what == "others":
        other = (comm.rank + comm.size // 2) % comm.size
        try:
            f[f"s{value}/x"][N * other : N * (other + 1)]
            print("read what is not here")
        except OSError as error:
            os.write(1, f"refused: {error}\\n".encode())
    elif what == "overwrite":
        for s in f:
            f[s]["x"][mine] = values(int(value), comm.rank)
    elif what == "flush":
        f.flush()
    elif what == "close":
        f.close()
    elif what == "die":
        comm.Barrier()
        time.sleep(0.1)
        os.kill(os.getpid(), 9)
"""

# Starts programs of one process that have the same environment again and again.
FORKED = Forked()

# Reads it as anybody does. Expected: what x holds in each step, of so many ranks.
READ = """
import sys, h5py, numpy as np
path, ranks, steps = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
N = 30000
with h5py.File(path, "r") as f:
    assert sorted(set(f) - {".h5bento"}) == sorted("s" + one.split(":")[0] for one in steps), list(f)
    for one in steps:
        step, held = (int(part) for part in one.split(":"))
        g = f[f"s{step}"]
        assert g.attrs["v"] == step and np.array_equal(g["small"][:], np.arange(10) + step)
        x, z = g["x"][:], g["z"][:]
        for rank in range(ranks):
            mine = slice(N * rank, N * (rank + 1))
            assert np.array_equal(x[mine], np.random.default_rng(1000 * held + rank).random(N) * (held != 0)), (step, rank)
            assert np.array_equal(z[mine], (np.arange(N) // 7) * step + rank), (step, rank, "z")
"""


def environment(string):
    return bento_env(string=string, H5BENTO_TRANSFER_FILE=os.path.abspath("t"))


def keys_of(cache="c", **keys):
    return ";".join([f"chunk=1M;cache={os.path.abspath(cache)}", *(f"{key}={value}" for key, value in keys.items())])


def settings(**keys):
    return f"bento {keys_of(**keys)}"


def on_node(nodes, dealt):
    return [python(), "-c", ON_NODE, str(nodes), dealt]


def program(ranks, nodes, string, path, *actions, dealt="block", ok=(0,), timeout=60):
    command = [python(), "-c", TO_NODE + PROGRAM, str(nodes), dealt, path, *actions]
    return mpirun(ranks, command, environment(string), ok=ok, timeout=timeout)


def tool_on(node, *arguments, ok=(0,), file="t"):
    command = [*on_node(1, str(node)), built("bin", "h5bento"), "transfer", *arguments, "--file", os.path.abspath(file)]
    return run(command, native_env(), ok=ok)


def holds(path, ranks, *steps):
    """On stock HDF5, the wheel's, without any plugin; and through the connector."""
    stock_reads(path, ranks, *steps)
    FORKED.run(READ, [path, ranks, *steps], environment("bento verify=all"))
    run([built("bin", "h5bento"), "verify", path], native_env())


def stock_reads(path, ranks, *steps):
    FORKED.run(READ, [path, ranks, *steps], native_env(), os.environ["H5BENTO_PYTHON_NATIVE"])


def wait_for(what, condition, seconds=40):
    until = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < until, f"after {seconds} s: not {what}; {logs()}")
        time.sleep(0.02)


def logs():
    return "; ".join(open(name).read() for name in glob.glob("*.log") + glob.glob("n?/*.log"))


def left(path="pfs"):
    return glob.glob(f"{path}/.h5bento-*") + glob.glob("n?/h5bento-*")


def arrived(path):
    wait_for(f"{path} has arrived, and nothing is left: {left()}", lambda: os.path.exists(path) and not left())


def daemons():
    pids = []
    for name in glob.glob("*.daemon") + glob.glob("n?/*.daemon"):
        with open(name) as file:
            pid = int(file.read() or 0)
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"transfer\0run" in file.read():  # the program's name may be /proc/self/exe
                    pids.append(pid)
        except OSError:
            pass
    return pids


def end_daemons(how=signal.SIGTERM):
    pids = daemons()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, how)
    wait_for("the daemons have ended", lambda: not daemons())
    return pids


def fresh(nodes=3):
    end_daemons()
    run(["rm", "-rf", "pfs", "c", *glob.glob("t*"), *glob.glob("n?")], native_env())
    for folder in ("pfs", "c", *(f"n{node}" for node in range(nodes))):
        os.makedirs(folder)


# ---- what arrives ----


def order(ranks, nodes, dealt):
    """The ranks of a program that is dealt in blocks, in an order that deals them as it is said."""
    node = [rank * nodes // ranks for rank in range(ranks)]
    of_node = [[rank for rank in range(ranks) if node[rank] == one] for one in range(nodes)]
    if dealt == "cyclic":
        check(ranks % nodes == 0, "nodes with as many ranks each")
        return ",".join(str(of_node[rank % nodes][rank // nodes]) for rank in range(ranks))
    return ",".join(str(rank) for one in of_node for rank in one)


def arrive():
    ways = (
        (4, 2, "block", {}),
        (5, 3, "block", {"files": "node", "checksum": "md5", "durability": "power"}),
        (4, 2, "cyclic", {"flush": "sync", "arrive": "onefile", "files": 2}),
        (4, 2, "cyclic", {"files": 2}),
        (3, 3, "cyclic", {"flush": "sync", "arrive": "onefile"}),
    )
    fresh()
    # Programs of as many ranks on as many nodes are one program, which writes one file after the other.
    programs = {}
    paths = []
    for number, (ranks, nodes, dealt, keys) in enumerate(some(3, ways)):
        paths.append((f"pfs/a{number}.h5", ranks, nodes, keys))
        actions = ("create", "step=1", "own=1", "flush", "own=1", "step=2", "overwrite=7", "flush", "step=3", "close")
        programs.setdefault((ranks, nodes), []).extend(
            [f"on={order(ranks, nodes, dealt)}", f"path={paths[-1][0]}", f"with={keys_of(**keys)}", *actions]
        )
    # As an ordinary HDF5 file, of which nothing in it tells.
    native = f"with={keys_of(arrive='native', files='node')}"
    programs[4, 2] += ["on=0,1,2,3", "path=pfs/n.h5", native, "create", "step=1", "flush", "step=2", "close"]
    # One folder that all nodes see is one cache.
    programs[4, 2] += ["path=pfs/b.h5", f"with={keys_of('shared', files='node')}", "create", "step=1", "close"]
    for (ranks, nodes), actions in programs.items():
        program(ranks, nodes, "bento", "none", *actions)
    for path, _, nodes, keys in paths:
        arrived(path)
        files = 1 if "arrive" in keys else {"node": nodes}.get(keys.get("files"), keys.get("files", 1))
        check(len(glob.glob(path + "*")) == files, f"{glob.glob(path + '*')}")
    for path in ("pfs/n.h5", "pfs/b.h5"):
        arrived(path)
    for path, ranks, _, _ in paths:
        holds(path, ranks, "1:7", "2:7", "3:3")
    holds("pfs/b.h5", 4, "1:1")
    stock_reads("pfs/n.h5", 4, "1:1", "2:2")
    check(glob.glob("pfs/n.h5*") == ["pfs/n.h5"], f"{glob.glob('pfs/*')}")
    # They are containers as any other: a program goes on with them.
    further = [word for path, _, _, _ in paths for word in (f"path={path}", "create", "close")]
    mpirun(2, [python(), "-c", PROGRAM.replace('"w"', '"r+"'), "none", *further], environment("bento"))
    for path, ranks, _, _ in paths:
        holds(path, ranks, "1:7", "2:7", "3:3")


def states():
    """What is found before it has arrived."""
    fresh()
    path = "pfs/a.h5"
    older = ("with=chunk=1M", "create", "step=9", "close")
    result = program(4, 2, "bento", path, *older, f"with={keys_of(bw='64K')}", "create", "step=1", "flush", "others=1", "close")
    refused = re.findall(r"refused: .*", result.out)
    check(len(refused) == 4 and "read what is not here" not in result.out, f"{result.out!r} {result.err!r}")
    check(all("another node" in line for line in refused), result.out)
    # The older file stays; h5bento knows of the newer one, on each node and elsewhere.
    result = run([built("bin", "h5bento"), "info", path], native_env())
    check("has not arrived" in result.err, result.err)
    stock_reads(path, 4, "9:9")
    for node in (0, 1):
        command = [*on_node(1, str(node)), python(), "-c", READ, path, "4", "1:1"]
        result = run(command, environment("bento"), ok=None)
        check(result.status != 0 and "caches of 2 nodes" in result.err, result.err)
    result = program(2, 2, "bento", path, "create", "step=3", "close", ok=None)
    check(result.status == 0, "created anew, directly: " + result.err)
    time.sleep(3)
    holds(path, 2, "3:3")
    check(not glob.glob("pfs/.h5bento-*.cache"), f"{left()}")
    # Written anew while the one before is on its way: that one does not arrive, and goes.
    fresh()
    before = (f"with={keys_of(bw='400K')}", "create", "step=1", "close")
    anew = (f"on={order(4, 2, 'cyclic')}", f"with={keys_of(bw=0)}", "create", "step=2", "step=4", "close")
    program(4, 2, "bento", path, *before, *anew)
    arrived(path)
    holds(path, 4, "2:2", "4:4")
    for node in some(1, ("1", "0")):
        fresh()
        before = (f"with={keys_of(bw='64K')}", "create", "step=1", "close")
        program(2, 2, "bento", path, *before, f"on={node}", f"with={keys_of(bw=0)}", "create", "step=5", "close")
        # The older share of the other node goes later: a note that it does not see may only be late.
        wait_for("it has arrived", lambda: os.path.exists(path) and not glob.glob("pfs/.h5bento-*"))
        holds(path, 1, "5:5")
    # A program that dies before it has committed anything takes nothing away.
    fresh()
    before = (f"with={keys_of(flush='off')}", "create", "step=1", "close")
    program(2, 2, "bento", path, *before, f"with={keys_of()}", "create", "step=6", "die", ok=None)
    tool_on(0, "submit", path)
    tool_on(1, "submit", path, file="c/t1")
    wait_for("it has arrived", lambda: os.path.exists(path) and not glob.glob("pfs/.h5bento-*"))
    holds(path, 2, "1:1")
    run(["rm", "-rf", *glob.glob("n?/h5bento-*")], native_env())  # what that program has left is not closed


def full():
    """Of two nodes one has hardly any room, or not enough."""
    path = "pfs/a.h5"
    for size, keys, expected in (
        ("200k", {}, "direct"),
        ("200k", {"cache_full": "fail"}, "create"),
        ("1m", {"cache_full": "fail"}, "write"),
        ("1m", {"flush": "sync"}, "beside"),
    ):
        fresh()
        run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", "n1"], native_env())
        try:
            actions = ("create", "step=1", "flush", "overwrite=8", "step=2", "own=2", "flush", "overwrite=7", "flush", "own=2:7", "overwrite=0", "close")
            result = program(4, 2, settings(**keys), path, *actions, ok=None)
            if expected in ("direct", "beside"):
                check(result.status == 0 and result.err.count("the cache") == 1 and "written directly" in result.err, result.err)
                arrived(path)
                holds(path, 4, "1:0", "2:0")
            else:
                check(result.status != 0 and ("full" in result.err or "No space left" in result.err), result.err)
                check(not os.path.exists(path), "half a file")
                if expected == "create":
                    check(not left(), f"left: {left()}")
                # There is room again.
                program(2, 2, "bento chunk=1M", path, "create", "step=5", "close")
                holds(path, 2, "5:5")
        finally:
            end_daemons()
            run(["umount", "n1"], native_env())


def full_deaths():
    """The same; daemons die while they bring what is in the cache and what is not, and the program after a commit."""
    path = "pfs/a.h5"
    fresh()
    run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "n1"], native_env())
    try:
        actions = ("create", "step=1", "flush", "overwrite=8", "step=2", "flush", "overwrite=7", "flush", "overwrite=0")
        program(4, 2, settings(arrive="native", files=2), path, *actions, "close")
        arrived(path)
        run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", READ, path, "4", "1:0", "2:0"], native_env())
        os.remove(path)
        for ending in (("flush", "close"), ("flush", "step=3", "die")):
            program(4, 2, settings(bw="300K"), path, *actions, *ending, ok=None)
            if ending[-1] == "die":
                tool_on(0, "submit", path)
                tool_on(1, "submit", path, file="c/t1")
            for _ in range(3):
                time.sleep(0.7)
                check(not os.path.exists(path), "too fast to show anything")
                end_daemons(signal.SIGKILL)
                for node, file in ((0, "t"), (1, "c/t1" if ending[-1] == "die" else "c/transfer-0.scrinfo")):
                    command = [*on_node(1, str(node)), built("bin", "h5bento"), "transfer", "run", "--until-done", "--file", os.path.abspath(file)]
                    subprocess.Popen(command, env=native_env(), start_new_session=True)
            wait_for(f"{path} has arrived", lambda: os.path.exists(path) and not left(), 60)
            holds(path, 4, "1:0", "2:0")
            os.remove(path)
        # What lies beside the name is missed, and not taken for what the cache has.
        program(4, 2, settings(flush="off"), path, *actions, "close")
        beside = glob.glob("pfs/.h5bento-*.spill-*-1")
        check(len(beside) == 1, f"{left()}")
        os.rename(beside[0], "away")
        tool_on(0, "submit", path)
        tool_on(1, "submit", path, file="c/t1")
        wait_for("it is missed", lambda: "spill" in tool_on(1, "status", file="c/t1", ok=None).text)
        check(not os.path.exists(path), "it arrived all the same")
        os.rename("away", beside[0])
        end_daemons()
        tool_on(0, "submit", path)
        tool_on(1, "submit", path, file="c/t1")
        wait_for(f"{path} has arrived", lambda: os.path.exists(path) and not left(), 60)
        holds(path, 4, "1:0", "2:0")
    finally:
        end_daemons()
        run(["umount", "n1"], native_env())


def files():
    """files=node without a cache: the nodes are those that the operating system tells apart."""
    for nodes, ranks in ((1, 2), (2, 4), (3, 4)):
        path = f"a{nodes}.h5"
        env = bento_env(string="bento chunk=1M;files=node", H5BENTO_TEST_NODES=str(nodes))
        mpirun(ranks, [python(), "-c", PROGRAM, path, "create", "step=1", "close"], env)
        check(len(glob.glob(path + "*")) == nodes, f"{glob.glob(path + '*')}")
        holds(path, ranks, "1:1")


def deaths():
    """Daemons and the program are killed."""
    path = "pfs/a.h5"
    for round in range(3):
        fresh()
        program(4, 2, settings(bw="250K", files=1 + round % 2), path, "create", "step=1", "flush", "step=2", "close")
        for _ in range(3):
            time.sleep(0.7)
            check(not os.path.exists(path), "too fast to show anything")
            end_daemons(signal.SIGKILL)
            for node, file in ((0, "t"), (1, "c/transfer-0.scrinfo")):
                command = [*on_node(1, str(node)), built("bin", "h5bento"), "transfer", "run", "--until-done", "--file", os.path.abspath(file)]
                subprocess.Popen(command, env=native_env(), start_new_session=True)
        wait_for(f"{path} has arrived", lambda: os.path.exists(path) and not left(), 60)
        holds(path, 4, "1:1", "2:2")
    # The program dies after a flush: what it had committed arrives when somebody submits it.
    fresh()
    program(4, 2, settings(), path, "create", "step=1", "flush", "step=2", "die", ok=None)
    check(not os.path.exists(path), "it arrived by itself")
    tool_on(0, "submit", path)
    time.sleep(1.5)
    check(not os.path.exists(path), "with one share of two")
    tool_on(1, "submit", path, file="c/t1")
    arrived(path)
    run([os.environ["H5BENTO_PYTHON"], "-c", READ, path, "4", "1:1"], environment("bento verify=all"))


def refused():
    path = "pfs/a.h5"
    fresh()
    for keys, word in (({"view": "commit"}, "view=commit"),):
        result = program(4, 2, settings(**keys), path, "create", "close", ok=None)
        check(result.status != 0 and word in result.err and "another folder on each node" in result.err, result.err)
        check(not left() and not os.path.exists(path), f"left: {left()}")


def main(which):
    if not os.path.exists(built("bin", "h5bento")):
        raise Skip("the program h5bento is not built")
    fresh()
    if run([*on_node(1, "0"), "true"], native_env(), ok=None).status == 99:
        raise Skip("no mount namespaces for this user")
    try:
        {"arrive": arrive, "states": states, "deaths": deaths, "refused": refused, "full": full, "full_deaths": full_deaths, "files": files}[which]()
    finally:
        FORKED.__exit__()
        end_daemons()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=0 if sys.argv[1] == "refused" else 1)
