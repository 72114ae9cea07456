#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: The h5bento developers
"""Checks a rank's stream as an FTI-FF 1.1 file, without any of h5bento's own code.

Written from docs/formats/fti-ff.md, section 2, and docs/format.md ("A rank's stream") alone. As a module:

    report = check_stream(data)            # bytes of one logical stream
    report.problems                        # [(offset, text)], empty if all is well
    report.skipped                         # [text], checks that could not be made here, and why

Hashes of the XXH3 kind need the Python module xxhash or the shared library libxxhash; without either they
are skipped, and the report says so.
"""

import argparse
import ctypes
import hashlib
import json
import os
import random
import re
import struct
import sys


def find_xxh3():
    """A function from bytes to their canonical XXH3-128 (big-endian), or None."""
    try:
        import xxhash
        return xxhash.xxh3_128_digest
    except (ImportError, AttributeError):
        pass

    class Hash128(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    try:
        function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]

    def digest(chunk):
        value = function(chunk, len(chunk))
        return struct.pack(">QQ", value.high, value.low)

    return digest


xxh3 = find_xxh3()

FB, HEAD, RECORD = 96, 12, 64  # bytes
FILLER = -1
STEPS = (1 << 24) - 1  # a record says a step modulo this
XXH3_MARK = b"XXH3128"
GRANULE = 1 << 20  # of longer data the hash is that of the hashes of its granules


def load(path):
    with open(path, "rb") as handle:
        return handle.read()


class Report:
    def __init__(self):
        self.problems = []
        self.skipped = []
        self.kind = None  # "md5", "xxh3" or "none"
        self.blocks = 0
        self.containers = 0
        self.fillers = 0
        self.dead = 0
        self.unhashed = 0  # containers with bytes and without a hash
        self.live_bytes = 0
        self.largest = 0  # bytes of the largest container with content
        self.gate = None  # "open" or "closed" where streams are laid out for FTI

    def wrong(self, offset, text):
        self.problems.append((offset, text))

    def skip(self, text):
        if text not in self.skipped:
            self.skipped.append(text)

    @property
    def ok(self):
        return not self.problems

    def summary(self):
        return (f"{self.blocks} blocks, {self.containers} containers ({self.fillers} fillers, {self.dead} dead), "
                f"{self.live_bytes} live bytes, hashes {self.kind}" + (f", gate {self.gate}" if self.gate else ""))


class Record:
    """One container record, as stored."""

    def __init__(self, data, at):
        self.at = at
        (self.id, self.idx, self.containerid, self.content, self.pad, self.dptr, self.fptr, self.chunk,
         self.size, self.hash) = struct.unpack_from("<iiiB3sqqqq16s", data, at)

    @property
    def filler(self):
        return self.id == FILLER and self.content == 0


def hash_of(kind, chunk, report):
    """The 16 bytes that a chunk's hash field must hold, or None if they cannot be computed here."""
    if kind == "none":
        return bytes(16)
    if kind == "md5":
        return hashlib.md5(chunk).digest()
    if xxh3 is None:
        report.skip("XXH3 hashes not compared: neither the Python module xxhash nor libxxhash.so.0 is here")
        return None
    if len(chunk) <= GRANULE:
        return xxh3(chunk)
    return xxh3(b"".join(xxh3(chunk[at:at + GRANULE]) for at in range(0, len(chunk), GRANULE)))


