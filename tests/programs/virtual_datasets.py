#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Virtual datasets over containers and ordinary files, in containers and ordinary files.

    virtual_datasets.py cases           each of the functions of CASES below, natively and under the connector; what only
                                        the connector promises, under the connector; what stock HDF5 sees
    virtual_datasets.py random COUNT    random ones (virtual_datasets_program.py): value for value as natively
    virtual_datasets.py --run NAMES HOLDER SOURCES    some of the functions, in folders of their names; `plain` or `default` as there
"""

import os
import re
import subprocess
import sys

from harness import bento_env, check, mpirun, native_env, python, run, run_test, say

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "virtual_datasets_program.py")
KINDS = {"native": {}, "plain": {"userblock_size": 512}, "default": {}}
PAIRS = (("default", "default"), ("plain", "default"), ("default", "plain"))

# The kinds of files that hold virtual datasets, and of their sources.
holder = sources = "default"


def source(name, mode="w"):
    import h5py

    return h5py.File(name, mode, **(KINDS[sources] if mode == "w" else {}))


def virtual_file(name, mode="w", **more):
    import h5py

    return h5py.File(name, mode, **(KINDS[holder] if mode == "w" else {}), **more)


def mapped(file, name, path, dataset, shape=(4,), kind="i4", fill=-1):
    """A virtual dataset that is the whole of another one."""
    import h5py

    layout = h5py.VirtualLayout(shape, kind)
    layout[...] = h5py.VirtualSource(path, dataset, shape)
    file.create_virtual_dataset(name, layout, fillvalue=fill)


def fails(call, text):
    try:
        found = call()
    except (OSError, ValueError, RuntimeError) as error:
        assert text in str(error), error
        return
    raise AssertionError(f"no error but {found}")


def open_objects():
    from h5py import h5f

    return h5f.get_obj_count(h5f.OBJ_ALL, h5f.OBJ_FILE | h5f.OBJ_DATASET | h5f.OBJ_GROUP | h5f.OBJ_ATTR)


def other_process(script, **more):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, **more)


# ---- as natively ---------------------------------------------------------------------------------


def places():
    """Where a source is looked for."""
    import h5py

    os.makedirs("holder/below", exist_ok=True)
    os.makedirs("elsewhere", exist_ok=True)
    values = {"holder/a.h5": 1, "a.h5": 2, "elsewhere/b.h5": 3, "holder/below/c.h5": 4, "d.h5": 5, "holder/e.h5": 6}
    for name, value in values.items():
        with source(name) as file:
            file["d"] = [value] * 4
    with virtual_file("holder/v.h5") as file:
        for name in ("a.h5", "b.h5", "below/c.h5", "d.h5", "/no such folder/e.h5"):
            mapped(file, name.strip("/").replace("/", "_"), name, "d", kind="i8")
    plist = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    plist.set_virtual_prefix(os.path.abspath("elsewhere").encode())
    with virtual_file("holder/v.h5", "r") as file:
        found = [int(file[name][0]) for name in sorted(file)]
        with_prefix = h5py.Dataset(h5py.h5d.open(file.id, b"b.h5", plist))[0]
    print(found, with_prefix)
    assert found == [1, -1, 4, 5, 6] and with_prefix == 3
    script = "import h5py; print(h5py.File('holder/v.h5', 'r')['b.h5'][0])"
    folders = f"/nowhere:{os.path.abspath('elsewhere')}"
    assert other_process(script, env={**os.environ, "HDF5_VDS_PREFIX": folders}).stdout.strip() == "3"
    os.chdir("holder")
    with virtual_file("v.h5", "r") as file:
        assert file["a.h5"][0] == 1


def other_folder():
    """The program goes to another folder, where there is a file of the source's name, or none, after it has opened the file."""
    import h5py
    import numpy as np

    os.makedirs("here/below")
    os.makedirs("empty")
    for name, values in (("here/s.h5", np.arange(4)), ("here/below/s.h5", np.arange(4) + 50)):
        with source(name) as file:
            file["d"] = values.astype("i4")
    with virtual_file("here/v.h5") as file:
        mapped(file, "v", "s.h5", "d")
    os.symlink("here/v.h5", "link.h5")
    top = os.getcwd()
    for begin, name in (("here", "v.h5"), (".", "here/v.h5"), (".", "link.h5")):
        for end in ("here/below", "empty"):
            os.chdir(os.path.join(top, begin))
            with h5py.File(name, "r+") as file, h5py.File(name, "r+") as again:
                os.chdir(os.path.join(top, end))
                print(begin, name, end, file["v"][...].tolist())
                again["v"][0] = len(end)
            os.chdir(top)
            for path in ("here/s.h5", "here/below/s.h5"):
                with h5py.File(path, "r") as file:
                    print(path, file["d"][...].tolist())

    # Of two names the first one counts, as long as anything is open.
    os.makedirs("other")
    with source("other/s.h5") as file:
        file["d"] = np.arange(4, dtype="i4") + 90
    os.symlink("../here/v.h5", "other/v.h5")
    for names in (("here/v.h5", "other/v.h5"), ("other/v.h5", "here/v.h5")):
        for turn in range(10):
            first, second = (h5py.h5f.open(name.encode(), h5py.h5f.ACC_RDONLY) for name in names)
            data = [h5py.Dataset(h5py.h5d.open(file, b"v")) for file in (second, first)]
            found = [int(one[1]) for one in data]
            first.close()
            second.close()
            os.chdir("here/below")
            found += [int(one[2]) for one in data]
            os.chdir(top)
            print(names, found)
            data.clear()
    # The link leads elsewhere by the time of the read.
    with h5py.File("link.h5", "r") as file:
        os.remove("link.h5")
        os.symlink("other/v.h5", "link.h5")
        print("link", file["v"][...].tolist())


