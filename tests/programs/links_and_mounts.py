#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Calls that begin in one file and end in another one, through external links and mounts: what is copied, created and
flushed there, and who may write it. (external_links.py has what lies behind links itself.)

    links_and_mounts.py                          the test
    [mpirun ...] links_and_mounts.py --run NAME  one of its programs
"""

import os
import signal
import sys

ORDINARY = {"userblock_size": 512}  # which the connector leaves to HDF5


def chain():
    """From a container to an ordinary file, and from there to a container: by ids of the ordinary file."""
    import h5py
    import numpy as np
    from h5py import h5d, h5s, h5t

    with h5py.File("end.h5", "w") as file:
        file["d"] = np.arange(5) + 10
        file["g/e"] = np.arange(3) + 20.5
        file["old"] = np.arange(4) + 70
    with h5py.File("middle.h5", "w", **ORDINARY) as file:
        file["end"] = h5py.ExternalLink("end.h5", "/")
    with h5py.File("begin.h5", "w") as file:
        file["middle"] = h5py.ExternalLink("middle.h5", "/")
    with h5py.File("begin.h5", "r+") as file:
        middle = file["middle"]
        middle.copy("end/d", "copied")
        middle.copy("end/g", "group")
        del middle["end/old"]
        h5d.create(middle.id, b"end/new", h5t.NATIVE_INT64, h5s.create_simple((4,)))
        del middle
    with h5py.File("middle.h5", "r") as file:
        assert file["copied"][...].tolist() == [10, 11, 12, 13, 14]
        assert file["group/e"][...].tolist() == [20.5, 21.5, 22.5]
    with h5py.File("end.h5", "r") as file:
        assert file["new"][...].tolist() == [0] * 4, "values of the dataset that was deleted"
    print("right")


def mounted():
    """A flush of the parent commits what is mounted on it: a process is killed after it."""
    import h5py
    import numpy as np
    from h5py import h5f

    for parent in ("container", "ordinary"):
        for scope, kept in ((h5f.SCOPE_GLOBAL, 100), (h5f.SCOPE_LOCAL, 0)):
            child = os.fork()
            if child == 0:
                with h5py.File("parent.h5", "w", **(ORDINARY if parent == "ordinary" else {})) as file:
                    file.create_group("m")
                with h5py.File("mounted.h5", "w") as file:
                    file["d"] = np.arange(5)
                file, below = h5py.File("parent.h5", "r+"), h5py.File("mounted.h5", "r+")
                h5f.mount(file.id, b"m", below.id)
                file["m/d"][0] = 100
                h5f.flush(file.id, scope)
                if scope == h5f.SCOPE_LOCAL:
                    h5f.unmount(file.id, b"m")
                    h5f.flush(file.id, h5f.SCOPE_GLOBAL)
                os.kill(os.getpid(), signal.SIGKILL)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
            with h5py.File("mounted.h5", "r") as file:
                assert file["d"][0] == kept, (parent, scope, file["d"][...])
    print("right")


def mounted_upward():
    """A flush of any of the files that are mounted on each other commits all of them, as natively."""
    import h5py
    import numpy as np
    from h5py import h5f

    for kinds in ("ccc", "oco", "coc"):
        for flushed in ("abc"):
            child = os.fork()
            if child == 0:
                for name, kind in zip("abc", kinds):
                    with h5py.File(f"up_{name}.h5", "w", **(ORDINARY if kind == "o" else {})) as file:
                        file["d"] = np.arange(5)
                        file.create_group("m")
                files = {name: h5py.File(f"up_{name}.h5", "r+") for name in "abc"}
                h5f.mount(files["a"].id, b"m", files["b"].id)
                h5f.mount(files["a"].id, b"m/m", files["c"].id)
                for path in ("d", "m/d", "m/m/d"):
                    files["a"][path][0] = 100
                h5f.flush(files[flushed].id, h5f.SCOPE_GLOBAL)
                os.kill(os.getpid(), signal.SIGKILL)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
            for name in "abc":
                with h5py.File(f"up_{name}.h5", "r") as file:
                    assert file["d"][0] == 100, (kinds, flushed, name, file["d"][...])
    print("right")


def mounted_copy():
    """H5Ocopy out of a mounted container: with what other ranks have not committed."""
    import h5py
    import numpy as np
    from h5py import h5f
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    files = {}
    for name in ("upper", "lower"):
        files[name] = h5py.File(f"{name}.h5", "w", driver="mpio", comm=comm)
    files["upper"].create_group("m")
    files["lower"].create_dataset("d", (comm.size,), "i4")[comm.rank] = comm.rank + 50
    h5f.mount(files["upper"].id, b"m", files["lower"].id)
    files["upper"].copy("m/d", "copy")
    found = files["upper"]["copy"][...].tolist()
    assert found == [50 + rank for rank in range(comm.size)], found
    h5f.unmount(files["upper"].id, b"m")
    for file in files.values():
        file.close()
    print("right")


def two_writers():
    """Two programs that write one ordinary file, each through a link of its own container: the second is refused."""
    import h5py

    with h5py.File("shared.h5", "w", **ORDINARY) as file:
        file.create_group("g")
    for name in "ab":
        with h5py.File(f"{name}.h5", "w") as file:
            file["shared"] = h5py.ExternalLink("shared.h5", "/g")
    first = h5py.File("a.h5", "r+")
    group = first["shared"]
    again = first["shared"]  # the same program may have it open as often as it likes
    again["by a"] = 1
    child = os.fork()
    if child == 0:
        try:
            with h5py.File("b.h5", "r+") as file:
                file["shared"]["by b"] = 2
        except Exception as error:
            os._exit(7 if isinstance(error, KeyError) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7, "the second program was not refused"
    del group, again
    first.close()
    with h5py.File("shared.h5", "r") as file:
        assert list(file["g"]) == ["by a"]
    print("right")


def linked_reader():
    """What the ranks read through a link cannot be opened for writing beside it: they would not see what is written."""
    import h5py
    from mpi4py import MPI

    comm = MPI.COMM_WORLD

    def opened(name, mode):
        return h5py.File(name, mode, driver="mpio", comm=comm)

    with opened("target.h5", "w") as file:
        file.create_dataset("d", (comm.size,), "i4")[comm.rank] = comm.rank
    with opened("links.h5", "w") as file:
        file["t"] = h5py.ExternalLink("target.h5", "/")
    with opened("links.h5", "r") as file:
        held = file["t"] if comm.rank == comm.size - 1 else None
        comm.barrier()
        try:
            opened("target.h5", "r+").close()
            assert False, "it was opened"
        except OSError as error:
            assert "open for reading already, through a link" in str(error), error
        del held
        comm.barrier()
        opened("target.h5", "r+").close()
    print("right")


def held():
    """Ranks change an ordinary file behind a link, and hold it open: everything that could have told them has failed."""
    import h5py
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.rank == 0:
        with h5py.File("ordinary.h5", "w", **ORDINARY) as file:
            file.create_dataset("c", (8,), "i4", chunks=(4,))
            file.create_group("g")
    with h5py.File("links.h5", "w", driver="mpio", comm=comm) as file:
        file["o"] = h5py.ExternalLink("ordinary.h5", "/")

    def fails(call):
        try:
            call()
        except Exception as error:
            return "cannot be changed through a link" in str(error)
        return False

    for change in ("data", "attribute", "group"):
        file = h5py.File("links.h5", "r+", driver="mpio", comm=comm)
        behind = file["o"]
        if change == "data":
            data = behind["c"]
            assert fails(lambda: data.__setitem__(comm.rank, 1)), "H5Dwrite"
        elif change == "attribute":
            behind["g"].attrs["a"] = 1
        else:
            behind.create_group("new")
        assert fails(file.flush), change
        file.close()
        behind = data = None
    comm.barrier()
    with h5py.File("ordinary.h5", "r") as file:
        assert not file["c"][...].any() and list(file) == ["c", "g"] and not file["g"].attrs
    print("right")


def changed_by_path():
    """The same by paths from the container, while an object behind the link is open until after the container."""
    import h5py
    from h5py import h5a, h5o, h5s, h5t
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    changes = {
        "attribute": lambda file: h5a.create(file.id, b"b", h5t.NATIVE_INT32, h5s.create(h5s.SCALAR), obj_name=b"o/g"),
        "deleted attribute": lambda file: h5a.delete(file.id, b"a", obj_name=b"o/g"),
        "soft link": lambda file: file.__setitem__("o/s", h5py.SoftLink("/g")),
        "deletion": lambda file: file.__delitem__("o/x"),
        "move": lambda file: file.move("o/x", "o/y"),
        "comment": lambda file: h5o.set_comment(file.id, b"text", obj_name=b"o/g"),
    }
    if comm.rank == 0:
        with h5py.File("by_path.h5", "w", **ORDINARY) as file:
            file.create_group("g").attrs["a"] = 1
            file.create_group("x")
        with open("by_path.h5", "rb") as file:
            before = file.read()
    with h5py.File("paths.h5", "w", driver="mpio", comm=comm) as file:
        file["o"] = h5py.ExternalLink("by_path.h5", "/")
    for name, change in changes.items():
        for end in ("flush", "close"):
            file = h5py.File("paths.h5", "r+", driver="mpio", comm=comm)
            behind = file["o/g"]
            change(file)
            try:
                getattr(file, end)()
                assert False, f"{name}: nobody was told by {end}"
            except RuntimeError as error:
                assert "cannot be changed through a link" in str(error), error
            if end == "flush":
                file.close()
            behind = None
    comm.barrier()
    if comm.rank == 0:
        with open("by_path.h5", "rb") as file:
            assert file.read() == before
    print("right")


def test():
    programs = ((chain, 1), (mounted, 1), (mounted_copy, 2), (two_writers, 1), (linked_reader, 2), (held, 2))
    programs += ((mounted_upward, 1), (changed_by_path, 2))
    for program, ranks in programs:
        command = [python(), "-B", os.path.abspath(__file__), "--run", program.__name__]
        env = bento_env()
        if program in (mounted, mounted_upward):
            env["HDF5_USE_FILE_LOCKING"] = "FALSE"  # a killed program leaves HDF5's own marks otherwise
        found = mpirun(ranks, command, env) if ranks > 1 else run(command, env)
        check(found.out.count("right") == ranks, found.tail())
        say(f"{program.__name__}: {' '.join(program.__doc__.split())}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        globals()[sys.argv[2]]()
        sys.exit(0)
    from harness import bento_env, check, mpirun, python, run, run_test, say

    names = ("parent", "mounted", "up_a", "up_b", "up_c")
    run_test(test, containers=12, unfinished={f"{name}.h5": "its writer is killed" for name in names})