def check_file_block(data, report, rules):
    checksum, my_hash, pad, ckpt_size, fs, max_fs, pt_fs, timestamp = struct.unpack_from("<33s16s7sqqqqQ", data)
    for name, value, at in (("ckptSize", ckpt_size, 56), ("fs", fs, 64)):
        if value != len(data):
            report.wrong(at, f"{name} is {value}, the stream has {len(data)} bytes")
    if rules == "stream":
        for name, value, at in (("maxFs", max_fs, 72), ("ptFs", pt_fs, 80)):
            if value != -1:
                report.wrong(at, f"{name} is {value}, want -1")
    covered = checksum + struct.pack("<Qqqqq", timestamp, ckpt_size, fs, pt_fs, max_fs)
    if hashlib.md5(covered).digest() != my_hash:
        report.wrong(33, "myHash is not the MD5 of checksum, timestamp, ckptSize, fs, ptFs and maxFs")

    report.kind = "none" if checksum == bytes(33) else "xxh3" if pad == XXH3_MARK else "md5"
    if report.kind != "none" and not re.fullmatch(rb"[0-9a-f]{32}\0", checksum):
        report.wrong(0, "checksum is not 32 lower-case hexadecimal digits and a NUL")
    if rules == "stream" and pad != (XXH3_MARK if report.kind == "xxh3" else bytes(7)):
        report.wrong(49, f"the pad bytes are {pad.hex()}, want zeros, or 'XXH3128' with a checksum")
    return checksum


def read_blocks(data, report):
    """Follows the chain of blocks. Stops at the first head that cannot be one."""
    blocks = []
    at = FB
    while at < len(data):
        if len(data) - at < HEAD:
            report.wrong(at, f"{len(data) - at} bytes behind the last block, too few for another")
            break
        numvars, dbsize = struct.unpack_from("<iq", data, at)
        if numvars < 0 or HEAD + RECORD * numvars > len(data) - at:
            report.wrong(at, f"numvars is {numvars}, which does not fit the {len(data) - at} bytes left")
            break
        records = [Record(data, at + HEAD + RECORD * i) for i in range(numvars)]
        want = HEAD + RECORD * numvars + sum(r.size for r in records)
        if dbsize != want:
            report.wrong(at + 4, f"dbsize is {dbsize}, head, records and containers make {want}")
            break
        if dbsize > len(data) - at or any(r.size < 0 for r in records):
            report.wrong(at + 4, f"dbsize is {dbsize}, {len(data) - at} bytes are left")
            break
        blocks.append((at, dbsize, records))
        at += dbsize
    else:
        if at != len(data):
            report.wrong(at, "the chain of blocks does not end at ckptSize")
    return blocks


def check_places(blocks, report):
    for at, _, records in blocks:
        here = at + HEAD + RECORD * len(records)
        for r in records:
            if r.content not in (0, 1):
                report.wrong(r.at + 12, f"hascontent is {r.content}")
            if r.fptr != here:
                report.wrong(r.at + 24, f"fptr is {r.fptr}, want {here}")
            if not 0 <= r.chunk <= r.size:
                report.wrong(r.at + 32, f"chunksize is {r.chunk} in a container of {r.size}")
            if r.content == 0 and r.chunk != 0:
                report.wrong(r.at + 32, f"chunksize is {r.chunk} without content")
            if r.idx < 0:
                report.wrong(r.at + 4, f"idx is {r.idx}")
            here += r.size


def find_gate(blocks):
    """The first block, if it is one container without room (docs/format.md, "Streams for FTI")."""
    records = blocks[0][2] if blocks else []
    return records[0] if len(records) == 1 and records[0].size == 0 else None


def check_gate(gate, blocks, report):
    """FTI may come in only if it restores, and writes at its next checkpoints, the same bytes of each variable."""
    report.gate = "closed" if gate.id == FILLER else "open"
    if report.gate == "closed":
        if gate.content or gate.hash != bytes(16):
            report.wrong(gate.at, "the gate is closed, but has content or a hash")
        return
    if gate.dptr or gate.containerid or gate.idx or not gate.content:
        report.wrong(gate.at, "the gate is open, but is not the first container of its variable")
    every = [r for _, _, records in blocks for r in records]
    ids = list(dict.fromkeys(r.id for r in every))
    if FILLER in ids or ids != sorted(ids):
        report.wrong(gate.at, f"the gate is open, but the variables come as {ids}")
    for r in every:
        if r.idx != sorted(ids).index(r.id):
            report.wrong(r.at + 4, f"the gate is open, but idx of variable {r.id} is {r.idx}")
    for variable in ids:
        mine = [r for r in every if r.id == variable]
        live = sum(r.chunk for r in mine if r.content)
        reserved = 0
        for r in mine:
            if reserved < live and r.dptr != reserved:
                report.wrong(r.at + 16, f"the gate is open, but FTI would put what it reads at {r.dptr} of variable "
                                        f"{variable} to {reserved}")
                break
            reserved += r.size
        if live == 0:
            report.wrong(gate.at, f"the gate is open, but variable {variable} has no bytes")


