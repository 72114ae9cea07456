#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The Debian package: made by CPack, installed by dpkg, used, removed.

    debian_package.py BUILD

It goes into a root of its own, with a copy of this machine's list of packages, so that dpkg holds its dependencies
against what is installed here, and nothing of the machine changes. What is used from there: both plugins, the file
driver, the program, the C library with its CMake package and its pkg-config file, manual page and completion. After the
removal the root has the files that it had before.
"""

import glob
import os
import re
import shutil
import sys

from outside import check, run

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOT = os.path.abspath("root")
USR = os.path.join(ROOT, "usr")
PYTHON = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as file:
    file["d"] = np.arange(1000)
with h5py.File(sys.argv[1], "r") as file:
    assert (file["d"][...] == np.arange(1000)).all()
"""
C_LIBRARY = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
steps = ctypes.c_void_p()
status = library.h5bento_steps_list(sys.argv[2].encode(), ctypes.byref(steps))
library.h5bento_last_error.restype = ctypes.c_char_p
assert status == 0, library.h5bento_last_error()
mapped = [line.split()[-1] for line in open("/proc/self/maps") if "libhdf5" in line]
print(*sorted(set(mapped)), sep="\\n")
"""
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(outside LANGUAGES C)
find_package(h5bento REQUIRED COMPONENTS c)
add_executable(inspect "{example}")
target_link_libraries(inspect PRIVATE h5bento::c)
file(WRITE "${{CMAKE_BINARY_DIR}}/plugins" "${{h5bento_PLUGIN_DIR}}")
"""


