#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's own API tests under the connector, beside a native run of the same program.

    api_tests.py serial
    api_tests.py parallel RANKS

Each group runs in a process of its own, so that a crash costs one group. A test that passes
natively must pass under the connector if its group is in MUST_PASS; what other groups miss is
printed.
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
MUST_PASS = ("file", "group", "attribute", "link", "object")
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
    # In a folder of its own: the tests leave files behind, and find them the next time.
    os.makedirs(folder)
    if ranks:
        return mpirun(
            ranks,
            [api_program("h5_api_test_parallel"), group],
            env,
            timeout=60,
            ok=ANY,
            cwd=folder,
        )
    return run([api_program("h5_api_test"), group], env, timeout=90, ok=ANY, cwd=folder)


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


def compare_group(ranks, group, totals):
    """Runs one group both ways; returns what went wrong and is not allowed to."""
    natively = run_group(ranks, group, native_env(), f"native-{group}")
    native = parse(natively.out)
    if natively.status != 0:
        raise Failure(
            f"{group}: the native run failed itself, exit status {natively.status}\n{natively.tail()}"
        )
    under = run_group(ranks, group, bento_env(stats=f"stats-{group}"), f"connector-{group}")
    found = parse(under.out)
    for total, result in zip(totals, (natively, under)):
        total.update(dict(zip(("passed", "failed", "skipped", "run"), own_counts(result.out))))
    worse = sorted(k for k, v in native.items() if found.get(k) != v and v == "passed")
    new_skips = sorted(k for k, v in native.items() if v != "skipped" and found.get(k) == "skipped")
    say(
        f"{group:<10} native: {count(native, 'passed'):4} passed {count(native, 'failed'):3} failed "
        f"{count(native, 'skipped'):3} skipped   connector: {count(found, 'passed'):4} passed "
        f"{count(found, 'failed'):3} failed {count(found, 'skipped'):3} skipped"
    )
    for key in worse:
        say(f"    {found.get(key, 'not run')}: {title(key)}")
    problems = [f"{group}: {title(key)}: {found.get(key, 'not run')}" for key in worse]
    # The program's own count includes what ranks other than 0 found.
    if under.status != 0 and not worse:
        problems.append(f"{group}: exit status {under.status}\n{under.tail()}")
        say(f"    exit status {under.status}")
    if under.status not in (0, 1):
        end = "no end after the deadline" if under.status is None else f"exit status {under.status}"
        say(f"    {end}")
        problems.append(f"{group}: {end}")
    expected = harness.connector()
    check(
        not expected or f"with VOL connector '{expected.split()[0]}'" in under.out,
        f"{group}: the program did not run with {expected}:\n{under.tail()}",
    )
    if new_skips:
        say(f"    skipped under the connector only: {len(new_skips)}")
    # A program that was ended writes no statistics: the ranks that go on wait for ever for one that
    # failed a check.
    ended = under.status in (0, 1) or group in MUST_PASS
    return problems, bool(native) and ended


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
    totals = collections.Counter(), collections.Counter()
    fatal, others = [], []
    for group in GROUPS:
        problems, any_tests = compare_group(ranks, group, totals)
        if any_tests:
            fatal += check_stats(group)
        (fatal if group in MUST_PASS else others).extend(problems)
    for name, total in zip(("native", "connector"), totals):
        say(
            f"{kind}{f' on {ranks} ranks' if ranks else ''}, {name}: "
            f"{total['passed']}/{total['run']} passed, {total['failed']} failed, {total['skipped']} skipped"
        )
    if others:
        say(f"{len(others)} differences in groups that need not pass yet")
    if fatal:
        raise Failure("\n".join(["not as natively:"] + fatal))


if __name__ == "__main__":
    if sys.argv[1:2] == ["parallel"] and len(sys.argv) == 3:
        run_test(test, "parallel", int(sys.argv[2]))
    if sys.argv[1:] != ["serial"]:
        sys.exit("usage: api_tests.py serial | api_tests.py parallel RANKS")
    run_test(test, "serial")
