# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the HDF5 library that h5py uses, which has them in a private file of its own."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from h5bento._errors import BentoError

_hid_t = ctypes.c_int64


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """A library whose names are those of h5py's own HDF5: one of h5py's modules, with what it depends on."""
    import h5py.h5p

    loaded = ctypes.CDLL(h5py.h5p.__file__)
    for name, result, arguments in (
        ("H5VLregister_connector_by_name", _hid_t, (ctypes.c_char_p, _hid_t)),
        ("H5VLget_connector_id_by_name", _hid_t, (ctypes.c_char_p,)),
        ("H5VLconnector_str_to_info", ctypes.c_int, (ctypes.c_char_p, _hid_t, ctypes.POINTER(ctypes.c_void_p))),
        ("H5VLfree_connector_info", ctypes.c_int, (_hid_t, ctypes.c_void_p)),
        ("H5Pset_vol", ctypes.c_int, (_hid_t, _hid_t, ctypes.c_void_p)),
    ):
        try:
            function = getattr(loaded, name)
        except AttributeError:
            raise BentoError(f"the HDF5 of h5py has no {name}: h5bento needs HDF5 1.14 or newer") from None
        function.restype = result
        function.argtypes = arguments
    return loaded


def address() -> int:
    """Where that HDF5 is in memory: the address of one of its functions."""
    return ctypes.cast(library().H5Pset_vol, ctypes.c_void_p).value or 0


def lock() -> Any:
    """h5py's own."""
    from h5py._objects import phil  # HDF5 is for one thread at a time

    return phil


@functools.lru_cache(maxsize=None)
def connector() -> int:
    """The id of the connector, which is loaded if it is not yet. Raises BentoError."""
    import h5py
    from h5bento._connector import get_plugin_path

    hdf5 = library()
    before = os.environ.get("H5BENTO_PLUGIN")
    with lock():
        h5py.h5pl.prepend(get_plugin_path().encode())
        # Without that it steps aside in an HDF5 with MPI.
        os.environ["H5BENTO_PLUGIN"] = "serial"
        found = hdf5.H5VLregister_connector_by_name(b"bento", 0)
        if before is None:
            del os.environ["H5BENTO_PLUGIN"]
        else:
            os.environ["H5BENTO_PLUGIN"] = before
    if found < 0:
        raise BentoError(
            f"HDF5 {h5py.version.hdf5_version} of h5py cannot load the plugin in {get_plugin_path()}; "
            "if it says why, that is on stderr"
        )
    return found


@functools.lru_cache(maxsize=None)
def _native() -> int:
    with lock():
        return library().H5VLget_connector_id_by_name(b"native")


def set_connector(plist: int, settings: str) -> None:
    """Gives a file access list the connector with its settings (`keep=3;view=off`)."""
    hdf5 = library()
    bento = connector()
    info = ctypes.c_void_p()
    with lock():
        if settings and hdf5.H5VLconnector_str_to_info(settings.encode(), bento, ctypes.byref(info)) < 0:
            raise BentoError(f"the connector refuses the settings {settings!r}")
        done = hdf5.H5Pset_vol(plist, bento, info)
        if info:
            hdf5.H5VLfree_connector_info(bento, info)
    if done < 0:
        raise BentoError("HDF5 refuses the connector for an access list")


def set_native(plist: int) -> None:
    """Gives a file access list HDF5's own connector."""
    hdf5 = library()
    with lock():
        if hdf5.H5Pset_vol(plist, _native(), None) < 0:
            raise BentoError("HDF5 refuses its own connector for an access list")
