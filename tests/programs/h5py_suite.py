#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""h5py's own test suite under the connector; what does not pass there is also run natively.

    h5py_suite.py serial
    h5py_suite.py enabled            the same with h5py's wheel, its own HDF5, and h5bento.enable()
    h5py_suite.py parallel RANKS     the tests that are marked for MPI
    h5py_suite.py full RANKS         all tests, each on every rank, under pytest-mpi

The tests that pass natively and not under the connector are exactly those in h5py_known.txt, each
with its reason: another one is a failure of the connector, one that passes is a failure of the list.
"""

import collections
import glob
import itertools
import os
import sys
import xml.etree.ElementTree as ElementTree

from harness import (
    HERE,
    Failure,
    bento_env,
    check,
    check_containers,
    check_diverted,
    mpirun,
    native_env,
    python,
    run,
    run_test,
    say,
)
import harness

KNOWN = os.path.join(HERE, "h5py_known.txt")


# That many must pass natively or under the connector: fewer would mean that the suite was not run as a whole.
LEAST_PASSED = {"serial": 840, "parallel": 4, "full": 837}


def parse_known(text):
    """{"serial" or "parallel": {test: reason}} of lines `test_file.py::Class::test  reason` below `[serial]` or `[parallel]`."""
    known = {"serial": {}, "parallel": {}}
    section = None
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line[0] == "[":
            section = line.strip("[]")
            check(section in known, f"h5py_known.txt has a section {line}")
            continue
        name, _, reason = line.partition(" ")
        check(section, f"h5py_known.txt: {name} stands in no section")
        check("*" not in name, f"h5py_known.txt: {name} is not a single test")
        check(reason.strip(), f"h5py_known.txt gives no reason for {name}")
        check(name not in known[section], f"h5py_known.txt names {name} twice")
        known[section][name] = reason.strip()
    return known


def judge(native, found, known):
    """(problems of the connector, problems of the list); all three by the names of tests."""
    worse = {n for n, v in native.items() if v == "passed" and found.get(n) != "passed"}
    new = [f"{found.get(name, 'not run')} under the connector only: {name}" for name in sorted(worse - set(known))]
    stale = []
    for name in sorted(set(known) - worse):
        if native.get(name) == "passed":
            stale.append(f"passes, so take it out of h5py_known.txt: {name}")
        else:
            stale.append(f"{native.get(name, 'no such test')} natively, so it has no place in h5py_known.txt: {name}")
    return new, stale


def parse_junit(path):
    """{test id: passed | failed | skipped}; an error in setting up counts as failed."""
    results = {}
    for case in ElementTree.parse(path).iter("testcase"):
        # tests.test_vds.test_layout.TestClass: folders and module begin with test_, what follows is
        # a class.
        parts = case.get("classname").split(".")
        while parts and not parts[0].startswith("test_"):
            parts.pop(0)
        modules = list(itertools.takewhile(lambda part: part.startswith("test_"), parts))
        name = "::".join(["/".join(modules) + ".py", *parts[len(modules) :], case.get("name")])
        kinds = {child.tag for child in case}
        value = (
            "failed"
            if kinds & {"failure", "error"}
            else "skipped" if "skipped" in kinds else "passed"
        )
        # A test and its teardown may be reported one by one.
        if results.get(name) != "failed":
            results[name] = value
    return results


def enabled_env():
    """For h5bento.enable() in the Python of h5py's wheel, from the source and build folders."""
    return native_env(
        PYTHONPATH=os.path.join(harness.SOURCE, "python"),
        H5BENTO_WHEEL_PLUGINS=os.path.join(harness.build_folder(), "plugins-serial"),
        H5BENTO_STATS=os.path.abspath("stats"),
    )


ENABLED = "import sys, h5bento; h5bento.enable(); import pytest; sys.exit(pytest.main(sys.argv[1:]))"


def suite_folder():
    """h5py's folder of tests in the Python under test."""
    found = glob.glob(os.path.join(os.path.dirname(os.path.dirname(python())), "lib", "python*", "site-packages", "h5py", "tests"))
    check(len(found) == 1, f"h5py's tests are not in one folder: {found}")
    return found[0]


