# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the native view share: stock readers' verdict over a natively written folder and a folder of
closed containers. No reader in here has a plugin."""

import os
import re
import shutil

import harness
from harness import HERE, Failure, bento_env, check, hdf5_tool, is_container, native_env, python, run, say

COMPARE = os.path.join(HERE, "native_view_compare.py")
HIDDEN = ".h5bento"


def stock_python():
    """h5py from a wheel, with an HDF5 of its own."""
    return os.environ["H5BENTO_PYTHON_NATIVE"]


def stock_env():
    env = native_env()
    check("HDF5_PLUGIN_PATH" not in env and "HDF5_VOL_CONNECTOR" not in env, "stock readers have no plugin")
    return env


def physical_files(path):
    """The container's files: NAME, NAME.000001, ..."""
    folder, name = os.path.split(path)
    more = [x for x in os.listdir(folder or ".") if re.fullmatch(re.escape(name) + r"\.\d{6,}", x)]
    return [path] + [os.path.join(folder, x) for x in sorted(more)]


def compare(pairs, env=None, interpreter=None, excepted=(), cwd=None, complaints=None):
    """The recursive comparison; returns its counts by name. What it writes to stderr comes into the list `complaints`."""
    command = [interpreter or stock_python(), "-B", COMPARE]
    for path in excepted:
        command += ["--except", path]
    result = run(command + [x for pair in pairs for x in pair], env or stock_env(), ok=None, timeout=300, cwd=cwd)
    check(result.status == 0, f"{pairs} differ:\n{result.tail()}")
    if complaints is not None:
        complaints.append(result.err.strip())
    counts = {}
    for line in result.out.splitlines():
        check(line.startswith("equal: "), f"unexpected: {line}")
        for number, what in re.findall(r"(\d+) ([a-z][a-z ]*)", line):
            counts[what] = counts.get(what, 0) + int(number)
    check(counts.get("objects", 0) >= 2 * len(pairs), f"hardly anything was compared: {result.out}")
    return counts


def check_h5diff(native, view):
    """Exit status 0, and nothing was skipped but what holds no data."""
    command = [hdf5_tool("h5diff"), "-c", "--exclude-path", f"/{HIDDEN}", native, view]
    result = run(command, stock_env(), ok=None, timeout=300)
    check(result.status == 0, f"h5diff {native} {view}: exit status {result.status}\n{result.tail()}")
    skipped = [x for x in result.text.splitlines() if x.startswith("Not comparable") and "is an empty dataset" not in x]
    check(not skipped, f"h5diff cannot compare {skipped[:5]}")


def dump_lines(path, *options):
    """h5dump's lines without the group of the sources."""
    folder, name = os.path.split(path)
    result = run([hdf5_tool("h5dump"), *options, name], stock_env(), cwd=folder or None, timeout=300)
    check(not result.err.strip(), f"h5dump {path}: {result.err[:500]}")
    lines, hidden = [], False
    for line in result.out.split("\n"):
        if line == f'   GROUP "{HIDDEN}" {{':
            hidden = True
        if not hidden:
            lines.append(line)
        elif line == "   }":
            hidden = False
    check(not hidden and len(lines) > 3, f"h5dump {path}: no end of the group /{HIDDEN}")
    return lines


def without_addresses(line):
    # Of a committed type's several names h5dump shows the one that it met first, which is a matter of
    # addresses too.
    line = re.sub(r'(DATATYPE ".*/)also number"', r'\1number"', line)
    return re.sub(r"\b(DATASET|GROUP|DATATYPE)  *(\d+ |\"/?#\d+\")", r"\1 ", line)


