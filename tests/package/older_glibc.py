#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What the wheel is made of calls no function that glibc 2.28 lacks, for which the wheel is built.

    older_glibc.py BUILD_FOLDER

Only building the wheel shows this as a whole (python_wheel, some minutes); here the names are looked for in the libraries of this build.
What libstdc++ has in its headers does not count: the wheel has another C++ library inside.
"""

import os
import subprocess
import sys

LIBRARIES = ("libh5bento_core.a", "libh5bento_hdf5_support.a", "libh5bento_vol.a", "libh5bento_offline.a", "libh5bento_library.a", "transfer/libh5bento_transfer.a")
# From the NEWS of glibc 2.29 to 2.41.
NEWER = set(
    """getcpu posix_spawn_file_actions_addchdir_np posix_spawn_file_actions_addfchdir_np getdents64 gettid tgkill twalk_r
    memfd_secret pthread_cond_clockwait pthread_mutex_clocklock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock sem_clockwait
    pthread_clockjoin_np mtx_clocklock sigabbrev_np sigdescr_np strerrorname_np strerrordesc_np pthread_attr_setsigmask_np
    close_range closefrom execveat epoll_pwait2 timespec_getres
    posix_spawn_file_actions_addclosefrom_np _dl_find_object _Fork fsconfig fsmount fsopen fspick mount_setattr move_mount open_tree pidfd_open
    pidfd_getfd pidfd_send_signal process_madvise process_mrelease arc4random arc4random_buf arc4random_uniform c8rtomb mbrtoc8
    strlcpy strlcat wcslcpy wcslcat pidfd_spawn pidfd_spawnp sched_setattr sched_getattr""".split()
)
# libstdc++'s condition variables.
NOT_OURS = {"pthread_cond_clockwait"}


def undefined(library):
    """Names that its objects call, with the objects."""
    text = subprocess.run(["nm", "-u", "-A", library], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        place, _, name = line.rpartition(" ")
        yield name.split("@")[0], place.split(":")[1]


def main(build):
    wrong, seen = [], 0
    for name in LIBRARIES:
        library = os.path.join(build, name)
        if not os.path.exists(library):
            print(f"FAILED: {library} has not been built")
            return 1
        for symbol, where in undefined(library):
            seen += 1
            if symbol in NEWER - NOT_OURS:
                wrong.append(f"{where} calls {symbol}")
    if seen < 1000:
        print(f"FAILED: only {seen} names were looked at")
        return 1
    for line in wrong:
        print(f"FAILED: {line}, which glibc 2.28 lacks: the wheel could not be built")
    print(f"{seen} names looked at")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
