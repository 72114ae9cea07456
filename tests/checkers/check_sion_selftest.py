# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: The h5bento developers
"""The self-test of check_sion.py: the golden containers are good, damaged copies of them are not."""

import hashlib
import json
import os
import random
import shutil
import struct
import tempfile

from check_sion import check_container
from sion_physical_file import ARRAYS_AT, BASE, PREFIX, PREFIX_AT


def judged_harmless(golden, file, at):
    """May this byte have other values without making the container wrong?"""
    n = file["ntasks_field"]
    rows = file["start_of_varheader"]
    if rows <= at < rows + 8 * n * (1 + file["maxchunks"]):
        return True  # a size that still fits its chunk, more blocks of size 0
    if golden["keyval"] == "inline" and at == 40:
        return True  # its records as plain bytes
    if golden["nfiles"] > 1:
        return False  # the rest is compared between the files, or with the mapping
    return (8 <= at < 16  # library version
            or at == 16  # format 5 against 4
            or 32 <= at < 36  # filenumber 0 against 1
            or PREFIX_AT <= at < PREFIX_AT + PREFIX
            or ARRAYS_AT <= at < ARRAYS_AT + 8 * n)  # globalranks are labels


def self_test(folder):
    failures = []
    manifest = json.load(open(os.path.join(folder, "manifest.json")))
    goldens = damaged = missed = 0

    def expect(condition, text):
        if not condition:
            failures.append(text)

    for golden in manifest["containers"]:
        name = golden["file"]
        goldens += 1
        for file in golden["physical"]:
            data = open(os.path.join(folder, file["name"]), "rb").read()
            expect(hashlib.sha256(data).hexdigest() == file["sha256"], "%s is not the golden file" % file["name"])
        report = check_container(os.path.join(folder, name))
        expect(not report.problems and not report.notes, "%s: %s %s"
               % (name, report.problems, report.notes))
        container = report.container
        expect(len(container.tasks) == golden["ntasks"], "%s: %d tasks" % (name, len(container.tasks)))
        for task, found in enumerate(container.tasks):
            expect(found.sizes == golden["bytes_per_chunk"][task], "%s task %d: sizes %s"
                   % (name, task, found.sizes))
            expect(found.rank == golden["globalranks"][task], "%s task %d: rank %d"
                   % (name, task, found.rank))
            expect(hashlib.sha256(container.stream(task)).hexdigest() == golden["stream_sha256"][task],
                   "%s task %d: other bytes" % (name, task))
        container.close()
        strict = check_container(os.path.join(folder, name), bento=True)
        even = len({len(sizes) for sizes in golden["bytes_per_chunk"]}) == 1
        expect(bool(strict.problems) != (even and golden["keyval"] == "none"), "%s --bento: %s"
               % (name, strict.problems))
        strict.container.close()

    scratch = tempfile.mkdtemp(prefix="check_sion_")
    try:
        for golden in manifest["containers"]:
            found, lost = damage_everywhere(folder, scratch, golden, failures)
            damaged += found
            missed += lost
        for text, found in particular_damage(folder, scratch):
            damaged += 1
            expect(found, "not found: " + text)
    finally:
        shutil.rmtree(scratch)
    print("".join("self-test: %s\n" % text for text in failures[:20]), end="")
    print("self-test: %d golden containers, %d damaged copies (%d of them harmless), %d failures"
          % (goldens, damaged, missed, len(failures)))
    return not failures


def damage_everywhere(folder, scratch, golden, failures):
    """Single bits of all numbers, and truncations. Returns how many copies, and how many were let pass."""
    dice = random.Random(golden["file"])
    copies = passed = 0
    target = os.path.join(scratch, golden["file"])
    contents = {}
    for file in golden["physical"]:
        contents[file["name"]] = open(os.path.join(folder, file["name"]), "rb").read()

    def check(changed, data):
        for name, content in contents.items():
            with open(os.path.join(scratch, name), "wb") as handle:
                handle.write(data if name == changed else content)
        report = check_container(target)
        report.container.close()
        return report

    for file in golden["physical"]:
        name, data = file["name"], contents[file["name"]]
        n = file["ntasks_field"]
        offsets = list(range(0, PREFIX_AT)) + list(range(ARRAYS_AT, BASE + 16 * n))
        offsets += list(range(file["start_of_varheader"], len(data)))
        for at in offsets:
            for bit in dice.sample(range(8), 2):
                copy = bytearray(data)
                copy[at] ^= 1 << bit
                report = check(name, bytes(copy))
                copies += 1
                if not report.problems and not report.notes:
                    passed += 1
                    if not judged_harmless(golden, file, at):
                        failures.append("%s: bit %d of byte %d: not found" % (name, bit, at))
        for length in sorted(dice.sample(range(len(data)), 60)) + [len(data) - 1]:
            copies += 1
            # Nothing is as good as four zero bytes behind the size rows of a single file.
            if not check(name, data[:length]).problems and not (
                    golden["nfiles"] == 1 and length == len(data) - 4 and golden["writer"] == "serial"):
                failures.append("%s cut to %d bytes: not found" % (name, length))
        copies += 1
        if not check(name, data + b"\0").problems:
            failures.append("%s with a byte more: not found" % name)
    for name in contents:
        os.remove(os.path.join(scratch, name))
    return copies, passed