def check_fillers(blocks, report, newest):
    gate = find_gate(blocks)
    for _, _, records in blocks:
        for position, r in enumerate(records):
            if r.id == FILLER and r.content != 0:
                report.wrong(r.at + 12, "a filler (id -1) with content")
            # Behind the last container of a block that is used again there may be fillers, too, but not with MD5.
            behind = records[position + 1 :] if gate else records
            if r.filler and r is not gate and all(other.filler for other in behind):
                report.wrong(r.at, "a filler with no container behind it in its block")
            if r.id < FILLER:
                report.wrong(r.at, f"id is {r.id}, no dataset number and no filler")
            if r.pad != bytes(3) and r.filler:
                report.wrong(r.at + 13, f"the pad bytes are {r.pad.hex()}, want zeros")
            # One more than the step from which on, or before which, somebody may need it: never one still to come.
            step = int.from_bytes(r.pad, "little") - 1
            if newest is not None and newest < STEPS and step > newest:
                report.wrong(r.at + 13, f"the pad bytes say step {step}, the newest one is {newest}")


def check_stream_order(blocks, report):
    """docs/format.md, "A rank's stream": containerid counts all containers of an id, dptr the bytes of those with
    content, both in file order; with MD5 a container with content is full, a large one at least to an eighth of it.
    Otherwise a record may lie in a container that was made for a larger one."""
    gate = find_gate(blocks)
    state = {}
    for r in (r for _, _, records in blocks for r in records if not r.filler):
        count, live, reserved = state.get(r.id, (r.containerid if gate and gate.filler and r.containerid == 1 else 0, 0, 0))
        if r.containerid != count:
            report.wrong(r.at + 8, f"id {r.id}: containerid is {r.containerid}, want {count}")
        # Where FTI is let in, it takes a container without content for the bytes behind all capacities before it.
        want = reserved if gate and not r.content else live
        if r.dptr != want:
            report.wrong(r.at + 16, f"id {r.id}: dptr is {r.dptr}, want {want}")
        most = 8 * r.chunk if r.size >= 65536 else r.chunk
        if r.content and not (r.chunk <= r.size <= most if gate else 0 < r.chunk <= r.size):
            report.wrong(r.at + 32, f"id {r.id}: chunksize is {r.chunk} in a container of {r.size} with content")
        state[r.id] = (count + 1, live + r.chunk, reserved + r.size)


def check_fti_order(blocks, report):
    """A variable fills its containers one after the other (docs/formats/fti-ff.md, section 3)."""
    state = {}
    for _, _, records in blocks:
        for r in records:
            count, reserved, open_end = state.get(r.id, (0, 0, True))
            if r.containerid != count:
                report.wrong(r.at + 8, f"id {r.id}: containerid is {r.containerid}, want {count}")
            if r.dptr != reserved:
                report.wrong(r.at + 16, f"id {r.id}: dptr is {r.dptr}, want {reserved}")
            if r.content and not open_end:
                report.wrong(r.at + 12, f"id {r.id}: content behind a container that is not full")
            if count == 0 and not r.content:
                report.wrong(r.at + 12, f"id {r.id}: its first container has no content")
            state[r.id] = (count + 1, reserved + r.size, open_end and bool(r.content) and r.chunk == r.size)


