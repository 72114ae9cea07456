#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The native view of the driver's containers, `h5bento repair` and `export --format per-rank`: files with every kind of dataset,
written natively and through the driver, are compared object by object, by an h5py without plugin.

    view.py [CASE...]      cases: whole, closer, budget, full, names, deep, killed, damaged, renamed"""

import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile  # noqa: E402
from forked_programs import Forked  # noqa: E402
from joiners import Joiner, report, stock_view, streams  # noqa: E402

import json  # noqa: E402

from harness import built, check, driver_env, native_env, python, run, run_test, say, some  # noqa: E402

RANKS = 3
# Starts programs of one process that have the same environment again and again.
FORKED = Forked()

WRITE = r"""
import sys
import h5py, numpy as np
rank = int(sys.argv[1])
name = "run/r%d.h5" % rank
n = 3000 + 100 * rank
ints = np.arange(n) * (rank + 1)
if rank:
    open("run/raw%d.bin" % rank, "wb").write(np.arange(50, dtype="i4").tobytes())
with h5py.File(name, "w", libver=("earliest", "latest")[rank % 2], userblock_size=(0, 512, 0)[rank], track_order=rank == 1) as f:
    f.attrs["of the root"] = "text %d" % rank
    f.attrs["numbers"] = np.arange(5) + rank
    g = f.create_group("group/inner")
    g.attrs["deep"] = 3.5
    f["plain"] = ints
    f["group/again"] = f["plain"]
    f["scalar"] = 7.25
    f["word"] = "of variable length, and alone"
    # Created empty, so that its chunk may be larger than it can ever be.
    small = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    small.set_chunk((2,))
    one = h5py.h5d.create(f.id, b"grown", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((0,), (1,)), small)
    one.set_extent((1,))
    h5py.Dataset(one)[0] = 7
    f["empty"] = h5py.Empty("f8")
    f.create_dataset("nothing", shape=(20, 20), dtype="f4", fillvalue=2.5)
    for kind, options in (("zip", {"compression": "gzip"}), ("all", {"compression": "gzip", "shuffle": True, "fletcher32": True}), ("raw", {})):
        d = f.create_dataset("chunked " + kind, shape=(100, 90), maxshape=(None, 90), chunks=(16, 32), dtype="i4", fillvalue=-3, **options)
        d[0:40, 0:70] = np.arange(2800).reshape(40, 70) + rank
        d[99, 89] = 5
        for part in (3, 12):
            late = f.create_dataset("growing late %s %d" % (kind, part), shape=(4, 12), maxshape=(4, None), chunks=(2, 3), dtype="i4", **options)
            late[:, :part] = np.arange(4 * part).reshape(4, part) + rank
    space, kind = h5py.h5s.create_simple((30,)), h5py.h5t.NATIVE_INT32
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(f.id, b"compact", kind, space, dcpl).write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(30, dtype="i4"))
    f.create_dataset("texts", data=["one", "", "three %d" % rank], dtype=h5py.string_dtype())
    lists = f.create_dataset("lists", (3,), dtype=h5py.vlen_dtype("i4"))
    lists[0], lists[2] = np.arange(4), np.arange(9) + rank
    f["objects"] = np.array([f["plain"].ref, f["group"].ref], dtype=h5py.ref_dtype)
    f["region"] = np.array([f["plain"].regionref[5:9]], dtype=h5py.regionref_dtype)
    f["committed"] = np.dtype([("a", "i4"), ("b", "f8", 3)])
    f.create_dataset("compound", (10,), dtype=f["committed"])[3] = (4, (1, 2, 3))
    f["soft"] = h5py.SoftLink("/group/again")
    f["dangling"] = h5py.SoftLink("/not/there")
    f["outside"] = h5py.ExternalLink("r0.h5", "/plain")
    layout = h5py.VirtualLayout(shape=(50,), dtype="i8")
    layout[:25] = h5py.VirtualSource(".", "plain", shape=(n,))[:25]
    layout[25:] = h5py.VirtualSource("r0.h5", "plain", shape=(3000,))[100:125]
    f.create_virtual_dataset("virtual", layout)
    if rank:
        f.create_dataset("external", (50,), dtype="i4", external=[("run/raw%d.bin" % rank, 0, 200)])
    f["large"] = np.arange(40000) + rank
    f.create_dataset("large chunked", data=np.arange(40000) - rank, chunks=(900,), compression="gzip", compression_opts=1)