def particular_damage(folder, scratch):
    """Faults of which the right words must be said."""
    def change(name, edits, words, files=(), **options):
        target = os.path.join(scratch, name)
        for other in (name,) + tuple(files):
            shutil.copyfile(os.path.join(folder, other), os.path.join(scratch, other))
        for other, at, data in edits:
            if data is None:
                os.remove(os.path.join(scratch, other))
                continue
            with open(os.path.join(scratch, other), "r+b") as handle:
                handle.seek(at)
                handle.write(data)
        report = check_container(target, **options)
        report.container.close()
        for other in os.listdir(scratch):
            os.remove(os.path.join(scratch, other))
        return "%s, %s" % (name, words), any(words in problem.text for problem in report.problems)

    sub = "multi2.sion.000001"
    five = "five_uneven.sion"
    i32, i64 = (lambda v: struct.pack("<i", v)), (lambda v: struct.pack("<q", v))
    yield change(five, [(five, 0, b"SION")], "magic")
    yield change(five, [(five, 16, i32(6))], "file format version 6")
    yield change(five, [(five, 20, i32(0))], "fsblksize 0")
    yield change(five, [(five, 24, i32(1 << 20))], "META1 would have")
    yield change(five, [(five, 32, i32(2))], "filenumber 2")
    yield change(five, [(five, 40, i32(52))], "flag1")
    yield change(five, [(five, 48, i32(1))], "flag2")
    yield change(five, [(five, 52, b"x" * 1024)], "terminating zero")
    yield change(five, [(five, 1000, b"x")], "zero padded")
    yield change(five, [(five, 1076 + 8, i64(0))], "globalrank 0 of tasks 0 and 1")
    yield change(five, [(five, 1076 + 40, i64(-1))], "chunk size -1 of task 0")
    yield change(five, [(five, 1076 + 40, i64(1 << 62)), (five, 1076 + 48, i64(1 << 62))], "no file offset")
    yield change(five, [(five, 1200, b"x")], "between META1 and the first chunk")
    yield change(five, [(five, 1156, bytes(12))], "not closed")
    yield change(five, [(five, 1160, i64(1000))], "start_of_varheader 1000")
    yield change(five, [(five, 6144, i64(2))], "block count 2 of task 0")
    yield change(five, [(five, 6144 + 40, i64(513))], "513 bytes of task 0 in block 0")
    yield change(five, [(five, 6144, i64(0))], "block count 0")
    yield change("three_blocks.sion", [("three_blocks.sion", 53248 + 8 * 7, i64(5))], "which it does not have")
    yield change("three_blocks.sion", [], "block counts differ", bento=True)
    yield change("keyval_inline.sion", [("keyval_inline.sion", 1536 + 8, i64(1000))], "record of length 1000")
    yield change("keyval_inline.sion", [], "key-value mode inline", bento=True)
    yield change("multi2.sion", [(sub, 0, None)], "there is no multi2.sion.000001", [sub])
    yield change("multi2.sion", [(sub, 28, i32(3))], "nfiles is 3", [sub])
    yield change("multi2.sion", [(sub, 32, i32(0))], "filenumber 0 in physical file 1", [sub])
    yield change("multi2.sion", [(sub, 52, b"other")], "prefix is", [sub])
    yield change("multi2.sion", [(sub, 1076, i64(9))], "task 3 has globalrank 9", [sub])
    yield change("multi2.sion", [("multi2.sion", 9312, i32(5))], "mapping_size 5 for 6 tasks", [sub])
    yield change("multi2.sion", [("multi2.sion", 9316, i32(2))], "does not exist", [sub])
    yield change("multi2.sion", [("multi2.sion", 9320, i32(1))], "are both mapped to", [sub])
