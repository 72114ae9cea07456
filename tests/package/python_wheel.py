#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The wheel, as a user has it: a new virtual environment, `pip install h5py h5bento-*.whl`, the README's lines for Python.

    python_wheel.py BUILD

The file is then read in another environment, in which nothing of h5bento is. In a third one the wheels of netCDF4 and
PyTables have HDF5 libraries of their own beside that of h5py, and are imported in each order. Needs PyPI.
"""

import glob
import itertools
import os
import re
import subprocess
import sys
import zipfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = """
import h5bento, h5py, os
assert h5bento.__file__.startswith(os.getcwd()), h5bento.__file__
assert h5bento.is_container("run.h5") and h5bento.verify("run.h5").sound
assert [step.number for step in h5bento.steps("run.h5")], "no steps"
"""
PLAIN = """
import h5py
with h5py.File("run.h5", "r") as file:
    assert (file["x"][...] == range(10)).all(), file["x"][...]
"""
OTHERS = """
import sys
import h5bento; h5bento.enable()
modules = [__import__(name) for name in sys.argv[1].split(",")]
import h5py, netCDF4, numpy as np, tables
def is_container(name):
    return open(name, "rb").read(4) == b"sion"
with h5py.File("h.h5", "w") as file:
    file["x"] = np.arange(5)
    for open_again in (lambda: netCDF4.Dataset("h.h5", "a"), lambda: tables.open_file("h.h5", "a")):
        try:
            open_again()
        except Exception:
            pass
        else:
            sys.exit("two writers")
data = netCDF4.Dataset("n.nc", "w")
data.createDimension("t", 5)
data.createVariable("x", "f8", ("t",))[:] = np.arange(5)
data.close()
with tables.open_file("t.h5", "w") as file:
    file.create_array("/", "x", np.arange(5))
assert is_container("h.h5") and is_container("n.nc") and is_container("t.h5")
for name in ("h.h5", "n.nc", "t.h5"):
    with h5py.File(name) as file:
        assert (file["x"][...] == np.arange(5)).all(), name
    with tables.open_file(name) as file:
        assert (file.root.x[:] == np.arange(5)).all(), name
assert (netCDF4.Dataset("n.nc")["x"][:] == np.arange(5)).all()
import xarray
made = xarray.Dataset({"a": (("x", "y"), np.random.rand(50, 50))})
made.to_netcdf("x.nc", engine="h5netcdf", encoding={"a": {"zlib": True}})
assert is_container("x.nc") and xarray.open_dataset("x.nc", engine="h5netcdf").equals(made)
"""


def run(*command, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HDF5_", "H5BENTO_", "PYTHON"))}
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, **more)
    if result.returncode != 0:
        sys.exit(f"exit status {result.returncode}: {' '.join(command)}\n{result.stdout[-4000:]}")
    return result.stdout


def environment(name, *packages):
    run(sys.executable, "-m", "venv", name)
    python = os.path.abspath(os.path.join(name, "bin", "python"))
    run(python, "-m", "pip", "install", "-q", *packages)
    return python


def readme_lines():
    """The first block of Python in the README."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        return re.search(r"```python\n(.*?)```", file.read(), re.DOTALL)[1]


def check_files(wheel):
    """What a user's system must have for it; the same that scripts/wheel holds it against, asked in another way."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall("unpacked")
    libraries = glob.glob("unpacked/h5bento/*/*.so")
    if len(libraries) != 3:
        sys.exit(f"the wheel has {libraries}")
    for library in libraries:
        said = run("objdump", "-p", library)
        needs = re.findall(r"NEEDED +(\S+)", said)
        glibc = max((int(minor) for minor in re.findall(r" GLIBC_2\.(\d+)", said)), default=0)
        foreign = [name for name in needs if re.match("lib(hdf5|mpi|stdc|c\\+\\+|open-)", name)]
        if not needs or not glibc or glibc > 28 or foreign:
            sys.exit(f"{library} needs {needs} and glibc 2.{glibc}")
        # The command has the offline parts and the transfer component besides what the plugin has.
        if os.path.getsize(library) > (5e6 if "_vol_" in library else 6e6):
            sys.exit(f"{library} has {os.path.getsize(library)} bytes")


def use_program():
    """The command of the wheel: what needs an HDF5, what needs none, and what it says where there is none."""
    program = os.path.abspath("ours/bin/h5bento")
    for words, answer in (
        (("ls", "run.h5"), "/x "),
        (("verify", "run.h5"), "sound as of step"),
        (("info", "run.h5"), "h5bento container, closed"),
        (("export", "run.h5", "exported.h5"), "an HDF5 file"),
        (("repair", "run.h5"), "all data were read and have their checksums"),
    ):
        said = run(program, *words)
        if answer not in said:
            sys.exit(f"h5bento {' '.join(words)} says {said}")
    with open("exported.h5", "rb") as file:
        if file.read(4) != b"\x89HDF":
            sys.exit("h5bento export made no HDF5 file")
    (info,) = glob.glob("ours/lib/python*/site-packages/h5bento-*.dist-info")
    for name in ("LICENSE", "LGPL-3.txt", "GPL-3.txt", "fmt.txt"):
        if not os.path.exists(os.path.join(info, "licenses", name)):
            sys.exit(f"{name} is not in the wheel")


def refused(python, plugins):
    """A process whose HDF5 loads the plugin, has no use for it and unloads it, ends as ever. This HDF5 has MPI."""
    env = {**os.environ, "HDF5_PLUGIN_PATH": plugins}
    for name in ("HDF5_VOL_CONNECTOR", "H5BENTO_PLUGIN"):
        env.pop(name, None)
    done = subprocess.run([python, "-c", "import h5py; assert not h5py.h5z.filter_avail(40000)"], env=env)
    if done.returncode != 0:
        sys.exit(f"a process that has loaded and unloaded the plugin ends with {done.returncode}")


def main(build):
    run(os.path.join(SOURCE, "scripts", "bootstrap"), "--wheel")
    # A folder that stays: all of it is compiled, once, by another compiler.
    folder = os.path.join(build, "wheel")
    print(run(os.path.join(SOURCE, "scripts", "wheel"), "--build", folder, "--out", "dist").strip())
    (wheel,) = glob.glob("dist/*.whl")
    platform = re.search(r"manylinux_2_(\d+)_", wheel)
    if not platform or int(platform[1]) > 28:
        sys.exit(f"{wheel} is for a newer glibc than 2.28")
    check_files(wheel)
    refused(os.environ["H5BENTO_PYTHON"], os.path.abspath("unpacked/h5bento/plugins"))
    ours = environment("ours", "h5py", os.path.abspath(wheel))
    run(ours, "-c", readme_lines())
    with open("run.h5", "rb") as file:
        if file.read(4) != b"sion":
            sys.exit("the README's lines wrote an ordinary file")
    run(ours, "-c", CHECK)
    use_program()
    plain = environment("plain", "h5py")
    run(plain, "-c", PLAIN)
    others = environment("others", "h5py", "netCDF4", "tables", "xarray", "h5netcdf", os.path.abspath(wheel))
    for order in itertools.permutations(("h5py", "netCDF4", "tables")):
        run(others, "-c", OTHERS, ",".join(order))
    run(ours, "-m", "pip", "uninstall", "-q", "-y", "h5bento")
    left = glob.glob("ours/lib/python*/site-packages/h5bento*")
    if left:
        sys.exit(f"uninstalled, but there is {left}")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
