#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The program h5bento from end to end: each command on containers of each kind, and on files that are none.

    commands.py [CASE...]

Cases: help, older, good, files, empty, sparse, damaged, torn, view, find, foreign.
"""

import glob
import os
import re
import signal
import struct
import subprocess
import sys
import time
import xml.dom.minidom

from tool import answer, content, copy, flip, h5bento, write, write_ranks

from harness import bento_env, built, check, native_env, python, run, run_test, say

VIEW = ("status", "build", "drop", "take-over")
FILE_BLOCK = 96  # bytes in front of a stream, docs/formats/fti-ff.md
ALONE = ("info", "ls", "steps", "layout", "verify", "repair")  # with FILE as their only argument
ON_A_FILE = [[name] for name in ALONE] + [["view", name] for name in VIEW]


def lines(result):
    return result.out.splitlines()


def older_data():
    """A flipped bit in data that only an older kept step shows is found, and its step named."""
    values = struct.pack("<8d", *range(1100, 1108))  # of the second step of /group/data
    copy("good.h5", "older.h5")
    at = content("older.h5").find(values)
    check(at > 0, "the older step's data is not in the file")
    flip("older.h5", at + 3)
    found = answer("verify", "older.h5", ok=(1,))["files"][0]
    one = found["damage"][0]
    check(found["damage_count"] == 1 and one["dataset_path"] == "/group/data" and one["step"] == 2, f"{found}")
    repaired = answer("repair", "older.h5", ok=(1,))
    check(not repaired["sound"] and repaired["damage"] == found["damage"], f"repair says otherwise than verify: {repaired}")
    said = h5bento("repair", "older.h5", ok=(1,)).out
    check("1 fault that nothing can repair" in said and "/group/data, step 2" in said and "the container is damaged" in said, said)
    os.remove("older.h5")


def older_metadata():
    """So is one in HDF5's metadata that only an older kept step uses."""
    program = (
        "import h5py\nwith h5py.File('meta.h5', 'w') as f:\n"
        "    f.create_group('g' * 3000).attrs['a'] = b'older' * 800; f.flush(); f['g' * 3000].attrs['a'] = b'newer' * 800\n"
    )
    run([python(), "-c", program], bento_env(string="bento keep=2;view=off"))
    flip("meta.h5", content("meta.h5").find(b"older" * 100))
    found = answer("verify", "meta.h5", ok=(1,))["files"][0]
    check({one["part"] for one in found["damage"]} == {"skeleton"}, f"{found}")
    check(answer("repair", "meta.h5", ok=(1,))["damage"] == found["damage"], "repair hides damaged metadata of an older step")
    os.remove("meta.h5")


def case_older():
    """So many older states that verify does not look at them, and says so; fewer, which it verifies."""
    program = (
        "import h5py, sys\n"
        "with h5py.File(sys.argv[1], 'w') as f:\n"
        "    sets = [f.create_dataset(f'd{i}', (4,), 'i4') for i in range(30)]\n"
        "    for step in range(int(sys.argv[2])):\n"
        "        for d in sets: d[...] = step\n"
        "        f.flush()\n"
    )
    for steps, complete in ((60, True), (75, False)):  # 30 states of datasets in each; the limit is 2000
        run([python(), "-c", program, "older.h5", steps], bento_env(string="bento keep=all"))
        verdict = answer("verify", "older.h5")["files"][0]
        check(verdict["older_verified"] == complete, f"{steps} steps: {verdict}")
        check(verdict["older_records"] == (30 * (steps - 1) if complete else 0), f"{steps} steps: {verdict}")
        check(("so many steps" in h5bento("verify", "older.h5").out) != complete, f"{steps} steps: what verify says")
        check(("all data were read" in h5bento("repair", "older.h5").out) == complete, f"{steps} steps: what repair says")
    # Of a dataset that is deleted since: what its last step shows.
    program = (
        "import h5py, numpy as np\nwith h5py.File('gone.h5', 'w') as f:\n"
        "    f['gone'] = np.arange(5000); f.flush(); f['gone'][:] = np.arange(5000) + 7000000; f.flush()\n"
        "    del f['gone']; f.flush(); f['other'] = 1\n"
    )
    run([python(), "-c", program], bento_env(string="bento keep=all"))
    check(answer("verify", "gone.h5")["files"][0]["sound"], "a deleted dataset")
    flip("gone.h5", content("gone.h5").find(struct.pack("<4q", *range(7000100, 7000104))))
    found = answer("verify", "gone.h5", ok=(1,))["files"][0]
    check(found["damage_count"] == 1 and found["damage"][0]["step"] == 2, f"{found}")
    # Written on by a program that keeps fewer steps, or one.
    for keep in ("keep=2", "keep=1"):
        program = "import h5py; f = h5py.File('shrunk.h5', 'a'); d = f.require_dataset('d', (9000,), 'i4')\nfor i in range(4): d[:] = i; f.flush()"
        for string in ("bento keep=3", f"bento {keep}"):
            run([python(), "-c", program], bento_env(string=string))
            found = answer("verify", "shrunk.h5")["files"][0]
            check(found["sound"], f"{string}: {found}")


