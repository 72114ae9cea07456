#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""`h5bento mount`: a container under a real mount of the kernel, read by programs that know no plugin.

    tool_mount.py files      what is there, and that it is what the container holds
    tool_mount.py live       four readers beside a writer that drops steps
    tool_mount.py stale      a step that is dropped fails with ESTALE, what the kernel keeps of it too
    tool_mount.py ends       Ctrl-C, signals, umount, a killed server; what is refused

SKIP where /dev/fuse is missing or mounting is not permitted.
"""

import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import harness
from harness import Skip, bento_env, built, check, check_is, hdf5_tool, mpirun, native_env, python, run, run_test, say, some
from native_view_check import compare, stock_env, stock_python
from steps_run import Judge, Writer, environment, write_steps

SOON = 5  # seconds


def tool(*arguments, ok=(0,), env=None):
    return run([built("bin", "h5bento"), *arguments], env or native_env(), ok=ok)


def mounts():
    """Folders below this one on which something is mounted."""
    with open("/proc/self/mountinfo") as file:
        return [line.split()[4] for line in file if line.split()[4].startswith(os.getcwd() + "/")]


def servers():
    """Processes that serve a mount of this test."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if words[0].endswith(b"h5bento") and b"mount" in words[:2] and os.readlink(f"/proc/{pid}/exe").startswith(
                harness.build_folder()
            ):
                if any(word.decode().endswith(tuple(MOUNTED)) for word in words if word):
                    if harness.alive(int(pid)):
                        found.append(int(pid))
        except OSError:
            pass
    return found


MOUNTED = set()  # folders, absolute


def wait_until(condition, what, seconds=SOON):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f"not {what} after {seconds} s")
        time.sleep(0.02)


class Mount:
    def __init__(self, path, folder, *options):
        self.folder = os.path.abspath(folder)
        MOUNTED.add(self.folder)
        os.makedirs(self.folder, exist_ok=True)
        result = tool("mount", path, self.folder, "--log", "mount.log", *options, ok=None)
        if result.status and "Operation not permitted" in result.err and "cannot be mounted" in result.err:
            raise Skip(f"mounting is not permitted: {result.err.strip()}")
        check(result.status == 0, f"mount: {result.text}")

    def __enter__(self):
        return self

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def __exit__(self, kind, *_):
        if kind:
            subprocess.run(["umount", "-l", self.folder], stderr=subprocess.DEVNULL)
            return
        tool("umount", self.folder)
        gone(self.folder)


def gone(folder):
    check(not mounts(), f"still mounted: {mounts()}")
    check(os.listdir(folder) == [], f"left behind: {os.listdir(folder)}")
    wait_until(lambda: not servers(), "all servers ended")


def log():
    try:
        with open("mount.log") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


# ---- what is there ----

FILTERED = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as f:
    for name, more in (("packed", {}), ("sum", {"fletcher32": True})):
        d = f.create_dataset(name, (500, 300), "i4", chunks=(100, 64), compression="gzip", shuffle=True, fillvalue=-1, **more)
        d[:400] = np.arange(400 * 300).reshape(400, 300) % 1000
        d[150:170, 30:200] = 5
        d[450:, 100:110] = 6
"""

MASKS = """
import h5py, sys
for path in sys.argv[1:]:
    with h5py.File(path) as f:
        for name in ("packed", "sum"):
            d = f[name].id
            masks = [d.get_chunk_info(i).filter_mask for i in range(d.get_num_chunks())]
            print(sum(m == 0 for m in masks), sum(m != 0 for m in masks))