def check_hashes(data, blocks, checksum, report, rules):
    of_hashes = b""
    for _, _, records in blocks:
        for r in records:
            if r.content:
                of_hashes += r.hash
            if not 0 <= r.fptr <= r.fptr + r.chunk <= len(data):
                continue  # check_places() has said so
            want = hash_of(report.kind, data[r.fptr:r.fptr + r.chunk], report)
            # Our sessions with checksum=none leave records without a hash among others.
            bare = rules == "stream" and r.hash == bytes(16)
            # An older kept step (keep=) still reads what is dead in the newest, and its hash with it. FTI, which
            # would compare it, knows MD5 only.
            kept = report.kind == "xxh3" and not r.content and not r.filler
            bare = bare or (rules == "stream" and kept)
            report.unhashed += bool(r.content and r.chunk and r.hash == bytes(16))
            if want is not None and want != r.hash and not bare:
                report.wrong(r.fptr if r.chunk else r.at + 48,
                             f"id {r.id} container {r.containerid}: its {r.chunk} bytes do not have the hash "
                             f"at byte {r.at + 48}")
    if report.kind == "md5":
        if hashlib.md5(data[FB:]).hexdigest().encode() + b"\0" != checksum:
            report.wrong(FB, "checksum is not the MD5 of all bytes from 96 on")
    elif report.kind == "xxh3":
        want = xxh3(of_hashes) if xxh3 else None
        if want is not None and want.hex().encode() + b"\0" != checksum:
            report.wrong(0, "checksum is not the XXH3-128 of the hashes of all containers with content")


def check_stream(data, rules="stream", newest=None):
    """Walks `data` as FTI-FF 1.1. rules: "stream" for h5bento's, "fti" for files that FTI wrote. newest: the step of the
    container's root, if it is known."""
    data = bytes(data)
    report = Report()
    if len(data) < FB:
        report.wrong(0, f"{len(data)} bytes, less than a file block of {FB}")
        return report
    checksum = check_file_block(data, report, rules)
    blocks = read_blocks(data, report)
    check_places(blocks, report)
    if rules == "stream":
        check_fillers(blocks, report, newest)
        check_stream_order(blocks, report)
        gate = find_gate(blocks)
        if gate is not None:
            check_gate(gate, blocks, report)
    else:
        check_fti_order(blocks, report)
    check_hashes(data, blocks, checksum, report, rules)
    every = [r for _, _, records in blocks for r in records]
    report.blocks, report.containers = len(blocks), len(every)
    report.fillers = sum(r.filler for r in every)
    report.dead = sum(not r.content and not r.filler for r in every)
    report.live_bytes = sum(r.chunk for r in every if r.content)
    report.largest = max((r.chunk for r in every if r.content), default=0)
    return report


def build_stream(kind):
    """A small stream by the rules of docs/format.md: a filler, dead and live pieces of id 0, a dead one of id 3."""
    silent = Report()

    def record(variable, containerid, content, dptr, fptr, chunk, size):
        value = hash_of(kind, chunk, silent) or bytes(16)
        return struct.pack("<iiiB3sqqqq16s", variable, max(variable, 0), containerid, content, bytes(3), dptr,
                           fptr, len(chunk), size, value)

    def numbers(first, count):
        return bytes((first + i) % 251 for i in range(count))

    body = b""
    live = b""

    def block(pieces):
        nonlocal body, live
        here = FB + len(body) + HEAD + RECORD * len(pieces)
        records = b""
        data = b""
        for variable, containerid, content, dptr, chunk, size in pieces:
            packed = record(variable, containerid, content, dptr, here, chunk if content else b"", size)
            records += packed
            live += packed[48:] if content else b""
            data += chunk + bytes(size - len(chunk))
            here += size
        body += struct.pack("<iq", len(pieces), HEAD + len(records) + len(data)) + records + data

    first = 1024 - (FB + HEAD + 2 * RECORD)
    block([(FILLER, 0, 0, 0, b"", first), (0, 0, 1, 0, numbers(1, 700), 700)])
    block([(0, 1, 0, 700, numbers(5, 30), 30), (0, 2, 1, 700, numbers(7, 50), 50), (3, 0, 0, 0, numbers(9, 20), 20),
           (4, 0, 1, 0, b"x", 1)])
    total = hash_of(kind, body if kind == "md5" else live, silent) or bytes(16)
    checksum = bytes(33) if kind == "none" else total.hex().encode() + b"\0"
    size = FB + len(body)
    timestamp = 1700000000123456789
    my_hash = hashlib.md5(checksum + struct.pack("<Qqqqq", timestamp, size, size, -1, -1)).digest()
    pad = XXH3_MARK if kind == "xxh3" else bytes(7)
    return struct.pack("<33s16s7sqqqqQ", checksum, my_hash, pad, size, size, -1, -1, timestamp) + body


