#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's own API tests under the connector, beside a native run of the same program.

    api_tests.py serial
    api_tests.py parallel RANKS

Under the connector each group runs in a process of its own, so that a crash costs one group. What
passes natively must pass under the connector, and every group must come to its end.
"""

import collections
import os
import re
import sys

from harness import (
    ANY,
    Failure,
    Stats,
    api_program,
    bento_env,
    check,
    mpirun,
    native_env,
    run,
    run_test,
    say,
)
import harness

GROUPS = ("file", "group", "dataset", "datatype", "attribute", "link", "object", "misc")
# What has to pass natively: fewer would mean that tests were left out, and their results not compared.
LEAST_PASSED = {"serial": 1074, "parallel": 30}
BANNER = re.compile(r"^\*\s+API (?:Parallel )?(\w+) Tests\s+\*$")
RESULT = re.compile(r"^(.*?)\s*(PASSED|\*FAILED\*|-SKIP-)\s*$")
WORDS = {"PASSED": "passed", "*FAILED*": "failed", "-SKIP-": "skipped"}
# Titles of the groups that are not called as on the command line.
TITLES = {"miscellaneous": "misc"}


def parse(text):
    """{(group, test, part): passed | failed | skipped | unfinished}, of what the programs print.

    A line `Testing x` names a test, an indented one a part of it. The result stands at its end, or,
    when something was printed in between, at the end of a later line."""
    results, counts = {}, collections.Counter()
    group, test, waiting = "", "", None

    def record(key, value):
        counts[key] += 1
        if counts[key] > 1:  # a few names occur twice
            key = (*key[:2], f"{key[2]} ({counts[key]})".strip())
        results[key] = value

    for line in text.splitlines():
        banner = BANNER.match(line)
        if banner:
            group = TITLES.get(banner[1].lower(), banner[1].lower())
            continue
        result = RESULT.match(line)
        begin = re.match(r"^(  )?Testing (.*)$", line)
        if begin:
            name = RESULT.match(begin[2])[1] if result else begin[2].strip()
            key = (group, test, name) if begin[1] else (group, name, "")
            if not begin[1]:
                test = name
            if result:
                record(key, WORDS[result[2]])
                waiting = None
            else:
                waiting = key  # of a test in parts, or of one that prints before its result
        elif result and waiting:
            record(waiting, WORDS[result[2]])
            waiting = None
    if waiting and not any(k[:2] == waiting[:2] for k in results):
        record(waiting, "unfinished")
    return results


def run_group(ranks, group, env, folder):
    """group: one of GROUPS, or None for all of them in one process."""
    # In a folder of its own: the tests leave files behind, and find them the next time.
    os.makedirs(folder)
    chosen = [group] if group else []
    if ranks:
        command = [api_program("h5_api_test_parallel"), *chosen]
        return mpirun(ranks, command, env, timeout=60, ok=ANY, cwd=folder)
    return run([api_program("h5_api_test"), *chosen], env, timeout=90, ok=ANY, cwd=folder)


def title(key):
    return f"{key[1]}{' / ' + key[2] if key[2] else ''}"


def own_counts(text):
    """(passed, failed, skipped, run) by the program's own summary; it counts one test twice."""
    counts = []
    for word in ("passed", "did not pass", "were skipped"):
        found = re.search(
            rf"^(?:At least )?(\d+)/(\d+) \(.*\) API tests {word} ", text, re.MULTILINE
        )
        counts.append(int(found[1]) if found else 0)
        total = int(found[2]) if found else 0
    return (*counts, total)


def count(results, word):
    return sum(1 for value in results.values() if value == word)


def compare_group(ranks, group, native, total):
    """Runs one group under the connector; returns what is not as in `native`, the group's results without it."""
    under = run_group(ranks, group, bento_env(stats=f"stats-{group}"), f"connector-{group}")
    found = parse(under.out)
    counted = own_counts(under.out)
    if not counted[3]:  # ended before its summary
        counted = (*(count(found, word) for word in ("passed", "failed", "skipped")), len(native))
    total.update(dict(zip(("passed", "failed", "skipped", "run"), counted)))
    say(
        f"{group:<10} native: {count(native, 'passed'):4} passed {count(native, 'failed'):3} failed "
        f"{count(native, 'skipped'):3} skipped   connector: {count(found, 'passed'):4} passed "
        f"{count(found, 'failed'):3} failed {count(found, 'skipped'):3} skipped"
    )
    worse = sorted(k for k, v in native.items() if v == "passed" and found.get(k) != "passed")
    problems = [f"{group}: {title(k)}: {found.get(k, 'not run')}" for k in worse]
    if under.status is None:
        problems.append(f"{group}: no end before the deadline\n{under.tail()}")
    elif under.status != 0:
        # The program's own count includes what ranks other than 0 found.
        problems.append(f"{group}: exit status {under.status}\n{under.tail()}")
    expected = harness.connector()
    check(
        not expected or f"with VOL connector '{expected.split()[0]}'" in under.out,
        f"{group}: the program did not run with {expected}:\n{under.tail()}",
    )
    return problems + check_stats(group)


def check_stats(group):
    """No suite's result counts unless its files were containers and its raw data diverted."""
    if harness.REHEARSAL:
        return []
    stats = Stats(f"stats-{group}")
    say(f"    {stats.text()}")
    if not stats.files():
        return [f"{group}: no file was a container"]
    if group == "dataset" and stats.diverted["bytes_written"] == 0:
        return [f"{group}: no byte was diverted"]
    return []


def test(kind, ranks=0):
    natively = run_group(ranks, None, native_env(), "native")
    check(natively.status == 0, f"natively, exit status {natively.status}\n{natively.tail()}")
    passed, failed, skipped, every = own_counts(natively.out)
    name = f"{kind}{f' on {ranks} ranks' if ranks else ''}"
    say(f"{name}, native: {passed}/{every} passed, {failed} failed, {skipped} skipped")
    check(passed >= LEAST_PASSED[kind], f"natively only {passed} tests passed, not {LEAST_PASSED[kind]}")
    native = parse(natively.out)
    strange = {key[0] for key in native} - set(GROUPS)
    check(not strange, f"groups that this test does not run: {strange}")
    total, problems = collections.Counter(), []
    for group in GROUPS:
        of_group = {key: value for key, value in native.items() if key[0] == group}
        if of_group:
            problems += compare_group(ranks, group, of_group, total)
    say(
        f"{name}, connector: {total['passed']}/{total['run']} passed, {total['failed']} failed, "
        f"{total['skipped']} skipped"
    )
    if problems:
        raise Failure("\n".join(["not as natively:"] + problems))


if __name__ == "__main__":
    if sys.argv[1:2] == ["parallel"] and len(sys.argv) == 3:
        run_test(test, "parallel", int(sys.argv[2]), containers=0)  # it deletes its files
    if sys.argv[1:] != ["serial"]:
        sys.exit("usage: api_tests.py serial | api_tests.py parallel RANKS")
    run_test(test, "serial")
