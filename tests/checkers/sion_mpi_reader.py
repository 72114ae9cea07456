#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: The h5bento developers
"""Reads SION containers as SIONlib's MPI reader does with N ranks, its habits included.

    sion_mpi_reader.py CONTAINER RANKS      prints the bytes that each rank gets
    sion_mpi_reader.py --self-test FOLDER   on the golden containers, which SIONlib itself was seen to read so

- In a single physical file rank r reads task r, and nobody compares the number of ranks with that of tasks.
- Of several files, file 0 has the mapping, and the number of ranks must be its size.
- Every rank takes the number of blocks from local task 0 of its physical file: a task with more blocks loses the rest.

It knows nothing of the other checkers, nor of h5bento.
"""
import mmap
import os
import struct
import sys


class NotReadable(Exception):
    pass


def suffixed(name, index):
    return name if index == 0 else "%s.%06d" % (name, index)


class File:
    def __init__(self, path):
        with open(path, "rb") as file:
            # Most of a container may be holes, which take long to read.
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.path.getsize(path) else b""
        if self.data[:4] != b"sion":
            raise NotReadable("%s: no SION file" % path)
        self.block, self.tasks, self.files, self.number = struct.unpack_from("<4i", self.data, 20)
        n = self.tasks
        self.chunks = struct.unpack_from("<%dq" % n, self.data, 1076 + 8 * n)
        self.max_blocks, self.meta2 = struct.unpack_from("<iq", self.data, 1076 + 16 * n)
        if self.meta2 == 0:
            raise NotReadable("%s: not closed" % path)
        self.counts = struct.unpack_from("<%dq" % n, self.data, self.meta2)
        start = 1088 + 16 * n
        self.start = (start + self.block - 1) // self.block * self.block

    def mapping(self):
        at = self.meta2 + 8 * self.tasks * (1 + self.max_blocks)
        (count,) = struct.unpack_from("<i", self.data, at)
        pairs = struct.unpack_from("<%di" % (2 * count), self.data, at + 4)
        return list(zip(pairs[::2], pairs[1::2]))

    def stream(self, task):
        """With the block count of task 0, whatever the task's own is."""
        blocks = self.counts[0]
        result = []
        for block in range(blocks):
            (used,) = struct.unpack_from("<q", self.data, self.meta2 + 8 * (self.tasks * (1 + block) + task))
            at = self.start + block * sum(self.chunks) + sum(self.chunks[:task])
            if block < self.counts[task]:
                part = self.data[at:at + used]
                result.append(part + bytes(used - len(part)))
        return b"".join(result)


def read(path, ranks):
    """The streams that `ranks` ranks get. Raises NotReadable where SIONlib refuses."""
    first = File(path)
    if first.files <= 1:
        return [first.stream(rank) for rank in range(min(ranks, first.tasks))]
    mapping = first.mapping()
    if len(mapping) != ranks:
        raise NotReadable("%s: %d ranks for %d tasks" % (path, ranks, len(mapping)))
    files = [first] + [File(suffixed(path, index)) for index in range(1, first.files)]
    return [files[file].stream(local) for file, local in mapping]


def self_test(golden):
    wanted = {
        ("nonident_ranks.sion", 5): [400, 650, 512, 1024, 30],  # task 1 has 1300 bytes in two blocks
        ("multi2.sion", 6): [1300, 700, 0, 100, 512, 1250],  # task 4 has 1536
        ("multi2.sion", 5): None,
        ("one_task.sion", 3): 1,
    }
    for (name, ranks), sizes in wanted.items():
        try:
            found = [len(stream) for stream in read(os.path.join(golden, name), ranks)]
        except NotReadable:
            found = None
        if found != sizes and not (isinstance(sizes, int) and found is not None and len(found) == sizes):
            print("%s with %d ranks: %s, want %s" % (name, ranks, found, sizes))
            return 1
    print("%d golden containers read as SIONlib reads them" % len(wanted))
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        print(__doc__)
        return 2
    for rank, stream in enumerate(read(sys.argv[1], int(sys.argv[2]))):
        print("rank %d: %d bytes" % (rank, len(stream)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
