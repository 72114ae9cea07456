#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The plugins link neither HDF5 nor MPI: they take both from the library that loads them, or step aside and say why.

Which plugin a process uses if several lie in its folders, in HDF5 with and without MPI and whatever comes first, chosen by
name and found by HDF5 itself; what it says if none fits; and libraries that are no HDF5 to use: of another version, with
another MPI, without a name that is needed.
"""

import os
import re
import shutil
import subprocess

from harness import build_folder, check, native_env, run, run_test, say, some

ALL = {
    "mpi": ("plugins", "libh5bento_vol.so"),
    "serial": ("plugins-serial", "libh5bento_vol_serial.so"),
    "driver": ("plugins", "libh5bento_vfd.so"),
}
ENTRIES = {"H5PLget_plugin_type", "H5PLget_plugin_info", "h5bento_class_for", "h5bento_hdf5_calls_for"}

WRITE = """
import ctypes, os, sys
import h5py
with h5py.File("x.h5", "w") as f:
    f["x"] = range(100)
print(sorted({os.path.basename(line.split()[-1]) for line in open("/proc/self/maps") if "libhdf5" in line or "libmpi.so" in line
              or "libh5bento" in line}))
print(open("x.h5", "rb").read(4))
"""
READ = """
import h5py
with h5py.File("x.h5", "r") as f:
    assert list(f["x"]) == list(range(100))
"""

# A library that has some of HDF5's names, and asks a plugin as HDF5 does.
LIBRARY = """
#include <dlfcn.h>
#include <stdio.h>
int H5get_libversion(unsigned* major, unsigned* minor, unsigned* release) {{ *major = {major}; *minor = {minor}; *release = 0; return 0; }}
int H5open(void) {{ return 0; }}
#ifdef WITH_MPIO
int H5Pset_fapl_mpio(void) {{ return 0; }}
#endif
int ask(const char* path) {{
  void* module = dlopen(path, RTLD_LAZY);
  if (!module) return puts(dlerror()), -1;
  int (*type)(void) = (int (*)(void))dlsym(module, "H5PLget_plugin_type");
  const void* (*info)(void) = (const void* (*)(void))dlsym(module, "H5PLget_plugin_info");
  volatile int answer = type();
  const void* volatile more = info();
  return more ? answer : -2;
}}
"""
FILTER = 0  # H5PL_TYPE_FILTER


def place(kind):
    return os.path.join(build_folder(), *ALL[kind])


def check_links():
    for kind in ALL:
        path = place(kind)
        needed = re.findall(r"\(NEEDED\).*\[([^\]]+)\]", run(["readelf", "-d", path], native_env()).out)
        check(needed and not [name for name in needed if re.match("lib(hdf5|mpi|stdc)", name)], f"{path} needs {needed}")
        # A name that is not defined has U, w or v in front of it, and no address.
        listed = [line.split() for line in run(["nm", "-D", path], native_env()).out.splitlines()]
        names = [words[1] for words in listed if len(words) == 2 and re.match(r"H5|P?MPI_|MPIR|ompi_", words[1])]
        check(not names, f"{path} leaves {names} undefined")
        shown = {words[2] for words in listed if len(words) == 3}
        check({"H5PLget_plugin_type", "H5PLget_plugin_info"} <= shown <= ENTRIES, f"{path} shows {shown}")
    say("no plugin names a library or a function of HDF5 or MPI")


def folder(name, *kinds):
    os.mkdir(name)
    for kind in kinds:
        shutil.copy(place(kind), name)
    return os.path.abspath(name)


def uses(interpreter, path, **more):
    """Which connector's plugin is mapped, whether the file is a container, and what was said."""
    env = native_env(HDF5_PLUGIN_PATH=path, HDF5_VOL_CONNECTOR="bento", **more)
    result = run([os.environ[interpreter], "-c", WRITE], env)
    hdf5 = set(re.findall(r"libhdf5[-.][-.\w]*", result.out))
    check(len(hdf5) == 1, f"{hdf5} are in one process")
    maps = re.findall(r"libh5bento_vol\w*\.so", result.out)
    check(len(maps) == 1 and "sion" in result.out, f"no container, or several plugins:\n{result.tail()}")
    return maps[0], result.err


