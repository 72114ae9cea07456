#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Programs under a connector that was built with sanitizers: their runtime, and what it reports.

    sanitizer.py COMMAND [ARGUMENT...]    runs one of our own sanitized programs, and judges its reports

The programs that load the connector are HDF5's, Python, or anybody's: not sanitized. A sanitized module works in
them only if the runtime was there first, so it is preloaded into every process. Reports go to files, one per process,
which are judged when the test ends: a program whose test expects it to fail, or whose status nobody asks for, hides
nothing.

Open MPI, HDF5 and Python end without giving back all that they took. A suppression would hide every stack that
passes through one of them, and most of ours do. So the rule is the other way round: a leak counts if one of our
functions is in the stack that allocated it (KNOWN lists the few exceptions); any other report counts whoever made it.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Frames of ours: our sources, named functions of our modules, our callbacks and functions. A frame that names our module
# but no function is somebody else's: our modules have symbols, and of a library that was unloaded meanwhile (Open MPI's
# components) the sanitizer says the name of the one below it.
OURS = re.compile(
    r"(^|[ /])(core|hdf5|vol|plugins|tests/faults)/[\w/]+\.[ch]pp:\d+| in \S.*lib(h5bento|dying)_\w+\.so|\bbento(::|_)", re.M
)

# Leaks that have a frame of ours and are none of ours: pattern of a line of the stack, and why.
KNOWN = ()

# Each process that ends by itself leaves this line (flag atexit), so that they can be counted.
COUNTED = "AddressSanitizer exit stats"


def runtimes(module):
    """The runtimes that a module was linked with, as names for LD_PRELOAD; none for an ordinary one."""
    try:
        with open(module, "rb") as file:
            found = set(re.findall(rb"\0(lib(?:asan|tsan|ubsan)\.so\.\d+)(?=\0)", file.read()))
    except OSError:
        return []
    # ASan must come first. The C++ library must be there at start: ASan looks up its throw then.
    names = sorted(name.decode() for name in found)
    return names + ["libstdc++.so.6"] if names else []


def options(folder):
    """Environment of a process whose reports are to lie in `folder`."""
    log = os.path.join(folder, "report")
    common = {"log_path": log}
    asan = {
        **common,
        "atexit": 1,
        "exitcode": 0,  # for leaks: whether they are ours is said later
        "abort_on_error": 1,
        "handle_abort": 1,  # what UBSan ends, and any other abort
        "detect_leaks": 1,
        "allocator_may_return_null": 1,  # HDF5's tests ask for more than there is
        "quarantine_size_mb": 32,
        "intercept_tls_get_addr": 0,  # with use_tls=0: LeakSanitizer crashes where a library's thread-local data moved
    }
    lsan = {"use_tls": 0}
    tsan = {**common, "exitcode": 0, "atexit_sleep_ms": 0, "ignore_noninstrumented_modules": 1}
    # Beside ASan it writes to stderr, where a test may not look: so it aborts, and ASan reports that, stack and all.
    # When it awakes, it sets ASan's path, too, to its own.
    ubsan = {**common, "abort_on_error": 1, "print_stacktrace": 1}
    values = {"ASAN_OPTIONS": asan, "LSAN_OPTIONS": lsan, "TSAN_OPTIONS": tsan, "UBSAN_OPTIONS": ubsan}
    return {k: ":".join(f"{name}={value}" for name, value in v.items()) for k, v in values.items()}


def leaks_of_ours(text):
    """The leaks of one report that count."""
    blocks = re.findall(r"^(?:Direct|Indirect) leak of .*?(?=\n\s*\n|\Z)", text, re.M | re.S)
    return [b for b in blocks if OURS.search(b) and not any(re.search(pattern, b) for pattern, _ in KNOWN)]


def findings(text):
    """What counts in one report, each as text."""
    found = leaks_of_ours(text)
    for part in re.split(r"^=+\n", text, flags=re.M):
        error = re.search(r"^.*(ERROR: AddressSanitizer|WARNING: ThreadSanitizer|Sanitizer has encountered|Sanitizer CHECK failed|FATAL: ).*", part, re.M)
        if error and "detected memory leaks" not in error.group(0):
            found.append(part[error.start() :].strip())
    return found


# Preloads into the ranks and not into mpirun: when ranks abort, Open MPI 4.1's reads memory that it has freed.
MPIRUN = """\
#!/bin/sh
preload="$LD_PRELOAD"
unset LD_PRELOAD
# An option -x holds up to the next colon.
for part do
  shift
  set -- "$@" "$part"
  if [ "$part" = : ]; then set -- "$@" -x LD_PRELOAD="$preload"; fi
done
exec {mpirun} -x LD_PRELOAD="$preload" "$@"
"""


def preload(env, module, folder):
    """Lets processes of this environment, and ranks that its mpirun starts, load a sanitized module."""
    programs = os.path.join(folder, "bin")
    if not os.path.isdir(programs):
        os.mkdir(programs)
        with open(os.open(os.path.join(programs, "mpirun"), os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
            file.write(MPIRUN.format(mpirun=shutil.which("mpirun")))
    env["PATH"] = programs + os.pathsep + env["PATH"]
    env["LD_PRELOAD"] = ":".join(runtimes(module))
    # The daemon that one process without mpirun would start does the same.
    env["OMPI_MCA_ess_singleton_isolated"] = "1"


class Reports:
    """A folder of reports, and what they say."""

    def __init__(self, below):
        self.expected = False  # whether a process must have been seen
        self.folder = tempfile.mkdtemp(prefix="sanitizer-", dir=below)

    def judge(self):
        """(number of processes that ended by themselves, list of findings)"""
        processes, found = 0, []
        for name in sorted(glob.glob(os.path.join(self.folder, "report*"))):
            with open(name, errors="replace") as file:
                text = file.read()
            processes += COUNTED in text
            found += [f"{os.path.basename(name)}: {finding}" for finding in findings(text)]
        return processes, found


def main():
    with tempfile.TemporaryDirectory(prefix="sanitizer-") as below:
        reports = Reports(below)
        status = subprocess.run(sys.argv[1:], env={**os.environ, **options(reports.folder)}).returncode
        _, found = reports.judge()
    for finding in found[:5]:
        print(finding, flush=True)
    if found:
        print(f"{len(found)} findings of the sanitizers", flush=True)
    # A signal that ended the program is no exit status.
    sys.exit(status if 0 < status < 256 else 1 if found or status else 0)


if __name__ == "__main__":
    main()
