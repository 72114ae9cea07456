#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What `cmake --install` leaves, used from outside after its prefix was moved.

    install_tree.py BUILD

A program is built by find_package and one by pkg-config, and HDF5 finds the plugin in the folder that both name. Nothing
of the build folder or of the sources may be needed.
"""

import os
import re
import sys

from outside import check, run

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C CXX)
find_package(h5bento REQUIRED COMPONENTS core vol)
file(WRITE "${CMAKE_BINARY_DIR}/plugin_dir" "${h5bento_PLUGIN_DIR}")
add_executable(settings settings.cpp)
target_link_libraries(settings PRIVATE h5bento::core)
add_executable(recover recover.cpp)
target_link_libraries(recover PRIVATE h5bento::library)
"""
C_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(c_only LANGUAGES C)
find_package(h5bento REQUIRED COMPONENTS c)
add_executable(inspect inspect.c)
target_link_libraries(inspect PRIVATE h5bento::c)
"""
SETTINGS = """
#include <cstdio>
#include "core/config/config.hpp"
int main() {
  const auto config = bento::parse_config("chunk=64K");
  if (!config) std::puts(config.error().text.c_str());
  return config ? 0 : 1;
}
"""
PYTHON = """
import sys, h5py, numpy as np
with h5py.File("x.h5", "w") as file:
    file["d"] = np.arange(1000)
with h5py.File("x.h5", "r") as file:
    assert (file["d"][...] == np.arange(1000)).all()
"""


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def check_relocatable(prefix, build):
    """No file of the package says where it was built or first installed."""
    for where, _, names in os.walk(prefix):
        for name in names:
            if name.endswith((".cmake", ".pc")):
                with open(os.path.join(where, name)) as file:
                    text = file.read()
                for path in (build, SOURCE, os.path.abspath("first")):
                    check(path not in text, f"{name} names {path}")


def check_c_library(prefix, env):
    """The C library and the program of the moved tree, over the container x.h5."""
    os.mkdir("c_only")
    write("c_only/CMakeLists.txt", C_PROJECT)
    example = os.path.join(SOURCE, "library", "examples", "inspect.c")
    with open(example) as file:
        write("c_only/inspect.c", file.read())
    run("cmake", "-S", "c_only", "-B", "c_built", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", "c_built")
    flags = run("pkg-config", "--cflags", "--libs", "libh5bento", env=env).split()
    folder = run("pkg-config", "--variable=libdir", "libh5bento", env=env).strip()
    run("cc", example, "-o", "inspect", *flags, f"-Wl,-rpath,{folder}")
    for program in ("c_built/inspect", "./inspect"):
        said = run(program, "x.h5")
        check("step 1 is sound" in said and "step 1 wrote /d" in said, f"{program} says {said}")
    said = run(os.path.join(prefix, "bin", "h5bento"), "ls", "x.h5")
    check(said.startswith("/d "), f"h5bento ls says {said}")
    print("the C library by find_package and by pkg-config, and the program: used on a container")


def main(build):
    run("cmake", "--install", build, "--prefix", os.path.abspath("first"))
    prefix = os.path.abspath("moved")
    os.rename("first", prefix)
    check_relocatable(prefix, os.path.abspath(build))
    config = [os.path.join(where, "pkgconfig") for where, folders, _ in os.walk(prefix) if "pkgconfig" in folders]
    check(len(config) == 1, f"pkgconfig folders: {config}")

    os.mkdir("project")
    write("project/CMakeLists.txt", PROJECT)
    write("project/settings.cpp", SETTINGS)
    with open(os.path.join(SOURCE, "tests", "programs", "recover_file.cpp")) as file:
        write("project/recover.cpp", file.read())
    paths = ";".join([prefix, *os.environ.get("CMAKE_PREFIX_PATH", "").split(":")])
    run("cmake", "-S", "project", "-B", "built", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={paths}")
    run("cmake", "--build", "built")
    run("built/settings")
    print("a program by find_package: built and run")

    env = dict(os.environ, PKG_CONFIG_PATH=config[0])
    flags = run("pkg-config", "--cflags", "--libs", "--static", "h5bento", env=env).split()
    run("c++", "-std=c++20", "project/settings.cpp", "-o", "settings", *flags)
    run("./settings")
    print("a program by pkg-config: built and run")

    with open("built/plugin_dir") as file:
        plugins = file.read()
    said = run("pkg-config", "--variable=plugindir", "h5bento", env=env).strip()
    check(os.path.realpath(plugins) == os.path.realpath(said), f"plugin folders: {plugins}, {said}")
    check(os.path.realpath(plugins).startswith(os.path.realpath(prefix)), f"{plugins} is not in {prefix}")
    env.update(HDF5_PLUGIN_PATH=plugins, HDF5_VOL_CONNECTOR="bento", H5BENTO_STATS=os.path.abspath("stats"))
    run(os.environ["H5BENTO_PYTHON"], "-c", PYTHON, env=env)
    with open("x.h5", "rb") as file:
        check(file.read(4) == b"sion", "no container was written: HDF5 did not find the plugin")
    with open("stats") as file:
        check(re.search('"container": ?true', file.read()), "the statistics name no container")
    said = run("built/recover", "x.h5")
    check(said.startswith("step 1 sound"), f"the program outside says {said}")
    check_c_library(prefix, env)
    print("the plugin of the moved tree: HDF5 finds it, and the program outside reads its container")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    main(sys.argv[1])
