# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""h5bento.File."""

from __future__ import annotations

from typing import Any

import h5py

from h5bento import _connector


class File(h5py.File):
    """An h5py.File through h5bento, whether it is enabled or not, with h5bento's settings as keywords:

        h5bento.File("run.h5", "w", keep=3, checksum="none", libver="latest")

    Settings that `enable()` was given hold for it, too, unless they are given here.
    """

    def __init__(self, name: Any, mode: str = "r", **keywords: Any) -> None:
        settings = {key: keywords.pop(key) for key in list(keywords) if key in _connector.SETTINGS}
        with _connector.for_one_file(settings):
            super().__init__(name, mode, **keywords)
