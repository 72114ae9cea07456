#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's own parallel tests (testpar/) under the connector, beside a native run of the same program.

    parallel_tests.py PROGRAM RANKS [quick]

PROGRAM: testphdf5, t_shapesame, t_pmulti_dset, t_bigio, t_filters_parallel or t_pshutdown (with t_prestart, which reads
what that has left). A program that can run single tests is run as a whole without those in DIFFERENT; each of
these is run alone, and must fail: the list is exact. `quick` leaves out the tests in SLOW.
"""

import os
import re
import sys

from harness import (
    ANY,
    Failure,
    bento_env,
    check,
    check_diverted,
    kept_program,
    mpirun,
    native_env,
    run_test,
    say,
)
import harness

# What is another way under the connector, with the HDF5 call and the section of vol/SUPPORT.md that says why.
DIFFERENT = {
    ("testphdf5", "bigdset"): "length of a file of which nothing was written (Parallel tests, 1)",
    ("testphdf5", "nocolcause"): "H5Pget_mpio_no_collective_cause (Parallel tests, 2)",
    ("testphdf5", "extlink"): "H5Gopen through an external link, to write (Parallel tests, 3)",
}
# Tests that another one must have run before.
AFTER = {
    "idsetr": "idsetw",
    "cdsetr": "cdsetw",
    "eidsetr": "eidsetw",
    "ecdsetr": "ecdsetw",
    "ngrpr": "ngrpw",
    "ccontr": "ccontw",
    "cschunkr": "cschunkw",
    "ccchunkr": "ccchunkw",
}
# Seconds each, natively, too.
SLOW = {"COLLIO_INDMDWR", "LC_coll_MD_read", "ngrpw", "ngrpr", "sschecker2", "sschecker4", "sscontig4"}
SINGLE = ("testphdf5", "t_shapesame")
# Fewer tests than these would be less than HDF5 1.14.5 has.
LEAST = {"testphdf5": 60, "t_shapesame": 8}
# With what the test is a part of a minute or of an hour; HDF5's own word for the shortest form.
SMOKE = {"HDF5TestExpress": "3"}
# scripts/bootstrap has built it so that it leaves out, when this is set, what asks how HDF5 has done its I/O, and the two tests
# that want a write to fail which works here.
OTHER_IO = {"H5BENTO_TEST_OTHER_IO": "1"}
# Natively, where Open MPI has its own I/O: on four ranks collective transfers of t_pmulti_dset then read other values than were
# written (Open MPI 4.1.4), and t_bigio on six takes longer than anybody waits. With ROMIO, which is in Open MPI, too, both pass.
ROMIO = {"t_pmulti_dset", "t_bigio"}
PATIENCE = 600  # seconds: four or six ranks on two busy processors wait for each other most of the time
# Thousands of opens and closes of a file that has more datasets each time: native views of all of them would take hours.
LONG = {"t_filters_parallel": ("bento view=off", 1500)}


def program(name):
    return kept_program("H5BENTO_PARALLEL_TESTS", name)


def environment(name, connector, stats=None):
    more = {**SMOKE, "OMPI_MCA_mpi_yield_when_idle": "1", "HDF5_ALARM_SECONDS": "3600"}
    if not connector:
        if name in ROMIO:
            more["OMPI_MCA_io"] = "romio321"
        return native_env(**more)
    return bento_env(string=LONG.get(name, ("bento",))[0], stats=stats, **more, **OTHER_IO)


def start(name, ranks, arguments, folder, connector, timeout=PATIENCE):
    """In a folder of its own: the programs leave files behind, and find them the next time."""
    os.makedirs(folder, exist_ok=True)
    stats = f"stats-{name}" if connector else None
    return mpirun(
        ranks,
        [program(name), *arguments],
        environment(name, connector, stats),
        timeout=LONG[name][1] if name in LONG else timeout,
        ok=ANY,
        cwd=folder,
        merge=True,
    )


def tests_of(name):
    """Those that the program can run, in its order."""
    listed = mpirun(1, [program(name), "-h"], native_env(), ok=ANY, timeout=30).out
    table = re.search(r"^ *Name Description\n.*\n((?:.+\n)+)", listed, re.MULTILINE)
    check(table, f"{name} -h lists no tests:\n{listed[-1000:]}")
    return [line.split()[0] for line in table[1].splitlines()]


def ran(result):
    """Names of the tests that the program has begun."""
    return re.findall(r"^\s*Testing\s+-- .* \((\S+)\) ?", result.out, re.MULTILINE)


def without(tests):
    return [word for test in tests for word in ("-x", test)]


def alone(test):
    return [word for one in (AFTER.get(test), test) if one for word in ("-o", one)]


def reason(result):
    found = re.findall(r"^.*(?:failed at line|Verify failed|h5bento|errno =).*$", result.text, re.MULTILINE)
    return f"exit status {result.status}: {found[0].strip() if found else result.tail(8)}"


def check_fails(name, ranks, test, why, folder):
    """A test in one of the lists: it passes natively, and not under the connector."""
    under = start(name, ranks, alone(test), folder, True, timeout=60)
    if under.status == 0:
        return [f"{test} passes: take it out of the list ({why})"]
    check(under.status is not None, f"{name} {test}: no end before the deadline\n{under.tail()}")
    say(f"    not as natively: {test}: {why}")
    return []


def compare_tests(name, ranks, quick):
    every = tests_of(name)
    check(len(every) >= LEAST[name], f"only {len(every)} tests in {name}")
    known = {test: why for (of, test), why in DIFFERENT.items() if of == name}
    strange = set(known) - set(every)
    check(not strange, f"tests that {name} does not have: {strange}")
    left_out = [test for test in every if quick and test in SLOW]
    native = start(name, ranks, without(left_out), "native", False)
    check(native.status == 0, f"natively: {reason(native)}")
    expected = [test for test in ran(native) if harness.REHEARSAL or test not in known]
    under = start(name, ranks, without(left_out + ([] if harness.REHEARSAL else list(known))), "connector", True)
    problems = []
    if under.status != 0:
        stopped = ran(under)[-1:]
        problems.append(f"the run under the connector: {reason(under)}\n(at {stopped})")
        problems += [f"{test}: not run" for test in expected if test not in ran(under)]
    elif ran(under) != expected:
        problems.append(f"{sorted(set(expected) ^ set(ran(under)))} were run natively or under the connector only")
    if not harness.REHEARSAL:
        for test, why in known.items():
            if test in ran(native):
                problems += check_fails(name, ranks, test, why, f"alone-{test}")
    say(f"{name} on {ranks} ranks: {len(ran(native))} tests natively, {len(expected)} of them compared")
    if not problems:
        check_diverted(f"stats-{name}", processes=ranks, at_least=True, only=False)
    return problems


def finds(result):
    """Lines that name a part of a test, and what became of it."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in result.out.splitlines()]
    return [line for line in lines if re.match(r"(Testing|== Running|Configuration|Independent|Collective)\b", line)]


