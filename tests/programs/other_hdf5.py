#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The plugins that were built with one HDF5, the very same files, in programs with another one.

other_hdf5.py NAME SCRIPT...            with H5BENTO_PLUGIN=serial: an HDF5 without MPI, and the plugin without it

`scripts/bootstrap --NAME` brings NAME/, an HDF5, and python-NAME/, whose h5py is built against that, into the cache folder.
The C programs are compiled with that HDF5. Each SCRIPT ("name.py argument ...") is a test of this folder,
which then runs with them. HDF5's tools stay those of the HDF5 that the plugins were built with: what such a test compares
with h5diff was written under one HDF5 and is read under the other. Last come files that each of the two reads of the other.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import time

from harness import (
    HERE,
    SOURCE,
    Skip,
    bento_env,
    build_folder,
    check,
    check_container,
    mpirun,
    native_env,
    python,
    run,
    run_test,
    say,
)

SERIAL = os.environ.get("H5BENTO_PLUGIN") == "serial"

# Which HDF5 a process has, and which plugins, by what is mapped into it.
LOADED = """
import h5py, os
with h5py.File("loaded.h5", "w") as f:
    f["x"] = range(10)
    maps = {line.split()[-1] for line in open("/proc/self/maps") if "libhdf5.so" in line or "libh5bento" in line}
print(h5py.version.hdf5_version, *sorted(maps))
"""

# A program that uses variables of HDF5 itself: the linker may give it the only copies that count.
VARIABLES = """
#include <hdf5.h>
int main(void) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), file, data, space;
  hsize_t size = 4;
  int values[4] = {1, 2, 3, 4};
  if (H5Pset_driver(access, H5FD_SEC2, NULL) < 0 || H5Pget_driver(access) != H5FD_SEC2) return 1;
#ifdef H5_HAVE_PARALLEL
  if (H5FD_MPIO < 0) return 1;
#endif
  file = H5Fcreate("variables.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  space = H5Screate_simple(1, &size, NULL);
  data = H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) return 2;
  return H5Dclose(data) < 0 || H5Sclose(space) < 0 || H5Pclose(access) < 0 || H5Fclose(file) < 0 ? 3 : 0;
}
"""

# Of each kind of objects some; then what a reader finds, as text.
WRITE = """
import h5py, numpy, sys
with h5py.File(sys.argv[1], "w", libver=(sys.argv[2], "v114")) as f:
    g = f.create_group("group", track_order=True)
    for i in range(40): g.create_group(f"member{i:02}").attrs["number"] = i
    f["plain"] = numpy.arange(100000, dtype="f8").reshape(100, 1000)
    d = f.create_dataset("packed", (300, 200), "i4", chunks=(64, 50), maxshape=(None, 200), compression="gzip", shuffle=True)
    d[...] = numpy.arange(60000, dtype="i4").reshape(300, 200)
    d.resize((350, 200))
    d[340] = 7
    f.create_dataset("filled", (10, 10), "i2", fillvalue=-3)[2:4] = 5
    kind = numpy.dtype([("a", "f4"), ("b", "i8", (3,)), ("c", "S5")])
    f["kind"] = kind
    c = f.create_dataset("compound", (50,), f["kind"], chunks=(8,))
    c[:40] = numpy.array([(i / 2, [i, i + 1, i + 2], b"%d" % i) for i in range(40)], kind)
    f["words"] = ["one", "two", "three" * 100]
    f["link"] = h5py.SoftLink("/group/member03")
    f["hard"] = f["plain"]
    f["reference"] = f["plain"].ref
    f["plain"].attrs["text"] = "of the writer"
    f["plain"].attrs["many"] = numpy.arange(5000)
    s = f.create_dataset("stored", (4000,), "i4", chunks=(1000,), compression="gzip")
    import zlib
    for i in range(4):
        s.id.write_direct_chunk((1000 * i,), zlib.compress(numpy.full(1000, i, "i4").tobytes()) if i % 2
                                else numpy.full(1000, i, "i4").tobytes(), 1 - i % 2)
"""
READ = """
import h5py, hashlib, sys
def digest(value): return hashlib.sha256(repr(value.tolist() if hasattr(value, "tolist") else value).encode()).hexdigest()[:12]
def show(name, o):
    print(name, type(o).__name__, {k: digest(v) for k, v in sorted(o.attrs.items())}, end=" ")
    if isinstance(o, h5py.Dataset):
        print(o.shape, o.dtype, o.chunks, o.compression, o.fillvalue if o.dtype.kind in "if" else "", o.maxshape,
              f[o[()]].name if name == "reference" else digest(o[...]))
    else: print()
with h5py.File(sys.argv[1], "r") as f:
    f.visititems(show)
    print(f["link"].name, list(f["group"])[::-7], [f["stored"].id.read_direct_chunk((1000 * i,)) [0] for i in range(4)],
          hashlib.sha256(b"".join(f["stored"].id.read_direct_chunk((1000 * i,))[1] for i in range(4))).hexdigest())
"""
PLAIN = """
import h5py, hashlib, sys
with h5py.File(sys.argv[1], "r") as f:
    for name in ("plain", "packed", "compound", "words", "filled"):
        print(name, f[name].shape, hashlib.sha256(repr(f[name][...].tolist()).encode()).hexdigest()[:12])
"""
CHANGE = """
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    f["packed"].resize((400, 200)); f["packed"][399] = 9
    del f["group/member05"]; f["group"].create_group("late"); f["plain"].attrs["text"] = "changed"
    f["plain"][50:60] = -1
"""