def case_good():
    """A container of one process with three kept steps."""
    write("good.h5", 3, "bento keep=all")
    info = answer("info", "good.h5")
    check((info["newest_step"], info["oldest_step"]) == (3, 1), f"steps: {info}")
    check(info["state"] == "closed" and info["ranks"] == 1 and not info["problems"], f"{info}")
    sizes = info["sizes"]
    check(sizes["apparent_bytes"] == os.path.getsize("good.h5"), f"{sizes}")
    check(sizes["allocated_bytes"] == os.stat("good.h5").st_blocks * 512, f"{sizes}")
    # Data of the newest step: 8000 + 4000 bytes, and the compressed one; two older states of /group/data.
    check(12000 < sizes["data_bytes"] < 12000 + 16384, f"{sizes}")
    check(sizes["older_steps_bytes"] == 2 * 8000, f"{sizes}")
    streams = sizes["data_bytes"] + sizes["older_steps_bytes"] + sizes["dead_bytes"]
    check(streams == sizes["stream_bytes"], f"{sizes}")

    listed = {one["path"]: one for one in answer("ls", "-r", "-l", "good.h5")["objects"]}
    check(set(listed) == {"/group", "/group/data", "/plain", "/packed", "/text", "/soft", "/hard", "/outside", "/type"}, f"{list(listed)}")
    data = listed["/group/data"]
    check(data["extent"] == [40, 25] and data["largest_extent"] == [None, 25] and data["chunk"] == [10, 25], f"{data}")
    check(data["type"] == "float64" and data["attributes"] == 1 and data["stored_bytes"] == 8000, f"{data}")
    check(data["pieces"] >= 1 and listed["/packed"]["filters"] == ["shuffle", "deflate"], f"{listed}")
    check(listed["/text"]["number"] is None, "a string's data lies in the HDF5 image")
    check(listed["/soft"]["target"] == "/plain" and listed["/outside"]["target"] == "other.h5:/x", f"{listed}")
    check({listed["/hard"].get("target"), listed["/plain"].get("target")} == {None, "/hard"}, f"{listed}")
    names = [one["path"] for one in answer("ls", "good.h5", "/group")["objects"]]
    check(names == ["/group/data"], f"{names}")
    check([one["path"] for one in answer("ls", "good.h5", "plain")["objects"]] == ["/plain"], "ls of a dataset")
    h5bento("ls", "good.h5", "/nothing", ok=(2,))

    steps = answer("steps", "good.h5")["steps"]
    check([one["step"] for one in steps] == [1, 2, 3], f"{steps}")
    wrote = [sorted(d["path"] for d in one["datasets"]) for one in steps]
    check(wrote[1:] == [["/group/data"]] * 2 and len(wrote[0]) == 3 and "/packed" in wrote[0], f"{wrote}")
    own = answer("steps", "good.h5", "/group/data")["steps"]
    check([(one["relative"], one["absolute"]) for one in own] == [(0, 1), (1, 2), (2, 3)], f"{own}")
    h5bento("steps", "good.h5", "/text", ok=(2,))

    verdict = answer("verify", "good.h5")["files"][0]
    check(verdict["sound"] and verdict["steps"] == 3 and verdict["records"] >= 3, f"{verdict}")
    check(verdict["older_records"] >= 2, f"{verdict}")
    older_data()
    older_metadata()
    before = content("good.h5")
    for words in (["info"], ["ls", "-r", "-l"], ["steps"], ["layout"], ["verify"], ["view", "status"]):
        check(h5bento(*words, "good.h5").out, f"{words} prints nothing")
    check(content("good.h5") == before, "looking at a container changed it")
    repaired = answer("repair", "good.h5")
    check(repaired["sound"] and repaired["was_closed"] and not repaired["damage"], f"{repaired}")
    check(answer("verify", "good.h5")["files"][0]["sound"], "not sound after a needless repair")

    write("unhashed.h5", 1, "bento checksum=none")
    said = h5bento("verify", "unhashed.h5").out
    check(re.search(r"[1-9]\d* records? written with checksum=none", said), f"data without hashes: {said}")
    said = h5bento("repair", "unhashed.h5").out
    check("written with checksum=none" in said and "as far as they have any" in said, f"repair of data without hashes: {said}")
    os.remove("unhashed.h5")