"""


def filtered():
    """Chunks as they are stored, and such as no record holds."""
    run([python(), "-c", FILTERED, "packed-native.h5"], native_env())
    run([python(), "-c", FILTERED, "packed.h5"], environment())
    tool("export", "packed.h5", "packed-out.h5")
    with Mount("packed.h5", "m") as m:
        compare([("packed-native.h5", m.path("data.h5")), ("packed-native.h5", "packed-out.h5")])
        found = run([stock_python(), "-c", MASKS, m.path("data.h5"), "packed-out.h5"], stock_env()).out.split()
        mounted, masks = found[:4], found[4:]
        check(all(int(x) > 0 for x in mounted), f"stored and unfiltered chunks: {mounted}")
        run([hdf5_tool("h5diff"), "packed-native.h5", m.path("data.h5")], native_env())
    check(masks[1] == masks[3] == "0", f"the export has unfiltered chunks: {masks}")
    say(f"filtered chunks: {masks[0]} in the export, all filtered")


def same_bytes():
    """Of a step, whenever somebody looks: the kernel may have kept some of them from the last time."""
    script = (
        "import h5py, numpy as np, sys\n"
        "for version in sys.argv[1:]:\n"
        "    with h5py.File(f'times-{version}.h5', 'w', libver=version) as f:\n"
        "        f.create_dataset('x', data=np.arange(9), track_times=True)\n"
        "        f.create_dataset('words', data=['a', 'bc'], track_times=True)\n"
        "        f.create_dataset('zipped', data=np.arange(99), compression=1, track_times=True)\n"
        "        f.create_group('g', track_times=True)['t'] = np.dtype([('x', 'i4')])\n"
    )
    versions = ("earliest", "latest")
    run([python(), "-c", script, *versions], environment())
    seen = {version: set() for version in versions}
    for again in (False, True):
        for version in versions:
            with Mount(f"times-{version}.h5", "m") as m:
                seen[version].add(digest(m.path("data.h5")))
        if not again:
            time.sleep(1.1)  # the times of objects are in seconds
    check(all(len(found) == 1 for found in seen.values()), f"mounted again, a file has other bytes: {seen}")


def check_read_ahead(m):
    """Where root may say so, the kernel reads as far ahead as it asks for at once."""
    device = os.stat(m.path("data.h5")).st_dev
    setting = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"
    if os.access(setting, os.W_OK):
        with open(m.path("data.h5"), "rb"), open(setting) as file:
            check(file.read().strip() == "1024", "the kernel does not read 1 MiB ahead")


def files():
    filtered()
    same_bytes()
    count, keep = 5, 3
    for step in range(1, count + 1):
        write_steps(f"native-{step}.h5", "new", step, 2, native_env())
    for options in ("", "files=2"):
        write_steps("x.h5", "new", count, 3, environment(f"{options};keep={keep}".strip(";")))
        kept = list(range(count - keep + 1, count + 1))
        with Mount("x.h5", "m") as m:
            check_is(sorted(os.listdir(m.folder)), ["catalogue.txt", "data.h5", "steps", "streams"], "the folder")
            check_is(sorted(map(int, os.listdir(m.path("steps")))), kept, "the steps")
            shown = {step: m.path("steps", str(step), "data.h5") for step in kept}
            counts = compare([(f"native-{step}.h5", path) for step, path in shown.items()])
            for step in some(1, reversed(kept)):
                tool("export", "x.h5", "out.h5", "--step", str(step), "--force")
                dumps = [run([hdf5_tool("h5dump"), name], native_env()).out.split("\n", 1)[1] for name in (shown[step], "out.h5")]
                check(dumps[0] == dumps[1] and len(dumps[0]) > 500, "h5dump of the mount and of the export differ")
            for path in shown.values():
                with open(path, "rb") as file:
                    check(b"h5bento" not in file.read().lower(), "h5bento is named in it")
            newest = os.stat(m.path("data.h5"))
            check(newest.st_ino == os.stat(m.path("steps", str(count), "data.h5")).st_ino, "data.h5 is not the newest step")
            check(len({os.stat(m.path("steps", str(s), "data.h5")).st_ino for s in kept}) == keep, "steps share an inode")
            shutil.copy(m.path("data.h5"), "copy.h5")
            check(digest("copy.h5") == digest(m.path("data.h5")), "a copy differs")
            check(os.path.getsize("copy.h5") == newest.st_size, "the size is another one")
            # One byte here, some there: as the whole.
            with open("copy.h5", "rb") as copy, open(m.path("data.h5"), "rb", buffering=0) as shown:
                for at in range(0, newest.st_size, max(1, newest.st_size // 300)):
                    for size in (1, 7, 4097):
                        copy.seek(at)
                        shown.seek(at)
                        check(copy.read(size) == shown.read(size), f"{size} bytes at {at} differ")
            check_parallel_reads(m.path("data.h5"), f"native-{count}.h5")
            streams(m)
            check_read_ahead(m)
            with open(m.path("catalogue.txt")) as file:
                text = file.read()
            check(len(text) == os.path.getsize(m.path("catalogue.txt")) and "closed" in text and f" {kept[0]} " in text, text)
            for name, word in (("data.h5", errno.EROFS), ("new", errno.EROFS)):
                try:
                    open(m.path(name), "r+b" if name == "data.h5" else "wb").close()
                    check(False, f"{name} was opened for writing")
                except OSError as error:
                    check(error.errno == word or error.errno == errno.EACCES, f"{name}: {error}")
            for name in ("steps/1", f"steps/{count + 1}", f"steps/0{count}", "steps/x", "none", "streams/rank-999999"):
                check(not os.path.exists(m.path(name)), f"{name} is there")
        say(f"{options or 'one file'}: steps {kept}: {counts}")
        for path in ("x.h5", "x.h5.000001"):
            if os.path.exists(path) and options == "":
                os.rename(path, f"first-{path}")


def check_parallel_reads(*paths):
    """Parallel stock HDF5 reads the same of these."""
    script = (
        "import h5py, sys, zlib\nfrom mpi4py import MPI\n"
        "def visit(name, item):\n"
        "    if isinstance(item, h5py.Dataset) and item.dtype.kind in 'iuf': found.append((name, zlib.crc32(item[()].tobytes())))\n"
        "for path in sys.argv[1:]:\n"
        "    found = []\n"
        "    with h5py.File(path, 'r', driver='mpio', comm=MPI.COMM_WORLD) as f: f.visititems(visit)\n"
        "    if MPI.COMM_WORLD.rank == 0: print(found)"
    )
    found = mpirun(2, [python(), "-c", script, *paths], native_env()).out.splitlines()
    check(len(found) == len(paths) and found[0].count("(") > 1, f"nothing was read: {found}")
    check(len(set(found)) == 1, f"parallel stock HDF5 reads something else: {found}")


def streams(m):
    import check_fti

    names = sorted(os.listdir(m.path("streams")))
    check(names and names[0] == "rank-000000", f"{names}")
    for name in names:
        path = m.path("streams", name)
        with open(path, "rb") as file:
            data = file.read()
        check(len(data) == os.path.getsize(path), f"{name}: {len(data)} bytes")
        report = check_fti.check_stream(data)
        check(not report.problems, f"{name}: {report.problems[:3]}")


# ---- beside a writer ----


def live():
    writer = Writer(os.path.abspath("x.h5"), "new", 35, env=environment("keep=2"), pause=30)
    try:
        writer.wait_for("flushed")
        with Mount("x.h5", "m") as m:
            found, wrong = [], []

            def reads():
                with Judge.stock() as judge:
                    while writer.process.poll() is None:
                        answer = judge(m.path("data.h5"))
                        (found if re.fullmatch(r"step \d+", answer) else wrong).append(answer)

            threads = [threading.Thread(target=reads) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            writer.wait()
            # h5py makes a KeyError of an object whose header cannot be read.
            refused = [x for x in wrong if "Stale file handle" in x]
            others = [x for x in wrong if x not in refused]
            bad = [x for x in others if not re.search(r"error: |Errno|unable|can't", x) or "WRONG" in x]
            say(f"{len(found)} reads of {len(set(found))} steps, {len(wrong)} errors: {sorted(set(wrong))[:3]}")
            check(not bad, f"wrong data: {bad[:3]}")
            check(len(set(found)) >= 3, f"hardly anything was read: {set(found)} {wrong[:3]}")
            with Judge.stock() as judge:
                check(judge(m.path("data.h5")) == "step 35", judge(m.path("data.h5")))
    finally:
        writer.kill()


def read_or_error(file, at, size):
    try:
        return os.pread(file, size, at)
    except OSError as error:
        return error.errno


def stale():
    write_steps("x.h5", "new", 3, 1, environment("keep=2"))
    with Mount("x.h5", "m") as m:
        old, new = (os.open(m.path("steps", step, "data.h5"), os.O_RDONLY) for step in ("2", "3"))
        size = os.fstat(old).st_size
        whole = {file: os.pread(file, size, 0) for file in (old, new)}
        check(all(len(x) > 1000 for x in whole.values()), "nothing was read")
        check(os.pread(old, size, 0) == whole[old], "the second read differs")
        write_steps("x.h5", "append", 1, 1, environment("keep=2"))  # step 4: 2 goes, 3 stays
        wait_until(lambda: read_or_error(old, 0, size) == errno.ESTALE, "ESTALE for what the kernel had kept")
        for at in (0, size // 2, size - 10):
            check(read_or_error(old, at, 10) == errno.ESTALE, f"byte {at} of a dropped step can be read")
        check(os.pread(new, size, 0) == whole[new][:size], "a step that is kept differs")
        check("keep=" in log() and "step 2" in log(), f"the log: {log()}")
        check(not os.path.exists(m.path("steps", "2")), "a dropped step is listed")
        check_is(sorted(os.listdir(m.path("steps"))), ["3", "4"], "the steps")
        # Another file under the name: never its bytes.
        write_steps("other.h5", "new", 4, 1, environment())
        os.rename("other.h5", "x.h5")
        check(os.pread(new, size, 0) == whole[new][:size], "another file's bytes")
        found = read_or_error(new, 0, 1)
        check(found == whole[new][:1], f"{found}")
        try:
            os.stat(m.path("steps", "4", "data.h5"))
            check(False, "a step of another file is shown")
        except OSError as error:
            check(error.errno == errno.ESTALE, f"{error}")
        check("replaced" in log(), f"the log: {log()}")
        os.close(old)
        os.close(new)
    say("a dropped step fails with ESTALE, cached or not; the log says keep=")


# ---- ends ----


def ends():
    script = "import h5py, numpy as np, sys\nwith h5py.File(sys.argv[1], 'w') as f: f['x'] = np.arange(300000)"
    run([python(), "-c", script, "x.h5"], environment())
    run([python(), "-c", script, "plain.h5"], native_env())
    run([python(), "-c", "import h5py, sys\nh5py.File(sys.argv[1], 'w').close()", "nothing.h5"], environment())
    with Mount("nothing.h5", "m") as m:
        check(run([hdf5_tool("h5ls"), m.path("data.h5")], native_env()).out == "", "nothing became something")
    folder = os.path.abspath("m")
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, None):
        process = subprocess.Popen(
            [built("bin", "h5bento"), "mount", "--foreground", "x.h5", "m"], env=native_env(), stdout=subprocess.PIPE, text=True
        )
        check("is mounted" in process.stdout.readline(), "no word of the mount")
        check(os.path.getsize("m/data.h5") > 2_400_000, "nothing is there")
        busy = os.open("m/data.h5", os.O_RDONLY)
        refused = tool("umount", "m", ok=(1,))
        check("open" in refused.err or "busy" in refused.err, refused.text)
        os.close(busy)
        if ending is None:
            tool("umount", "m")
        else:
            process.send_signal(ending)
        process.wait(SOON)
        process.stdout.close()
        check(process.returncode == 0, f"{ending}: exit status {process.returncode}")
        gone("m")
    with Mount("x.h5", "m"):
        again = tool("mount", "x.h5", "m", ok=(1,))
        check("mounted already" in again.err, again.text)
    m = Mount("x.h5", "m")
    os.kill(servers()[0], signal.SIGKILL)
    wait_until(lambda: not servers(), "the killed server gone")
    result = tool("mount", "x.h5", "m", ok=(1, 2))
    check("umount" in result.err, f"a dead mount: {result.text}")
    tool("umount", "m")
    gone(m.folder)
    open("file", "w").close()
    with open("x.h5", "rb") as whole, open("torn", "wb") as torn:
        torn.write(whole.read(6000))
    for path, where, words in (
        ("plain.h5", "m", "ordinary HDF5"),
        ("missing", "m", "missing"),
        ("torn", "m", "torn"),
        (".", "m", "folder"),
        ("x.h5", "none", "none"),
        ("x.h5", "file", "[Nn]ot a directory"),
    ):
        result = tool("mount", path, where, ok=(1, 2))
        check(re.search(words, result.err), f"{path} {where}: {result.text}")
        say(f"{path} on {where}: {result.err.strip()}")
    result = tool("umount", "m", ok=(2,))
    check("no container is mounted" in result.err, result.text)
    os.remove("torn")
    if os.getcwd().startswith("/dev"):
        return say("files below /dev: not tried without /dev/fuse")
    without = 'mount -t tmpfs none /dev && exec "$@"'
    own = ["unshare", "--mount", "--propagation", "private", "sh", "-c", without, "sh"]
    result = run([*own, built("bin", "h5bento"), "mount", "x.h5", "m"], native_env(), ok=(1, 2))
    check("/dev/fuse is missing" in result.err and "modprobe" in result.err, result.text)
    gone("m")


def test(what):
    if harness.REHEARSAL:
        raise Skip("only containers are mounted")
    if not os.path.exists("/dev/fuse"):
        raise Skip("/dev/fuse is missing")
    if "not in this build" in tool("--help").out:
        raise Skip("h5bento was built without libfuse 3")
    try:
        {f.__name__: f for f in (files, live, stale, ends)}[what]()
    finally:
        for folder in mounts():
            subprocess.run(["umount", "-l", folder])


run_test(test, sys.argv[1])