DIAGNOSTICS = ("GCC_DIAG_OFF", "GCC_DIAG_ON", "GCC_CLANG_DIAG_OFF", "GCC_CLANG_DIAG_ON")
API_GROUPS = ("attribute_", "dataset_", "datatype_", "file_", "group_", "link_", "misc_", "object_", "")


def digests():
    files = sorted(glob.glob(os.path.join(os.environ["HDF5_PLUGIN_PATH"], "*.so")))
    return {path: hashlib.sha256(open(path, "rb").read()).hexdigest() for path in files}


def programs(hdf5, folder):
    """A build folder with the C programs compiled with that HDF5, and all else as it is."""
    ours = build_folder()
    os.makedirs(folder)
    for name in ("plugins", "bin", "lib"):
        if os.path.isdir(os.path.join(ours, name)):
            os.symlink(os.path.join(ours, name), os.path.join(folder, name))
    if SERIAL:  # the C programs of these folders are parallel ones
        return
    for part, sources in (("examples", os.path.join(SOURCE, "examples")), ("tests", HERE)):
        os.mkdir(os.path.join(folder, part))
        for name in os.listdir(os.path.join(ours, part)):
            made, source = os.path.join(ours, part, name), os.path.join(sources, f"{name}.c")
            if os.path.isfile(made) and os.access(made, os.X_OK) and os.path.exists(source):
                compile_with(hdf5, [source], os.path.join(folder, part, name))
            else:
                os.symlink(made, os.path.join(folder, part, name))


def compile_with(hdf5, sources, program, *flags):
    command = ["cc" if SERIAL else "mpicc", "-O1", "-rdynamic", *flags, *sources, "-o", program]
    command += [f"-I{hdf5}/include", f"-L{hdf5}/lib", f"-Wl,-rpath,{hdf5}/lib", "-lhdf5", "-lm", "-ldl"]
    run(command, native_env(), timeout=300)


def api_programs(hdf5, tree, build, folder):
    """HDF5's API tests of 1.14, for a newer library: without its newer classes of types, and without comparing ids of
    connectors, of which HDF5 2 gives a new one each time."""
    os.makedirs(folder)
    source = os.environ["H5BENTO_HDF5_SOURCE"]
    for part, to in (("test", "test"), ("testpar", "testpar")):
        shutil.copytree(os.path.join(source, part, "API"), os.path.join(folder, to, "API"))
        for path in glob.glob(os.path.join(source, part, "*.[ch]")):
            shutil.copy(path, os.path.join(folder, to))
    for path in glob.glob(f"{folder}/test*/**/*.[ch]", recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("H5T_NCLASSES", "11").replace("default_con_id != registered_con_id", "0"))
    flags = ["-w", "-DTRUE=true", "-DFALSE=false", *(f"-DH5_{name}(x)=" for name in DIAGNOSTICS)]
    flags += [f"-I{os.environ['H5BENTO_API_TESTS']}/include", f"-I{tree}/src", f"-I{tree}/src/H5FDsubfiling", f"-I{build}/src"]
    flags += [f"-I{folder}/{name}" for name in ("test/API", "test", "testpar", "testpar/API")]
    shared = [f"{folder}/test/API/H5_api_test_util.c", f"{folder}/test/h5test.c", f"{folder}/test/testframe.c"]
    groups = [f"{folder}/test/API/H5_api_{name}test.c" for name in API_GROUPS]
    compile_with(hdf5, groups + shared, f"{folder}/h5_api_test", *flags)
    if SERIAL:
        return
    groups = glob.glob(f"{folder}/testpar/API/H5_api_*test_parallel.c")
    compile_with(hdf5, groups + shared, f"{folder}/h5_api_test_parallel", *flags, "-Wl,-z,muldefs")


def other(environment, function, *arguments):
    """function() with the other HDF5."""
    before = {name: os.environ[name] for name in environment}
    os.environ.update(environment)
    try:
        return function(*arguments)
    finally:
        os.environ.update(before)