"""

# Everything in groups `a` and `b` of two files is the same; prints how datasets of `b` are stored.
COMPARE = r"""
import json, sys
import h5py, numpy as np
def value(d):
    v = d[()] if d.shape is not None else None
    if d.dtype.kind == "O" and d.shape is not None:
        if h5py.check_ref_dtype(d.dtype) is not None:
            return [h5py.h5i.get_type(d.file[r].id) if r else None for r in v.ravel()]
        return [x.tolist() if hasattr(x, "tolist") else x for x in np.asarray(v).ravel()]
    return None if v is None else str(v.tolist())
def walk(a, b, path, stored):
    assert sorted(a) == sorted(b), (path, sorted(a), sorted(b))
    assert sorted((k, str(v)) for k, v in a.attrs.items()) == sorted((k, str(v)) for k, v in b.attrs.items()), path
    for name in a:
        soft = isinstance(a.get(name, getlink=True), (h5py.SoftLink, h5py.ExternalLink))
        x, y = a.get(name), b.get(name)
        if x is None:
            assert soft and y is None, (path, name, "is a dangling link in one file only")
            continue
        if y is None:
            stored[path + name] = "absent: " + b.get(name, getlink=True).path
            continue
        assert type(x) is type(y), (path, name)
        if isinstance(x, h5py.Group):
            walk(x, y, path + name + "/", stored)
        elif isinstance(x, h5py.Dataset):
            assert x.shape == y.shape and x.dtype == y.dtype, (path, name)
            assert value(x) == value(y), (path, name, "values")
            assert x.dtype.kind in "OV" or x.fillvalue == y.fillvalue, (path, name, "fill value")
            if not x.is_virtual and x.external is None:
                assert (x.chunks, x.compression, x.shuffle, x.fletcher32, x.maxshape) == (y.chunks, y.compression, y.shuffle, y.fletcher32, y.maxshape), (path, name)
            if y.chunks and y.id.get_num_chunks():
                at = [y.id.get_chunk_info(i).byte_offset for i in range(y.id.get_num_chunks())]
                stored[path + name] = [min(at), max(at)]
            elif y.id.get_offset():
                stored[path + name] = [y.id.get_offset()] * 2
box = h5py.File(sys.argv[1])
for path, name in zip(sys.argv[2::2], sys.argv[3::2]):
    native, view, stored = h5py.File(path), box[name], {}
    walk(native, view, "/", stored)
    if "objects" in native:
        assert view.file[view["objects"][0]].name.endswith("plain") and view["plain"][view["region"][0]].tolist() == native["plain"][5:9].tolist()
    print(json.dumps(stored))
