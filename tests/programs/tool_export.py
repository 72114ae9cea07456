#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""`h5bento export`: what comes out is an ordinary HDF5 file, equal to one that the same program wrote natively.

    tool_export.py objects    about everything that HDF5 can hold, after one and after two sessions
    tool_export.py chunks     datasets of very many chunks, and others of each layout behind them
    tool_export.py steps      each kept step of a file, written by 3 ranks, against a native file of that step
    tool_export.py parallel   decompositions, filters and several physical files; read by parallel stock HDF5
    tool_export.py fti        rank files of FTI 1.1 and 1.6, of plain and of compressed records
    tool_export.py refused    what cannot be exported, and what must not be written over
    tool_export.py killed     ended at random moments: nothing under the name
    tool_export.py full_disk  a clear error, and nothing under the name
"""

import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import HERE, SOURCE, bento_env, built, check, hdf5_tool, mpirun, native_env, python, run, run_test, say, some
from native_view import FOR_TOOLS, NAMES, both
from native_view_check import WITHOUT_VALUES, check_h5diff, check_h5dump, compare, stock_env, stock_python
from steps_run import environment, write_steps


SCRIPT = os.path.abspath(__file__)


def tool(*arguments, ok=(0,), env=None):
    return run([built("bin", "h5bento"), *arguments], env or native_env(), ok=ok)


def export(path, out, *options):
    answer = json.loads(tool("export", "--json", path, out, *options).out)
    check(answer["file"] == out and answer["bytes"] == os.path.getsize(out), f"{answer}, {os.path.getsize(out)} bytes")
    return answer


def stored_bytes(path):
    """What is not a hole."""
    data, at, size = b"", 0, os.path.getsize(path)
    with open(path, "rb", buffering=0) as file:
        while at < size:
            try:
                begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            check(at - begin < 1 << 30, f"{path}: {at - begin} bytes at {begin}")
            data += os.pread(file.fileno(), at - begin, begin)
    return data


def check_ordinary(path, virtual=0):
    """Nothing of ours in it, and no virtual dataset but those that the program made."""
    data = stored_bytes(path)
    check(data.startswith(b"\x89HDF\r\n\x1a\n"), f"{path} does not begin as an HDF5 file")
    check(b"h5bento" not in data.lower(), f"{path} names h5bento")
    script = (
        "import h5py, sys\nfound = []\n"
        "def visit(name, item):\n"
        "    if isinstance(item, h5py.Dataset) and item.is_virtual: found.append(name)\n"
        "with h5py.File(sys.argv[1]) as file: file.visititems(visit)\nprint(len(found))"
    )
    found = int(run([stock_python(), "-c", script, path], stock_env()).out)
    check(found == virtual, f"{path}: {found} virtual datasets, not {virtual}")


# ---- what comes out ----


def objects():
    for which, dumped in (("first", "other.h5"), ("second", "main.h5")):
        both(which, "latest")
        os.makedirs("exported", exist_ok=True)
        for name in NAMES:
            for link in glob.glob("native/*"):  # what external links and storage lead to
                if os.path.basename(link) not in NAMES:
                    shutil.copy(link, "exported")
            answer = export(f"view/{name}", f"exported/{name}", "--force")
            check(bool(answer["notes"]) == (name == "dangling.h5"), f"{name}: notes: {answer['notes']}")
        counts = compare([(f"native/{name}", f"exported/{name}") for name in NAMES])
        check(not counts.get("virtual in the view only"), f"virtual datasets were made: {counts}")
        check(counts["references"] > 90 and counts["of committed types"] > 10, f"too little was compared: {counts}")
        for name in FOR_TOOLS:
            check_h5diff(f"native/{name}", f"exported/{name}")
        lines = len(check_h5dump(f"native/{dumped}", f"exported/{dumped}", *WITHOUT_VALUES))
        say(f"{which} session: {counts}, h5diff equal, h5dump: {lines} equal lines")


MANY_CHUNKS = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as f:
    for i in range(2):
        f.create_dataset(f"many{i}", (60000, 4), "f8", chunks=(1, 4))[:] = np.arange(240000).reshape(60000, 4) + i
        f[f"contiguous{i}"] = np.arange(100) + i
        f.create_dataset(f"chunked{i}", (100, 8), "i4", chunks=(10, 8))[:] = np.arange(800).reshape(100, 8) + i
        f.create_dataset(f"filtered{i}", (100, 8), "i4", chunks=(10, 8), compression=4)[:] = 7 + i
"""
# What MANY_CHUNKS has written; natively, that alone takes two seconds.
SAME_VALUES = """
import h5py, numpy as np, sys
wanted = {}
for i in range(2):
    wanted[f"many{i}"] = (1, 4), np.arange(240000.0).reshape(60000, 4) + i
    wanted[f"contiguous{i}"] = None, np.arange(100) + i
    wanted[f"chunked{i}"] = (10, 8), np.arange(800, dtype="i4").reshape(100, 8) + i
    wanted[f"filtered{i}"] = (10, 8), np.full((100, 8), 7 + i, "i4")
for path in sys.argv[1:]:
    with h5py.File(path) as f:
        assert sorted(f) == sorted(wanted), list(f)
        for name, (chunks, values) in wanted.items():
            d = f[name]
            assert d.dtype == values.dtype and d.shape == values.shape and (d[()] == values).all() and d.chunks == chunks, (path, name)
"""