def build_gated(containers, gate=0):
    """A stream for FTI. gate: the id that it carries; containers: (id, idx, containerid, content, dptr, chunk, size),
    each a block of its own."""
    silent = Report()
    closed = gate == FILLER
    body = b""

    def block(variable, idx, containerid, content, dptr, chunk, size, value):
        nonlocal body
        here = FB + len(body) + HEAD + RECORD
        body += struct.pack("<iq", 1, HEAD + RECORD + size)
        body += struct.pack("<iiiB3sqqqq16s", variable, idx, containerid, content, bytes(3), dptr, here,
                            len(chunk) if content else 0, size, value)
        body += chunk + bytes(size - len(chunk))

    block(gate, 0, 0, not closed, 0, b"", 0, bytes(16) if closed else hash_of("md5", b"", silent))
    for variable, idx, containerid, content, dptr, chunk, size in containers:
        block(variable, idx, containerid, content, dptr, chunk, size,
              hash_of("md5", chunk if content else b"", silent))
    head = struct.pack("<33s16s7sqqqqQ", bytes(33), bytes(16), bytes(7), FB + len(body), FB + len(body), -1, -1, 1)
    return reseal(head + body)


def gated_streams():
    """[(what, stream)]: sound ones say so; the others let FTI in where it would go wrong."""
    a, b, c = b"a" * 66000, b"b" * 70000, b"c" * 30
    good = [(0, 0, 1, 1, 0, a, 66000), (0, 0, 2, 1, 66000, b, 72000), (3, 1, 0, 1, 0, c, 30),
            (0, 0, 3, 0, 138000, a, 66000)]
    behind = [(0, 0, 1, 0, 0, a, 66000), (0, 0, 2, 0, 66000, b, 70000), (0, 0, 3, 1, 0, b, 70000),
              (0, 0, 4, 1, 70000, a, 66000)]

    def closed(containers):
        return [(v, v, n - (v == 0), content, dptr, chunk, size) for v, _, n, content, dptr, chunk, size in containers]

    def changed(at, **fields):
        names = ("id", "idx", "containerid", "content", "dptr", "chunk", "size")
        return [tuple(fields.get(name, value) for name, value in zip(names, one)) if i == at else one
                for i, one in enumerate(good)]

    slack = changed(0, size=66010)
    return [
        ("two variables: sound", build_gated(good)),
        ("the same, closed: sound", build_gated(closed(good), FILLER)),
        ("live pieces behind as much dead space: sound", build_gated(behind)),
        ("live pieces behind less dead space", build_gated(
            [behind[0][:2] + (1, 0, 0) + behind[0][5:]] + [one[:2] + (one[2] - 1,) + one[3:] for one in behind[2:]])),
        ("room behind the first piece", build_gated(slack)),
        ("room behind the first piece, closed: sound", build_gated(
            [one if i < 3 else one[:4] + (138010,) + one[5:] for i, one in enumerate(closed(slack))], FILLER)),
        ("idx is the id", build_gated(changed(2, idx=3))),
        ("a variable of no bytes", build_gated(changed(2, content=0))),
        ("variables against the order of their ids", build_gated(good + [(2, 1, 0, 1, 0, c, 30)])),
        ("a filler", build_gated(good + [(FILLER, 0, 0, 0, 0, b"", 9)])),
        ("a dead piece's dptr", build_gated(changed(3, dptr=100))),
    ]


