# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Files of h5py that survive the death of the program that writes them.

    import h5bento
    h5bento.enable()          # from now on every new h5py.File is a container of h5bento
    import h5py

A container is read by plain h5py, HDF5's tools and everything else once it is closed; after a SIGKILL it is as of the
last flush, and `h5bento.recover()` makes that what plain readers see. Its settings are those of the connector
(docs/usage.md, "Configuration"): `h5bento.enable(keep=3, checksum="none")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from h5bento._connector import SETTINGS, Enabled, OrdinaryFileWarning, disable, enable, get_plugin_path, is_enabled
from h5bento._library import (
    BentoError,
    Box,
    Finding,
    Found,
    Report,
    Step,
    StepDataset,
    export_fti,
    find,
    is_container,
    open_step,
    recover,
    steps,
    verify,
    version,
)

if TYPE_CHECKING:
    from h5bento._file import File

__version__ = "0.1.0"

__all__ = [
    "SETTINGS",
    "BentoError",
    "Box",
    "Enabled",
    "File",
    "Finding",
    "Found",
    "OrdinaryFileWarning",
    "Report",
    "Step",
    "StepDataset",
    "disable",
    "enable",
    "export_fti",
    "find",
    "get_plugin_path",
    "is_container",
    "is_enabled",
    "open_step",
    "recover",
    "steps",
    "verify",
    "version",
]

if not TYPE_CHECKING:

    def __getattr__(name: str):
        # On first use: its base class is h5py's, and who enables h5bento before h5py is imported must still be able to.
        if name == "File":
            from h5bento._file import File

            return File
        raise AttributeError(f"module 'h5bento' has no attribute {name!r}")