def linked_source():
    """An external link leads into the source that was just read, and not to a file of that name in the working directory."""
    import h5py

    os.makedirs("there")
    for name, value in (("there/s.h5", 1), ("s.h5", 2)):
        with source(name) as file:
            file["d"] = [value] * 4
    with virtual_file("there/v.h5") as file:
        mapped(file, "v", "s.h5", "d", kind="i8")
        file["link"] = h5py.ExternalLink("s.h5", "/d")
    with virtual_file("there/v.h5", "r+") as file:
        found = file["v"][...].tolist()
        print(found, file["link"][...].tolist())
        # A link of an ordinary file leads to a container's native view, which is to be read only.
        file["v" if (holder, sources) == ("plain", "default") else "link"][1] = 9
        print(file["v"][...].tolist())
    with h5py.File("s.h5", "r") as file:
        print(file["d"][...].tolist())


def percent():
    """A series of sources, one for each block: which of them count, and how long the dataset is."""
    import h5py
    import numpy as np

    for number in (0, 1, 3, 4, 8):
        with source(f"s{number}%.h5") as file:
            file["d"] = np.arange(6).reshape(2, 3) + 10 * number
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_fill_value(np.array(-1, "i8"))
    whole = h5py.h5s.create_simple((2, 4), (h5py.h5s.UNLIMITED, 4))
    whole.select_hyperslab((1, 0), (h5py.h5s.UNLIMITED, 1), (3, 1), (2, 3))
    plist.set_virtual(whole, b"s%b%%.h5", b"d", h5py.h5s.create_simple((2, 3)))
    extent = h5py.h5s.create_simple((9, 4), (h5py.h5s.UNLIMITED, 4))
    with virtual_file("v.h5") as file:
        h5py.h5d.create(file.id, b"v", h5py.h5t.NATIVE_INT64, extent, plist)
    for view, gap, length in ((h5py.h5d.VDS_FIRST_MISSING, 0, 7), (h5py.h5d.VDS_LAST_AVAILABLE, 0, 6),
                              (h5py.h5d.VDS_LAST_AVAILABLE, 1, 15), (h5py.h5d.VDS_LAST_AVAILABLE, 3, 27)):
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        access.set_virtual_view(view)
        access.set_virtual_printf_gap(gap)
        with virtual_file("v.h5", "r") as file:
            data = h5py.Dataset(h5py.h5d.open(file.id, b"v", access))
            wanted = np.full((length, 4), -1)
            for number in (0, 1, 3, 4, 8):
                rows = slice(1 + 3 * number, 3 + 3 * number)
                if rows.start < length:
                    wanted[rows, :3] = np.arange(6).reshape(2, 3) + 10 * number
            print(view, gap, data.shape)
            assert data.shape == (length, 4), (view, gap, data.shape)
            assert (data[...] == wanted).all(), data[...]
            assert (data[2:length:5, 1:] == wanted[2::5, 1:]).all()


