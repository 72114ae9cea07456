# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What tests of packages have in common: a command that must succeed, and a condition that must hold."""

import subprocess
import sys


def run(*command, **more):
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if result.returncode != 0:
        sys.exit(f"exit status {result.returncode}: {' '.join(command)}\n{result.stdout[-4000:]}")
    return result.stdout


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")
