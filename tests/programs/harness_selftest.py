#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The judges judged: parsers and checks of these tests, on made-up input. Needs no plugin."""

import json
import os
import signal
import sys
import time

import api_tests
import h5py_suite
import harness
import sanitizer
from harness import Failure, check, check_diverted, is_container, run, run_test


def line(container=True, diverted=(0, 0), skeleton=(0, 0), passed=(0, 0)):
    def counts(pair):
        return {"writes": 1, "bytes_written": pair[0], "reads": 1, "bytes_read": pair[1]}

    value = {"files": [{"path": "/a", "container": container}]}
    value.update(
        diverted=counts(diverted), skeleton=counts(skeleton), passed_through=counts(passed)
    )
    return json.dumps(value) + "\n"


def fails(function, *arguments, **more):
    try:
        function(*arguments, **more)
    except Failure:
        return True
    return False


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


def test_statistics():
    good = write("good", line(diverted=(100, 10)) + "\n" + line(diverted=(20, 5)))
    check_diverted(good, written=120, read=15, processes=2)
    check_diverted(good, written=100, at_least=True)
    check_diverted(good)
    for arguments in (
        {"written": 100},
        {"written": 121, "at_least": True},
        {"written": 120, "read": 16},
        {"processes": 3},
    ):
        check(fails(check_diverted, good, **arguments), f"{arguments} was accepted")
    cases = {
        "no file": None,
        "empty": "",
        "no container": line(container=False, passed=(120, 0)),
        "container without data": line(),
        "some passed through": line(diverted=(120, 0), passed=(1, 0)),
        "some in the skeleton": line(diverted=(120, 0), skeleton=(1, 0)),
        "no JSON": "nonsense\n",
        "a list": "[]\n",
        "key missing": line(diverted=(5, 5)).replace("skeleton", "bones"),
        "negative": line(diverted=(-5, 5)),
    }
    for name, text in cases.items():
        path = write("case", text) if text is not None else "absent"
        check(fails(check_diverted, path), f"statistics were accepted: {name}")
    check_diverted(write("case", line(diverted=(120, 0), skeleton=(1, 0))), written=120, only=False)


def test_containers():
    check(is_container(write("sion", "sion and more")), "a container was not recognised")
    check(not is_container(write("hdf5", "\x89HDF")), "an HDF5 file was taken for a container")
    check(not is_container(write("short", "si")), "a short file was taken for a container")


def test_deadline():
    begin = time.monotonic()
    check(
        fails(run, ["sh", "-c", "sleep 60 & sleep 60"], os.environ, timeout=0.5),
        "a deadline was not kept",
    )
    check(time.monotonic() - begin < 20, "the end came too late")
    check(fails(run, ["sh", "-c", "exit 3"], os.environ), "an exit status was not noticed")
    check(run(["sh", "-c", "echo a; exit 3"], os.environ, ok=(3,)).out == "a\n", "output was lost")


UNSEEN = """\
mpirun has exited due to process rank 4 with PID 0 on
node vm exiting improperly. There are three reasons this could occur:
"""


def test_ended_unseen():
    """A rank that ended well, which mpirun missed; and whatever else mpirun says."""
    def result(text, status):
        return run(["sh", "-c", f"printf %s '{text}' >&2; exit {status}"], os.environ, ok=harness.ANY).status

    check(result(UNSEEN, 1) == 0, "a rank that ended unseen is a failure")
    check(result(UNSEEN, 2) == 2, "another status was lost")
    check(result("", 1) == 1, "a status without the message was lost")
    check(result(UNSEEN + "rank 3 exited on signal 9 (Killed).", 1) == 1, "a killed rank was lost")
    check(result(UNSEEN.replace("PID 0", "PID 77"), 1) == 1, "another message was taken for it")


LONG_NAME = "verification of dataset data with H5Dwrite and then H5D read with variable length sequence"
API_OUTPUT = """\
**********************************************
*               API File Tests               *
**********************************************

Testing H5Fcreate                                                      PASSED
Testing H5Fopen
  Testing test setup                                                   PASSED
  Testing H5Fopen in read-only mode                                   *FAILED*
HDF5-DIAG: Error detected in HDF5 (1.14.5):
  #000: Testing nothing at all
  Testing H5Fopen in read-write mode                                   -SKIP-
Testing LONG_NAME
 -SKIP-
**********************************************
*           API Parallel Dataset Tests       *
**********************************************
Testing creating many datasets
 1/3 2/3 3/3 PASSED
Testing write to dataset with one rank using all selection; others none selection PASSED
Testing what never ends                                               """


def test_api_parser():
    found = api_tests.parse(API_OUTPUT.replace("LONG_NAME", LONG_NAME))
    wanted = {
        ("file", "H5Fcreate", ""): "passed",
        ("file", "H5Fopen", "test setup"): "passed",
        ("file", "H5Fopen", "H5Fopen in read-only mode"): "failed",
        ("file", "H5Fopen", "H5Fopen in read-write mode"): "skipped",
        (
            "file",
            LONG_NAME,
            "",
        ): "skipped",
        ("dataset", "creating many datasets", ""): "passed",
        (
            "dataset",
            "write to dataset with one rank using all selection; others none selection",
            "",
        ): "passed",
        ("dataset", "what never ends", ""): "unfinished",
    }
    check(found == wanted, f"parsed {found}")