def growing():
    """Sources without an end, of which one is longer: the extent follows them."""
    import h5py
    import numpy as np

    def longer(name, length):
        with source(name, "a") as file:
            if "d" not in file:
                file.create_dataset("d", (0, 2), "i4", maxshape=(None, 2), chunks=(4, 2))
            file["d"].resize(length, axis=0)
            file["d"][...] = np.arange(2 * length).reshape(length, 2) + 1

    longer("a.h5", 4)
    longer("b.h5", 7)
    layout = h5py.VirtualLayout((1, 4), "i4", maxshape=(None, 4))
    for column, name in ((0, "a.h5"), (2, "b.h5")):
        part = h5py.VirtualSource(name, "d", (1, 2), "i4", maxshape=(None, 2))
        layout[: h5py.UNLIMITED, column : column + 2] = part[: h5py.UNLIMITED, :]
    with virtual_file("v.h5") as file:
        file.create_virtual_dataset("v", layout, fillvalue=-5)

    def check_view(data, lengths, view):
        length = (min if view == h5py.h5d.VDS_FIRST_MISSING else max)(lengths)
        wanted = np.full((length, 4), -5)
        for column, n in zip((0, 2), lengths):
            n = min(n, length)
            wanted[:n, column : column + 2] = np.arange(2 * n).reshape(n, 2) + 1
        print(view, lengths, data.shape)
        assert data.shape == (length, 4) and (data[...] == wanted).all(), (data.shape, data[...])

    for view in (h5py.h5d.VDS_FIRST_MISSING, h5py.h5d.VDS_LAST_AVAILABLE):
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        access.set_virtual_view(view)
        for lengths in ((4, 7), (9, 7), (9, 0)):
            for name, length in zip(("a.h5", "b.h5"), lengths):
                longer(name, length)
            with virtual_file("v.h5", "r") as file:
                check_view(h5py.Dataset(h5py.h5d.open(file.id, b"v", access)), lengths, view)


def strided_growth(lengths=(0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)):
    """Blocks with gaps on both sides, of different lengths."""
    import h5py
    import numpy as np

    for length in lengths:
        with source("s.h5") as file:
            file.create_dataset("d", data=np.arange(length) + 1, maxshape=(None,), chunks=(3,))
        from_space = h5py.h5s.create_simple((length,), (h5py.h5s.UNLIMITED,))
        from_space.select_hyperslab((1,), (h5py.h5s.UNLIMITED,), (4,), (3,))
        to_space = h5py.h5s.create_simple((30,), (h5py.h5s.UNLIMITED,))
        to_space.select_hyperslab((2,), (h5py.h5s.UNLIMITED,), (5,), (2,))
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_virtual(to_space, b"s.h5", b"d", from_space)
        with virtual_file("v.h5") as file:
            h5py.h5d.create(file.id, b"v", h5py.h5t.NATIVE_INT64, to_space, plist)
        chosen = [i + 1 for i in range(length) if i >= 1 and (i - 1) % 4 < 3]
        for view in (h5py.h5d.VDS_FIRST_MISSING, h5py.h5d.VDS_LAST_AVAILABLE):
            access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
            access.set_virtual_view(view)
            with virtual_file("v.h5", "r") as file:
                data = h5py.Dataset(h5py.h5d.open(file.id, b"v", access))
                values = data[...]
                print(length, view, values.tolist())
                assert [int(x) for i, x in enumerate(values) if i >= 2 and (i - 2) % 5 < 2] == chosen
                assert sum(values) == sum(chosen)


def nested():
    """Virtual datasets over virtual ones, and over links."""
    import h5py
    import numpy as np

    with source("data.h5") as file:
        file["d"] = np.arange(4, dtype="i4") + 1
        file["soft"] = h5py.SoftLink("/d")
    with virtual_file("between.h5") as file:
        mapped(file, "nested", "data.h5", "d")
        mapped(file, "soft", "data.h5", "soft", fill=-3)
        file["plain"] = np.arange(4, dtype="i4") + 5
        mapped(file, "own", ".", "plain")
        mapped(file, "twice", ".", "nested")
    with virtual_file("top.h5") as file:
        for name in ("nested", "soft", "plain", "own", "twice"):
            mapped(file, name, "between.h5", name, kind="f4")
    with virtual_file("top.h5", "r") as file:
        for name in sorted(file):
            print(name, file[name][...].tolist())
            assert file[name][...].tolist() == ([5, 6, 7, 8] if name in ("plain", "own") else [1, 2, 3, 4])
    with virtual_file("between.h5", "r+") as file:
        file["twice"][1:3] = np.array([70, 71], "i4")
    with virtual_file("top.h5", "r") as file:
        assert file["twice"][...].tolist() == [1, 70, 71, 4]


