#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""h5py's own test suite under the connector, beside a native run.

    h5py_suite.py serial
    h5py_suite.py parallel RANKS     the tests that are marked for MPI

A test that passes natively and not under the connector must stand in h5py_known.txt with its
reason; one that stands there and passes is reported, so that the list shrinks.
"""

import collections
import fnmatch
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


def parse_known(text):
    """[(pattern, reason)] of lines `test_file.py::Class::test  reason`."""
    known = []
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition(" ")
            check(reason.strip(), f"h5py_known.txt gives no reason for {pattern}")
            known.append((pattern, reason.strip()))
    return known


def reason_for(known, name):
    return next(
        (
            reason
            for pattern, reason in known
            if name == pattern or fnmatch.fnmatchcase(name, pattern)
        ),
        None,
    )


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


def run_suite(ranks, env, report):
    command = [
        python(),
        "-m",
        "pytest",
        "--pyargs",
        "h5py",
        "-q",
        "-rfE",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
    ]
    command += ["--junit-xml", f"{os.path.abspath(report)}"]
    # The suite's own temporary files belong into our folder.
    env = dict(env, TMPDIR=os.getcwd(), PYTHONDONTWRITEBYTECODE="1")
    if ranks:
        # Every rank runs the suite; each writes the report, so give each its own. A test that fails is
        # no reason for mpirun to end the other ranks.
        script = '"$@" --junit-xml "$REPORT.$OMPI_COMM_WORLD_RANK"; test $? -le 1'
        env["REPORT"] = os.path.abspath(report)
        command = ["sh", "-c", script, "sh", *command[:-2], "--only-mpi"]
        result = mpirun(ranks, command, env, timeout=300, ok=None)
        paths = [f"{report}.{rank}" for rank in range(ranks)]
    else:
        result = run(command, env, timeout=500, ok=None)
        paths = [report]
    for path in paths:
        if not os.path.exists(path):
            raise Failure(
                f"pytest did not come to its end, exit status {result.status}:\n{result.tail(60)}"
            )
    merged = {}
    for path in paths:
        for name, value in parse_junit(path).items():
            if merged.get(name) != "failed":
                merged[name] = value
    return merged, result


def test(ranks=0):
    native, _ = run_suite(ranks, native_env(), "native.xml")
    found, result = run_suite(ranks, bento_env(stats="stats"), "connector.xml")
    for name, results in (("native", native), ("connector", found)):
        counts = collections.Counter(results.values())
        say(
            f"{name:<10} {counts['passed']:4} passed {counts['failed']:3} failed {counts['skipped']:3} skipped"
        )
    check(native and sum(v == "passed" for v in native.values()) > 0, "no test ran natively")
    with open(KNOWN) as file:
        known = parse_known(file.read())
    worse = sorted(n for n, v in native.items() if v == "passed" and found.get(n) != "passed")
    new = [name for name in worse if reason_for(known, name) is None]
    for name in worse:
        say(
            f"  {found.get(name, 'not run')} under the connector only: {name}"
            f"{'' if name in new else ' (known: ' + reason_for(known, name) + ')'}"
        )
    if not harness.REHEARSAL:
        for pattern, _ in known:
            names = fnmatch.filter(native, pattern)
            if names and not set(names) & set(worse):
                say(f"  no longer failing, take it out of h5py_known.txt: {pattern}")
    if ranks:
        check_containers("stats", processes=ranks)  # the tests marked for MPI write hardly any data
    else:
        check_diverted("stats", only=False)
    if new:
        raise Failure(
            f"{len(new)} tests fail under the connector only and are not in h5py_known.txt:\n"
            + "\n".join(new)
            + f"\n{result.tail(60)}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["parallel"] and len(sys.argv) == 3:
        run_test(test, int(sys.argv[2]))
    if sys.argv[1:] != ["serial"]:
        sys.exit("usage: h5py_suite.py serial | h5py_suite.py parallel RANKS")
    run_test(test)
