# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A disk and its cache: what an earlier run has left must not count in the next one."""

import ctypes
import mmap
import os
import time

DIRTY_KIB = 16 << 10  # that other programs may leave behind

# Python's mmap does not tell the address, which mincore wants.
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def waiting_kib():
    """What the kernel has still to write."""
    with open("/proc/meminfo") as file:
        fields = dict(line.split(":", 1) for line in file)
    return sum(int(fields[name].split()[0]) for name in ("Dirty", "Writeback"))


def settle(seconds=30):
    """Writes back what is dirty and waits for it. False: others kept the disk busy."""
    os.sync()
    end = time.monotonic() + seconds
    while waiting_kib() > DIRTY_KIB:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def files_below(folder):
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(place, name)


def forget(folder):
    """Drops the files of a folder from the page cache, which needs no privilege and leaves other files alone. True: nothing of them is there any more."""
    os.sync()
    for path in files_below(folder):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return not any(cached_pages(path) for path in files_below(folder))


def cached_pages(path):
    """How many pages of a file are in the page cache."""
    size = os.path.getsize(path)
    if size == 0:
        return 0
    with open(path, "rb") as file:
        start = LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    if start == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap", path)
    try:
        there = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
        if LIBC.mincore(start, size, there) != 0:
            raise OSError(ctypes.get_errno(), "mincore", path)
        return sum(byte & 1 for byte in there.raw)
    finally:
        LIBC.munmap(start, size)