def kinds_of_elements():
    """Compounds, strings of both sorts, enumerations; a fill value of each."""
    import h5py
    import numpy as np

    pair = np.dtype([("a", "i2"), ("b", "f8")])
    text = h5py.string_dtype()
    values = {
        "pair": (np.array([(1, 1.5), (2, 2.5), (3, 3.5), (4, 4.5)], pair), np.array((7, 7.5), pair)),
        "fixed": (np.array([b"ab", b"c", b"", b"xyz"], "S4"), None),
        "text": (np.array(["one", "", "three", "vier"], object), None),
        "flags": (np.array([0, 1, 1, 0], h5py.enum_dtype({"no": 0, "yes": 1}, "i1")), None),
    }
    with source("s.h5") as file:
        for name, (array, _) in values.items():
            file.create_dataset(name, data=array, dtype=text if name == "text" else array.dtype)
    with virtual_file("v.h5") as file:
        for name, (array, fill) in values.items():
            layout = h5py.VirtualLayout((6,), text if name == "text" else array.dtype)
            layout[1:5] = h5py.VirtualSource("s.h5", name, (4,))
            file.create_virtual_dataset(name, layout, fillvalue=fill)
    with virtual_file("v.h5", "r") as file:
        for name, (array, fill) in values.items():
            found = file[name][...]
            print(name, found.tolist())
            if name == "text":
                assert [x.decode() for x in found] == ["", *array, ""]
                assert file[name].id.get_type().is_variable_str()
            else:
                assert (found[1:5] == array).all() and found[0] == (fill if fill is not None else np.zeros(1, array.dtype)[0])
        assert (file["pair"].fields("b")[...] == [7.5, 1.5, 2.5, 3.5, 4.5, 7.5]).all()


def refused():
    """What cannot be right is an error, and nothing is written."""
    import numpy as np

    with source("s.h5") as file:
        file["d"] = np.arange(4, dtype="i4")
        file["short"] = np.arange(2, dtype="i4")
    with open("junk.h5", "wb") as file:
        file.write(b"no HDF5 file " * 100)
    with virtual_file("v.h5") as file:
        for name, path, dataset in (("short", "s.h5", "short"), ("junk", "junk.h5", "d"), ("d", "s.h5", "d"), ("none", "none.h5", "d"), ("no set", "s.h5", "no set")):
            mapped(file, name, path, dataset)
    with virtual_file("v.h5", "r") as file:
        for name in ("short", "junk"):
            fails(lambda: file[name][...], "")
        for name in ("none", "no set"):
            assert file[name][...].tolist() == [-1] * 4
        fails(lambda: file["d"].__setitem__(0, np.array(9, "i4")), "no write intent")
    with virtual_file("v.h5", "r+") as file:
        for name in ("none", "no set"):
            fails(lambda: file[name].__setitem__(slice(0, 2), np.array([1, 2], "i4")), "unmapped portion")
    with source("s.h5", "r") as file:
        assert file["d"][...].tolist() == [0, 1, 2, 3]


def several_at_once():
    """H5Dread_multi of virtual and other datasets."""
    import ctypes

    import h5py
    import numpy as np

    with source("s.h5") as file:
        file["d"] = np.arange(4, dtype="i8") + 1
    with virtual_file("v.h5") as file:
        mapped(file, "v", "s.h5", "d", kind="i8")
        file["d"] = np.arange(4, dtype="i8") + 5
        mapped(file, "own", ".", "d", kind="i8")
    library = ctypes.CDLL(h5py.defs.__file__)
    with virtual_file("v.h5", "r") as file:
        sets = [file[name] for name in ("v", "d", "own")]
        out = [np.zeros(4, "i8") for _ in sets]
        ids = (ctypes.c_int64 * 3)(*(each.id.id for each in sets))
        types = (ctypes.c_int64 * 3)(*([h5py.h5t.NATIVE_INT64.id] * 3))
        spaces = (ctypes.c_int64 * 3)()
        buffers = (ctypes.c_void_p * 3)(*(each.ctypes.data for each in out))
        assert library.H5Dread_multi(ctypes.c_size_t(3), ids, types, spaces, spaces, ctypes.c_int64(0), buffers) >= 0
        print([each.tolist() for each in out])
        assert [each.tolist() for each in out] == [[1, 2, 3, 4], [5, 6, 7, 8], [5, 6, 7, 8]]


def buffer_size():
    """H5Dvlen_get_buf_size."""
    import ctypes

    import h5py

    with source("s.h5") as file:
        file.create_dataset("text", data=["one", "three", "x"], dtype=h5py.string_dtype())
    with virtual_file("v.h5") as file:
        layout = h5py.VirtualLayout((5,), h5py.string_dtype())
        layout[1:4] = h5py.VirtualSource("s.h5", "text", (3,))
        file.create_virtual_dataset("text", layout)
    call = ctypes.CDLL(h5py.defs.__file__).H5Dvlen_get_buf_size
    call.argtypes = [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    with virtual_file("v.h5", "r") as file:
        data = file["text"]
        kind, space, size = data.id.get_type(), data.id.get_space(), ctypes.c_uint64()
        assert call(data.id.id, kind.id, space.id, ctypes.byref(size)) >= 0
        print(size.value)
        assert size.value == len("one") + len("three") + len("x") + 3


def written_elsewhere():
    """A source that the program has open for writing: what it has written and not committed is seen."""
    import h5py
    import numpy as np

    with source("s.h5") as file:
        file["d"] = np.arange(4, dtype="i4")
    with virtual_file("v.h5") as file:
        mapped(file, "v", "s.h5", "d")
    with source("s.h5", "r+") as writer:
        writer["d"][0] = 100
        with virtual_file("v.h5", "r") as file:
            data = file["v"]
            print(data[...].tolist())
            assert data[...].tolist() == [100, 1, 2, 3]
            writer["d"][1] = 101
            assert data[...].tolist() == [100, 101, 2, 3]
    weak = h5py.h5f.open(b"s.h5", h5py.h5f.ACC_RDWR, h5py.h5p.create(h5py.h5p.FILE_ACCESS))
    h5py.h5d.open(weak, b"d").write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([7, 8, 9, 10], "i4"))
    with virtual_file("v.h5", "r") as file:
        assert file["v"][...].tolist() == [7, 8, 9, 10]
    weak.close()
    assert open_objects() == 0


