#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""One bit of a written file is flipped, and ordinary h5py programs read it with each value of verify=.

    verification.py BITS                                the test: so many bits of a record of 64 MiB
    [mpirun ...] verification.py --write FILE           one of its programs
    [mpirun ...] verification.py --read FILE VERIFY BITS
"""

import mmap
import os
import random
import sys

from launched import world

MIB = 1 << 20
COUNT = 8 * MIB  # elements of 8 bytes in a large record
SMALL = 20000  # too many for a copy in the native view
ROWS = 512  # elements in 4 KiB


def write(path):
    import h5py
    import numpy as np

    rank, size, access, _ = world()
    with h5py.File(path, "w", **access) as file:
        large = file.create_dataset("large", (size * COUNT,), "u8")
        small = file.create_dataset("small", (size * SMALL,), "u8")
        large[rank * COUNT : (rank + 1) * COUNT] = np.arange(rank * COUNT, (rank + 1) * COUNT, dtype="u8")
        small[rank * SMALL : (rank + 1) * SMALL] = 977 * np.arange(rank * SMALL, (rank + 1) * SMALL, dtype="u8") + 5


def place_of(path, first):
    """Where these bytes lie, found without knowing the format."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at = content.find(first.tobytes())
        assert at >= 0 and content.find(first.tobytes(), at + 1) < 0, "the data is not there once"
        return at


def flip(path, at, bit):
    with open(path, "r+b", buffering=0) as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))


def bytes_read():
    """By this process so far, from files and else."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


def read(path, verify, bits):
    import h5py
    import numpy as np

    rank, size, access, barrier = world()
    serial = not access

    def is_read(name, part):
        """True if the values came, right or not; False if the read failed as it should."""
        with h5py.File(path, "r", **access) as file:
            try:
                values = file[name][part]
            except OSError as error:
                assert "does not match its checksum" in str(error) or "do not match its checksum" in str(error), error
                assert path in str(error), error
                return False
            assert len(values) == part.stop - part.start
            return True

    def with_bit(at, use):
        bit = random.Random(at).randrange(8)
        barrier()
        if rank == 0:
            flip(path, at, bit)
        barrier()
        use()
        barrier()
        if rank == 0:
            flip(path, at, bit)
        barrier()

    def around(element):
        first = min(element // (MIB // 8) * (MIB // 8) + 1000, (element // COUNT + 1) * COUNT - ROWS)
        return slice(first, first + ROWS)

    def large(offset, element, in_table=False):
        whole, near = slice(0, size * COUNT), around(element)
        far = around((element + MIB // 8) % COUNT)
        assert is_read("large", whole) == (verify != "all"), f"{verify}: all of it, byte {offset}"
        assert is_read("large", near) == (verify != "all"), f"{verify}: 4 KiB of it, byte {offset}"
        assert in_table or is_read("large", far), f"{verify}: 4 KiB elsewhere, byte {offset}"

    at = place_of(path, np.arange(ROWS, dtype="u8"))
    drawn = random.Random(bits)
    offsets = [0, 8 * COUNT - 1, *(drawn.randrange(8 * COUNT) for _ in range(bits))]
    for offset in offsets:
        with_bit(at + offset, lambda: large(offset, offset // 8))
    table = 16 * 64
    for offset in (0, table - 1, *(drawn.randrange(table) for _ in range(bits))):
        with_bit(at + 8 * COUNT + offset, lambda: large(offset, drawn.randrange(COUNT), True))
    at = place_of(path, 977 * np.arange(SMALL, dtype="u8") + 5)
    with_bit(at + 4321, lambda: check_small(is_read("small", slice(5, 10))))
    with h5py.File(path, "r", **access) as file:
        before = bytes_read()
        values = file["large"][5000 : 5000 + ROWS]
        cost = bytes_read() - before
        assert (values == np.arange(5000, 5000 + ROWS)).all()
        assert (file["large"][...] == np.arange(size * COUNT)).all()
    if serial:
        least, most = (MIB, MIB + 65536) if verify == "all" else (4096, 65536)
        assert least <= cost <= most, f"{cost} bytes were read for 4096"
    print("right")


REWRITE = """
import sys
import h5py, numpy
with h5py.File("f.h5", "r+") as file:
    try:
        if sys.argv[1] == "gaps":
            file["large"][143360:147456:2] = 7
        elif sys.argv[1] == "members":
            file["pairs"]["a"] = 7
        else:
            file.copy(sys.argv[1], "copy")
    except (OSError, RuntimeError) as error:
        assert "does not match its checksum" in str(error), error
        print("refused")