def streams(layout):
    """export --format per-rank: each task's chunks, one behind the other."""
    listed = answer("export", "many.h5", "streams", "--format", "per-rank")["files"]
    check([one["file"] for one in listed] == [f"streams/rank-{task:06}" for task in range(4)], f"{listed}")
    for file in layout["files"]:
        whole = content(file["path"])
        for task in file["tasks"]:
            first = file["data_start"] + task["local_task"] * file["chunk_bytes"]
            want = b"".join(whole[(at := first + block * file["block_bytes"]) : at + chunk["used_bytes"]]
                            for block, chunk in enumerate(task["chunks"]))
            check(len(want) > 1 << 20 and content(f"streams/rank-{task['task']:06}") == want, f"stream of task {task['task']}")
    check("is there already" in h5bento("export", "many.h5", "streams", "--format", "per-rank", ok=(1,)).err, "an old folder")
    for wrong in (["--step", "1"], ["--force"]):
        h5bento("export", "many.h5", "other", "--format", "per-rank", *wrong, ok=(2,))


def case_files():
    """Several ranks and physical files; the pictures; a part that is missing or swapped."""
    write_ranks("many.h5", 4, "bento files=2;chunk=1M")
    info = answer("info", "many.h5")
    check(len(info["files"]) == 2 and info["ranks"] == 4 and info["settings"]["chunk_bytes"] == 1 << 20, f"{info}")
    layout = answer("layout", "many.h5", "--svg", "many.svg")
    check([len(one["tasks"]) for one in layout["files"]] == [2, 2], f"{layout['files']}")
    for file in layout["files"]:
        for task in file["tasks"]:
            for chunk in task["chunks"]:
                parts = chunk["data_bytes"] + chunk["older_steps_bytes"] + chunk["dead_bytes"]
                check(parts == chunk["used_bytes"] <= file["chunk_bytes"], f"{chunk}")
    picture = xml.dom.minidom.parse("many.svg")
    texts = [node.firstChild.data for node in picture.getElementsByTagName("text")]
    check({"task 0", "task 3", "catalogue"} <= set(texts), f"{texts}")
    for columns in (80, 200):
        shown = h5bento("layout", "many.h5", env=native_env(COLUMNS=str(columns)))
        widest = max(len(line) for line in lines(shown) if "[" in line)
        check(columns // 2 < widest <= columns, f"{widest} columns of {columns}:\n{shown.out}")
    before = content("many.h5")
    for part in ("many.h5", "many.h5.000001", "./many.h5"):
        check("itself" in h5bento("layout", "many.h5", "--svg", part, ok=(1,)).err, f"a picture in the place of {part}")
    check(content("many.h5") == before, "a picture was written over a container")
    streams(layout)
    sound = [answer("verify", "-j", jobs, "many.h5")["files"][0] for jobs in (1, 4)]
    check(sound[0] == sound[1] and sound[0]["sound"] and sound[0]["streams"] == 4, f"{sound}")
    h5bento("info", "many.h5.000001", ok=(2,))
    check("first file" in h5bento("verify", "many.h5.000001", ok=(2,)).err, "a part is not called one")
    os.rename("many.h5.000001", "kept")
    for words in (["info"], ["verify"], ["layout"], ["repair"]):
        result = h5bento(*words, "many.h5", ok=(1, 2))
        check("000001" in result.text, f"{words} does not name the missing file:\n{result.text}")
    write_ranks("other.h5", 4, "bento files=2;chunk=1M")
    os.rename("other.h5.000001", "many.h5.000001")
    damage = answer("verify", "many.h5", ok=(1,))["files"][0]["damage"]
    check(damage and damage[0]["part"] == "files", f"{damage}")
    for name in glob.glob("other.h5*"):
        os.remove(name)
    os.replace("kept", "many.h5.000001")
    check(answer("verify", "many.h5")["files"][0]["sound"], "the right part is back")


def case_empty():
    """No data; and nothing committed yet, with its writer at work."""
    run([python(), "-c", "import h5py; h5py.File('empty.h5', 'w').close()"], bento_env())
    check(answer("info", "empty.h5")["records"] == 0, "records of an empty container")
    check(answer("ls", "-r", "-l", "empty.h5")["objects"] == [], "objects of an empty container")
    for words in (["steps"], ["layout"], ["verify"], ["repair"], ["view", "status"], ["view", "build"]):
        h5bento(*words, "empty.h5")
    program = "import h5py, sys, time; f = h5py.File('open.h5', 'w'); f['x'] = 1; print('open', flush=True); time.sleep(60)"
    writer = subprocess.Popen([python(), "-c", program], env=bento_env(), stdout=subprocess.PIPE, text=True)
    try:
        check(writer.stdout.readline() == "open\n", "the writer did not come to its open")
        info = answer("info", "open.h5")
        check(info["state"] == "being written" and f"process {writer.pid}" in info["holder"], f"{info}")
        h5bento("layout", "open.h5")
        h5bento("verify", "open.h5")
        check("committed" in h5bento("ls", "open.h5", ok=(2,)).err, "ls says not that nothing is committed")
        check("process" in h5bento("repair", "open.h5", ok=(1, 2)).err, "repair says not who writes")
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    check(answer("info", "open.h5")["state"] == "empty", "its writer was killed")
    h5bento("repair", "open.h5", ok=(1, 2))
    os.remove("open.h5")


def case_sparse():
    """An apparent size of terabytes costs neither time nor memory."""
    write_ranks("sparse.h5", 2, "bento chunk=1T")
    check(os.path.getsize("sparse.h5") > 1 << 40, "the container is not huge")
    begin = time.monotonic()
    for words in (["info"], ["layout"], ["verify"], ["ls"], ["steps"], ["repair"], ["view", "status"]):
        h5bento(*words, "sparse.h5", timeout=20)
    check(time.monotonic() - begin < 20, "a huge sparse container takes long")
    os.remove("sparse.h5")  # what comes after reads whole files


def case_damaged():
    """Flipped bytes in data, headers, index and skeleton are found and named; repair mends headers."""
    write_ranks("sound.h5", 4, "bento chunk=1M", "--rows", "64")
    layout = answer("layout", "sound.h5")["files"][0]
    task = 2
    data = layout["data_start"] + task * layout["chunk_bytes"] + 100_000
    copy("sound.h5", "data.h5")
    flip("data.h5", data)
    found = answer("verify", "data.h5", ok=(1,))["files"][0]
    check(found["damage_count"] == 1, f"{found}")
    one = found["damage"][0]
    check(one["part"] == "stream" and one["task"] == task and one["step"] >= 1, f"{one}")
    check(one["dataset_path"] == "/temperature" and one["file"].endswith("data.h5"), f"{one}")
    check(data - (1 << 20) <= one["offset"] <= data, f"{one}, flipped at {data}")
    said = h5bento("verify", "data.h5", ok=(1,)).out
    check(all(word in said for word in ("task 2", "/temperature", f"byte {one['offset']}")), said)
    check(answer("repair", "data.h5", ok=(1,))["damage_count"] == 1, "repair hides damaged data")

    copy("sound.h5", "head.h5")
    head = layout["data_start"] + 3 * layout["chunk_bytes"] + FILE_BLOCK
    for byte in range(16):
        flip("head.h5", head + byte, 0xFF)
    check(answer("verify", "head.h5", ok=(1,))["files"][0]["damage"][0]["task"] == 3, "a block head's task")
    repaired = answer("repair", "head.h5")
    check(repaired["sound"] and repaired["rebuilt"][0]["task"] == 3, f"{repaired}")
    check(repaired["rebuilt"][0]["offset"] == head, f"{repaired}")
    check(answer("verify", "head.h5")["files"][0]["sound"], "not sound after the repair")

    catalogue = layout["data_start"] + 4 * layout["chunk_bytes"]
    parts, silent = set(), 0
    copy("sound.h5", "index.h5")
    for number, at in enumerate(range(0, layout["catalogue_bytes"], 401)):
        flip("index.h5", catalogue + at, 0x10)
        found = answer("verify", "index.h5", ok=(0, 1, 2))
        if found["status"] == 0:
            silent += 1  # a hole of the catalogue
        else:
            parts |= {one["part"] for one in found["files"][0].get("damage", [])}
        words = (["info"], ["layout"], ["ls", "-r", "-l"], ["steps"])[number % 4]
        h5bento(*words, "index.h5", ok=None)
        flip("index.h5", catalogue + at, 0x10)
    say(f"  catalogue: damage in {sorted(parts)}; {silent} flips in unused space")
    check({"index", "skeleton", "view"} <= parts, f"parts found damaged: {parts}")
    os.remove("index.h5")
    os.remove("data.h5")


def case_torn():
    """A writer that was killed; a file that was cut off at each of many places."""
    program = (
        "import h5py, numpy as np, os, signal\n"
        "f = h5py.File('torn.h5', 'w')\n"
        "d = f.create_dataset('d', (1 << 16,), 'f8')\n"
        "d[...] = 1.0; f.flush()\n"
        "d[...] = 2.0; f.flush()\n"
        "f.create_dataset('late', (1 << 17,), 'f8')[...] = 3.0\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run([python(), "-c", program], bento_env(string="bento chunk=4M"), ok=(-signal.SIGKILL,))
    info = answer("info", "torn.h5")
    check(info["state"] == "not closed" and info["newest_step"] == 2, f"{info}")
    verdict = answer("verify", "torn.h5")["files"][0]
    check(verdict["sound"] and not verdict["closed"], f"{verdict}")
    copy("torn.h5", "mended.h5")
    repaired = answer("repair", "mended.h5")
    check(repaired["sound"] and repaired["step"] == 2 and not repaired["was_closed"], f"{repaired}")
    check(sum(one["records"] for one in repaired["uncommitted"]) >= 1, f"{repaired}")
    check(answer("info", "mended.h5")["state"] == "closed", "not closed after the repair")
    whole = os.path.getsize("mended.h5")
    for size in sorted({0, 1, 4, 100, 4096, 8192, 12288, 16384, 65536, whole // 2, whole - 4096, whole - 1}):
        copy("mended.h5", "cut.h5")
        os.truncate("cut.h5", size)
        for words in (["info"], ["verify"], ["layout"], ["ls"], ["steps"], ["view", "status"]):
            h5bento(*words, "cut.h5", ok=None)
        h5bento("verify", "cut.h5", ok=(1, 2))
        h5bento("repair", "cut.h5", ok=(0, 1, 2))
    os.remove("cut.h5")
    os.remove("torn.h5")


def case_view():
    """The native view: there, edited, taken over, dropped, switched off and built."""
    native = os.environ["H5BENTO_PYTHON_NATIVE"]
    write("view.h5", 1)
    check(answer("view", "status", "view.h5")["native_view"] == "there", "a view after the close")
    edit = ("import h5py, sys\nfor name in sys.argv[1:]:\n"
            "    f = h5py.File(name, 'r+'); f.attrs['new'] = 7; f['more'] = [1, 2, 3]; f.close()")  # fmt: skip
    for name in ("taken.h5", "dropped.h5"):
        copy("view.h5", name)
        h5bento("view", "build", name)
    run([native, "-c", edit, "taken.h5", "dropped.h5"], native_env())
    for name in ("taken.h5", "dropped.h5"):
        check(answer("view", "status", name, ok=(1,))["native_view"] == "edited", "the change is not seen")
        check(answer("info", name)["native_view"] == "edited", "info does not see the change")
        check("take" in h5bento("repair", name, ok=(1,)).err, "repair says not what to do")
    h5bento("view", "take-over", "taken.h5")
    check("/more" in h5bento("ls", "taken.h5").out, "what was added is not taken over")
    h5bento("view", "take-over", "taken.h5", ok=(2,))
    # LZF is in h5py, and not in the HDF5 of the program: what it cannot decode it shows where it lies.
    changed = ("value.h5", "gone.h5", "place.h5")
    code = (f"import h5py, numpy as np\nfor name in {changed}:\n"
            "    f = h5py.File(name, 'w'); f['small'] = np.zeros(10, int); f['large'] = np.arange(50000); f.close()\n"
            "f = h5py.File('lzf.h5', 'w')\n"
            "d = f.create_dataset('x', (1000, 100), 'i4', chunks=(100, 100), compression='lzf')\n"
            "d[...] = np.arange(100000).reshape(1000, 100) // 7; d[100:250, 10:90] = 5\n"
            "f.create_dataset('small', data=np.arange(300), chunks=(150,), compression='lzf')")  # fmt: skip
    run([python(), "-c", code], bento_env(string="bento"))
    for words in (["view", "build"], ["repair"]):
        said = h5bento(*words, "lzf.h5").text
        check("no native view" not in said, said)
        seen = run([native, "-c", "import h5py; f = h5py.File('lzf.h5'); print(f['x'][150, 20], f['x'][999, 99], f['small'][299])"], native_env()).out
        check(seen == "5 14285 299\n", f"after {words}: {seen}")
    check("filter 32000 (lzf)" in h5bento("export", "lzf.h5", "no.h5", ok=(1, 2)).err, "export names no filter")
    # Changes that leave the superblock as it is.
    changes = ("f['small'][:] = 9", "del f['small']", "f['large'][:] = np.full(50000, 7)")
    code = "".join(f"f = h5py.File('{path}', 'r+'); {change}; f.close()\n" for path, change in zip(changed, changes))
    run([native, "-c", "import h5py, numpy as np\n" + code], native_env())
    check("--force" in h5bento("view", "take-over", "place.h5", ok=(2,)).err, "take-over says not what to do")
    for path in changed:
        h5bento("view", "take-over", path, *["--force"][: path == "place.h5"])
    reads = ("f['small'][5]", "'gone'", "f['large'][5]")
    code = "".join(f"f = h5py.File('{path}'); print({read}, list(f))\n" for path, read in zip(changed, reads))
    seen = run([python(), "-c", "import h5py\n" + code], bento_env(string="bento")).out.splitlines()
    for path, change, shown, said in zip(changed, changes, ("9", "gone", "7"), seen, strict=True):
        check(said.startswith(shown) and ("small" in said) == (path != "gone.h5"), f"{change}: taken over as {said}")
        check(answer("verify", path)["files"][0]["sound"], f"{path} is not sound")
    h5bento("view", "drop", "dropped.h5")
    check("/more" not in h5bento("ls", "dropped.h5").out, "what was added is not dropped")
    for name in ("taken.h5", "dropped.h5"):
        check(answer("view", "status", name)["native_view"] == "there", f"{name}: no view")
        check(answer("verify", name)["files"][0]["sound"], f"{name} is not sound")
    write("none.h5", 1, "bento view=off")
    check(answer("view", "status", "none.h5")["native_view"] == "none", "view=off")
    h5bento("view", "build", "none.h5")
    run([native, "-c", "import h5py; assert h5py.File('none.h5')['plain'][7] == 7"], native_env())


def case_find():
    """Values: integers, floats, boxes; a dataset without ranges; wrong bounds."""
    program = (
        "import h5py, numpy as np\n"
        "with h5py.File('find.h5', 'w') as f:\n"
        "    d = f.create_dataset('d', (1000,), 'i8')\n"
        "    for i in range(10): d[100 * i : 100 * i + 100] = 1000 * i + np.arange(100); f.flush()\n"
    )
    run([python(), "-c", program], bento_env(string="bento minmax=on"))
    found = answer("find", "find.h5", "/d", "--min", "3005", "--max", "3010")
    check(found["boxes"] == [{"start": [300], "count": [100]}] and found["skipped_records"] == 9, f"{found}")
    check(answer("find", "find.h5", "/d", "--max", "-1")["boxes"] == [], "negative values")
    check(answer("find", "find.h5", "/d", "--min", "8e3")["kept_elements"] == 200, "a bound that is no integer")
    check(answer("find", "find.h5", "d", "--box", "250:350")["kept_elements"] == 100, "no bounds: everything")
    for wrong in (["--min", "x"], ["--box", "1:2,3:4"], ["--box", "5:2000"], ["--box", "x"], ["--min", "nan"]):
        h5bento("find", "find.h5", "/d", *wrong, ok=(2,))
    h5bento("find", "find.h5", "/nothing", ok=(2,))


def case_foreign():
    """What is no container: status 2, what it is instead, and nothing of it is changed."""
    native = os.environ["H5BENTO_PYTHON_NATIVE"]
    os.mkdir("folder")
    with open("text", "w") as file:
        file.write("a text\n" * 1000)
    with open("nothing", "w"):
        pass
    with open("magic", "wb") as file:
        file.write(b"sion" + bytes(8000))
    run([native, "-c", "import h5py; h5py.File('plain.h5', 'w')['x'] = 1"], native_env())
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    foreign = ["folder", "text", "nothing", "magic", "plain.h5", "pipe", "loop", "missing", "/dev/zero", ""]
    if os.geteuid() != 0:
        with open("secret", "w"):
            os.chmod("secret", 0)
        foreign.append("secret")
    before = {name: content(name) for name in ("text", "magic", "plain.h5")}
    for name in foreign:
        for words in ON_A_FILE:
            result = h5bento(*words, name, ok=(2,), timeout=20)
            check(f"'{name}'" in result.err, f"{words} {name!r}: the error names no file: {result.err}")
        value = answer("info", name, ok=(2,))
        check(value["error"]["text"], f"{value}")
        h5bento("find", name, "/x", "--min", "1", ok=(2,))
    check("folder" in h5bento("info", "folder", ok=(2,)).err, "a folder is not called one")
    check("HDF5" in h5bento("info", "plain.h5", ok=(2,)).err, "an HDF5 file is not called one")
    for name, bytes_before in before.items():
        check(content(name) == bytes_before, f"{name} was changed")
    os.remove("magic")
    full = run(["sh", "-c", f"{built('bin', 'h5bento')} --help >/dev/null; {built('bin', 'h5bento')} info text --json >/dev/full"],
               native_env(), ok=None)
    check(full.status == 2 and "standard output" in full.err, f"a full disk is not noticed: {full.status} {full.err}")


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def main(names):
    for name in names:
        say(f"{name}: {CASES[name].__doc__}")
        begin = time.monotonic()
        CASES[name]()
        say(f"  {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(CASES)
    leaving = {"good", "files", "empty", "damaged", "torn", "view", "find"} & set(chosen)
    run_test(main, chosen, containers=1 if leaving else 0)