def run_suite(ranks, env, report, start=("-m", "pytest"), only_mpi=True, tests=()):
    command = [
        python(),
        *start,
        *(tests or ["--pyargs", "h5py"]),
        "-q",
        "-rfE",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
    ]
    command += ["--junit-xml", f"{os.path.abspath(report)}"]
    # The suite's own temporary files belong into our folder, those of each run by themselves: pytest removes old ones.
    files = os.path.abspath(report.removesuffix(".xml"))
    os.mkdir(files)
    env = dict(env, TMPDIR=files, PYTHONDONTWRITEBYTECODE="1")
    if ranks:
        # Every rank runs the suite; each writes the report, so give each its own. A test that fails is
        # no reason for mpirun to end the other ranks.
        script = '"$@" --junit-xml "$REPORT.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"; test $? -le 1'
        env["REPORT"] = os.path.abspath(report)
        command = ["sh", "-c", script, "sh", *command[:-2], "--only-mpi" if only_mpi else "--with-mpi"]
        result = mpirun(ranks, command, env, timeout=300 if only_mpi else 1200, ok=None)
        paths = [f"{report}.{rank}" for rank in range(ranks)]
    else:
        result = run(command, env, timeout=500, ok=None)
        paths = [report]
    # 1: tests failed. Anything else is a crash, also one behind the last test, when the report is written.
    if result.status not in ((0,) if ranks else (0, 1)) or not all(map(os.path.exists, paths)):
        raise Failure(f"pytest did not come to its end, exit status {result.status}:\n{result.tail(60)}")
    merged = {}
    for path in paths:
        for name, value in parse_junit(path).items():
            if merged.get(name) != "failed":
                merged[name] = value
    return merged, result


def test(ranks=0, enabled=False, full=False):
    if enabled:
        os.environ["H5BENTO_PYTHON"] = os.environ["H5BENTO_PYTHON_NATIVE"]
    kind = "full" if full else "parallel" if ranks else "serial"
    with open(KNOWN) as file:
        known = parse_known(file.read())["parallel" if kind == "parallel" else "serial"]
    if enabled:
        found, result = run_suite(ranks, enabled_env(), "connector.xml", ("-c", ENABLED))
    else:
        found, result = run_suite(ranks, bento_env(stats="stats"), "connector.xml", only_mpi=not full)
    # What a test that passes does natively makes no difference; those without a mark for MPI are skipped anyhow.
    fine = ("passed", "skipped") if kind == "parallel" else ("passed",)
    wanted = sorted({name for name, value in found.items() if value not in fine} | set(known))
    native = {}
    if wanted:
        tests = [os.path.join(suite_folder(), name) for name in wanted]
        native, _ = run_suite(ranks, native_env(), "native.xml", only_mpi=not full, tests=[*tests, "--rootdir", suite_folder()])
        check(set(native) == set(wanted), f"natively were run {sorted(native)}, not {wanted}")
    if full:  # a parallel HDF5 skips some of the serial ones, such as those of the page buffer
        known = {name: reason for name, reason in known.items() if native.get(name) != "skipped"}
    for name, results in (("native", native), ("connector", found)):
        counts = collections.Counter(results.values())
        say(
            f"{name:<10} {counts['passed']:4} passed {counts['failed']:3} failed {counts['skipped']:3} skipped"
        )
    passed = sum("passed" in (native.get(name), value) for name, value in found.items())
    check(passed >= LEAST_PASSED[kind], f"only {passed} tests passed natively or under the connector, not {LEAST_PASSED[kind]}")
    if ranks and not full:
        check_containers("stats", processes=ranks)  # the tests marked for MPI write hardly any data
    else:
        check_diverted("stats", only=False)
    new, stale = judge(native, found, {} if harness.REHEARSAL else known)
    if new or stale:
        raise Failure("\n".join(["not as in h5py_known.txt:", *new, *stale, result.tail(60)]))
    say(f"what fails under the connector only is exactly what stands in h5py_known.txt: {0 if harness.REHEARSAL else len(known)} of {passed} tests")


if __name__ == "__main__":
    if sys.argv[1:2] in (["parallel"], ["full"]) and len(sys.argv) == 3:
        run_test(test, int(sys.argv[2]), False, sys.argv[1] == "full")
    if sys.argv[1:] not in (["serial"], ["enabled"]):
        sys.exit("usage: h5py_suite.py serial | h5py_suite.py enabled | h5py_suite.py parallel|full RANKS")
    run_test(test, 0, sys.argv[1] == "enabled")
