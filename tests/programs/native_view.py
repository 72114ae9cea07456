#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Closed containers read by stock HDF5 without a plugin: an h5py wheel, h5diff and h5dump find what is in natively
written files.

    native_view.py serial [earliest|latest]   one process writes about everything that HDF5 can hold, twice
    native_view.py stock                      r+ sessions without the connector, h5repack, moved folders, view=off
    native_view.py quick                      a small piece of serial, and view=off

Environment as in harness.py.
"""

import hashlib
import os
import shutil
import sys

import harness
from harness import HERE, bento_env, check, hdf5_tool, native_env, python, run, run_test, say, some
from native_view_check import (
    WITHOUT_VALUES,
    are_hdf5_for_stock,
    check_really_virtual,
    compare,
    connector_reads,
    connector_writes,
    copy_folder,
    examine,
    physical_files,
    stock_env,
    stock_python,
)

PROGRAM = os.path.join(HERE, "native_view_program.py")
NAMES = ("main.h5", "other.h5", "dangling.h5")
FOR_TOOLS = ("main.h5", "other.h5")  # h5diff gives up on dangling references


def connector_with(options):
    return f"{harness.connector()} {options}".strip() if not harness.REHEARSAL else None


def session(which, folder, libver, env, stats=None):
    """One run of the program under an environment; checks that the data went the connector's way."""
    os.makedirs(folder, exist_ok=True)
    result = run([python(), "-B", PROGRAM, folder, which, libver], env, timeout=120)
    size = int(harness.parse_lines(r"bytes: (\d+)", result.out)[0][1])
    for pieces in harness.parse_lines(r"pieces: (\d+)", result.out):
        say(f"{which}, {folder}: {pieces[1]} visible pieces in one dataset")
    if stats and not harness.REHEARSAL:
        # The one thing that a view cannot keep: references to objects that are gone.
        notes = [x for x in result.err.splitlines() if x.strip()]
        check(all("dangling.h5" in x for x in notes), f"the writer complains:\n{result.err}")
        check(which != "first" or len(notes) == 1, f"nothing is said of the dangling references: {notes}")
    if stats:
        found = harness.check_diverted(stats, written=size, at_least=True, only=False)
        check(found is None or not found.passed_through["writes"], "data was passed through")


def both(which, libver, string=None):
    session(which, "native", libver, native_env())
    stats = f"stats-{which}-{libver}"
    session(which, "view", libver, bento_env(stats=stats, string=string), stats)


def serial(libver):
    earliest = libver == "earliest"
    # The bounds say how objects are made, which is what the first session does, and not how their values are printed.
    sessions = (("first", {"other.h5": WITHOUT_VALUES if earliest else ()}), ("second", {"main.h5": WITHOUT_VALUES}))
    for which, dumped in some(1, sessions) if earliest else sessions:
        both(which, libver)
        counts = examine("native", "view", NAMES, f"{which} session", h5dump=dumped, h5diff=FOR_TOOLS)
        check_really_virtual(counts, 5)
        check(counts["references"] > 90 and counts["of committed types"] > 10, f"too little was compared: {counts}")
    connector_reads("native", "view", NAMES, "in the end")


# ---- what others may do to the file ----


def unchanged_by_stock(folder):
    """r+ without a change, by two versions of HDF5."""
    script = "import h5py, sys\nfor path in sys.argv[1:]:\n    with h5py.File(path, 'r+') as file: len(file['/'])"
    for interpreter in (stock_python(), python()):
        run([interpreter, "-c", script, *(os.path.join(folder, name) for name in NAMES)], stock_env())


def changed_by_stock(folder, which):
    run([stock_python(), "-B", PROGRAM, folder, which], stock_env())


def repacked(string, files):
    """h5repack without the connector makes ordinary files; of {name: its options}."""
    pairs = [(f"native/packed-{name}", f"view/packed-{name}") for name in files]
    for (name, options), pair in zip(files.items(), pairs):
        for folder, packed in zip(("native", "view"), pair):
            run([hdf5_tool("h5repack"), *options, f"{folder}/{name}", packed], stock_env(), timeout=300)
    compare(pairs)
    compare(pairs, bento_env(stats="stats-packed", string=string), python())
    views = [pair[1] for pair in pairs]
    if not harness.REHEARSAL:
        stats = harness.Stats("stats-packed")
        check(not stats.files() and set(views) <= set(stats.files(container=False)), f"{stats.text()}")
        os.remove("stats-packed")
    script = "import h5py, sys\nfor path in sys.argv[1:]:\n    with h5py.File(path, 'r+') as file: file['by the connector'] = 5"
    run([python(), "-c", script, *views], bento_env(string=string))
    script = "import h5py, sys\nfor path in sys.argv[1:]:\n    with h5py.File(path, 'r') as file: assert file['by the connector'][()] == 5"
    run([stock_python(), "-c", script, *views], stock_env())
    for pair in pairs:
        for path in pair:
            os.remove(path)
    say(f"h5repack of {', '.join(files)}: equal, and ordinary files to the connector")