def reseal(stream):
    """A changed md5 stream with a right checksum and a right myHash: only rules are left to find the change."""
    head = bytearray(stream[:FB])
    head[:33] = hashlib.md5(stream[FB:]).hexdigest().encode() + b"\0"
    ckpt_size, fs, max_fs, pt_fs, timestamp = struct.unpack_from("<qqqqQ", head, 56)
    head[33:49] = hashlib.md5(bytes(head[:33]) + struct.pack("<Qqqqq", timestamp, ckpt_size, fs, pt_fs, max_fs)).digest()
    return bytes(head) + stream[FB:]


def wrong_by_the_rules():
    """[(what, md5 stream)]: each breaks one rule, and has all hashes of the file right."""
    good = build_stream("md5")
    second = 1024 + 700 + HEAD  # records of the second block: id 0 dead, id 0, id 3 dead, id 4
    dead, live, other = second, second + RECORD, second + 2 * RECORD

    def with_bytes(at, new):
        return reseal(good[:at] + new + good[at + len(new):])

    data_of_dead = struct.unpack_from("<q", good, dead + 24)[0]
    empty = hashlib.md5(b"").digest()
    return [
        ("a live container's dptr counts a dead one", with_bytes(live + 16, struct.pack("<q", 730))),
        ("a dead container's dptr", with_bytes(dead + 16, struct.pack("<q", 0))),
        ("a containerid that counts live ones only", with_bytes(live + 8, struct.pack("<i", 1))),
        ("a dead container with a chunksize", with_bytes(dead + 32, struct.pack("<q", 30))),
        ("a dead container with the hash of its old data",
         with_bytes(dead + 48, hashlib.md5(good[data_of_dead:data_of_dead + 30]).digest())),
        ("a live container that is marked dead", with_bytes(live + 12, b"\0")),
        ("the same with chunksize and hash to match, but dptr of none behind it: sound",
         with_bytes(live + 12, b"\0" + good[live + 13:live + 32] + bytes(8) + good[live + 40:live + 48] + empty)),
        ("a dead container that is marked live", with_bytes(other + 12, b"\1")),
        ("a container that says which steps may need it: sound", with_bytes(dead + 13, b"\5")),
        ("a container that says a step still to come", with_bytes(dead + 13, b"\6")),
        ("a filler with the hash of something", with_bytes(FB + HEAD + 48, hashlib.md5(b"x").digest())),
        ("a live container that is not full", with_bytes(live + 32, struct.pack("<q", 49))),
        ("another hash", with_bytes(live + 48, hashlib.md5(b"y").digest())),
        ("a hash that was not computed: sound", with_bytes(live + 48, bytes(16))),
    ]