# ---- only under the connector --------------------------------------------------------------------


def itself():
    """Among its own sources, or among those of its sources: natively the program crashes."""
    import h5py

    with virtual_file("v.h5") as file:
        mapped(file, "self", ".", "self")
        mapped(file, "a", ".", "b")
        mapped(file, "b", "v.h5", "a")
        layout = h5py.VirtualLayout((4,), "i4", maxshape=(None,))
        layout[: h5py.UNLIMITED] = h5py.VirtualSource(".", "endless", (4,), "i4", maxshape=(None,))[: h5py.UNLIMITED]
        file.create_virtual_dataset("endless", layout)
        for level in range(40):
            mapped(file, f"level{level}", ".", f"level{level + 1}")
        file["level40"] = [1, 2, 3, 4]
    with virtual_file("v.h5", "r+") as file:
        for name in ("self", "a", "b"):
            fails(lambda: file[name][...], "among its own sources")
            fails(lambda: file[name].__setitem__(0, 1), "among its own sources")
        fails(lambda: file["endless"].shape, "")
        fails(lambda: file["level0"][...], "more than 32 deep")
        assert file["level20"][...].tolist() == [1, 2, 3, 4]


def short_growth():
    """Lengths with which natively a program crashes."""
    strided_growth((2, 3))


def written_text():
    """Part of a dataset of text is written through a virtual one: natively the program crashes. A group is no source."""
    import h5py

    with source("s.h5") as file:
        file.create_dataset("text", data=["one", "", "three", "vier"], dtype=h5py.string_dtype())
        file.create_group("group")
    with virtual_file("v.h5") as file:
        layout = h5py.VirtualLayout((6,), h5py.string_dtype())
        layout[1:5] = h5py.VirtualSource("s.h5", "text", (4,))
        file.create_virtual_dataset("text", layout)
        mapped(file, "group", "s.h5", "group")
    with virtual_file("v.h5", "r+") as file:
        file["text"][2:4] = ["zwei", "a longer third"]
        assert [x.decode() for x in file["text"][...]] == ["", "one", "zwei", "a longer third", "vier", ""]
        fails(lambda: file["group"][...], "'group' is no dataset")
    with source("s.h5", "r") as file:
        assert [x.decode() for x in file["text"][...]] == ["one", "zwei", "a longer third", "vier"]


def grown_series():
    """A series maps all of each source, and one other than the first has grown since: its mapping is as large as before."""
    import numpy as np
    from h5py import h5d, h5p, h5s, h5t

    for shape, grown in (((4,), (6,)), ((2, 4), (4, 4)), ((2, 4), (2, 6))):
        name, parts = f"{shape} {grown}", []
        for number in range(3):
            parts.append(np.arange(np.prod(shape), dtype="i4").reshape(shape) + 100 * number)
            with source(f"{name} {number}.h5") as file:
                file.create_dataset("d", data=parts[-1], maxshape=(None,) * len(shape), chunks=shape)
        rest = shape[1:]
        space = h5s.create_simple((1, *rest), (h5s.UNLIMITED, *rest))
        space.select_hyperslab((0,) * len(shape), (h5s.UNLIMITED, *(1 for _ in rest)), shape, shape)
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_virtual(space, f"{name} %b.h5".encode(), b"d", h5s.create_simple(shape))
        with virtual_file("v.h5", "a") as file:
            h5d.create(file.id, name.encode(), h5t.NATIVE_INT32, space, plist)
        with source(f"{name} 1.h5", "r+") as file:
            file["d"].resize(grown)
            file["d"][...] = np.pad(parts[1], [(0, more - side) for side, more in zip(shape, grown)], constant_values=-1)
        with virtual_file("v.h5", "r") as file:
            data = file[name]
            print(name, data.shape)
            assert (data[...] == np.concatenate(parts)).all(), data[...]
            assert (data[shape[0] + 1 :, ...] == np.concatenate(parts)[shape[0] + 1 :]).all(), data[...]