def loaded():
    return run([python(), "-c", LOADED], bento_env()).out.split()


def script(text):
    words = text.split()
    command = [sys.executable, "-B", os.path.join(HERE, words[0]), *words[1:]]
    begin = time.monotonic()
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    say(f"{text}: {'passed' if result.returncode == 0 else f'exit status {result.returncode}'} in {time.monotonic() - begin:.0f} s")
    if result.returncode not in (0, 77):
        say(result.stdout)
    return result.returncode in (0, 77)


def python_of(side):
    return side.get("H5BENTO_PYTHON", os.environ["H5BENTO_PYTHON"])


def python_code(code, *arguments):
    return run([python(), "-c", code, *arguments], bento_env()).out


def example(name, ranks, *arguments):
    return mpirun(ranks, [os.path.join(build_folder(), "examples", name), *arguments], bento_env())


def check_each_reads_the_other(there):
    """Files of either are read, changed and read again by the other."""
    here = {}
    for writer, reader in ((there, here), (here, there)):
        for libver in ("earliest", "v114"):  # newer ones are read by HDF5 2 only, natively, too
            name = f"objects-{libver}-{'there' if writer else 'here'}.h5"
            other(writer, python_code, WRITE, name, libver)
            check_container(name)
            first = other(writer, python_code, READ, name)
            check(first.count("\n") > 40, f"little was written:\n{first}")
            second = other(reader, python_code, READ, name)
            check(first == second, f"{name}: the one reads\n{first}\nand the other\n{second}")
            other(reader, python_code, CHANGE, name)
            check_container(name)
            changed = other(reader, python_code, READ, name)
            check(changed != first and "group/late" in changed, "nothing was changed")
            again = other(writer, python_code, READ, name)
            plain = other(reader, python_code, PLAIN, name)
            for side in (here, there):
                seen = other(side, run, [python_of(side), "-c", PLAIN, name], native_env()).out
                check(seen == plain, f"{name} without the plugin: {seen}\nand with it: {plain}")
            check(changed == again, f"{name}, changed: the one reads\n{changed}\nand the other\n{again}")
        for program, right in () if SERIAL else (("particles", " 0 wrong"), ("heat", " 0 values wrong")):
            name = f"{program}-{'there' if writer else 'here'}.h5"
            other(writer, example, program, 4, name)
            check_container(name)
            for ranks in (1, 3):
                text = other(reader, example, program, ranks, "--verify", name).out
                check(right in text, text)
    say("files of either are read, changed and read again by the other: passed")


def main():
    cache = os.path.dirname(os.environ["HDF5_ROOT"])
    made = subprocess.run([os.path.join(SOURCE, "scripts", "bootstrap"), f"--{sys.argv[1]}"], stdin=subprocess.DEVNULL)
    if made.returncode == 2:
        raise Skip("scripts/bootstrap cannot bring it here")
    check(made.returncode == 0, "scripts/bootstrap failed")
    hdf5, interpreter = os.path.join(cache, sys.argv[1]), os.path.join(cache, f"python-{sys.argv[1]}", "bin", "python")
    check(os.path.exists(interpreter), f"{interpreter} is missing")
    before = digests()
    check(len(before) > 0, "no plugins")
    for path, digest in before.items():
        say(f"{digest[:16]} {path}")

    build = os.path.abspath("build")
    programs(hdf5, build)
    there = {"H5BENTO_BUILD": build, "H5BENTO_PYTHON": interpreter}
    if any(text.startswith("api_tests.py") for text in sys.argv[2:]):
        api = os.path.abspath("api_tests")
        api_programs(hdf5, os.path.join(cache, "src", sys.argv[1].removesuffix("-serial")), os.path.join(cache, "build", sys.argv[1]), api)
        there["H5BENTO_API_TESTS"] = api
    with open("variables.c", "w", encoding="utf-8") as file:
        file.write(VARIABLES)
    for root in (hdf5,) if SERIAL else (os.environ["HDF5_ROOT"], hdf5):
        compile_with(root, ["variables.c"], "variables")
        run([os.path.abspath("variables")], bento_env())
        check_container("variables.h5")
    for name, environment in (("here", {}), ("there", there)):
        version, *maps = other(environment, loaded)
        say(f"{name}: HDF5 {version}, {', '.join(maps)}")
        check(any(path.startswith(hdf5) for path in maps) == (name == "there"), f"{name}: another HDF5 than is meant")
        check(any(path in before for path in maps), f"{name}: the plugin is another one")
    failed = [text for text in sys.argv[2:] if not other(there, script, text)]
    check_each_reads_the_other(there)
    check(digests() == before, "the plugins have changed meanwhile")
    check(not failed, f"failed under {hdf5}: {', '.join(failed)}")


run_test(main)
