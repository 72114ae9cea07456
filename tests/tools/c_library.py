#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""libh5bento.so: its examples in C and in Python, each call on good and bad input, and which libraries it loads."""

import os
import re

from tool import answer, bento_env, copy, flip, native_env, python, run, write

import harness
from harness import SOURCE, build_folder, check, library_env, run_test, say

LIBRARY = "libh5bento.so"
EXAMPLES = os.path.join(SOURCE, "library", "examples")

# In a Python that has imported h5py from a wheel, with an HDF5 of its own: no other may come in.
BESIDE_H5PY = """
import ctypes, re, sys
import h5py
library = ctypes.CDLL(sys.argv[1])
library.h5bento_last_error.restype = ctypes.c_char_p
name = sys.argv[2].encode()
yes = ctypes.c_int()
assert library.h5bento_is_container(name, ctypes.byref(yes)) == 0 and yes.value == 1
report = ctypes.c_void_p()
assert library.h5bento_verify(name, 1, ctypes.byref(report)) == 0
before = h5py.File(sys.argv[2])["plain"][7]
steps = ctypes.c_void_p()
status = library.h5bento_steps_list(name, ctypes.byref(steps))
print(status, library.h5bento_last_error().decode())
assert h5py.File(sys.argv[2])["plain"][7] == before == 7
loaded = sorted(set(re.findall(r"\\S*/(lib(?:hdf5|mpi)[^/\\s]*)", open("/proc/self/maps").read())))
print("loaded", *loaded)
"""

# Every function, with handles and without, in a process of its own: none may crash.
CALLS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for f in ("h5bento_last_error", "h5bento_version", "h5bento_steps_dataset", "h5bento_report_text", "h5bento_report_note"):
    getattr(library, f).restype = ctypes.c_char_p
for f in ("steps_number", "dataset_step", "dataset_extent", "boxes_start", "report_offset", "boxes_skipped"):
    getattr(library, "h5bento_" + f).restype = ctypes.c_uint64
for f in ("steps_count", "steps_datasets", "boxes_count", "dataset_element_bytes", "report_count"):
    getattr(library, "h5bento_" + f).restype = ctypes.c_size_t
UNKNOWN = 2**64 - 1
error = lambda: library.h5bento_last_error().decode()

class Number(ctypes.Structure):
    class Value(ctypes.Union):
        _fields_ = [("i", ctypes.c_int64), ("u", ctypes.c_uint64), ("d", ctypes.c_double)]
    _fields_ = [("kind", ctypes.c_int), ("value", Value)]

def number(value):
    made = Number(); made.kind = 0; made.value.i = value
    return made

assert library.h5bento_version().decode().count(".") == 2 and error() == ""
text = ctypes.create_string_buffer(400)
asked = library.h5bento_transfer_wait(b"/no/where", b"/no/transfer", ctypes.c_double(0), text, 400)
assert asked == 3 and b"/no/transfer" in text.value, (asked, text.value)
for handle in ("steps", "boxes", "dataset", "report"):
    getattr(library, f"h5bento_{handle}_free")(None)
assert library.h5bento_steps_count(None) == 0 and library.h5bento_steps_number(None, 0) == UNKNOWN
assert library.h5bento_report_count(None) == 0 and library.h5bento_boxes_count(None) == 0
assert library.h5bento_dataset_hid(None) == -1
assert library.h5bento_is_container(None, None) == 5 and "NULL" in error()
yes = ctypes.c_int(7)
for name, want in ((b"folder", 0), (b"text", 0), (b"good.h5", 1)):
    assert library.h5bento_is_container(name, ctypes.byref(yes)) == 0 and yes.value == want, name
assert library.h5bento_is_container(b"missing", ctypes.byref(yes)) == 1 and "missing" in error()
handle = ctypes.c_void_p()
for call in ("verify", "steps_list", "recover", "view_build", "view_drop", "view_take_over"):
    function = getattr(library, f"h5bento_{call}")
    for name in (b"folder", b"text", b"missing", b""):
        more = (0,) if call == "verify" else ()
        status = function(name, *more, ctypes.byref(handle)) if not call.startswith("view") else function(name)
        assert status in (1, 5) and error(), (call, name, status, error())
        assert handle.value is None