def chunks():
    """So many that the library drops the header of the dataset from its cache while they come."""
    run([python(), "-c", MANY_CHUNKS, "many.h5"], bento_env(string="bento"))
    for out in ("out.h5", "again.h5"):
        export("many.h5", out)
    run([stock_python(), "-c", SAME_VALUES, "out.h5", "again.h5"], stock_env())
    check_ordinary("out.h5")
    check(os.path.getsize("out.h5") == os.path.getsize("again.h5"), "two exports differ in length")


def steps():
    count, keep = 5, 3
    for step in range(1, count + 1):
        write_steps(f"native-{step}.h5", "new", step, 2, native_env())
    write_steps("x.h5", "new", count, 3, environment(f"keep={keep}"))
    for step in range(count - keep + 1, count + 1):
        answer = export("x.h5", f"step-{step}.h5", "--step", str(step))
        check(answer["step"] == step, f"{answer}")
        counts = compare([(f"native-{step}.h5", f"step-{step}.h5")])
        check_ordinary(f"step-{step}.h5")
        say(f"step {step}: {counts}")
    check(export("x.h5", "newest.h5")["step"] == count, "the newest step is another one")
    compare([(f"native-{count}.h5", "newest.h5")])
    for step in ("1", str(count + 1), "99999999999", "0", "-1", "two"):
        result = tool("export", "x.h5", "none.h5", "--step", step, ok=(1, 2))
        check(re.search(r"step", result.err) and not os.path.exists("none.h5"), f"step {step}: {result.text}")
        say(result.err.strip())


# Each of `parts` parts is a rank's; without mpirun, one process writes them all. Each file has settings of its own.
PARALLEL = """
import os, sys, h5py, numpy as np
parts, n = int(sys.argv[1]), 480
bento, how, mine = "HDF5_VOL_CONNECTOR" in os.environ, {}, range(parts)
if bento:
    from mpi4py import MPI
    how = dict(driver="mpio", comm=MPI.COMM_WORLD)
    mine = [MPI.COMM_WORLD.rank]
    assert MPI.COMM_WORLD.size == parts
def values(shape, first, type): return ((np.arange(np.prod(shape)).reshape(shape) * 7 + first) % 1000).astype(type)
def write(path):
    with h5py.File(path, "w", **how) as f:
        create(f)
        for rank in mine: part(f, rank)
        f.attrs["title"] = "by ranks"
def create(f):
    f.create_dataset("rows", (n, 700), "f8")
    f.create_dataset("bands", (300, n), "i4", fillvalue=-7)
    f.create_dataset("chunked", (n, 200), "i2", chunks=(50, 64), maxshape=(None, 200))
    f.create_dataset("packed", (n, 257), "f4", chunks=(40, 64), compression="gzip", shuffle=True)
    f.create_dataset("ragged", (n, 100), "i8", chunks=(100, 100), compression="gzip", fletcher32=True)
    f.create_dataset("pair", (n, 30), np.dtype([("a", "u1"), ("b", "f8"), ("c", "S3")]))
    if bento:  # natively, HDF5 would fill all of it
        f.create_dataset("huge", (1 << 34,), "u1")
        f.create_dataset("never", (1 << 20, 1 << 20), "f8", fillvalue=2.5)
    f.create_dataset("single", (), "f8")
def put(d, where, value):
    if not how:
        d[where] = value
        return
    with d.collective: d[where] = value
def part(f, rank):
    a, b = n * rank // parts, n * (rank + 1) // parts
    f["rows"][a:b] = values((b - a, 700), rank, "f8")
    f["bands"][:200, a:b] = values((200, b - a), rank, "i4")
    f["chunked"][a:b, :150] = values((b - a, 150), rank, "i2")
    put(f["packed"], np.s_[a:b], values((b - a, 257), rank, "f4"))
    put(f["ragged"], np.s_[a:b, 10:90], values((b - a, 80), rank, "i8"))
    one = np.zeros((b - a, 30), f["pair"].dtype)
    one["a"], one["b"], one["c"] = rank, values(one.shape, rank, "f8"), b"xyz"
    f["pair"][a:b] = one
    if bento: f["huge"][(rank << 31) : (rank << 31) + 100000] = np.full(100000, rank + 1, "u1")
    if rank == 0: f["single"][()] = 3.25
for path, settings in zip(sys.argv[2::2], sys.argv[3::2]):
    given = {"H5BENTO_" + key.upper(): value for key, _, value in (pair.partition("=") for pair in settings.split(";") if pair)}
    os.environ.update(given)
    write(path)
    for name in given: del os.environ[name]
"""

