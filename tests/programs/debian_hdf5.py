#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The plugin file of this build in programs with Debian 13's libhdf5-openmpi: another name, another compiler, another C
library and another Open MPI than those that it was built with.

Those programs run in a folder with the files of that Debian (scripts/bootstrap --debian-hdf5), by chroot in a mount namespace of
their own, so this needs root. `particles` and `heat` write on several ranks there and are verified here, and the reverse.
"""

import glob
import hashlib
import os
import shutil
import subprocess

from harness import SOURCE, Skip, bento_env, built, check, check_container, mpirun, native_env, plugin, run, run_test, say

INSIDE = """
set -e
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mount -t sysfs sysfs "$0/sys"
mount -t tmpfs tmpfs "$0/tmp"
mount --bind . "$0/work"
root="$0"
exec env -i HOME=/root PATH=/usr/bin:/bin TMPDIR=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  OMPI_MCA_btl=self,sm PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe HDF5_PLUGIN_PATH=/work/plugins \
  HDF5_VOL_CONNECTOR=bento /usr/sbin/chroot "$root" /usr/bin/dash -c 'cd /work; exec "$@"' dash "$@"
"""
RIGHT = {"particles": " 0 wrong", "heat": " 0 values wrong"}


def there(root, *command):
    return run(["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, root, *command], native_env())


def ranks_there(root, ranks, *command):
    return there(root, "mpirun.openmpi", "-n", str(ranks), *command)


def test():
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        raise Skip("needs root, and mount namespaces")
    made = subprocess.run([os.path.join(SOURCE, "scripts", "bootstrap"), "--debian-hdf5"], check=False)
    if made.returncode != 0:
        raise Skip("scripts/bootstrap cannot bring Debian's packages here")
    root = os.path.join(os.path.dirname(os.environ["HDF5_ROOT"]), "debian-hdf5", "root")
    library = glob.glob(f"{root}/usr/lib/*/libhdf5_openmpi.so.310")[0]
    os.mkdir("plugins")
    shutil.copy(plugin(), "plugins")
    with open(plugin(), "rb") as file:
        say(f"{hashlib.sha256(file.read()).hexdigest()[:16]} {plugin()}")
    for name, right in RIGHT.items():
        command = ["mpicc", "-O1", os.path.join(SOURCE, "examples", f"{name}.c"), f"-I{os.environ['HDF5_ROOT']}/include"]
        run([*command, library, "-Wl,--allow-shlib-undefined", "-lm", "-o", name], native_env())
        needed = run(["readelf", "-d", name], native_env()).out
        check("libhdf5_openmpi.so.310" in needed and "libhdf5.so" not in needed, needed)
        ranks_there(root, 4, f"./{name}", "--collective", f"{name}-there.h5")
        there(root, f"./{name}", f"{name}-alone.h5")
        mpirun(3, [built("examples", name), f"{name}-here.h5"], bento_env())
        for kind in ("there", "alone", "here"):
            check_container(f"{name}-{kind}.h5")
            for ranks in (1, 3):
                text = ranks_there(root, ranks, f"./{name}", "--verify", f"{name}-{kind}.h5").out
                check(right in text, text)
                text = mpirun(ranks, [built("examples", name), "--verify", f"{name}-{kind}.h5"], bento_env()).out
                check(right in text, text)
    say("written there and verified here, and the reverse")


if __name__ == "__main__":
    run_test(test)