"""


def h5bento(*words, ok=(0,)):
    return run([built("bin", "h5bento"), *words], native_env(), ok=ok)


def answer(*words, ok=(0,)):
    return json.loads(h5bento(*words, "--json", ok=ok).out)


def stock(script, *words):
    return FORKED.run(script, words, native_env(), os.environ["H5BENTO_PYTHON_NATIVE"])


def write_all(config, ranks=RANKS):
    """Native files in run.native; then the same through the driver, one process after the other."""
    if not os.path.isdir("run.native"):
        os.makedirs("run")
        for rank in range(RANKS):
            FORKED.run(WRITE, [rank], native_env())
        os.rename("run", "run.native")
    os.makedirs("run", exist_ok=True)
    for rank in range(ranks):
        run([python(), "-c", WRITE, str(rank)], driver_env(config + ";rank=%d;size=%d;session=s" % (rank, RANKS)))


def compare(box, absent=(), ranks=RANKS):
    """All files in the view; returns where the datasets of each file lie."""
    where = {}
    words = [word for rank in range(ranks) for word in ("run.native/r%d.h5" % rank, "/run/r%d.h5" % rank)]
    found = stock(COMPARE, box, *words).out.splitlines()
    check(len(found) == ranks, "%d of %d files are compared" % (len(found), ranks))
    for rank in range(ranks):
        where[rank] = json.loads(found[rank])
        gone = sorted(name for name, place in where[rank].items() if isinstance(place, str))
        check(gone == sorted(absent), "rank %d: not in the view: %s" % (rank, gone))
    return where


def check_whole(box, parts):
    before, length = streams(box), [os.path.getsize(part) for part in parts]
    told = answer("view", "build", box)
    check(told["native_view"] == "there" and told["notes"] == [], "view build says %s" % told)
    check(streams(box) == before, "the view changed a stream")
    for rank, where in compare(box).items():
        # What can be adopted lies where the stream has it; the rest behind.
        part = rank if len(parts) > 1 else 0
        for name, (low, high) in where.items():
            copied = name in ("/texts", "/word", "/lists", "/objects", "/region", "/virtual", "/external")
            check(low >= length[part] if copied else high < length[part] or name.startswith("/large"),
                  "%s of rank %d lies at %d to %d, the streams end at %d" % (name, rank, low, high, length[part]))
    check(answer("view", "status", box)["native_view"] == answer("info", box)["native_view"] == "there", "view status, info")
    check(answer("verify", box)["files"][0]["sound"], "verify")
    return before


CHANGE = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); f.attrs['new'] = list(range(1000)); f['more'] = list(range(9999)); f.close()"


def whole():
    for files in (1, RANKS):
        box = "whole%d.bento" % files
        parts = [box] + ["%s.%06d" % (box, k) for k in range(1, files)]
        config = "container=%s;files=%d;chunk=256K" % (box, files)
        write_all(config)
        check(answer("view", "status", box)["native_view"] == "none", "a view that nobody asked for")
        before = check_whole(box, parts)
        # Another program changes it; that is forgotten, and no stream knows of it.
        stock(CHANGE, box)
        check(answer("view", "status", box, ok=(1,))["native_view"] == "edited", "a change is not seen")
        check(not answer("verify", box, ok=(1,))["files"][0]["sound"], "verify does not see a change")
        check("belongs to none" in h5bento("view", "take-over", box, ok=(1, 2)).err, "take-over")
        h5bento("view", "drop", box)
        stock_view(box)
        check(streams(box) == before, "a change through the view reached a stream")
        h5bento("view", "build", box)
        compare(box)
        # The next writer takes it away.
        with Joiner(config + ";rank=0;size=3;session=s") as a:
            a.say("rw run/r0.h5", "add joined 1 30000")
            stock_view(box)
            check("open for writing" in h5bento("view", "build", box, ok=(1,)).err, "a view while somebody writes")
            a.say("close")
        stock_view(box)
        after = streams(box)
        check({n: s for n, s in after.items() if n != "run/r0.h5"} == {n: s for n, s in before.items() if n != "run/r0.h5"}, "other streams")
        h5bento("view", "build", box)
        check(streams(box) == after, "the second view changed a stream")
        export(box, after)
        say("  %d files: good" % files)


def export(box, wanted):
    out = box + ".out"
    told = answer("export", "--format", "per-rank", box, out)
    check(sorted(one["name"] for one in told["files"]) == sorted(wanted), "exported %s" % told)
    for name, data in wanted.items():
        with open(os.path.join(out, name), "rb") as file:
            check(file.read() == data, "%s: exported other bytes" % name)
    check("is there already" in h5bento("export", "--format", "per-rank", box, out, ok=(1,)).err, "exported twice")
    check("per-rank" in h5bento("export", box, out + "2", ok=(2,)).err and not os.path.exists(out + "2"), "export as one file")


def closer():
    """The last one to leave builds it, if asked; and again after the next change. Not at the end of a program that closes nothing."""
    config = "container=closer.bento;view=on;chunk=256K"
    write_all(config, ranks=2)
    compare("closer.bento", ranks=2)
    before = streams("closer.bento")
    a = Joiner(config + ";rank=0;size=3;session=s")
    a.say("rw run/r1.h5", "add joined 1 500")
    stock_view("closer.bento")
    a.end()
    check(answer("info", "closer.bento")["native_view"] == "none", "a view while the library ends")
    with Joiner(config + ";rank=1;size=3;session=s") as a:
        a.say("rw run/r1.h5", "add again 1 500", "close")
    check(answer("info", "closer.bento")["native_view"] == "there", "no view by the last to leave")
    check(streams("closer.bento")["run/r0.h5"] == before["run/r0.h5"], "another stream")


def budget():
    """What crosses chunk ends is copied within view_copy=, and else it is a link that says why."""
    small = "container=small.bento;view=on;chunk=64K;view_copy=1K"
    write_all(small, ranks=1)
    notes = answer("view", "status", "small.bento")["notes"]
    check(any("view_copy=" in note and "'/large'" in note for note in notes), "notes: %s" % notes)
    links = stock("import h5py; print(h5py.File('small.bento')['run/r0.h5'].get('large', getlink=True).path)").out
    check("h5bento export --format per-rank" in links, "the link says %s" % links)
    h5bento("view", "build", "small.bento")
    compare("small.bento", ranks=1)


def full():
    """A view that cannot be made for lack of space leaves nothing behind, however often it is tried."""
    box = "full.bento"
    with Joiner("container=full.bento;rank=0;size=1;session=s;chunk=256K") as a:
        a.say("create first.h5", "add x 1 1000", "close")
    script = "import h5py\nwith h5py.File('first.h5', 'r+') as f: f.create_dataset('texts', data=['t' * 50000] * 50, dtype=h5py.string_dtype())"
    run([python(), "-c", script], driver_env("container=full.bento;rank=0;size=1;session=s"))
    before, there = streams(box), os.stat(box)
    # The first step of growth is refused; a later one is, and what was written by then fills pages.
    for room in (100_000, 1_200_000):
        for _ in range(2):
            limited = ["sh", "-c", "trap '' XFSZ; exec prlimit --fsize=\"$1\" \"$2\" view build \"$3\"", "-",
                       str(there.st_size + room), built("bin", "h5bento"), box]  # fmt: skip
            run(limited, native_env(), ok=(1, 2))
            now = os.stat(box)
            check((now.st_size, now.st_blocks) == (there.st_size, there.st_blocks), "with %d bytes of room %s became %s" % (room, there, now))
            stock_view(box)
    h5bento("view", "build", box)
    check(streams(box) == before and answer("info", box)["native_view"] == "there", "no view where there is room again")


def names():
    """Names that are in each other's way get other ones, and nothing is missing."""
    os.makedirs("sub")
    os.chdir("sub")
    wanted = ["../up.h5", "__/up.h5", "run", "run/a.h5", "|run|a.h5", "task-3", "|run|a.h5|/b.h5"]
    for rank, name in enumerate(wanted):
        with Joiner("container=names.bento;rank=%d;size=%d;session=s;files=2;chunk=256K" % (rank, len(wanted))) as a:
            a.say("create " + name, "add x 1 %d" % (100 + rank), "close")
    before = streams("names.bento")
    check(sorted(before) == sorted(wanted), "streams %s" % sorted(before))
    told = answer("export", "--format", "per-rank", "names.bento", "out")
    files = {one["name"]: one["file"] for one in told["files"]}
    check(files["../up.h5"] == "out/__/up.h5" and files["__/up.h5"] == "out/task-1" and files["run/a.h5"] == "out/task-3_", "exported %s" % files)
    for name, file in files.items():
        with open(file, "rb") as data:
            check(data.read() == before[name], "%s: exported other bytes" % name)
    shutil.rmtree("out")
    said = h5bento("export", "--format", "per-rank", "names.bento", "out").err
    check(said.count("since no file can have its name") == 2 and "'run/a.h5' (task 3) is 'out/task-3_'" in said, said)
    told = answer("view", "build", "names.bento")
    check(told["notes"] == [], "notes %s" % told)
    script = "import h5py, sys; f = h5py.File(sys.argv[1]); print([f[n]['x'].size for n in sys.argv[2:]])"
    shown = ["../up.h5", "__/up.h5", "run", "|run|a.h5||", "|run|a.h5", "task-3", "|run|a.h5|/b.h5"]
    found = stock(script, os.path.abspath("names.bento"), *shown).out
    check(found == "%s\n" % list(range(100, 100 + len(shown))), "view: %s" % found)
    os.chdir("..")


