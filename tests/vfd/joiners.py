# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that join containers as they are told (joiner.c), and an independent look at what they leave; for the tests
of the file driver."""

import os
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from harness import Failure, built, check, driver_env, hdf5_tool, native_env, run

import check_identity
import check_sion
from check_fti import xxh3

SLOT, SLOTS_AT = 512, 4096


class Joiner:
    """One process. A context, so that it ends with the test."""

    def __init__(self, config=None, **env):
        self.process = subprocess.Popen([built("tests", "joiner")], env=driver_env(**env), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if config:
            self.say("as " + config)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure("a joining process ended: status %s" % self.process.wait(10))
        return line.strip()

    def say(self, *commands):
        """The last answer; all must be good."""
        for command in commands:
            self.send(command)
            found = self.answer()
            check(found.startswith("ok"), "%s: %s" % (command, found))
        return found[3:]

    def refused(self, command, *words):
        """Fails unless the command is answered by an error with these words in it."""
        self.send(command)
        found = self.answer()
        check(found.startswith("error:"), "%s: went well" % command)
        for word in words:
            check(word in found, "%s: nothing of '%s' in: %s" % (command, word, found))
        return found

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def end(self):
        """As a program ends: at the end of its input, with everything that is open closed by HDF5."""
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
                self.process.wait(60)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


def report(container, repair=False, ok=(0,)):
    """What the library says: ([fields of the container], {name: (task, rank, bytes, cut)})."""
    command = [built("tests", "joined_report")] + (["--repair"] if repair else []) + [container]
    result = run(command, native_env(), ok=ok)
    if result.status != 0:
        return result.err
    lines = [line.split(None, 5) for line in result.out.splitlines()]
    streams = {line[5]: (int(line[1]), int(line[2]), int(line[3]), line[4] == "cut") for line in lines if line[0] == "stream"}
    return result.out.splitlines()[0].split()[1:], streams


def slots(container):
    """{name: (task, rank, flags, bytes, reach)} as docs/format.md describes them; shares no code with the driver."""
    with open(container, "rb") as file:
        head = file.read(28)
        fsblksize, tasks = struct.unpack_from("<ii", head, 20)
        file.seek(1076 + 8 * tasks)
        chunk = struct.unpack("<q", file.read(8))[0]
        at = check_identity.superblock_address(tasks) + 4096
        file.seek(at)
        root = file.read(4096)
        check(root[:8] == b"BNTOROOT" and struct.unpack_from("<I", root, 12)[0] & 16, "no root of a joined container")
        session = root[3328:3344]
        start = (1088 + 16 * tasks + fsblksize - 1) // fsblksize * fsblksize
        found = {}
        for task in range(struct.unpack_from("<I", root, 256)[0]):  # of all files
            position = SLOTS_AT + 2 * SLOT * task
            address = start + position // chunk * tasks * chunk + (tasks - 1) * chunk + position % chunk
            newest = None
            for place in range(2):
                file.seek(address + place * SLOT)
                said = file.read(SLOT)
                if said[:8] != b"BNTOSLOT" or said[8:24] != session or (xxh3 and xxh3(said[:-16]) != said[-16:]):
                    continue
                turn, own, rank, flags, length, bytes_, reach = struct.unpack_from("<QIIIIQQ", said, 24)
                check(own == task, "slot %d says task %d" % (task, own))
                if newest is None or turn > newest[0]:
                    newest = turn, said[80 : 80 + length].decode(), (task, rank, flags, bytes_, reach)
            if newest and newest[2][2] & 1:
                found[newest[1]] = newest[2]
        return found


def streams(container):
    """{name: bytes of the stream}, by the tests' own SION checker, which must find nothing wrong."""
    found = check_sion.check_container(container, bento=True)
    check(not found.problems, "%s: %s" % (container, found.problems[:3]))
    result = {name: found.container.stream(slot[0]) for name, slot in slots(container).items()}
    used = {slot[0] for slot in slots(container).values()}
    rest = [t for t, task in enumerate(found.container.tasks) if t not in used and sum(task.sizes)]
    files = len(found.container.files)
    check(len(rest) <= files, "%s: tasks %s have bytes but no slot" % (container, rest))
    found.container.close()
    return result


def split(container, folder):
    """Writes each stream of a container to a file of its own, and returns their paths by name."""
    os.makedirs(folder, exist_ok=True)
    paths = {}
    for name, data in streams(container).items():
        paths[name] = os.path.join(folder, name.replace("/", "_"))
        with open(paths[name], "wb") as file:
            file.write(data)
    return paths


def stock_view(container):
    """Stock HDF5 sees our empty file, and nothing of a stream, at any moment."""
    result = run([hdf5_tool("h5ls"), "-r", container], native_env())
    names = [line.split()[0] for line in result.out.splitlines()]
    check(names == ["/"], "%s: stock HDF5 sees %s" % (container, names))