def check_h5dump(native, view, *options):
    """The text is the same, values included unless an option of h5dump leaves them out; returns its lines."""
    wanted, found = dump_lines(native, *options), dump_lines(view, *options)
    for number, (a, b) in enumerate(zip(wanted, found)):
        if a != b and without_addresses(a) != without_addresses(b):
            before = "\n".join(wanted[max(0, number - 5) : number])
            raise Failure(f"h5dump {view}, line {number + 1}:\n{before}\n< {a}\n> {b}")
    check(len(wanted) == len(found), f"h5dump {view}: {len(found)} lines instead of {len(wanted)}")
    return wanted


WITHOUT_VALUES = ("-A",)  # of h5dump: datasets' headers and attributes


def examine(native, view, names, what, h5dump=None, h5diff=True):
    """All stock readers see the same in NATIVE/name and VIEW/name. Returns the comparison's counts.

    h5diff: names that it compares, or True for all, or False. h5dump: {name: options} of what it prints; with the values, of
    those in the group of the sources, too, that takes longer than all the rest."""
    pairs = [(os.path.join(native, name), os.path.join(view, name)) for name in names]
    for pair in pairs:
        check(harness.REHEARSAL or is_container(pair[1]), f"{pair[1]} is not a container")
    counts = compare(pairs)
    lines = 0
    for name, pair in zip(names, pairs):
        if h5diff is True or (h5diff and name in h5diff):
            check_h5diff(*pair)
        if h5dump and name in h5dump:
            lines += len(check_h5dump(*pair, *h5dump[name]))
    shown = ", ".join(f"{number} {what}" for what, number in counts.items())
    say(f"{what}: h5py wheel: equal: {shown}")
    say(f"{what}: h5diff: equal; h5dump: {lines} equal lines")
    return counts


def check_really_virtual(counts, at_least):
    """The data was found where the ranks had put it."""
    if not harness.REHEARSAL:
        found = counts.get("virtual in the view only", 0)
        check(found >= at_least, f"only {found} datasets of the view are virtual, {at_least} should be")


def are_hdf5_for_stock(paths):
    """What stock HDF5 says of each of the files: it opens it, or it is none."""
    script = (
        "import h5py, sys\n"
        "for path in sys.argv[1:]:\n"
        "    print(h5py.is_hdf5(path))\n"
        "    try:\n        h5py.File(path, 'r').close(); print('opens')\n"
        "    except OSError as error: print('OSError')\n"
    )
    out = run([stock_python(), "-c", script, *paths], stock_env()).out.split()
    said = list(zip(out[::2], out[1::2]))
    known = all(one in (("True", "opens"), ("False", "OSError")) for one in said)
    check(known and len(out) == 2 * len(paths), f"{paths}: stock h5py says {out}")
    return [one[0] == "True" for one in said]


def connector_reads(native, view, names, what, excepted=(), warns=False):
    """The connector finds in the containers what is in the native files; `warns`: and complains on stderr."""
    if harness.REHEARSAL:
        return
    for name in names:
        pair = os.path.join(native, name), os.path.join(view, name)
        stats = os.path.abspath(f"stats-{what.replace(' ', '-')}-{name}")
        said = []
        compare([pair], bento_env(stats=stats), python(), excepted, complaints=said)
        read = harness.Stats(stats)
        check(read.files() == [pair[1]], f"{pair[1]} was not read as a container: {read.text()}")
        check(read.diverted["bytes_read"] > 0, f"{pair[1]}: no byte read was diverted")
        check(bool(said[0]) == warns, f"{pair[1]}: the connector says {said[0]!r} when it opens it")
    say(f"{what}: the connector reads the same")


def connector_writes(path):
    """None if the connector opens the file for writing, else the error."""
    script = (
        "import h5py, sys\n"
        "try:\n    h5py.File(sys.argv[1], 'r+').close()\n"
        "except OSError as error: print(f'refused: {error}')\n"
    )
    return run([python(), "-c", script, path], bento_env()).out.strip() or None


def copy_folder(source, target):
    """A sparse container would otherwise take all its apparent size."""
    shutil.rmtree(target, ignore_errors=True)
    run(["cp", "-r", "--sparse=always", source, target], stock_env())