def deep():
    """As many dimensions as HDF5 has: its own calls for values of variable length do not survive them."""
    program = built("tests", "many_dimensions")
    run([program, "write", "deep.h5"], driver_env("container=deep.bento;rank=0;size=1;session=s"))
    check(answer("view", "build", "deep.bento")["notes"] == [], "not all is in the view")
    run([program, "read", "deep.bento", "/deep.h5"], native_env())


def killed():
    """A rank that was killed: its file is a link that says so, all others are there; repair finishes and builds the view."""
    config = "container=killed.bento;chunk=256K"
    write_all(config)
    before = streams("killed.bento")
    with Joiner(config + ";rank=1;size=3;session=s") as a:
        a.say("create run/r1.h5", "add x 1 50000")
        a.kill()
    told = answer("repair", "killed.bento", ok=(1,))
    check(not told["was_closed"] and not told["sound"] and told["native_view"] == "there", "repair: %s" % told)
    check([one["name"] for one in told["streams"] if one["cut"]] == ["run/r1.h5"], "cut: %s" % told)
    check(any("run/r1.h5" in note for note in told["notes"]), "notes: %s" % told["notes"])
    after = streams("killed.bento")
    check(all(after[n] == before[n] for n in before if n != "run/r1.h5"), "another stream changed")
    script = "import h5py; f = h5py.File('killed.bento')['run']; print(sorted(f), f.get('r1.h5', getlink=True).path, f['r0.h5/plain'][2], f['r2.h5/plain'][2])"
    found = stock(script).out
    check("['r0.h5', 'r1.h5', 'r2.h5']" in found and "HDF5 cannot open it" in found and found.endswith(" 2 6\n"), "view: %s" % found)
    check(report("killed.bento")[0][3:5] == ["finished", "free"], "not finished")