def test_known_list():
    known = h5py_suite.parse_known("# comment\n\n[serial]\ntest_a.py::T::test_x  reason one\n[parallel]\nb.py::y  other\n")
    wanted = {"serial": {"test_a.py::T::test_x": "reason one"}, "parallel": {"b.py::y": "other"}}
    check(known == wanted, f"parsed {known}")
    for text in ("c.py::test_no_reason\n", "c.py::test_*  a pattern\n", "c.py::x  once\nc.py::x  twice\n"):
        check(fails(h5py_suite.parse_known, "[serial]\n" + text), f"was accepted: {text}")
    check(fails(h5py_suite.parse_known, "c.py::x  in no section\n"), "a test in no section was accepted")

    native = {"a": "passed", "b": "passed", "c": "failed", "d": "skipped"}
    check(h5py_suite.judge(native, {"a": "passed", "b": "failed"}, {"b": ""}) == ([], []), "a known test was not found")
    for found, known, new, stale in (
        ({"a": "passed", "b": "failed"}, [], 1, 0),
        ({"a": "passed", "b": "skipped"}, [], 1, 0),
        ({"a": "passed"}, [], 1, 0),  # not run
        ({"a": "passed", "b": "passed"}, ["b"], 0, 1),
        ({"a": "passed", "b": "passed", "c": "failed"}, ["c"], 0, 1),
        ({"a": "passed", "b": "passed", "d": "skipped"}, ["d"], 0, 1),
        ({"a": "passed", "b": "passed"}, ["e"], 0, 1),
    ):
        got = h5py_suite.judge(native, found, dict.fromkeys(known, ""))
        check(tuple(map(len, got)) == (new, stale), f"{found}, {known}: {got}")


def test_leaves():
    texts = ["/a/f.h5: not closed", "/a/f.h5.000001: stream of task 0: 2 records without a hash", "/b/g.h5: not closed"]
    check(harness.unexpected(texts, {"f.h5*": "why"}) == texts[2:], "a pattern of names is wrong")
    check(harness.unexpected(texts, ()) == texts, "something was allowed")
    harness.Leaves.least, harness.Leaves.checked = 2, 1
    check(fails(harness.check_number_of_containers), "too few containers were enough")
    harness.Leaves.least, harness.Leaves.checked = 0, 0


LEAKS = """\
AddressSanitizer exit stats:
=================================================================
==7==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 24 byte(s) in 1 object(s) allocated from:
    #0 0x7f in __interceptor_malloc asan_malloc_linux.cpp:69
    #1 0x7f in opal_init (/lib/libopen-pal.so.40+0x1)

Indirect leak of 8 byte(s) in 1 object(s) allocated from:
    #0 0x7f in operator new(unsigned long) asan_new_delete.cpp:95
    #1 0x7f in open_it OURS
    #2 0x7f in H5VL_file_open (/cache/lib/libhdf5.so.310+0x1)

SUMMARY: AddressSanitizer: 32 byte(s) leaked in 2 allocation(s).
"""
ERROR = """\
=================================================================
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1
READ of size 1 at 0x1 thread T0
    #0 0x7f in memcpy (/lib/libother.so+0x1)
"""


def test_sanitizer_reports():
    for frame in ("/a/vol/view/tree.cpp:7", "../core/io/file.hpp:7", "(/b/plugins/libh5bento_vol.so+0x1)"):
        found = sanitizer.findings(LEAKS.replace("OURS", frame))
        check(len(found) == 1 and "Indirect leak of 8" in found[0], f"leak in {frame}: {found}")
    check(not sanitizer.findings(LEAKS.replace("OURS", "(/b/libmpi.so+0x1)")), "a leak of others counts")
    check(len(sanitizer.findings(LEAKS.replace("OURS", "/a/vol/x.cpp:1") + ERROR)) == 2, "an error or a leak was lost")
    for text in ("WARNING: ThreadSanitizer: data race (pid=7)", "==7==LeakSanitizer has encountered a fatal error."):
        check(len(sanitizer.findings(text)) == 1, f"not noticed: {text}")
    check(not sanitizer.findings("AddressSanitizer exit stats:\nStats: 0M malloced"), "statistics were taken for a report")
    module = write("module", "\0libstdc++.so.6\0libubsan.so.1\0libasan.so.8\0")
    check(sanitizer.runtimes(module) == ["libasan.so.8", "libubsan.so.1", "libstdc++.so.6"], "runtimes not found")
    check(sanitizer.runtimes(write("plain", "\0libstdc++.so.6\0")) == [], "a runtime where there is none")


def test():
    harness.REHEARSAL = ""
    for function in (
        test_statistics,
        test_containers,
        test_deadline,
        test_ended_unseen,
        test_api_parser,
        test_known_list,
        test_leaves,
        test_sanitizer_reports,
    ):
        function()
        harness.say(f"{function.__name__}: ok")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.dont_write_bytecode = True
    run_test(test, containers=0, unfinished={"sion": "four bytes of a container"})
