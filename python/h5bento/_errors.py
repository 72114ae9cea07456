# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The exception of this package."""


class BentoError(OSError):
    """What h5bento could not do, and why. `status` is the number of h5bento.h, 0 if there is none."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status