def damaged():
    """Each command on damaged and made-up containers with a view: an answer or a refusal, and never a crash."""
    with Joiner(hostile.CONFIG % "good.bento") as a:
        a.say("create a.h5", "add x 1 20000", "close")
    h5bento("view", "build", "good.bento")
    cases = list(hostile.on_purpose("good.bento")) + some(4, hostile.at_random("good.bento", 10))
    os.mkdir("bad")
    for number, (_, data) in enumerate(cases):
        for words in (["info"], ["verify"], ["export", "--format", "per-rank"], ["view", "status"], ["view", "build"], ["repair"], ["view", "drop"]):
            with open("bad/good.bento", "wb") as file:
                file.write(data)
            shutil.copy("good.bento.000001", "bad/good.bento.000001")
            h5bento(*words, "bad/good.bento", *(["out%d" % number] if words[0] == "export" else []), ok=(0, 1, 2))
    shutil.rmtree("bad")
    say("  %d damaged containers" % len(cases))


def renamed():
    """Both files of a container get another name, and another container their names: stock HDF5 shows nothing of that one here."""
    for seed, name in ((1, "first.bento"), (500, "old.bento")):
        for rank in range(2):
            with Joiner("container=old.bento;files=2;rank=%d;size=2;session=s" % rank) as a:
                a.say("create r%d.h5" % rank, "add x %d 50000" % (seed + rank), "close")
        check(answer("view", "build", "old.bento")["notes"] == [], "not all is in the view")
        for ending in ("", ".000001"):
            os.rename("old.bento" + ending, name + ending)
    script = "import h5py; f = h5py.File('%s'); print([int(f[n]['x'][0]) if f.get(n) is not None else None for n in ('r0.h5', 'r1.h5')])"
    for name, wanted in (("first.bento", "[1, None]"), ("old.bento", "[500, 501]")):
        found = stock(script % name).out.strip()
        check(found == wanted, "%s: %s" % (name, found))
    answer("view", "drop", "first.bento")
    check(answer("view", "build", "first.bento")["notes"] == [], "not all is in the view that was built again")
    found = stock(script % "first.bento").out.strip()
    check(found == "[1, 2]", "built again: %s" % found)


CASES = {case.__name__: case for case in (whole, closer, budget, full, names, deep, killed, damaged, renamed)}


def view(names):
    with FORKED:
        for name in names or CASES:
            CASES[name]()


if __name__ == "__main__":
    run_test(view, sys.argv[1:], containers=1)