def other_dimensions():
    """A source that has become one of other dimensions, or a null one: natively the program crashes, or reads zeros."""
    import h5py
    import numpy as np

    shapes = {"wide": (4, 10), "flat": (4, 10, 0), "scalar": (), "none": (0, 10)}
    with source("s.h5") as file:
        for name, shape in shapes.items():
            file[name] = np.zeros(shape, "i4")
        file["null"] = h5py.Empty("i4")
    with virtual_file("v.h5") as file:
        for name in (*shapes, "null"):
            layout = h5py.VirtualLayout((6,), "i4")
            layout[1:3] = h5py.VirtualSource("s.h5", name, (4,))[1:3]
            file.create_virtual_dataset(name, layout)
            layout = h5py.VirtualLayout((4,), "i4", maxshape=(None,))
            layout[: h5py.UNLIMITED] = h5py.VirtualSource("s.h5", name, (4,), "i4", maxshape=(None,))[: h5py.UNLIMITED]
            file.create_virtual_dataset("endless " + name, layout)
    with virtual_file("v.h5", "r+") as file:
        for name in (*shapes, "null"):
            fails(lambda: file[name][...], f"the source '{name}' in 's.h5' has")
            fails(lambda: file[name].__setitem__(slice(1, 3), np.zeros(2, "i4")), f"the source '{name}' in 's.h5' has")
            fails(lambda: file["endless " + name][...], "")


def converted():
    """A part is written in another type than the dataset's: natively the values are wrong."""
    import numpy as np

    with source("s.h5") as file:
        file["d"] = np.zeros(4, "f4")
    with virtual_file("v.h5") as file:
        mapped(file, "v", "s.h5", "d", kind="i2")
    with virtual_file("v.h5", "r+") as file:
        file["v"][1:3] = np.array([1.5, -2.5])
        assert file["v"].astype("f8")[...].tolist() == [0, 1.5, -2.5, 0]


# Opens the source for writing, writes the number of each line into it, and closes it.
OTHER_WRITER = """
import sys, h5py
for line in sys.stdin:
    try:
        with h5py.File('s.h5', 'r+') as file: file['d'][1] = int(line)
        print('written', flush=True)
    except OSError:
        print('refused', flush=True)
"""


