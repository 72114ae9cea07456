#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged and made-up containers through the driver: an error, or the data; never a crash, a hang, or a file that grows.

    hostile.py COUNT [SEED]      so many random changes, after those that are made on purpose"""

import os
import random
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from joiners import SLOT, SLOTS_AT, Joiner, report  # noqa: E402

from harness import Failure, check, first_seed, run_test, say  # noqa: E402

import check_identity  # noqa: E402
from check_fti import xxh3  # noqa: E402

CONFIG = "container=%s;rank=0;size=2;session=h;chunk=32K;files=2;timeout=2"
MOST_BYTES = 64 << 20  # what a container of a few small streams may come to


class Layout:
    def __init__(self, box):
        with open(box, "rb") as file:
            self.bytes = bytearray(file.read())
        fsblksize, self.tasks = struct.unpack_from("<ii", self.bytes, 20)
        self.chunk = struct.unpack_from("<q", self.bytes, 1076 + 8 * self.tasks)[0]
        self.superblock = check_identity.superblock_address(self.tasks)
        self.roots = [self.superblock + 4096, self.superblock + 8192]
        start = (1088 + 16 * self.tasks + fsblksize - 1) // fsblksize * fsblksize
        self.header = start + (self.tasks - 1) * self.chunk
        self.slots = self.header + SLOTS_AT

    def put(self, at, format_, *values):
        """Into both copies of what is kept twice, with checksums that hold."""
        size = 4096 if at in self.roots else SLOT
        for copy in range(2):
            place = at if size == 4096 and copy == 0 else self.roots[1] if size == 4096 else at + copy * SLOT
            offset, code = format_
            struct.pack_into("<" + code, self.bytes, place + offset, *values)
            self.bytes[place + size - 16 : place + size] = xxh3(bytes(self.bytes[place : place + size - 16]))
        return self


def on_purpose(box):
    """(what, bytes of the container)"""
    def change(what, at, format_, *values):
        layout = Layout(box)
        return what, layout.put(getattr(layout, at) if isinstance(at, str) else layout.roots[0], format_, *values).bytes

    most = (1 << 64) - 1
    yield change("slot: bytes", "slots", (48, "QQ"), most, most)
    yield change("slot: 4 TiB", "slots", (48, "QQ"), 4 << 40, 4 << 40)
    yield change("slot: 4 TiB, cut off", "slots", (40, "IIQQ"), 3, 4, 1, 4 << 40)
    yield change("slot: reach below bytes", "slots", (48, "QQ"), 5000, 1)
    yield change("slot: task", "slots", (32, "I"), 1)
    yield change("slot: name too long", "slots", (44, "I"), 4000)
    yield change("slot: name ends early", "slots", (44, "I"), 0)
    yield change("slot: other layout", "slots", (8, "QQ"), 1, 2)
    yield change("header: short", "header", (32, "Q"), 1)
    yield change("header: long", "header", (32, "Q"), 1 << 62)
    yield change("header: job", "header", (40, "I"), 1 << 31)
    yield change("root: 2^20 writers", None, (256, "I"), 1 << 20)
    yield change("root: 2^24 writers", None, (256, "I"), 1 << 24)
    yield change("root: files", None, (260, "I"), 1 << 19)
    yield change("root: chunk", None, (264, "Q"), 1 << 42)
    yield change("root: block", None, (40, "I"), 1 << 30)
    yield change("root: flags", None, (12, "I"), 17)
    yield change("root: not joined", None, (12, "I"), 0)
    layout = Layout(box)
    for name, length in (("nothing", 0), ("META1", 1000), ("no root", layout.roots[0]), ("half a root", layout.roots[0] + 2000),
                         ("no slots", layout.header), ("a slot", layout.slots + 700), ("data", layout.superblock + 12288 + 100)):
        yield "ends behind " + name, layout.bytes[:length]


def at_random(box, count):
    layout = Layout(box)
    places = [(0, 1100 + 16 * layout.tasks), (layout.superblock, 2048), (layout.roots[0], 400), (layout.roots[1], 400), (layout.header, 1024),
              (layout.slots, 2048), (len(layout.bytes) - 4096, 4096)]
    for number in range(count):
        data = bytearray(layout.bytes)
        for _ in range(random.choice((1, 1, 2, 8, 100))):
            begin, length = random.choice(places)
            at = min(begin + random.randrange(length), len(data) - 1)
            data[at] = random.choice((0, 255, data[at] ^ (1 << random.randrange(8)), random.randrange(256)))
        if random.random() < 0.1:
            del data[random.randrange(len(data)) :]
        yield "change %d" % number, data


def attack(joiner, box, what, data):
    with open(box, "wb") as file:
        file.write(data)
    try:
        for commands in (("ro a.h5", "sum", "close"), ("rw a.h5", "add z%d 1 10" % random.randrange(1 << 30), "close"),
                         ("create a.h5", "add x 1 9000", "close"), ("delete a.h5",)):
            joiner.send(commands[0])
            if not joiner.answer().startswith("ok"):
                continue
            for command in commands[1:]:
                joiner.send(command)
                joiner.answer()
        if os.path.exists(box):
            report(box, ok=(0, 1))
            report(box, repair=True, ok=(0, 1))
            check(os.path.getsize(box) <= max(MOST_BYTES, len(data)), "the file grew to %d bytes" % os.path.getsize(box))
    except Failure as reason:
        with open("hostile.bin", "wb") as file:
            file.write(data)
        raise Failure("%s: %s" % (what, reason)) from None


def hostile(count, seed):
    random.seed(seed)
    with Joiner(CONFIG % "good.bento") as a:
        a.say("create a.h5", "add x 1 20000", "close")
    os.mkdir("bad")
    box = "bad/good.bento"
    number = 0
    with Joiner(CONFIG % box) as a:
        cases = list(on_purpose("good.bento")) if xxh3 else []
        for what, data in cases + list(at_random("good.bento", count)):
            shutil.copy("good.bento.000001", box + ".000001")
            attack(a, box, what, data)
            number += 1
        a.say("as " + CONFIG % "bad")
        a.refused("create a.h5", "errno = 21")
        os.mkfifo("fifo")
        a.say("as " + CONFIG % "fifo")
        a.refused("create a.h5", "no regular file")
        a.refused("ro a.h5", "no regular file")
    say("  %d damaged containers" % number)
    for path in (box, box + ".000001"):
        if os.path.exists(path):
            os.remove(path)


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    run_test(hostile, arguments[0], arguments[1] if len(arguments) > 1 else first_seed(1), containers=1)