def self_test(folder):
    failures = []

    def expect(condition, text):
        if not condition:
            failures.append(text)

    golden = damaged = 0
    for entry in json.loads(load(os.path.join(folder, "manifest.json")))["files"]:
        data = load(os.path.join(folder, entry["path"]))
        expect(hashlib.md5(data).hexdigest() == entry["md5"], f"{entry['path']}: not the golden file")
        report = check_stream(data, "fti")
        if entry["format"] != "FTI-FF v1.1" or entry["kind"] == "rs_encoded":
            expect(not report.ok, f"{entry['path']}: taken for an FTI-FF 1.1 file")
            continue
        golden += 1
        expect(report.ok, f"{entry['path']}: {report.problems[:3]}")
        # All bytes but the pads of the file block: records, data and zeros are covered by the checksum.
        positions = range(len(data)) if len(data) < 1400 else random.Random(len(data)).sample(range(len(data)), 40)
        for at in positions:
            if 49 <= at < 56:
                continue
            damaged += 1
            changed = data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1:]
            expect(not check_stream(changed, "fti").ok, f"{entry['path']}: byte {at} changed, not noticed")
        for length in random.Random(1).sample(range(len(data)), 50):
            expect(not check_stream(data[:length], "fti").ok, f"{entry['path']}: cut to {length}, not noticed")

    if xxh3 is not None:  # what xxhsum -H2 says of no bytes
        expect(xxh3(b"").hex() == "99aa06d3014798d86001c324468d497f", "the XXH3-128 function is another one")
    for kind in ("md5", "xxh3", "none"):
        stream = build_stream(kind)
        report = check_stream(stream)
        print("".join(f"self-test: {text}\n" for text in report.skipped), end="")
        expect(report.ok and report.kind == kind, f"built {kind} stream: {report.problems[:3]}")
        expect((report.blocks, report.containers, report.fillers, report.live_bytes) == (2, 6, 1, 751),
               f"built {kind} stream: {report.summary()}")
        record = FB + HEAD + RECORD
        if kind == "md5":
            for at in range(len(stream)):
                damaged += 1
                changed = stream[:at] + bytes([stream[at] ^ 1]) + stream[at + 1:]
                expect(not check_stream(changed).ok, f"built stream: byte {at} changed, not noticed")
        if kind == "xxh3" and xxh3 is not None:
            for at in (0, record + 48, 1024, 1100):  # checksum, hash, first byte of data, another one
                damaged += 1
                changed = stream[:at] + bytes([stream[at] ^ 1]) + stream[at + 1:]
                expect(not check_stream(changed).ok, f"built xxh3 stream: byte {at} changed, not noticed")
        # Structure alone must show these, whatever the hash: id of the filler, dptr, sizes, flag, fptr.
        for at in (FB, FB + 4, FB + HEAD, record + 12, record + 16, record + 24, record + 32, record + 40):
            damaged += 1
            changed = stream[:at] + bytes([stream[at] ^ 1]) + stream[at + 1:]
            expect(not check_stream(changed).ok, f"built {kind} stream: byte {at} changed, not noticed")

    for what, stream in gated_streams():
        report = check_stream(stream)
        expect(report.ok == what.endswith(": sound"), f"stream with a gate: {what}: {report.problems[:2]}")
        expect(report.gate == ("closed" if "closed" in what else "open"), f"stream with a gate: {what}: {report.gate}")
    rules = wrong_by_the_rules()
    for what, stream in rules:
        expect(check_stream(stream, newest=4).ok == what.endswith(": sound"), f"md5 stream, resealed: {what}")
    expect(check_stream(reseal(build_stream("md5"))).ok, "md5 stream, resealed without a change")

    print("".join(f"self-test: {text}\n" for text in failures[:20]), end="")
    print(f"self-test: md5 streams: FB checksum and record hashes by hashlib, {len(rules)} changes of hascontent, dptr, "
          "containerid and hashes under a right checksum judged by the rules")
    print(f"self-test: {golden} golden files, {damaged} damaged copies, {len(failures)} failures")
    return not failures


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Check streams as FTI-FF 1.1 files. Exit status 0: all sound.")
    parser.add_argument("files", nargs="*", help="files, each one stream")
    parser.add_argument("--rules", choices=("stream", "fti"), default="stream",
                        help="whose files: h5bento's streams (default), or FTI's own")
    parser.add_argument("--self-test", action="store_true", help="check the checker on the golden files")
    parser.add_argument("--data", default=os.path.join(here, "..", "data", "fti"), help="folder of the golden files")
    options = parser.parse_args()
    if options.self_test:
        return 0 if self_test(options.data) else 1
    if not options.files:
        parser.error("no file given")
    sound = True
    for name in options.files:
        report = check_stream(load(name), options.rules)
        sound = sound and report.ok
        print(f"{name}: {'sound' if report.ok else 'DAMAGED'}: {report.summary()}")
        for offset, text in report.problems:
            print(f"  byte {offset}: {text}")
        for text in report.skipped:
            print(f"  skipped: {text}")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