READ = """
import sys, zlib, h5py, numpy as np
from mpi4py import MPI
for path in sys.argv[1:]:
    with h5py.File(path, "r", driver="mpio", comm=MPI.COMM_WORLD) as f:
        for name in ("rows", "bands", "chunked", "packed", "ragged", "pair"):
            d = f[name]
            a, b = (d.shape[0] * (MPI.COMM_WORLD.rank + i) // MPI.COMM_WORLD.size for i in (0, 1))
            with d.collective: part = d[a:b]
            sums = MPI.COMM_WORLD.gather(zlib.crc32(np.ascontiguousarray(part).tobytes()))
            if MPI.COMM_WORLD.rank == 0: print(name, d.chunks, d.compression, d.is_virtual, d.maxshape, sums)
    if MPI.COMM_WORLD.rank == 0: print("end")
"""
HUGE = """
import h5py, sys
for path in sys.argv[1:]:
    f = h5py.File(path)
    d = f["huge"]
    print([int(d[(r << 31) + 99999]) for r in range(4)], d[(1 << 31) - 5 : (1 << 31)].tolist(), d[-1], f["never"][7, 7])
"""


def parallel(ranks=4):
    run([python(), "-c", PARALLEL, ranks, "native.h5", ""], native_env())
    all_options = some(2, ("files=2;chunk=64K", "checksum=none;view=off", "", "files=2"))
    files = {options: (f"x{number}.h5", f"out{number}.h5") for number, options in enumerate(all_options)}
    words = [word for options, (path, _) in files.items() for word in (path, options)]
    mpirun(ranks, [python(), "-c", PARALLEL, ranks, *words], environment())
    for path, out in files.values():
        export(path, out)
        check_ordinary(out)
    outs = [out for _, out in files.values()]
    native, *reads = mpirun(3, [python(), "-c", READ, "native.h5", *outs], native_env()).out.split("end\n")[:-1]
    check(native.count("\n") == 6 and "gzip" in native, native)
    huge = run([stock_python(), "-c", HUGE, *outs], stock_env()).out.splitlines()
    check(len(reads) == len(huge) == len(files), f"{reads} {huge}")
    for (options, (path, out)), read, answer in zip(files.items(), reads, huge):
        check(os.path.exists(f"{path}.000001") == ("files=2" in options), f"{options}: {os.listdir('.')}")
        check(read == native, f"{options}: parallel stock HDF5 reads\n{read}natively\n{native}")
        for name in ("rows", "bands", "chunked", "packed", "ragged", "pair", "single"):
            run([hdf5_tool("h5diff"), "native.h5", out, name], native_env())
        check(answer.strip() == "[1, 2, 3, 4] [0, 0, 0, 0, 0] 0 2.5", answer)
        about = os.stat(out)
        check(about.st_size > 1 << 34 > 64 << 20 > about.st_blocks * 512, f"not sparse: {about.st_blocks * 512} bytes")
        say(f"{options or 'defaults'}: {about.st_size} bytes, {about.st_blocks * 512} of them on the disk; equal")


