#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's own test programs with HDF5_DRIVER=bento, check by check beside a run with the default driver, and its API tests.

    hdf5_programs.py quick|all|NAME...

The programs are those that HDF5 itself runs with each driver (test/CMakeVFDTests.cmake), compiled from its source once per build
folder. Two things are changed in its test library: a driver that it does not know by name stays as the environment has set it,
instead of being refused; and the size of a file is asked of HDF5 where the file system has none of its name. KNOWN is exact: these checks must not pass with the driver, all others must be as natively."""

import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from file_per_process import counts  # noqa: E402

from harness import Failure, api_program, build_folder, check, driver_env, native_env, run, run_test, say  # noqa: E402

LIBRARY = ("h5test", "testframe", "cache_common", "swmr_common", "external_common", "external_fname", "genall5")
QUICK = ("h5_api_test", "ohdr", "extend", "mount")
# Not here: what fails natively when it is compiled beside the library and not with it, since it looks into the library's
# memory (testhdf5, mf, cache_api, earray, farray, freespace), what opens no file (hyperslab, bittests, ...), and what HDF5 itself
# leaves out with other drivers (vfd, error_test, ...).
ALL = QUICK + (
    "gheap", "cmpd_dset", "lheap", "stab", "evict_on_close", "istore", "dt_arith", "page_buffer", "dtypes", "fillval", "unlink", "external", "efc", "mdset",
    "app_ref", "enum", "set_extent", "getname", "ntypes", "dangle", "file_image", "cork", "unregister", "cross_read", "vds",
    "mtime", "direct_chunk", "chunk_info", "filter_fail", "dtransform", "cmpd_dtransform", "links", "btree2",
    "space_overflow", "objcopy_ref", "objcopy", "dsets")

SWMR = "skipped by itself: the driver does no SWMR"
SEC2 = "skipped by itself: what the driver writes is no file that sec2 could open (not DEFAULT_VFD_COMPATIBLE)"
POSIX = "skipped by itself: a name leads to no file of the file system (no POSIX_COMPAT_HANDLE)"
OPENS = "opens the file by its name with open(2), without HDF5, and there is none; ends without a word"
BEHIND = "passes, on the line of the check before it, which ended without a word"
FAILING = ("dsets",)  # for the former reason
OWN_DRIVERS = ("file_image",)  # programs that choose their drivers themselves: the environment does not reach them
# {program: {check: why it does not pass}}; or why the whole program says that it is skipped.
KNOWN = {
    "ohdr": {
        "exercise the coding for the re-read of the object header for SWMR access: latest-format": SWMR,
        "exercise the coding for the re-read of the object header for SWMR access: non-latest-format": SWMR,
    },
    "stab": {"corrupt symbol table message": SEC2, "reading old groups": SEC2},
    "links": {
        "H5Pset/get_elink_fapl() with different physical layouts": SEC2,
        "H5Pset/get_elink_fapl() with different physical layouts (w/new group format)": SEC2,
        "endianness of external links": SEC2,
        "endianness of external links (w/new group format)": SEC2,
        "external links w/symlink files": POSIX,
        "external links w/symlink files (w/new group format)": POSIX,
    },
    "lheap": {"opening pre-created file with non-default sizes": SEC2},
    "chunk_info": {"if chunk addresses are correct when a file has a userblock": SEC2},
    "mtime": {"accessing new modification time messages": SEC2, "accessing old modification time messages": SEC2},
    "fillval": {"contiguous dataset compatibility with v. 1.4": SEC2},
    "file_image": {"Initial file image and callbacks in Core VFD": SEC2},
    "cork": {
        "H5Odisable_mdc_flushes/H5Oenable_mdc_flushes/H5Oare_mdc_flushes_disabled (new library format) (SWMR)": SWMR,
        "H5Odisable_mdc_flushes/H5Oenable_mdc_flushes/H5Oare_mdc_flushes_disabled (old library format) (SWMR)": SWMR,
        "H5Odisable_mdc_flushes/H5Oenable_mdc_flushes/H5Oare_mdc_flushes_disabled on datasets (new library format) (SWMR)": SWMR,
        "H5Odisable_mdc_flushes/H5Oenable_mdc_flushes/H5Oare_mdc_flushes_disabled on datasets (old library format) (SWMR)": SWMR,
        "cork status for chunked datasets with different indexing types (SWMR & latest)": SWMR,
        "cork status for chunked datasets with different indexing types (SWMR & non-latest)": SWMR,
        "cork status for dataset objects with attributes (SWMR)": SWMR,
        "cork status for groups (SWMR)": SWMR,
        "cork status for multiple opens (SWMR)": SWMR,
        "cork status for named datatypes (SWMR)": SWMR,
    },
    "cross_read": SEC2,
    "objcopy": {"H5Ocopy(): dataset with old layout format": SEC2, "H5Ocopy(): opened dataset with old layout format": SEC2},
    "dsets": {
        "simple I/O": OPENS,
        "compact dataset I/O": BEHIND,
        "dataset offset with user block": OPENS,
        "dataset filter 'can apply' callback": BEHIND,
        "compatibility for 1.6/1.8 datasets that use B-tree indexing": SEC2,
        "dataset access with missing filter": SEC2,
        "filters with big-endian/little-endian data": SEC2,
        "version bounds of datasets": SEC2,
        "Extensible array chunk index header flush dependencies handled correctly": SWMR,
        "Fixed array chunk index header flush dependencies handled correctly": SWMR,
        "Version 2 B-tree chunk index header flush dependencies handled correctly": SWMR,
        "File created with write+latest-format/SWMR-write+non-latest-format: dataset with latest chunk index": SWMR,
    },
}
# The test library asks the file system how large a file is; where there is none of this name, HDF5 is asked.
FILE_SIZE = """
{
    hid_t asked = -1;
    hsize_t found = 0;
    if (fapl != H5P_DEFAULT && HDaccess(filename, F_OK) != 0 && (asked = H5Fopen(filename, H5F_ACC_RDONLY, fapl)) >= 0) {
        H5Fget_filesize(asked, &found);
        H5Fclose(asked);
        return (h5_stat_size_t)found;
    }
}
"""


def compile_program(name):
    """Into the build folder, unless it is there."""
    if name == "h5_api_test":
        return api_program(name)
    folder = os.path.join(build_folder(), "tests", "hdf5_programs")
    path = os.path.join(folder, name)
    if os.access(path, os.X_OK):
        return path
    source = os.environ["H5BENTO_HDF5_SOURCE"]
    test = os.path.join(source, "test")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(test, "API", "H5_api_test_config.h.in")) as file:
        config = "\n".join(line for line in file.read().splitlines() if not line.startswith("#cmakedefine"))
    for header, text in (("H5_api_test_config.h", config), ("H5srcdir_str.h", '#define config_srcdir "%s"\n' % test)):
        with open(os.path.join(folder, header), "w") as file:
            file.write(text)
    with open(os.path.join(test, "h5test.c")) as file:
        before, after = file.read().split("/* Unknown driver */")
    before_size, size = (before + after.replace("goto error", "goto done", 1)).split("\nh5_get_file_size(", 1)
    place = "memset(&sb, 0, sizeof(h5_stat_t));"
    check(size.count(place) == 1, "HDF5's test library is another one than it was")
    with open(os.path.join(folder, "h5test.c"), "w") as file:
        file.write(before_size + "\nh5_get_file_size(" + size.replace(place, place + FILE_SIZE))
    root = os.environ["HDF5_ROOT"]
    flags = ["-w", "-O0", "-D_GNU_SOURCE"] + ["-I" + part for part in (folder, test, source + "/src", source + "/src/H5FDsubfiling", root + "/include")]
    objects = []
    for part in LIBRARY:
        objects.append(os.path.join(folder, part + ".o"))
        own = os.path.join(folder, part + ".c")
        code = own if os.path.exists(own) else os.path.join(test, part + ".c")
        if not os.path.exists(objects[-1]) and os.path.exists(code):
            run(["mpicc", *flags, "-c", code, "-o", objects[-1]], native_env(), timeout=200)
    objects = [part for part in objects if os.path.exists(part)]
    command = ["mpicc", *flags, "-o", path + ".new", os.path.join(test, name + ".c"), *objects, "-Wl,-z,muldefs", "-L" + root + "/lib",
               "-lhdf5", "-lm", "-ldl", "-lz", "-Wl,-rpath," + root + "/lib"]
    run(command, native_env(), timeout=200)
    os.rename(path + ".new", path)
    return path


def checks(text):
    """How often each check came to each end."""
    found = collections.Counter()
    for line in text.splitlines():
        match = re.match(r"\s*(?:Testing )?(.*?)\s*(PASSED|-SKIP-|\*FAILED\*)\s*$", line)
        if match and match[1]:
            found[match[1], match[2]] += 1
    return found


def run_one(name, folder, env):
    os.makedirs(folder)
    test = os.path.join(os.environ["H5BENTO_HDF5_SOURCE"], "test")
    os.symlink(os.path.join(test, "testfiles"), os.path.join(folder, "testfiles"))
    env.update(srcdir=test, HDF5TestExpress="3")
    result = run([compile_program(name)], env, timeout=900, ok=None, cwd=folder)
    return result


def compare(name):
    """Checks that pass natively and not with the driver, against KNOWN."""
    native = run_one(name, name + ".native", native_env())
    check(native.status == 0, "%s fails natively: %s" % (name, native.tail(10)))
    stats = os.path.abspath(name + ".stats")
    ours = run_one(name, name + ".driver", driver_env("container=%d/%s.bento;stats=" + stats))
    if isinstance(KNOWN.get(name), str):
        check("SKIPPED for incompatible VFD" in ours.text, "%s was known to skip itself: %s" % (name, ours.tail(5)))
        say("  %s: %s" % (name, KNOWN[name]))
        return
    before, after = checks(native.text), checks(ours.text)
    lost = {label for (label, end), times in before.items() if end == "PASSED" and after[label, end] < times}
    known = set(KNOWN.get(name, ()))
    check(lost == known, "%s: other checks than the known ones do not pass:\n%s\n%s"
          % (name, "\n".join("  " + repr(label) for label in sorted(lost ^ known)), ours.tail(15)))
    check(ours.status == (name in FAILING), "%s: exit status %d, though all checks are as they should be:\n%s" % (name, ours.status, ours.tail(10)))
    done = counts(stats) if os.path.exists(stats) else {}
    opens, writes = done.get(("streams", "opens"), 0), done.get(("streams", "writes"), 0)
    check((opens > 0 and writes > 0) != (name in OWN_DRIVERS), "%s: %d opens and %d writes through the driver" % (name, opens, writes))
    skips = sum(times for (_, end), times in after.items() if end == "-SKIP-")
    say("  %s: %d passed, %d skipped, %d known; %d opens and %d writes of streams"
        % (name, sum(times for (_, end), times in after.items() if end == "PASSED"), skips, len(known), opens, writes))


def programs(names):
    failures = []
    for name in names:
        try:
            compare(name)
        except Failure as reason:
            failures.append(str(reason))
            say("  " + str(reason))
    check(not failures, "%d of %d programs" % (len(failures), len(names)))


if __name__ == "__main__":
    wanted = sys.argv[1:]
    # What these programs leave behind are single streams, many of them damaged on purpose.
    run_test(programs, {"quick": QUICK, "all": ALL}.get(wanted[0], wanted), containers=0, unfinished={"*": "killed on purpose"})
