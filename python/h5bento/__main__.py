# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""`python -m h5bento`: the program `h5bento`."""

from h5bento._program import main

main()
