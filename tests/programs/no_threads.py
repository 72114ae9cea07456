#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The connector starts no thread, and the HDF5 that it is tested with lets one thread in at a time or knows of none.

So nothing in `vol/` runs at once with anything else, and a thread sanitizer has nothing to look at there. If this
fails because a thread was added: run the programs that start it in the preset tsan, too (CMakeLists.txt here)."""

import os
import re
import subprocess

from harness import build_folder, check, plugin, require_plugin, run_test, say

# What starts a thread: POSIX, C11, C++ (std::thread and std::async), the kernel's own.
STARTS = re.compile(r"\b(pthread_create|thrd_create|clone3?|\w*_M_start_thread\w*|\w*_Async_state\w*)\b")


def starts_threads(module):
    command = ["nm", "-D", module]
    result = subprocess.run(command, capture_output=True, text=True)
    check(result.returncode == 0 and "H5PLget_plugin_info" in result.stdout, f"nm {module}: {result.stdout[-200:]}{result.stderr}")
    return sorted(set(STARTS.findall(result.stdout)))


def no_threads():
    require_plugin()
    found = starts_threads(plugin())
    check(not found, f"the connector starts threads: {', '.join(found)}")
    planted = os.path.join(build_folder(), "tests", "planted_plugin", os.path.basename(plugin()))
    if os.path.exists(planted):
        check(starts_threads(planted), f"the thread that {planted} starts was not noticed")
    with open(os.path.join(os.environ["HDF5_ROOT"], "lib", "libhdf5.settings")) as file:
        threads = re.search(r"Threadsafety:\s*(\w+)", file.read())
    check(threads, "libhdf5.settings does not say whether HDF5 knows threads")
    say(f"  no thread is started; HDF5's own lock for threads: {threads.group(1)}")


if __name__ == "__main__":
    run_test(no_threads, containers=0)