def compare_whole(name, ranks):
    native = start(name, ranks, [], "native", False)
    check(native.status == 0, f"natively: {reason(native)}")
    under = start(name, ranks, [], "connector", True)
    check(under.status is not None, f"{name}: no end before the deadline\n{under.tail()}")
    if under.status != 0:
        return [f"{name}: {reason(under)}"]
    say(f"{name} on {ranks} ranks: {len(finds(native))} steps natively, {len(finds(under))} under the connector")
    if name != "t_filters_parallel" and len(finds(native)) != len(finds(under)):
        return [f"{name}: not the same steps: {sorted(set(finds(native)) ^ set(finds(under)))[:5]}"]
    some = {"written": 0, "read": 1} if name == "t_prestart" else {}
    check_diverted(f"stats-{name}", processes=ranks, at_least=True, only=False, **some)
    return []


def test(name, ranks, quick):
    if name in SINGLE:
        problems = compare_tests(name, ranks, quick)
    else:
        problems = compare_whole(name, ranks)
    if name == "t_pshutdown":
        problems += compare_whole("t_prestart", ranks) if not problems else []
    if problems:
        raise Failure("\n".join(["not as natively:"] + problems))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["quick"]):
        sys.exit("usage: parallel_tests.py PROGRAM RANKS [quick]")
    # A program that a failed check has ended leaves its file open.
    run_test(
        test,
        sys.argv[1],
        int(sys.argv[2]),
        sys.argv[3:] == ["quick"],
        containers=0,
        unfinished={"*": "the program was ended by a check of its own"},
    )