def repack(string):
    session("plain", "native", "latest", native_env())
    session("plain", "view", "latest", bento_env(stats="stats-plain", string=string), "stats-plain")
    # 1.14.5 copies datasets of committed types, and all if there are references, by writing through their virtual
    # layout; it then fails where nothing is mapped.
    repacked(string, {"other.h5": ("-l", "CONTI"), "plain.h5": ()})
    for folder in ("native", "view"):
        os.remove(f"{folder}/plain.h5")
    for path in physical_files("view/plain.h5")[1:]:
        os.remove(path)


def moved(what):
    """From other folders, by other names of the folder."""
    os.makedirs("elsewhere/deeper")
    os.rename("view", "elsewhere/deeper/view")
    seen = NAMES[1:]  # the first one from within the folder
    examine("native", "elsewhere/deeper/view", seen, f"{what}, moved", h5dump={"other.h5": WITHOUT_VALUES}, h5diff=("other.h5",))
    os.chdir("elsewhere/deeper/view")
    compare([("../../../native/main.h5", "main.h5")])
    os.chdir("../../..")
    os.rename("elsewhere/deeper/view", "view")
    os.removedirs("elsewhere/deeper")


def switched_off():
    string = connector_with("view=off")
    os.mkdir("off")
    script = "import h5py, numpy, sys\nwith h5py.File(sys.argv[1], 'w') as file: file['x'] = numpy.arange(100000)"
    # Stock HDF5 tries all powers of two, and the embedded image begins as a file does.
    settings = ["", *(f";chunk={chunk}" for chunk in some(2, ("16K", "240K", "48K", "112K")))]
    paths = [f"off/x{number}.h5" for number in range(len(settings))]
    for path, more in zip(paths, settings):
        run([python(), "-c", script, path], bento_env(string=None if harness.REHEARSAL else string + more))
        if not harness.REHEARSAL:
            check(harness.is_container(path), f"view=off{more}: no container")
    for seen, more in zip(are_hdf5_for_stock(paths), settings):
        check(seen == bool(harness.REHEARSAL), f"view=off{more}: stock HDF5 opens the file, or the embedded image")
    say("view=off: rehearsal" if harness.REHEARSAL else "view=off: stock HDF5 says that it is no HDF5 file")


def content_of(folder):
    """Name and bytes of each file."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def stock():
    string = connector_with("")
    h5diff = some(1, ("other.h5", "main.h5"))  # serial() has both
    both("first", "latest", string)  # what that gives is examined by serial()
    unchanged_by_stock("view")
    examine("native", "view", NAMES, "r+ without a change", h5diff=h5diff)
    connector_reads("native", "view", NAMES, "r+ without a change")
    both("second", "latest", string)
    moved("second session")
    repack(string)
    copy_folder("view", "values")
    copy_folder("native", "native-values")
    copy_folder("native", "native-before")
    for folder in ("native", "view"):
        changed_by_stock(folder, "stock")
    # Only main.h5 is changed.
    examine("native", "view", NAMES[:1], "r+ with changes", h5diff=h5diff)
    connector_reads("native-before", "view", ("main.h5",), "r+ with changes", warns=True)
    if not harness.REHEARSAL:
        before = content_of("view")
        reason = connector_writes("view/main.h5")
        check(reason, "the connector opens a changed view for writing")
        say(f"r+ with changes: the connector does not write: {reason}")
        check(content_of("view") == before, "the refused session has changed the file")
    for folder in ("native-values", "values"):
        changed_by_stock(folder, "values")
    examine("native-values", "values", NAMES[:1], "r+ with changed values", h5diff=h5diff)
    shutil.rmtree("values")  # the records' hashes do not hold any more
    switched_off()


def quick():
    both("quick", "latest")
    counts = examine("native", "view", ["main.h5"], "quick")
    check_really_virtual(counts, 5)
    connector_reads("native", "view", ["main.h5"], "quick")
    switched_off()


def main():
    arguments = sys.argv[1:]
    known = {"serial": serial, "stock": stock, "quick": quick}
    if not arguments or arguments[0] not in known:
        print(__doc__.strip())
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    defaults = {"serial": ["latest"], "stock": [], "quick": []}
    run_test(known[arguments[0]], *(arguments[1:] or defaults[arguments[0]]), containers=2)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