def outside(**more):
    """The environment of a user's shell: nothing in it names the build folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BENTO_", "CMAKE_PREFIX", "LD_"))}
    kept["PATH"] = f"{USR}/bin:" + ":".join(p for p in kept["PATH"].split(":") if "/h5bento" not in p and SOURCE not in p)
    return {**kept, **more}


def make(build):
    run("cpack", "-G", "DEB", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", os.path.abspath("made"))
    (package,) = glob.glob("made/*.deb")
    check(os.path.getsize(package) < 40e6, f"the package has {os.path.getsize(package)} bytes: debug information?")
    return os.path.abspath(package)


def dpkg(*arguments):
    # Not root, and scripts outside the root: in it there is no shell. What they call is our ldconfig, which takes a note.
    options = ("--force-not-root", "--force-bad-path", "--force-script-chrootless", f"--root={ROOT}", f"--log={os.path.abspath('dpkg.log')}")
    run("dpkg", *options, *arguments, env=dict(os.environ, PATH=f"{os.path.abspath('tools')}:{os.environ['PATH']}:/sbin"))


def new_root():
    """A root with nothing but the list of what is installed on this machine."""
    admin = os.path.join(ROOT, "var", "lib", "dpkg")
    for folder in ("info", "updates", "triggers"):
        os.makedirs(os.path.join(admin, folder))
    shutil.copy("/var/lib/dpkg/status", admin)
    os.mkdir("tools")
    with open("tools/ldconfig", "w") as file:
        file.write(f"#!/bin/sh\necho \"$DPKG_MAINTSCRIPT_NAME\" >>'{os.path.abspath('ldconfig.called')}'\n")
    os.chmod("tools/ldconfig", 0o755)
    dpkg("-l", "dpkg")  # makes what it wants to have there


def files():
    found = set()
    for where, folders, names in os.walk(ROOT):
        if not where.startswith(os.path.join(ROOT, "var")):
            found.update(os.path.join(where, name) for name in [*folders, *names])
    return found


def check_depends(package):
    depends = run("dpkg-deb", "-f", package, "Depends")
    for library in ("libc6", "zlib1g", "libstdc++6|libgcc-s1"):
        check(re.search(rf"(^|, )({library})\b", depends), f"the package does not depend on {library}: {depends}")
    for name in ("-dev", "h5bento"):
        check(name not in depends, f"the package depends on {name}: {depends}")
    print("depends on:", depends.strip())


def check_no_path_of_ours(build):
    """Nothing that was installed looks for a library, or names a folder, of the machine that it was made on."""
    for where, _, names in os.walk(USR):
        for name in names:
            path = os.path.join(where, name)
            if os.path.islink(path):
                continue
            with open(path, "rb") as file:
                content = file.read()
            if content[:4] == b"\x7fELF":
                found = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", path))
                check(all(part.startswith("$ORIGIN") for text in found for part in text.split(":")), f"{path}: {found}")
            elif name.endswith((".cmake", ".pc")):
                for foreign in (build, SOURCE, ROOT):
                    check(foreign.encode() not in content, f"{name} names {foreign}")


def use_plugins(libraries):
    written = {}
    for kind, folder, python in (
        ("with MPI", "plugins", os.environ["H5BENTO_PYTHON"]),
        ("without MPI", "plugins-serial", os.environ["H5BENTO_PYTHON_NATIVE"]),
    ):
        path = os.path.join(libraries, "h5bento", folder)
        name = os.path.abspath(f"{folder}.h5")
        run(python, "-c", PYTHON, name, env=outside(HDF5_PLUGIN_PATH=path, HDF5_VOL_CONNECTOR="bento"))
        with open(name, "rb") as file:
            check(file.read(4) == b"sion", f"the plugin {kind}: no container was written")
        written[folder] = name
    driver = outside(HDF5_PLUGIN_PATH=os.path.join(libraries, "h5bento", "plugins"), HDF5_DRIVER="bento")
    driver["HDF5_DRIVER_CONFIG"] = "container=driver.bento"
    run(os.environ["H5BENTO_PYTHON"], "-c", PYTHON, "stream.h5", env=driver)
    check(os.path.exists("driver.bento") and not os.path.exists("stream.h5"), "the file driver: no container was written")
    print("both plugins and the file driver: containers written and read")
    return written["plugins"]


def use_program(container):
    env = outside()
    check(run("h5bento", "ls", container, env=env).startswith("/d "), "h5bento ls")
    check("sound" in run("h5bento", "verify", container, env=env), "h5bento verify")
    run("h5bento", "export", container, "plain.h5", env=env)
    with open("plain.h5", "rb") as file:
        check(file.read(4) == b"\x89HDF", "h5bento export made no HDF5 file")
    hdf5 = re.findall(r"libhdf5\S* => (\S+)", run("ldd", os.path.join(USR, "bin", "h5bento"), env=env))
    check(len(hdf5) == 1, f"the program finds {hdf5}")
    completion = os.path.join(USR, "share", "bash-completion", "completions", "h5bento")
    check("_h5bento" in run("bash", "-c", f"source '{completion}' && complete -p h5bento", env=env), "completion")
    (page,) = glob.glob(os.path.join(USR, "share", "man", "man1", "h5bento.1*"))
    check(os.path.getsize(page) > 1000, "manual page")
    for name in ("copyright", "licenses/LGPL-3.txt", "licenses/GPL-3.txt"):
        check(os.path.exists(os.path.join(USR, "share", "doc", "h5bento", name)), f"{name} is not in the package")
    print(f"the program: ls, verify and export, with {hdf5[0].replace(ROOT, '')}")
    return hdf5[0]


def use_library(libraries, container, hdf5):
    env = outside(PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig"))
    mapped = run(sys.executable, "-c", C_LIBRARY, os.path.join(libraries, "libh5bento.so"), container, env=env).split()
    check([os.path.realpath(p) for p in mapped] == [os.path.realpath(hdf5)], f"the C library uses {mapped}, the program {hdf5}")
    example = os.path.join(SOURCE, "library", "examples", "inspect.c")
    flags = run("pkg-config", "--cflags", "--libs", "libh5bento", env=env).split()
    run("cc", example, "-o", "inspect", *flags, f"-Wl,-rpath,{libraries}", env=env)
    os.mkdir("project")
    with open("project/CMakeLists.txt", "w") as file:
        file.write(PROJECT.format(example=example))
    run("cmake", "-S", "project", "-B", "built", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={USR}", env=env)
    run("cmake", "--build", "built", env=env)
    for program in ("./inspect", "built/inspect"):
        check("step 1 is sound" in run(program, container, env=env), program)
    with open("built/plugins") as file:
        plugins = file.read()
    said = run("pkg-config", "--variable=plugindir", "h5bento", env=env).strip()
    folder = os.path.join(libraries, "h5bento", "plugins")
    for path in (plugins, said):
        check(os.path.realpath(path) == os.path.realpath(folder), f"{path} is not {folder}")
    print("the C library: by path, by pkg-config and by its CMake package")


def main(build):
    for program in ("cpack", "dpkg", "dpkg-shlibdeps"):
        if shutil.which(program) is None:
            print(f"SKIP: no {program} here")
            sys.exit(77)
    package = make(build)
    check_depends(package)
    new_root()
    before = files()
    dpkg("-i", package)
    (plugins,) = glob.glob(f"{USR}/lib/**/h5bento/plugins", recursive=True)
    libraries = os.path.dirname(os.path.dirname(plugins))
    check_no_path_of_ours(build)
    container = use_plugins(libraries)
    use_library(libraries, container, use_program(container))
    dpkg("-P", "h5bento")
    left = files() - before
    check(not left, f"removed, but there is {sorted(left)[:10]}")
    notes = [name for name in os.listdir(os.path.join(ROOT, "var", "lib", "dpkg", "info")) if name.startswith("h5bento")]
    check(not notes, f"dpkg still has {notes}")
    with open("ldconfig.called") as file:
        called = file.read().split()
    check(called == ["postinst", "postrm"], f"ldconfig was called by {called}")
    print(f"{os.path.basename(package)}: removed, nothing is left")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    main(os.path.abspath(sys.argv[1]))
