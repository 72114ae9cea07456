#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The disk fills up under a program of 3 ranks: every rank gets the same error, what was committed stays, and with
space the program, or a new session, goes on.

    steps_full_disk.py [ROUNDS]      default 6: the disk is filled up to another distance from its end in each

The disk is a tmpfs in a mount namespace of this test's own, and goes with it. SKIP where that is not permitted.
"""

import os
import re
import subprocess
import sys
import time

import harness
from harness import Skip, check, run_test, say
from steps_run import Judge, Writer, environment, write_steps

MIB = 1 << 20
DISK = 96 * MIB
BIG, ROW = 1 << 19, 1 << 18  # elements: 2 MiB in the largest dataset, and 1 MiB more with every step
SOON = 10  # seconds
MARK = "H5BENTO_TEST_OWN_NAMESPACE"


def enter_namespace(test=__file__):
    """This test once more, in a mount namespace; returns there."""
    if os.environ.get(MARK):
        return
    own = ["unshare", "--mount", "--propagation", "private"]
    try:
        result = subprocess.run([*own, "true"], capture_output=True, text=True)
    except OSError as error:
        raise Skip(f"no mount namespace: {error}") from None
    if result.returncode != 0:
        raise Skip(f"no mount namespace: {result.stderr.strip()}")
    script = [sys.executable, "-B", os.path.abspath(test), *sys.argv[1:]]
    status = subprocess.run([*own, *script], env={**os.environ, MARK: "1"}).returncode
    if status == harness.SKIPPED:
        raise Skip("see above")
    check(status == 0, "see above")
    raise Done()


class Done(Exception):
    """The test has passed in its namespace."""


def mount():
    os.mkdir("disk")
    result = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "h5bento-test", "disk"], capture_output=True, text=True
    )
    if result.returncode != 0:
        raise Skip(f"mount: {result.stderr.strip()}")


def free_bytes():
    info = os.statvfs("disk")
    return info.f_bavail * info.f_frsize


def fill(leave):
    """Takes all but `leave` bytes."""
    with open("disk/ballast", "wb", buffering=0) as file:
        while free_bytes() > leave:
            file.write(b"b" * min(MIB, free_bytes() - leave))


def messages(errors, call, where, ranks):
    """The one message that every rank has got."""
    found = {}
    for rank in range(ranks):
        mine = [text for _, name, _, text in errors.get(rank, []) if name == call]
        check(mine, f"{where}: rank {rank} got no error from {call}: {errors}")
        found[rank] = mine[0]
    check(len(set(found.values())) == 1, f"{where}: the ranks' errors differ:\n{found}")
    return found[0]


def check_error(errors, path, where, ranks=3):
    text = messages(errors, "H5Fflush", where, ranks)
    slow = [entry for mine in errors.values() for entry in mine if entry[2] > SOON]
    check(not slow, f"{where}: these took more than {SOON} s: {slow}")
    for what, pattern in (("file", re.escape(os.path.basename(path))), ("rank", r"\brank [0-2]\b"), ("errno", r"errno = 28\b")):
        check(re.search(pattern, text), f"{where}: the error does not name the {what}: {text}")
    return text


def one_round(number, leave, judge, stock):
    """The disk is full from the third step on; the program then goes on, or ends."""
    goes_on, later = ((True, False), (False, True), (False, False), (True, True))[number % 4]
    path, where = f"disk/{number}.h5", f"round {number}, {leave} bytes left"
    before = 0
    if later:  # a session with a view to keep
        before = write_steps(path, "new", 2, 2, big=BIG, row=ROW)
    with Writer(path, "append" if before else "new", 6, 3, big=BIG, row=ROW, stop=2, retry=int(goes_on)) as writer:
        writer.wait_for("flushed", 2)
        fill(leave)
        writer.go_on("go")
        end = time.monotonic() + 30
        while not all(any(call == "H5Fflush" for _, call, _, _ in writer.errors().get(rank, [])) for rank in range(3)):
            check(time.monotonic() < end, f"{where}: no error from every rank: {writer.errors()}\n{writer.text()}")
            if not goes_on and writer.process.poll() is not None:
                break
            time.sleep(0.01)
        text = check_error(writer.errors(), path, where)
        data = any(call == "H5Dwrite" for mine in writer.errors().values() for _, call, _, _ in mine)
        say(f"{where}: {'H5Dwrite and ' if data else 'only '}H5Fflush: {text[:300]}")
        last = writer.last("flushed")
        if goes_on:
            os.remove("disk/ballast")
            judge.expect(last, path, f"{where}: after the error")
            writer.go_on()
            writer.wait()
            check(writer.last("closed") == before + 6, f"{where}: closed {writer.lines('closed')}\n{writer.errors()}")
            last = before + 6
        else:
            writer.wait(3)
            judge.expect(last, path, f"{where}: after the end")
            view = stock(path)
            check(view.startswith("error: ") or view in (f"step {before}", f"step {last}"), f"{where}: the view: {view}")
            os.remove("disk/ballast")
    judge.expect(last, path, f"{where}: at the end")
    step = write_steps(path, "append", 2, 3, big=BIG, row=ROW)
    check(step == last + 2, f"{where}: the next session ends at step {step}")
    for reader in (judge, stock):
        reader.expect(step, path, f"{where}: after the next session")
    harness.check_all_containers("disk")
    for name in os.listdir("disk"):
        os.remove(os.path.join("disk", name))


def test(rounds="6"):
    try:
        enter_namespace()
    except Done:
        return
    if harness.REHEARSAL:
        raise Skip("native files do not survive a full disk")
    mount()
    try:
        # From the third step on a step takes 1.0 to 1.3 MiB more: a rank's data does not fit, or only what is written
        # at the end of a commit, of that step or a later one.
        room = [0, MIB, 700 << 10, 100 << 10, 1280 << 10, 1240 << 10, 1020 << 10, 1000 << 10]
        room += [x << 10 for x in range(900, 1380, 24)]
        with Judge() as judge, Judge.stock() as stock:
            for number in range(int(rounds)):
                one_round(number, room[number % len(room)], judge, stock)
    finally:
        subprocess.run(["umount", "-l", "disk"])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    # Those of the namespace are checked there.
    run_test(test, *sys.argv[1:], containers=1 if os.environ.get(MARK) else 0)