steps = ctypes.c_void_p()
assert library.h5bento_steps_list(b"good.h5", ctypes.byref(steps)) == 0, error()
assert [library.h5bento_steps_number(steps, i) for i in range(library.h5bento_steps_count(steps))] == [1, 2, 3]
assert library.h5bento_steps_datasets(steps, 1) == 1
assert library.h5bento_steps_dataset(steps, 1, 0) == b"/group/data" and library.h5bento_steps_dataset(steps, 1, 9) == b""
library.h5bento_steps_free(steps)

first, count = ctypes.c_uint64(), ctypes.c_size_t()
numbers = (ctypes.c_uint64 * 2)()
assert library.h5bento_dataset_steps(b"good.h5", b"/group/data", ctypes.byref(first), ctypes.byref(count), numbers, 2) == 0
assert (first.value, count.value, list(numbers)) == (0, 3, [1, 2])
assert library.h5bento_dataset_steps(b"good.h5", b"/none", ctypes.byref(first), ctypes.byref(count), None, 0) == 1

opened = ctypes.c_void_p()
assert library.h5bento_dataset_open(b"good.h5", b"/group/data", ctypes.c_uint64(1), ctypes.byref(opened)) == 0, error()
assert library.h5bento_dataset_rank(opened) == 2 and library.h5bento_dataset_step(opened) == 2
assert [library.h5bento_dataset_extent(opened, d) for d in range(3)] == [40, 25, 0]
values = (ctypes.c_double * 1000)()
assert library.h5bento_dataset_read(opened, None, None, values, ctypes.c_size_t(8000)) == 0, error()
assert list(values) == [1000.0 + i for i in range(1000)]
start, many = (ctypes.c_uint64 * 2)(3, 5), (ctypes.c_uint64 * 2)(2, 4)
part = (ctypes.c_double * 8)()
assert library.h5bento_dataset_read(opened, start, many, part, ctypes.c_size_t(64)) == 0
assert list(part) == [1000.0 + 25 * r + c for r in (3, 4) for c in (5, 6, 7, 8)]
assert library.h5bento_dataset_read(opened, start, many, part, ctypes.c_size_t(63)) == 5 and "64" in error()
large = (ctypes.c_uint64 * 2)(2**63, 2**63)
assert library.h5bento_dataset_read(opened, large, large, part, ctypes.c_size_t(64)) == 5
assert library.h5bento_dataset_read(opened, start, None, part, ctypes.c_size_t(64)) == 5
library.h5bento_dataset_free(opened)
assert library.h5bento_dataset_open(b"good.h5", b"/group/data", ctypes.c_uint64(9), ctypes.byref(opened)) == 1
assert "0 to 2" in error(), error()

boxes = ctypes.c_void_p()
assert library.h5bento_find(b"good.h5", b"/group/data", number(2), number(5), None, None, ctypes.byref(boxes)) == 0, error()
assert library.h5bento_boxes_rank(boxes) == 2
assert library.h5bento_boxes_count(boxes) == 0 and library.h5bento_boxes_skipped(boxes) >= 1
library.h5bento_boxes_free(boxes)
assert library.h5bento_find(b"good.h5", b"/group/data", number(2500), number(2500), None, None, ctypes.byref(boxes)) == 0
assert library.h5bento_boxes_count(boxes) >= 1 and library.h5bento_boxes_extent(boxes, 0, 1) >= 1
library.h5bento_boxes_free(boxes)

view = ctypes.c_int()
assert library.h5bento_view_status(b"good.h5", ctypes.byref(view)) == 0 and view.value == 1
assert library.h5bento_view_build(b"good.h5") == 0, error()
assert library.h5bento_view_take_over(b"good.h5") == 5 and "not changed" in error()
written = ctypes.c_uint64()
assert library.h5bento_export_fti(b"good.h5", b"folder", 16, 1, ctypes.byref(written)) == 4 and "filter" in error(), error()
assert library.h5bento_export_fti(b"simple.h5", b"folder", 11, 1, ctypes.byref(written)) == 0, error()
assert written.value == 1
report = ctypes.c_void_p()
assert library.h5bento_recover(b"damaged.h5", ctypes.byref(report)) == 0, error()
assert library.h5bento_report_sound(report) == 0 and library.h5bento_report_count(report) == 1
assert library.h5bento_report_text(report, 0) and library.h5bento_report_text(report, 1) == b""
library.h5bento_report_free(report)
# Of a container of the file driver the view is built and dropped, and nothing else is done.
for call in ("build", "drop"):
    assert getattr(library, f"h5bento_view_{call}")(b"joined.bento") == 0, error()
