# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: The h5bento developers
"""One physical file of a SION container, field by field; part of check_sion.py."""

import os
import struct
from collections import namedtuple

Problem = namedtuple("Problem", "file offset text")

PREFIX_AT, PREFIX, ARRAYS_AT = 52, 1024, 1076  # bytes, format 3 and later
ARRAYS_AT_V2 = 1056
BASE = 1088  # META1 of no task; what the start of data is computed from
MODES = {0: "none", 50: "none", 51: "inline", 52: "meta", 53: "hash", 54: "unknown"}
MOST_TASKS = 134_000_000  # META1's size is computed in 32 bits
INT64 = 1 << 63


class Unreadable(Exception):
    """Nothing behind this point makes sense."""


def up(value, unit):
    return (value + unit - 1) // unit * unit


class PhysicalFile:
    """One file: decodes what it can, and adds what is wrong to the report."""

    def __init__(self, report, path, index=None):
        self.report, self.path, self.index = report, path, index
        self.handle = open(path, "rb")
        self.size = os.fstat(self.handle.fileno()).st_size
        try:
            self.read_meta1()
            self.read_meta2()
        except Unreadable:
            self.broken = True
        else:
            self.broken = False

    def close(self):
        self.handle.close()

    def wrong(self, offset, text):
        self.report.problems.append(Problem(os.path.basename(self.path), offset, text))

    def stop(self, offset, text):
        self.wrong(offset, text)
        raise Unreadable

    def bytes_at(self, offset, count, what):
        if offset < 0 or count < 0 or offset + count > self.size:
            self.stop(offset, "%s: %d bytes wanted, the file has %d" % (what, count, self.size))
        self.handle.seek(offset)
        return self.handle.read(count)

    def numbers(self, offset, count, code, what):
        width = struct.calcsize("<" + code)
        return struct.unpack(self.order + str(count) + code, self.bytes_at(offset, count * width, what))

    def number(self, offset, code, what):
        return self.numbers(offset, 1, code, what)[0]

    # -- META1 ------------------------------------------------------------------------------------

    def read_meta1(self):
        if self.bytes_at(0, 4, "magic") != b"sion":
            self.stop(0, "magic is %r, not b'sion'" % self.bytes_at(0, 4, "magic"))
        self.word = self.bytes_at(4, 4, "endianness word")
        if self.word not in (b"\0\0\0\0", b"\0\1\1\0", b"\1\1\1\1", b"\1\0\0\1"):
            self.stop(4, "endianness word is %s" % self.word.hex(" "))
        self.order = ">" if self.word[0] else "<"
        self.library, self.patch, self.version = self.numbers(8, 3, "i", "version fields")
        if not 2 <= self.version <= 5:
            self.stop(16, "file format version %d, known are 2 to 5" % self.version)
        if self.library < 0 or self.patch < 0:
            self.wrong(8, "library version %d, patch level %d" % (self.library, self.patch))
        self.fsblksize, self.ntasks, self.nfiles = self.numbers(20, 3, "i", "sizes")
        if self.fsblksize < 1:
            self.stop(20, "fsblksize %d" % self.fsblksize)
        if not 1 <= self.ntasks <= MOST_TASKS:
            self.stop(24, "ntasks %d" % self.ntasks)
        if self.nfiles < 1:
            self.stop(28, "nfiles %d" % self.nfiles)
        self.read_flags()
        self.read_prefix()
        self.read_arrays()
        self.read_tail()

    def read_flags(self):
        self.filenumber, self.mode = 1, "none"
        if self.version < 3:
            return
        self.filenumber = self.number(32, "i", "filenumber")
        highest = self.nfiles - 1 if self.nfiles > 1 else 1
        if not 0 <= self.filenumber <= highest:
            self.wrong(32, "filenumber %d, want 0..%d" % (self.filenumber, highest))
        if self.index is not None and self.filenumber != self.index:
            self.wrong(32, "filenumber %d in physical file %d" % (self.filenumber, self.index))
        if self.version < 5:
            return
        flag1, flag2 = self.numbers(36, 2, "q", "flags")
        mode = (flag1 >> 32) & 0xFFFFFFFF
        self.mode = MODES.get(mode)
        if flag1 & 0xFFFFFFFF or self.mode not in ("none", "inline"):
            self.wrong(36, "flag1 %#x: the upper half must be 50 or 51, the lower 0"
                       % (flag1 & (2 * INT64 - 1)))
        if flag2:
            self.wrong(44, "flag2 %#x, want 0" % (flag2 & (2 * INT64 - 1)))

    def read_prefix(self):
        at = PREFIX_AT if self.version >= 3 else PREFIX_AT - 20
        field = self.bytes_at(at, PREFIX, "prefix")
        end = field.find(0)
        if end < 0:
            self.wrong(at, "prefix without a terminating zero")
            end = PREFIX
        elif field[end:].strip(b"\0"):
            self.wrong(at + end, "prefix is not zero padded")
        self.prefix = field[:end]
        if end == 0:
            self.wrong(at, "prefix is empty")

    def read_arrays(self):
        n = self.ntasks
        at = ARRAYS_AT if self.version >= 3 else ARRAYS_AT_V2
        self.tail_at = at + 16 * n
        if self.tail_at > self.size:
            self.stop(24, "ntasks %d: META1 would have %d bytes, the file has %d"
                      % (n, self.tail_at, self.size))
        self.ranks = self.numbers(at, n, "q", "globalranks")
        stored = self.numbers(at + 8 * n, n, "q", "chunk sizes")
        for task, chunk in enumerate(stored):
            if chunk < 0:
                self.stop(at + 8 * (n + task), "chunk size %d of task %d" % (chunk, task))
        seen = {}
        for task, rank in enumerate(self.ranks):
            if rank in seen:
                self.wrong(at + 8 * task, "globalrank %d of tasks %d and %d" % (rank, seen[rank], task))
            seen[rank] = task
        # Up to version 3 it was the reader who rounded.
        self.chunks = [up(c, self.fsblksize) for c in stored] if self.version <= 3 else list(stored)
        self.start = up(BASE + 16 * n, self.fsblksize)
        self.skip = sum(self.chunks)
        self.begins = []
        begin = self.start
        for chunk in self.chunks:
            self.begins.append(begin)
            begin += chunk
        if begin >= INT64:
            self.stop(at + 8 * n, "chunks end at %d, which is no file offset" % begin)
        if self.skip % self.fsblksize:
            # Collective writers leave single chunks unrounded, but never the sum.
            self.wrong(20, "all chunks together have %d bytes, no multiple of fsblksize %d"
                       % (self.skip, self.fsblksize))
        if self.report.bento:
            if self.fsblksize & (self.fsblksize - 1):
                self.wrong(20, "fsblksize %d is no power of two" % self.fsblksize)
            for task, chunk in enumerate(stored):
                if chunk % self.fsblksize:
                    self.wrong(at + 8 * (n + task), "chunk size %d of task %d is no multiple of %d"
                               % (chunk, task, self.fsblksize))
        else:
            self.check_zeros(BASE + 16 * n, min(self.start, self.size), "between META1 and the first chunk")

    def check_zeros(self, begin, end, where):
        end = min(end, begin + (1 << 20))  # the hole of a large fsblksize is not read to its end
        if begin < end:
            found = self.bytes_at(begin, end - begin, where).lstrip(b"\0")
            if found:
                self.wrong(end - len(found), "a byte that is not 0 %s" % where)

    def read_tail(self):
        at = self.tail_at
        if self.size == at:
            self.stop(at, "not closed: the file ends before maxchunks")
        self.maxchunks = self.number(at, "i", "maxchunks")
        self.meta2 = self.number(at + 4, "q", "start_of_varheader")
        if self.meta2 == 0:
            self.stop(at + 4, "not closed: start_of_varheader is 0")
        if self.maxchunks < 1:
            self.stop(at, "maxchunks %d" % self.maxchunks)
        if not at + 12 <= self.meta2 <= self.size:
            self.stop(at + 4, "start_of_varheader %d, want %d..%d" % (self.meta2, at + 12, self.size))

    # -- META2 ------------------------------------------------------------------------------------

    def read_meta2(self):
        n = self.ntasks
        self.rows_end = self.meta2 + 8 * n * (1 + self.maxchunks)
        if self.rows_end > self.size:
            self.stop(self.meta2, "META2 of %d tasks and %d blocks ends at %d, the file at %d"
                      % (n, self.maxchunks, self.rows_end, self.size))
        self.counts = self.numbers(self.meta2, n, "q", "block counts")
        for task, count in enumerate(self.counts):
            if not 1 <= count <= self.maxchunks:
                self.stop(self.meta2 + 8 * task, "block count %d of task %d, want 1..%d"
                          % (count, task, self.maxchunks))
        if max(self.counts) != self.maxchunks:
            self.wrong(self.tail_at, "maxchunks %d, the largest block count is %d"
                       % (self.maxchunks, max(self.counts)))
        if self.report.bento and len(set(self.counts)) > 1:
            self.wrong(self.meta2, "block counts differ: %d to %d" % (min(self.counts), max(self.counts)))
        self.sizes = [[] for _ in range(n)]
        for block in range(self.maxchunks):
            at = self.meta2 + 8 * n * (1 + block)
            for task, size in enumerate(self.numbers(at, n, "q", "size row")):
                if block < self.counts[task]:
                    self.check_size(at + 8 * task, task, block, size)
                    self.sizes[task].append(size)
                elif size not in (0, -1):
                    self.wrong(at + 8 * task, "size %d of task %d in block %d, which it does not have"
                               % (size, task, block))

    def check_size(self, at, task, block, size):
        if not 0 <= size <= self.chunks[task]:
            self.stop(at, "%d bytes of task %d in block %d, its chunks have %d"
                      % (size, task, block, self.chunks[task]))
        if size and self.address(task, block) + size > self.size:
            self.stop(at, "%d bytes of task %d in block %d at %d, the file ends at %d"
                      % (size, task, block, self.address(task, block), self.size))

    def address(self, task, block):
        return self.begins[task] + block * self.skip

    def check_place_of_meta2(self, end):
        """META2, to the end of the mapping if it has one, must lie where it may lie."""
        for task in range(self.ntasks):
            for block, size in enumerate(self.sizes[task]):
                begin = self.address(task, block)
                if size and begin < end and self.meta2 < begin + size:
                    self.wrong(self.tail_at + 4, "META2 at %d..%d lies in the data of task %d, block %d"
                               % (self.meta2, end, task, block))
        usual = self.start + self.maxchunks * self.skip
        if not self.report.bento:
            if self.meta2 != usual:
                self.wrong(self.tail_at + 4, "start_of_varheader %d, behind the last block is %d"
                           % (self.meta2, usual))
            return
        if self.meta2 == usual or not self.skip:
            return
        last = self.ntasks - 1
        inside = (self.meta2 - self.start) % self.skip - (self.begins[last] - self.start)
        if self.meta2 < self.start or inside < 0 or inside + end - self.meta2 > self.chunks[last]:
            self.wrong(self.tail_at + 4, "META2 at %d..%d is not inside a chunk of the last task"
                       % (self.meta2, end))

    def check_end(self):
        """What may follow the size rows of a file that has no mapping."""
        at = self.rows_end
        if self.report.bento or self.meta2 != self.start + self.maxchunks * self.skip:
            return
        if self.index:
            if at != self.size:
                self.wrong(at, "%d bytes behind the size rows of a sub-file" % (self.size - at))
            return
        if at == self.size:
            return
        if self.size - at < 4:
            self.wrong(at, "%d bytes behind the size rows" % (self.size - at))
            return
        count = self.number(at, "i", "mapping_size")
        if count not in (0, self.ntasks) or self.size != at + 4 + 8 * count:
            self.wrong(at, "%d bytes behind the size rows, mapping_size %d" % (self.size - at, count))
        elif list(self.numbers(at + 4, 2 * count, "i", "mapping")) != [x for t in range(count) for x in (0, t)]:
            self.wrong(at + 4, "the mapping of a single file is not the identity")

    def stream(self, task):
        return b"".join(self.bytes_at(self.address(task, block), size, "chunk")
                        for block, size in enumerate(self.sizes[task]) if size)