def check_choice():
    mpi, serial = "libh5bento_vol.so", "libh5bento_vol_serial.so"
    both = folder("both", "driver", "mpi", "serial")
    one, two = folder("one", "mpi"), folder("two", "serial")
    processes = (
        ("H5BENTO_PYTHON", {}, mpi),
        ("H5BENTO_PYTHON", {"H5BENTO_PLUGIN": "serial"}, serial),
        ("H5BENTO_PYTHON_NATIVE", {}, serial),
    )
    cases = [(both, *process) for process in processes]
    for right_first in (False, True):  # the other one in front of it is the harder case
        cases += [(f"{one}:{two}" if (process[2] == mpi) == right_first else f"{two}:{one}", *process) for process in processes]
    for path, interpreter, more, want in some(6, cases):
        quiet = path == both  # in one folder each sees the other
        used, said = uses(interpreter, path, **more)
        check(used == want, f"{path}, {interpreter} {more}: {used} is used, not {want}\n{said}")
        check(not quiet or "h5bento" not in said, f"{path}, {interpreter} {more}: {said}")
    for interpreter, path, why in (
        ("H5BENTO_PYTHON_NATIVE", one, "this HDF5 has no MPI"),
        ("H5BENTO_PYTHON", two, "this HDF5 has MPI"),
    ):
        # No more: stock HDF5 2.0 dies of a create when it has not found the connector that is chosen.
        env = native_env(HDF5_PLUGIN_PATH=path, HDF5_VOL_CONNECTOR="bento")
        result = run([os.environ[interpreter], "-c", "import h5py"], env, ok=None)
        check(why in result.err, f"{interpreter}, {path}:\n{result.tail()}")
    used, said = uses("H5BENTO_PYTHON_NATIVE", two, LD_PRELOAD=place("driver"))
    check(used == serial, f"beside another plugin that all can see: {used}\n{said}")
    # Found by HDF5 1.14 itself, by trying what it has.
    run([os.environ["H5BENTO_PYTHON"], "-c", WRITE], native_env(HDF5_PLUGIN_PATH=both, HDF5_VOL_CONNECTOR="bento view=off"))
    run([os.environ["H5BENTO_PYTHON"], "-c", READ], native_env(HDF5_PLUGIN_PATH=both))
    say("of several plugins the one that fits is used, whatever comes first")


def ask(kind, name, flags=(), **parts):
    """(answer, what was said) of a plugin that a made-up library loads."""
    with open(f"{name}.c", "w", encoding="utf-8") as file:
        file.write(LIBRARY.format(**{"major": 1, "minor": 14, **parts}))
    run(["cc", "-shared", "-fPIC", *flags, f"{name}.c", "-o", f"{name}.so", "-ldl"], native_env())
    code = f"import ctypes; print(ctypes.CDLL('./{name}.so').ask({place(kind).encode()!r}))"
    result = subprocess.run(["python3", "-c", code], env=native_env(), capture_output=True, text=True)
    check(result.returncode == 0, f"{name}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return int(result.stdout.splitlines()[-1]), result.stderr


def check_refusals():
    open_mpi = os.environ.get("H5BENTO_MPI", "openmpi") == "openmpi"
    for kind, name, flags, parts, why in (
        ("mpi", "other_mpi", ("-DWITH_MPIO",), {}, "has another MPI" if open_mpi else "lacks what h5bento needs"),
        ("mpi", "no_mpi", (), {}, "this HDF5 has no MPI"),
        ("serial", "names", (), {}, "lacks what h5bento needs: H5"),
        ("serial", "old", (), {"minor": 12}, "is HDF5 1.12.0"),
        ("serial", "new", (), {"major": 3}, "is HDF5 3.14.0"),
        ("driver", "driver_names", (), {}, "lacks what h5bento needs: H5"),
    ):
        answer, said = ask(kind, name, flags, **parts)
        check(answer == FILTER and why in said, f"{name}: {answer}, {said}")
    if open_mpi:
        answer, said = ask("mpi", "mpi_names", ("-DWITH_MPIO", "-Wl,--no-as-needed", "-lmpi"))
        check(answer == FILTER and "lacks what h5bento needs: H5" in said, f"mpi_names: {answer}, {said}")
    say("what is no HDF5 for a plugin is refused by name")


def test():
    check_links()
    check_choice()
    check_refusals()


if __name__ == "__main__":
    run_test(test)
