#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: inspect_container.py LIBRARY FILE

What Python can ask of a container through libh5bento.so with nothing but ctypes: is it one, how large, is it whole?
LIBRARY is the path of libh5bento.so. None of these calls loads an HDF5 library, so h5py may be imported, too.

exit status: 0 sound, 1 damaged, 2 not readable
"""

import ctypes
import sys

UNKNOWN = 2**64 - 1


class Summary(ctypes.Structure):
    _fields_ = [
        ("newest_step", ctypes.c_uint64),
        ("oldest_step", ctypes.c_uint64),
        ("ranks", ctypes.c_uint64),
        ("files", ctypes.c_uint64),
        ("apparent_bytes", ctypes.c_uint64),
        ("allocated_bytes", ctypes.c_uint64),
        ("closed", ctypes.c_int),
        ("being_written", ctypes.c_int),
    ]


def load(path):
    """The library, with the types of what is called below."""
    library = ctypes.CDLL(path)
    library.h5bento_last_error.restype = ctypes.c_char_p
    library.h5bento_report_text.restype = ctypes.c_char_p
    for name in ("step", "damage"):
        getattr(library, f"h5bento_report_{name}").restype = ctypes.c_uint64
    for name in ("offset", "task", "dataset", "dataset_step"):
        getattr(library, f"h5bento_report_{name}").restype = ctypes.c_uint64
    library.h5bento_report_count.restype = ctypes.c_size_t
    for name in ("sound", "step", "damage", "count", "free"):
        getattr(library, f"h5bento_report_{name}").argtypes = [ctypes.c_void_p]
    for name in ("text", "offset", "task", "dataset", "dataset_step"):
        getattr(library, f"h5bento_report_{name}").argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


def call(library, name, *arguments):
    """Calls a function that returns a status; ends the program if it is not H5BENTO_OK."""
    if getattr(library, name)(*arguments) != 0:
        print(f"{name}: {library.h5bento_last_error().decode()}", file=sys.stderr)
        sys.exit(2)


def main(library_path, path):
    library = load(library_path)
    name = path.encode()
    summary = Summary()
    call(library, "h5bento_summarize", name, ctypes.byref(summary))
    print(f"{summary.ranks} ranks, steps {summary.oldest_step} to {summary.newest_step}, {summary.allocated_bytes} bytes")
    report = ctypes.c_void_p()
    call(library, "h5bento_verify", name, 0, ctypes.byref(report))
    for i in range(library.h5bento_report_count(report)):
        dataset = library.h5bento_report_dataset(report, i)
        place = f"byte {library.h5bento_report_offset(report, i)}" + (f", dataset {dataset}" if dataset != UNKNOWN else "")
        print(f"{place}: {library.h5bento_report_text(report, i).decode()}")
    sound = library.h5bento_report_sound(report)
    library.h5bento_report_free(report)
    print("sound" if sound else "damaged")
    return 0 if sound else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    sys.exit(main(*sys.argv[1:]))