def fti():
    sys.path.insert(0, os.path.join(SOURCE, "tests", "checkers"))
    script = (
        "import h5py, numpy as np, sys\n"
        "with h5py.File(sys.argv[1], 'w') as f:\n"
        "    f['x'] = np.arange(100000)\n"
        "    f.create_dataset('y', data=np.arange(60000) % 100, chunks=(10000,), compression='gzip', shuffle=True)\n"
    )
    run([python(), "-c", script, "x.h5"], environment())
    for name in ("fti", "fti16"):
        answer = json.loads(tool("export", "--json", "x.h5", name, "--format", name).out)
        files = sorted(os.listdir(name))
        check(files and [f"{name}/{file}" for file in files] == sorted(x["file"] for x in answer["files"]), f"{answer}")
        data = b"".join(open(os.path.join(name, file), "rb").read() for file in files)
        import array

        for values in (range(100000), [i % 100 for i in range(60000)]):
            check(array.array("q", values).tobytes() in data, f"{name}: the elements are not in the file as they are")
        check(not glob.glob("*.unfinished"), "something was left behind")
        again = tool("export", "x.h5", name, "--format", name, ok=(1,))
        check("is there already" in again.err, again.text)
        say(f"{name}: {files}")
    check("--step" in tool("export", "x.h5", "none", "--format", "fti", "--step", "1", ok=(2,)).err, "--step was taken")
    sessions()


SESSIONS = """
import h5py, numpy as np, sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
with h5py.File("s.h5", "w", driver="mpio", comm=comm) as f:
    d = f.create_dataset("d", (20000,), "f8")
    if comm.rank == int(sys.argv[1]):
        d[:] = 1.0
for value in (2.0, 3.0):
    with h5py.File("s.h5", "r+", driver="mpio", comm=comm) as f:
        if comm.rank == int(sys.argv[2]):
            f["d"][int(5000 * value) : int(5000 * value) + 3000] = value
"""


def sessions():
    """Later sessions overwrite parts, with the same collective count as the first."""
    import array

    for first, later in ((0, 0), (1, 0), (0, 1), (1, 1)):
        mpirun(2, [python(), "-c", SESSIONS, first, later], environment())
        data = b""
        for name in ("fti", "fti16"):
            tool("export", "s.h5", f"s-{name}", "--format", name)
            data = b"".join(open(os.path.join(f"s-{name}", file), "rb").read() for file in sorted(os.listdir(f"s-{name}")))
            for value, count in ((1.0, 14000), (2.0, 3000), (3.0, 3000)):
                found = data.count(array.array("d", [value]).tobytes())
                check(found == count, f"ranks {first}, {later}: {name}: {found} times {value}")
            shutil.rmtree(f"s-{name}")
        tool("verify", "s.h5")
        os.remove("s.h5")
    say("parts that later sessions overwrote: the newest values")


# ---- what does not ----


