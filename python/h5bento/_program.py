# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The program `h5bento` in the Python package: the same commands (docs/tools.md) but `mount`, `check` and `transfer`.
`info`, `layout` and `verify` need no HDF5, all others that of h5py."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Sequence

from h5bento._errors import BentoError


def _hdf5() -> int | None:
    """Where the HDF5 of h5py is in memory; None, and the reason on stderr, if there is none."""
    for name in ("HDF5_VOL_CONNECTOR", "HDF5_DRIVER", "HDF5_DRIVER_CONFIG"):
        os.environ.pop(name, None)  # h5py starts HDF5, which would follow them
    try:
        from h5bento import _hdf5

        return _hdf5.address()
    except (ImportError, BentoError) as error:
        print(f"h5bento: {error}", file=sys.stderr, flush=True)
        return None


def run(arguments: Sequence[str]) -> int:
    """Runs the program, whose first argument is the command, and returns its exit status. Once in a process."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.environ.get("H5BENTO_PROGRAM") or os.path.join(folder, "lib", "libh5bento_program.so")
    library = ctypes.CDLL(path)
    words = [b"h5bento", *(os.fsencode(word) for word in arguments)]
    ask = ctypes.CFUNCTYPE(ctypes.c_void_p)(_hdf5)
    program = library.h5bento_program
    program.argtypes = (ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), type(ask))
    return program(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None), ask)


def main() -> None:
    """The command `h5bento`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own would wait for the end of the call
    sys.exit(run(sys.argv[1:]))
