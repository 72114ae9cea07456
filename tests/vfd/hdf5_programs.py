#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's own test programs with HDF5_DRIVER=bento, check by check beside the same with the default driver; and its API tests.

    hdf5_programs.py quick|all

The programs are those that HDF5 itself runs with a driver (test/CMakeVFDTests.cmake), compiled from its source. One thing is
changed in its test library: a driver that it does not know by name is left as the environment has set it, and not refused.
KNOWN is exact: what is in it must fail, what is not must not."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from joiners import streams  # noqa: E402,F401

from harness import api_program, build_folder, check, driver_env, native_env, run, run_test, say  # noqa: E402
from file_per_process import counts  # noqa: E402

LIBRARY = ("h5test", "testframe", "cache_common", "swmr_common", "external_common", "external_fname", "genall5")
QUICK = ("ohdr", "gheap", "extend", "fillval", "mount", "cmpd_dset")
