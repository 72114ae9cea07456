#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe, as far as it can be checked without Spack: it is run with stand-ins for Spack's directives.

    spack_recipe.py

It names this checkout as its source, every option that it gives to CMake is one that the project has, for each choice of
variants the project can be configured so, and the folder that it puts into HDF5_PLUGIN_PATH is the one of an installation.
"""

import itertools
import os
import re
import runpy
import subprocess
import sys
import types

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECIPE = os.path.join(SOURCE, "packaging", "spack", "spack_repo", "h5bento", "packages", "h5bento", "package.py")
# Recipes of these names are in spack-packages (looked up in November 2026), or they are languages or virtual packages of it.
KNOWN = {"c", "cxx", "cmake", "ninja", "pkgconfig", "hdf5", "mpi", "zlib-api", "fmt", "xxhash", "nettle", "libdeflate", "tl-expected", "cli11", "nlohmann-json", "libfuse"}


class Path(str):
    def __getattr__(self, name):
        return Path(os.path.join(self, name))


class Environment:
    def __init__(self):
        self.set = {}

    def prepend_path(self, name, path):
        self.set[name] = str(path)


def stand_ins(called):
    """Modules in which each directive notes that it was called, and how."""
    directives = types.ModuleType("spack.package")
    for name in ("version", "variant", "depends_on", "conflicts", "license", "generator"):
        setattr(directives, name, lambda *args, _name=name, **keywords: called.append((_name, args, keywords)))

    class CMakePackage:
        def __init__(self, chosen):
            self.chosen, self.prefix = chosen, Path("/prefix")
            self.spec = types.SimpleNamespace(satisfies=self.satisfies)

        def satisfies(self, text):
            if not re.fullmatch(r"[+~]\w+", text):
                raise ValueError(text)
            return self.chosen[text[1:]] == (text[0] == "+")

        @staticmethod
        def define(name, value):
            return f"-D{name}={value if isinstance(value, str) else 'ON' if value else 'OFF'}"

        def define_from_variant(self, name, variant):
            return self.define(name, self.chosen[variant])

    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    cmake.CMakePackage = CMakePackage
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["spack.package"], sys.modules[cmake.__name__] = directives, cmake


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def configure(arguments, folder):
    command = ["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DCMAKE_INSTALL_PREFIX=/prefix", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}")
    unused = re.search(r"Manually-specified variables were not used by the project:\s+(.*)", done.stdout)
    check(unused is None, f"the project has no {unused and unused[1]}")
    with open(os.path.join(folder, "cmake_install.cmake"), encoding="utf-8") as file:
        installed = file.read()
    return done.stdout, installed


def main():
    called = []
    stand_ins(called)
    recipe = runpy.run_path(RECIPE)["H5bento"]
    check(recipe.git == f"file://{SOURCE}", f"its source is {recipe.git}")
    depends = {re.match(r"[a-z0-9-]+", args[0])[0] for name, args, _ in called if name == "depends_on"}
    check(depends == KNOWN, f"dependencies that differ from the known ones: {sorted(depends ^ KNOWN)}")
    variants = [args[0] for name, args, _ in called if name == "variant"]
    check(sorted(variants) == ["mount", "tools"], f"variants {variants}")
    for values in itertools.product((False, True), repeat=len(variants)):
        chosen = dict(zip(variants, values))
        if chosen["mount"] and not chosen["tools"]:
            continue  # excluded by the recipe
        package = recipe(chosen)
        said, installed = configure(package.cmake_args(), "-".join(map(str, values)))
        env = Environment()
        package.setup_run_environment(env)
        folder = env.set["HDF5_PLUGIN_PATH"]
        check(f'{folder.replace("/prefix", "${CMAKE_INSTALL_PREFIX}")}/libh5bento_vol.so' in installed, f"nothing is installed in {folder}")
        print(chosen, "configured")


main()