assert library.h5bento_is_container(b"joined.bento", ctypes.byref(yes)) == 0 and yes.value == 1
for call in (library.h5bento_view_take_over, lambda name: library.h5bento_view_status(name, ctypes.byref(view)),
             lambda name: library.h5bento_verify(name, 0, ctypes.byref(report)), lambda name: library.h5bento_recover(name, ctypes.byref(report))):
    assert call(b"joined.bento") == 4 and "joined.bento" in error(), error()
print("all calls")
"""


def main():
    library = os.path.join(build_folder(), "lib", LIBRARY)
    write("good.h5", 3, "bento keep=all;minmax=on")
    run([python(), "-c", "import h5py; h5py.File('simple.h5', 'w')['x'] = range(100000)"], bento_env())
    copy("simple.h5", "damaged.h5")
    layout = answer("layout", "simple.h5")["files"][0]
    flip("damaged.h5", layout["data_start"] + 300_000)
    run([python(), "-c", "import h5py; h5py.File('joined.h5', 'w')['x'] = 1"], harness.driver_env("container=joined.bento;rank=0;size=1;session=s"))
    os.mkdir("folder")
    with open("text", "w") as file:
        file.write("text")

    needed = run(["readelf", "-d", library], native_env()).out
    sanitized = harness.SANITIZER is not None  # its runtime wants the C++ library, and has names of its own
    for name in ("hdf5", "mpi") if sanitized else ("hdf5", "mpi", "stdc++"):
        check(not re.search(rf"NEEDED.*lib{re.escape(name)}", needed), f"{LIBRARY} links {name}:\n{needed}")
    symbols = run(["nm", "-D", "--defined-only", library], native_env()).out.split("\n")
    foreign = [line for line in symbols if line and not re.search(r" h5bento_\w+$", line)]
    check(not foreign, f"{LIBRARY} shows {foreign[:5]}")
    with open(os.path.join(SOURCE, "library", "h5bento.h")) as file:
        declared = set(re.findall(r"H5BENTO_API [\w *]+?(h5bento_\w+)\(", re.sub(r"\s+", " ", file.read())))
    declared.add("h5bento_transfer_wait")  # of a header of its own
    shown = {line.split()[-1] for line in symbols if line}
    check(declared == shown and len(declared) > 40, f"declared and not there, or the reverse: {declared ^ shown}")

    loading = library_env(library)
    say(run([python(), "-c", CALLS, library], loading, timeout=120).out.strip())
    native = os.environ["H5BENTO_PYTHON_NATIVE"]
    beside = run([native, "-c", BESIDE_H5PY, library, "good.h5"], loading).out
    say(beside.strip())
    status, loaded = beside.splitlines()
    check(status.startswith("4 ") and "another HDF5" in status, f"beside the wheel's HDF5: {status}")
    check(len([name for name in loaded.split()[1:] if name.startswith("libhdf5-")]) == 1, loaded)
    check(not re.search(r"libhdf5\.so|libmpi", loaded), f"another library came into the process: {loaded}")

    example = os.path.join(EXAMPLES, "inspect_container.py")
    check(run([native, example, library, "good.h5"], loading).out.endswith("sound\n"), "the example in Python")
    run([native, example, library, "damaged.h5"], loading, ok=(1,))
    run([native, example, library, "text"], loading, ok=(2,))
    run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", os.path.join(SOURCE, "library"),
         os.path.join(EXAMPLES, "inspect.c"), library, f"-Wl,-rpath,{os.path.dirname(library)}", "-o", "inspect"], native_env())
    said = run(["./inspect", "good.h5", "/group/data"], loading).out
    sums = [float(one) for one in re.findall(r"sum (\S+)", said)]
    check(sums == [499500.0 + 1e6 * step for step in range(3)], f"the example in C says:\n{said}")
    for name in ("damaged.h5", "text", "missing"):
        run(["./inspect", name], loading, ok=(1,))
    with open("header.cpp", "w") as file:
        file.write('#include "h5bento.h"\nint main() { return h5bento_version()[0] == 0; }\n')
    run(["c++", "-std=c++11", "-Wall", "-Werror", "-pedantic", "-I", os.path.join(SOURCE, "library"), "header.cpp", library,
         f"-Wl,-rpath,{os.path.dirname(library)}", "-o", "header"], native_env())
    run(["./header"], loading)
    for name in ("damaged.h5",):
        os.remove(name)


if __name__ == "__main__":
    run_test(main, containers=2)