"""
REREAD = """
import sys
import h5py, numpy
with h5py.File("f.h5", "r") as file:
    part = slice(143360, 147455)  # what was written as one box
    try:
        values = file["large"][part] if sys.argv[1] == "large" else file["pairs"][part]["b"]
        print((values[1::2] == numpy.arange(143361, 147455, 2)).all())
    except OSError as error:
        assert "does not match its checksum" in str(error), error
        print("refused")
"""


def rewritten():
    """What is written again together with other values does not get a right hash for wrong bytes."""
    for how, name in (("gaps", "large"), ("members", "pairs"), ("large", "large")):
        program = """
import h5py, numpy
with h5py.File("f.h5", "w") as file:
    file["large"] = numpy.arange(1 << 18)
    pairs = numpy.zeros(1 << 18, [("a", "i8"), ("b", "i8")])
    pairs["b"] = numpy.arange(1 << 18)
    file["pairs"] = pairs
"""
        run([python(), "-c", program], bento_env())
        with open("f.h5", "rb") as file:
            content = file.read()
        number = 143418
        pattern = b"".join(i.to_bytes(8, "little") for i in (number, number + 1, number + 2))
        if how == "members":
            pattern = b"".join(i.to_bytes(8, "little") for i in (0, number, 0, number + 1, 0))
        at = content.find(pattern)
        check(at > 0 and content.find(pattern, at + 1) < 0, f"{how}: the data is not there once")
        flip("f.h5", at + (24 if how == "members" else 8), 3)
        done = run([python(), "-c", REWRITE, how], bento_env())
        check(how == "gaps" or done.out == "refused\n", f"{how} of a damaged record: {done.tail()}")
        found = run([python(), "-c", REREAD, name], bento_env(H5BENTO_VERIFY="all")).out
        check(found == "refused\n", f"{how} of a damaged record: then it is {found}")
        say(f"{how} of a damaged record: {done.out.strip() or 'done'}, and it is still found")
        os.remove("f.h5")


def check_small(came):
    assert came == (sys.argv[3] == "none"), "a small record"


def test(bits):
    script = os.path.abspath(__file__)

    def ranks_run(ranks, *arguments, **env):
        command = [python(), "-B", script, *arguments]
        return mpirun(ranks, command, bento_env(**env)) if ranks > 1 else run(command, bento_env(**env))

    for ranks, checksum in ((1, "xxh3"), (1, "md5"), (2, "xxh3")):
        ranks_run(ranks, "--write", "f.h5", H5BENTO_CHECKSUM=checksum)
        for verify in ("all", "small", "none") if ranks == 1 else ("all",):
            few = bits if verify == "all" else 0
            found = ranks_run(ranks, "--read", "f.h5", verify, few, H5BENTO_VERIFY=verify)
            # mpirun may put the lines of two ranks into one.
            check(found.out.count("right") == ranks, found.tail())
        say(f"{ranks} ranks, checksum={checksum}: each flipped bit is found with verify=all, others as documented")
        check_all_containers(".")
        os.remove("f.h5")

    rewritten()
    ranks_run(1, "--write", "f.h5", H5BENTO_CHECKSUM="none")
    program = "import h5py; print(h5py.File('f.h5')['large'][7])"
    found = run([python(), "-c", program], bento_env(H5BENTO_VERIFY="all"), ok=(1,))
    for word in ("verify=all", "checksum=none", "'f.h5'"):
        check(word in found.err, f"verify=all of data without hashes does not say {word}: {found.tail()}")
    check(run([python(), "-c", program], bento_env()).out.strip() == "7", "data without hashes")
    found = run([python(), "-c", program], bento_env(H5BENTO_VERIFY="some"), ok=(1,))
    check("all, small or none" in found.err, found.tail())
    say("verify=all of data without hashes says so")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3:
        write(sys.argv[2])
        sys.exit(0)
    if sys.argv[1:2] == ["--read"] and len(sys.argv) == 5:
        read(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        sys.exit(0)
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    from harness import bento_env, check, check_all_containers, mpirun, python, run, run_test, say

    run_test(test, int(sys.argv[1]), containers=4, unhashed={"f.h5": "written with checksum=none at last"})
