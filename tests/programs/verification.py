#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""One bit of a written file is flipped, and ordinary h5py programs read it with each value of verify=.

    verification.py BITS                            the test: so many bits of a record of 16 MiB
    [mpirun ...] verification.py --write FILE       one of its programs
    [mpirun ...] verification.py --read BITS FILE VERIFY... [FILE VERIFY...]
"""

import mmap
import os
import random
import sys

from launched import settings, world

MIB = 1 << 20
COUNT = 2 * MIB  # elements of 8 bytes in a large record
TABLE = 16 * (8 * COUNT // MIB)  # bytes of its hashes, which follow it
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
    for offset in (0, TABLE - 1, *(drawn.randrange(TABLE) for _ in range(bits))):
        with_bit(at + 8 * COUNT + offset, lambda: large(offset, drawn.randrange(COUNT), True))
    at = place_of(path, 977 * np.arange(SMALL, dtype="u8") + 5)
    with_bit(at + 4321, lambda: check_small(is_read("small", slice(5, 10)), verify))
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


def read_each(bits, words):
    """Bits are drawn where everything is verified."""
    for word in words:
        if word.endswith(".h5"):
            path = word
            continue
        with settings(f"H5BENTO_VERIFY={word}"):
            read(path, word, bits if word == "all" else 0)


HOW = (("gaps", "large"), ("members", "pairs"), ("large", "large"))
MAKE = """
import sys
import h5py, numpy
for how in sys.argv[1:]:
    with h5py.File(how + ".h5", "w") as file:
        file["large"] = numpy.arange(1 << 18)
        pairs = numpy.zeros(1 << 18, [("a", "i8"), ("b", "i8")])
        pairs["b"] = numpy.arange(1 << 18)
        file["pairs"] = pairs
"""
REWRITE = """
import sys
import h5py, numpy
for how in sys.argv[1:]:
    said = "done"
    with h5py.File(how + ".h5", "r+") as file:
        try:
            if how == "gaps":
                file["large"][143360:147456:2] = 7
            elif how == "members":
                file["pairs"]["a"] = 7
            else:
                file.copy(how, "copy")
        except (OSError, RuntimeError) as error:
            assert "does not match its checksum" in str(error), error
            said = "refused"
    print(said)
"""
REREAD = """
import sys
import h5py, numpy
for how, name in zip(sys.argv[1::2], sys.argv[2::2]):
    with h5py.File(how + ".h5", "r") as file:
        part = slice(143360, 147455)  # what was written as one box
        try:
            values = file["large"][part] if name == "large" else file["pairs"][part]["b"]
            print((values[1::2] == numpy.arange(143361, 147455, 2)).all())
        except OSError as error:
            assert "does not match its checksum" in str(error), error
            print("refused")
"""


def rewritten():
    """What is written again together with other values does not get a right hash for wrong bytes."""
    hows = [how for how, _ in HOW]
    run([python(), "-c", MAKE, *hows], bento_env())
    for how in hows:
        with open(f"{how}.h5", "rb") as file:
            content = file.read()
        number = 143418
        pattern = b"".join(i.to_bytes(8, "little") for i in (number, number + 1, number + 2))
        if how == "members":
            pattern = b"".join(i.to_bytes(8, "little") for i in (0, number, 0, number + 1, 0))
        at = content.find(pattern)
        check(at > 0 and content.find(pattern, at + 1) < 0, f"{how}: the data is not there once")
        flip(f"{how}.h5", at + (24 if how == "members" else 8), 3)
    done = run([python(), "-c", REWRITE, *hows], bento_env()).out.split()
    found = run([python(), "-c", REREAD, *(word for pair in HOW for word in pair)], bento_env(H5BENTO_VERIFY="all")).out.split()
    check(len(done) == len(found) == len(hows), f"{done}, {found}")
    for how, first, then in zip(hows, done, found):
        check(how == "gaps" or first == "refused", f"{how} of a damaged record: {first}")
        check(then == "refused", f"{how} of a damaged record: then it is {then}")
        say(f"{how} of a damaged record: {first}, and it is still found")
        os.remove(f"{how}.h5")


def check_small(came, verify):
    assert came == (verify == "none"), "a small record"


UNHASHED = """
import os
import h5py
for verify in ("all", "small", "some"):
    os.environ["H5BENTO_VERIFY"] = verify
    try:
        print(verify, h5py.File("f.h5")["large"][7])
    except OSError as error:
        print(verify, str(error).replace("\\n", " "))
"""


def test(bits):
    script = os.path.abspath(__file__)

    def ranks_run(ranks, *arguments, **env):
        command = [python(), "-B", script, *arguments]
        return mpirun(ranks, command, bento_env(**env)) if ranks > 1 else run(command, bento_env(**env))

    for ranks, checksums in ((1, ("xxh3", "md5")), (2, ("xxh3",))):
        words = []
        for checksum in checksums:
            ranks_run(ranks, "--write", f"{checksum}.h5", H5BENTO_CHECKSUM=checksum)
            words += [f"{checksum}.h5", *(("all", "small", "none") if ranks == 1 else ("all",))]
        found = ranks_run(ranks, "--read", bits, *words)
        # mpirun may put the lines of two ranks into one.
        check(found.out.count("right") == ranks * (len(words) - len(checksums)), found.tail())
        say(f"{ranks} ranks, {words}: each flipped bit is found with verify=all, others as documented")
        check_all_containers(".")
        for checksum in checksums:
            os.remove(f"{checksum}.h5")

    rewritten()
    ranks_run(1, "--write", "f.h5", H5BENTO_CHECKSUM="none")
    found = run([python(), "-c", UNHASHED], bento_env())
    said = dict(line.split(" ", 1) for line in found.out.splitlines())
    for word in ("verify=all", "checksum=none", "'f.h5'"):
        check(word in said["all"], f"verify=all of data without hashes does not say {word}: {found.tail()}")
    check(said["small"] == "7", f"data without hashes: {found.tail()}")
    check("all, small or none" in said["some"], found.tail())
    say("verify=all of data without hashes says so")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3:
        write(sys.argv[2])
        sys.exit(0)
    if sys.argv[1:2] == ["--read"] and len(sys.argv) >= 5:
        read_each(int(sys.argv[2]), sys.argv[3:])
        sys.exit(0)
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    from harness import bento_env, check, check_all_containers, mpirun, python, run, run_test, say

    run_test(test, int(sys.argv[1]), containers=4, unhashed={"f.h5": "written with checksum=none at last"})