def locks():
    """A source that is written through a virtual dataset is locked until a flush or a close; one that is read is not. Other
    programs' values come with a refresh or a new open, this program's own at once."""
    import numpy as np

    with source("s.h5") as file:
        file["d"] = np.arange(4, dtype="i4")
    with virtual_file("v.h5") as file:
        mapped(file, "v", "s.h5", "d")
    other = subprocess.Popen([sys.executable, "-c", OTHER_WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def other_writes(value):
        print(value, file=other.stdin, flush=True)
        said = other.stdout.readline().strip()
        assert said in ("written", "refused"), said
        return said == "written"

    with virtual_file("v.h5", "r+") as file:
        data = file["v"]
        assert data[...].tolist() == [0, 1, 2, 3]
        if sources == "default":  # HDF5's own lock keeps a writer out of an ordinary file
            assert other_writes(11)
            data.refresh()
            assert data[1] == 11
        data[2] = np.array(22, "i4")
        assert data[2] == 22 and not other_writes(12)
        file.flush()
        assert other_writes(13)
        data.refresh()
        assert data[...].tolist() == [0, 13, 22, 3]
        data[3] = np.array(33, "i4")
        del data
        assert other_writes(14)
        with source("s.h5", "r+") as mine:
            before = file["v"][...].tolist()
            mine["d"][0] = 9
            assert before == [0, 14, 22, 33] and file["v"][0] == 9
        data = file["v"]
        data[...]
        with source("s.h5", "r+") as mine:  # natively it is open for reading already
            mine["d"][0] = 10
            assert data[0] == 10
        with source("s.h5", "w") as mine:
            mine["d"] = np.arange(4, dtype="i4") + 50
        assert data[...].tolist() == [50, 51, 52, 53]
    assert open_objects() == 0
    other.stdin.close()
    assert other.wait() == 0


def chosen_by_list():
    """The connector is chosen by the access list alone, and the program holds no identifier of it."""
    import ctypes

    import h5py
    import numpy as np

    assert "HDF5_VOL_CONNECTOR" not in os.environ
    library = ctypes.CDLL(h5py.defs.__file__)
    library.H5VLregister_connector_by_name.restype = ctypes.c_int64
    library.H5VLregister_connector_by_name.argtypes = [ctypes.c_char_p, ctypes.c_int64]
    library.H5Pset_vol.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    library.H5VLclose.argtypes = [ctypes.c_int64]

    def access():
        plist = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        connector = library.H5VLregister_connector_by_name(b"bento", 0)
        assert connector > 0 and library.H5Pset_vol(plist.id, connector, None) >= 0
        assert library.H5VLclose(connector) >= 0
        return plist

    with h5py.File(h5py.h5f.create(b"s.h5", h5py.h5f.ACC_TRUNC, fapl=access())) as file:
        file["d"] = np.arange(4, dtype="i4")
    with h5py.File(h5py.h5f.create(b"v.h5", h5py.h5f.ACC_TRUNC, fapl=access())) as file:
        mapped(file, "v", "s.h5", "d")
    for name in ("s.h5", "v.h5"):
        with open(name, "rb") as file:
            assert file.read(4) == b"sion"
    with h5py.File(h5py.h5f.open(b"v.h5", h5py.h5f.ACC_RDWR, fapl=access())) as file:
        file["v"][0] = np.array(9, "i4")
        assert file["v"][...].tolist() == [9, 1, 2, 3]


def many():
    """More sources than are kept open."""
    import h5py
    import numpy as np

    count = 280  # kMostKept and some
    layout = h5py.VirtualLayout((count, 3), "i4")
    for number in range(count):
        with source(f"s{number}.h5") as file:
            file["d"] = np.arange(3, dtype="i4") + number
        layout[number] = h5py.VirtualSource(f"s{number}.h5", "d", (3,))
    with virtual_file("v.h5") as file:
        file.create_virtual_dataset("v", layout)
    wanted = np.arange(count).reshape(-1, 1) + np.arange(3)
    with virtual_file("v.h5", "r+") as file:
        for _ in range(2):
            assert (file["v"][...] == wanted).all()
        file["v"][:, 1] = np.arange(count, dtype="i4") * 2
        wanted[:, 1] = np.arange(count) * 2
        assert (file["v"][...] == wanted).all()
    with virtual_file("v.h5", "r") as file:
        assert (file["v"][...] == wanted).all()
    for number in range(20, count):  # some are enough for the checkers
        os.remove(f"s{number}.h5")


def ranks():
    """Ranks read, each by itself; they cannot write, as natively."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.rank == 0:
        with source("s.h5") as file:
            file["d"] = np.arange(8, dtype="i4")
        with h5py.File("ordinary.h5", "w", **KINDS["plain"]) as file:
            mapped(file, "v", "s.h5", "d", (8,))
    comm.barrier()
    with h5py.File("ordinary.h5", "r", driver="mpio", comm=comm) as file:
        fails(lambda: file["v"][...], "parallel reads not supported")
    with h5py.File("v.h5", "w", driver="mpio", comm=comm) as file:
        mapped(file, "v", "s.h5", "d", (8,))
        own = file.create_dataset("own", (8,), "i4")
        mapped(file, "of own", ".", "own", (8,))
        own[4 * comm.rank : 4 * comm.rank + 4] = np.arange(4) + 10 * comm.rank
        file.flush()
        assert file["of own"][...].tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
        fails(lambda: file["v"].__setitem__(0, np.array(9, "i4")), "parallel writes not supported")
    with h5py.File("v.h5", "r", driver="mpio", comm=comm) as file:
        assert file["v"][comm.rank : 6 + comm.rank].tolist() == list(range(comm.rank, 6 + comm.rank))
        with file["v"].collective:
            found = np.zeros(8, "i4")
            file["v"].read_direct(found)
        assert found.tolist() == list(range(8))
        assert file["of own"][...].tolist() == [0, 1, 2, 3, 10, 11, 12, 13]


def ranks_default():
    ranks()


def ranks_plain():
    global sources
    sources = "plain"
    ranks()


def beside_other_files():
    """The virtual dataset stays open; the program opens and closes other files, so its sources are closed again and again."""
    with source("p.h5") as file:
        file["d"] = [1, 2, 3, 4]
    with source("x.h5") as file:
        file["x"] = 1
    with virtual_file("v.h5") as file:
        mapped(file, "v", "p.h5", "d")
    kept = []
    data = virtual_file("v.h5", "r")["v"]
    for turn in range(40):
        assert data[...].tolist() == [1, 2, 3, 4]
        kept.append(source("x.h5", "r"))
        if turn % 3 == 0:
            kept.pop(0).close()
    print(open_objects())


def open_source():
    """A source without an end is open for writing while the file of the virtual dataset is closed."""
    import h5py

    file = source("s.h5")
    rows = file.create_dataset("d", (3,), "i4", maxshape=(None,), chunks=(2,))
    rows[...] = [1, 2, 3]
    file.flush()
    layout = h5py.VirtualLayout((1,), "i4", maxshape=(None,))
    layout[: h5py.UNLIMITED] = h5py.VirtualSource("s.h5", "d", (1,), "i4", maxshape=(None,))[: h5py.UNLIMITED]
    with virtual_file("v.h5") as other:
        other.create_virtual_dataset("v", layout, fillvalue=-5)
        other["beside"] = 5
    file.close()
    with virtual_file("v.h5", "r") as other:
        print(other["v"][...].tolist(), other["beside"][()], open_objects())


# What keeps files open comes last, as the cases of a kind run in one process.
CASES = (places, other_folder, linked_source, percent, growing, grown_series, strided_growth, nested, kinds_of_elements, refused, several_at_once, buffer_size)
CASES += (written_elsewhere, open_source, beside_other_files)
OURS = (itself, short_growth, written_text, other_dimensions, converted, locks, many)

STOCK = """
import h5py
with h5py.File('v.h5', 'r') as file: print({name: file[name][...].tolist() for name in sorted(file) if name[0] != '.'})
"""


def run_in_turn(names):
    """Each in a folder of its own, with a line in front of what it prints."""
    top = os.getcwd()
    for name in names:
        print(f"{name}:", flush=True)
        os.makedirs(name, exist_ok=True)  # by each rank
        os.chdir(name)
        globals()[name]()
        os.chdir(top)


def run_each(names, env, pair, folder):
    """{name: what it printed}, of one process."""
    os.makedirs(folder)
    command = [python(), "-B", os.path.abspath(__file__), "--run", ",".join(names), *pair]
    result = run(command, env, cwd=folder)
    check(result.out.rstrip().endswith("right"), f"{pair}: {result.tail()}")
    check(not result.err.strip(), f"{pair}: {result.err}")
    parts = re.split(r"^(\w+):\n", result.out, flags=re.M)[1:]
    check(tuple(parts[::2]) == tuple(names), f"{pair}: {parts[::2]} were run")
    return dict(zip(parts[::2], parts[1::2]))


def stock_view():
    """Closed containers are ordinary files: stock HDF5 follows a virtual dataset of one into another one."""
    make = """
import h5py, numpy
with h5py.File('s.h5', 'w') as file: file['d'] = numpy.arange(4, dtype='i4') + 1
with h5py.File('v.h5', 'w') as file:
    file['x'] = numpy.arange(4, dtype='i4') + 5
    for name, path, dataset in ('other', 's.h5', 'd'), ('own', '.', 'x'):
        layout = h5py.VirtualLayout((5,), 'i4')
        layout[:4] = h5py.VirtualSource(path, dataset, (4,))
        file.create_virtual_dataset(name, layout, fillvalue=-1)
"""
    run([python(), "-c", make], bento_env())
    wanted = "{'other': [1, 2, 3, 4, -1], 'own': [5, 6, 7, 8, -1], 'x': [5, 6, 7, 8]}"
    for reader, env in ((os.environ["H5BENTO_PYTHON_NATIVE"], native_env()), (python(), bento_env())):
        found = run([reader, "-c", STOCK], env).out.strip()
        check(found == wanted, f"{reader}: {found}")


def cases():
    both, ours = ([case.__name__ for case in group] for group in (CASES, OURS))
    native = run_each(both, native_env(), ("native", "native"), "native")
    for pair in PAIRS:
        # Many containers take long to make, and one kind of holder is enough for them.
        names = [name for name in ours if name != "many" or pair == PAIRS[0] or os.environ.get("H5BENTO_TEST_ALL")]
        found = run_each(names + both, bento_env(), pair, "-".join(pair))
        for name in both:
            check(found[name] == native[name], f"{name}, {pair}: natively\n{native[name]}\nhere\n{found[name]}")
    env = bento_env()
    del env["HDF5_VOL_CONNECTOR"]
    run_each(["chosen_by_list"], env, ("default", "default"), "chosen_by_list")
    os.makedirs("ranks")
    command = [python(), "-B", os.path.abspath(__file__), "--run", "ranks_default,ranks_plain", "default", "default"]
    found = mpirun(2, command, bento_env(), cwd=os.path.abspath("ranks"))
    check(found.out.count("right") == 2, found.tail())
    stock_view()
    say("right")


def random_ones(first, count):
    def lines(env, *pair):
        folder = "-".join(pair)
        os.makedirs(folder)
        return run([python(), "-B", PROGRAM, *pair, first, count], env, cwd=folder, timeout=60 + 3 * count).out

    native = lines(native_env(), "native", "native")
    check(len(native.splitlines()) == count, native)
    for pair in PAIRS:
        found = lines(bento_env(), *pair)
        check(found == native, f"{pair}: natively\n{native}\nhere\n{found}")
    say(f"{count} random programs: the same in {len(PAIRS)} ways")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        holder, sources = sys.argv[3:5]
        run_in_turn(sys.argv[2].split(","))
        print("right")
    elif sys.argv[1:2] == ["random"]:
        run_test(random_ones, int(sys.argv[3]) if len(sys.argv) > 3 else 0, int(sys.argv[2]))
    else:
        run_test(cases)