def refused():
    script = "import h5py, numpy as np, sys\nwith h5py.File(sys.argv[1], 'w') as f: f['x'] = np.arange(300000)"
    run([python(), "-c", script, "x.h5"], environment())
    run([python(), "-c", script, "plain.h5"], native_env())
    run([python(), "-c", "import h5py, sys\nh5py.File(sys.argv[1], 'w').close()", "nothing.h5"], environment())
    open("empty", "w").close()
    os.mkdir("folder")
    os.mkfifo("pipe")
    with open("x.h5", "rb") as file:
        data = bytearray(file.read())
    for name, size in (("torn-early", 5000), ("torn-late", len(data) // 2)):
        with open(name, "wb") as file:
            file.write(data[:size])
    at = data.index((12345).to_bytes(8, "little") + (12346).to_bytes(8, "little"))
    data[at] ^= 1
    with open("flipped", "wb") as file:
        file.write(data)
    export("nothing.h5", "nothing-out.h5")
    check(run([hdf5_tool("h5ls"), "nothing-out.h5"], native_env()).out == "", "nothing became something")
    for path, status, words in (
        ("plain.h5", 2, "ordinary HDF5 file"),
        ("empty", 2, "empty"),
        ("folder", 2, "folder"),
        ("missing", 2, "missing"),
        ("torn-early", 2, "SION"),
        ("torn-late", 1, "torn-late"),
        ("flipped", 1, "checksum|hash"),
    ):
        result = tool("export", path, "none.h5", ok=(1, 2))
        check(result.status == status and re.search(words, result.err), f"{path}: {result.status}: {result.text}")
        check(not os.path.exists("none.h5") and not glob.glob(".none*"), f"{path}: a file was left")
        say(f"{path}: {result.err.strip()}")
    before = open("x.h5", "rb").read()
    for arguments, words in (
        (("x.h5", "plain.h5"), "is there already"),
        (("x.h5", "x.h5"), "itself|is there"),
        (("x.h5", "./x.h5", "--force"), "itself"),
        (("x.h5", "folder", "--force"), "directory"),
        (("x.h5", "pipe", "--force"), "is no file"),
        (("x.h5", ""), "no name"),
        (("x.h5", "folder/none/x.h5"), "No such file"),
        (("x.h5", "none.h5", "--format", "txt"), "format"),
    ):
        result = tool("export", *arguments, ok=(1, 2))
        check(re.search(words, result.err), f"{arguments}: {result.text}")
        say(f"{' '.join(arguments)}: {result.err.strip().splitlines()[0]}")
    check(open("x.h5", "rb").read() == before and os.listdir("folder") == [], "a refused export changed something")
    export("x.h5", "plain.h5", "--force")
    check_ordinary("plain.h5")
    for name in ("torn-early", "torn-late", "flipped", "pipe"):
        os.remove(name)


def killed(times=12):
    script = "import h5py, numpy as np, sys\nwith h5py.File(sys.argv[1], 'w') as f: f['x'] = np.arange(25_000_000)"
    run([python(), "-c", script, "x.h5"], environment())
    begin = time.monotonic()
    export("x.h5", "whole.h5")
    seconds = time.monotonic() - begin
    with open("old.h5", "w") as file:
        file.write("old")
    rng = random.Random(harness.first_seed(1))
    seen = set()
    for turn in range(times):
        out = ("new.h5", "old.h5")[turn % 2]
        process = subprocess.Popen([built("bin", "h5bento"), "export", "x.h5", out, "--force"], env=native_env(), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, seconds))
        process.send_signal(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
        process.wait(30)
        if process.returncode == 0:
            seen.add("done")
        if os.path.exists("new.h5"):  # whole, then
            run([hdf5_tool("h5diff"), "whole.h5", "new.h5"], native_env())
            os.remove("new.h5")
        if os.path.getsize("old.h5") != 3:
            run([hdf5_tool("h5diff"), "whole.h5", "old.h5"], native_env())
            with open("old.h5", "w") as file:
                file.write("old")
        else:
            seen.add("killed")
        check(not glob.glob(".*.unfinished"), f"left behind: {glob.glob('.*')}")
    say(f"{times} times: {sorted(seen)}")
    check("killed" in seen, "no export was killed before its end")


def full_disk():
    import steps_full_disk

    try:
        steps_full_disk.enter_namespace(SCRIPT)
    except steps_full_disk.Done:
        return
    script = "import h5py, numpy as np, sys\nwith h5py.File(sys.argv[1], 'w') as f: f['x'] = np.arange(4_000_000)"
    run([python(), "-c", script, "x.h5"], environment())
    steps_full_disk.mount()
    try:
        for leave in (0, 4096, 100_000, 16 << 20):
            steps_full_disk.fill(leave)
            result = tool("export", "x.h5", "disk/out.h5", ok=(2,))
            check("No space left" in result.err and "disk/out.h5" in result.err, result.text)
            check(os.listdir("disk") == ["ballast"], f"left behind: {os.listdir('disk')}")
            say(f"{leave} bytes left: {result.err.strip()}")
            os.remove("disk/ballast")
        export("x.h5", "disk/out.h5")
    finally:
        subprocess.run(["umount", "-l", "disk"])


def test(what):
    if harness.REHEARSAL:
        raise harness.Skip("only containers are exported")
    {f.__name__: f for f in (objects, chunks, steps, parallel, fti, refused, killed, full_disk)}[what]()


if __name__ == "__main__":
    # Those of a mount namespace are checked there.
    elsewhere = sys.argv[1] == "full_disk" and not os.environ.get("H5BENTO_TEST_OWN_NAMESPACE")
    run_test(test, sys.argv[1], containers=0 if elsewhere else 1, unhashed={"x1.h5": "checksum=none"})
