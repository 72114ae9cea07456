# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What does not depend on the load of the machine: system calls (strace) and instructions (callgrind) of a call of HDF5, on one rank."""

import os
import re
import shutil
import subprocess
import tempfile

from measuring import NATIVE, RunFailed

from suite.patterns import OF_NAME, method_of

PATTERNS = {"slabs": 32768, "bands": 32768, "blocks": 32768, "ghosts": 1024, "conversion": 1024, "pieces-4k": 1024, "pieces-512": 128,
            "members": 1024, "interleaved": 1024, "gaps": 1024, "append": 1024}  # fmt: skip
CALLGRIND_KIB = 1024  # at most: it is 50 times slower
METHODS = (NATIVE[0], "bento")
SYNCED = "bento durability=power"
CALL = re.compile(r"^(?:\d+\s+)?(\w+)\((.*)\)\s+= (-?\d+|0x[0-9a-f]+)")
MARK = re.compile(r'^(?:\d+\s+)?(access|faccessat2?)\(.*"(write \{|read \{|close \{|\})"')
TRANSFERS = {"write": ("write", "pwrite64", "writev", "pwritev", "pwritev2"), "read": ("read", "pread64", "readv", "preadv", "preadv2")}
SYNCS = ("fsync", "fdatasync", "sync_file_range", "syncfs")


def of_trace(lines):
    """{"write": ..., "read": ..., "close": system calls, "syncs": ...} from a trace with marks."""
    inside, found, syncs = None, {}, 0
    for line in lines:
        marked = MARK.match(line)
        if marked:
            inside = None if marked[2] == "}" else marked[2][:-2]
            if inside:
                found.setdefault(inside, {"calls": 0, "system_calls": 0, "transfers": 0, "bytes": 0})["calls"] += 1
            continue
        call = CALL.match(line)
        if not call:
            continue
        syncs += call[1] in SYNCS
        if inside:
            found[inside]["system_calls"] += 1
            if call[1] in TRANSFERS.get(inside, ()):
                found[inside]["transfers"] += 1
                found[inside]["bytes"] += max(0, int(call[3], 0))
    return {**{name: per_call(f) for name, f in found.items()}, "syncs": syncs}


def per_call(f):
    each = f["bytes"] / f["transfers"] / 1024 if f["transfers"] else None
    return {"system_calls": f["system_calls"] / f["calls"], "transfers": f["transfers"] / f["calls"], "kib_a_transfer": each, "calls": f["calls"]}


def of_callgrind(text, function):
    """Instructions within a function, from callgrind_annotate --inclusive=yes."""
    found = re.search(rf"^\s*([\d,]+) .*:{function}(?:'\d+)?(?: \[|$)", text, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else None


class Counts:
    def __init__(self, runs, options):
        self.runs, self.options = runs, options
        self.tools = {name: shutil.which(name) for name in ("strace", "valgrind", "callgrind_annotate")}
        self.missing = [name for name, path in self.tools.items() if not path]

    def all(self, patterns, note):
        found = []
        for name in [each for each in patterns if each in PATTERNS]:
            for method in (*METHODS, SYNCED) if True in self.options.synced else METHODS:
                note(f"counting: {name}, {method}")
                found.append(self.one(OF_NAME[name], method_of(method)))
        return found

    def one(self, pattern, method):
        folder = tempfile.mkdtemp(dir=self.runs.folders["tmpfs"])
        self.runs.folder = folder
        try:
            result = {"pattern": pattern.name, "method": method.name, "syncs": None}
            kib = CALLGRIND_KIB if self.options.quick else PATTERNS[pattern.name]
            if self.tools["strace"]:
                result |= self.trace(pattern, method, folder, kib)
            if self.tools["valgrind"] and self.tools["callgrind_annotate"] and not self.options.quick:
                for operation, value in self.instructions(pattern, method, folder, min(kib, CALLGRIND_KIB)).items():
                    result.setdefault(operation, {"system_calls": None, "transfers": None, "kib_a_transfer": None})["instructions"] = value
            return result
        except RunFailed as error:
            raise RunFailed(f"{pattern.name}, {method.name}, counting: {error}") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def start(self, tool, pattern, method, path, kib):
        variables = 4 if pattern.name == "interleaved" else 1
        command = ["mpirun", "-n", "1", *tool, self.runs.program, *method.arguments, *pattern.arguments, "--marks", "--verify"]
        command += ["--variables", str(variables), "--kib", str(kib), path]
        environment = self.runs.environment
        environment = dict(environment, HDF5_VOL_CONNECTOR=method.connector) if method.connector else self.runs.native_environment
        self.runs.call(command, environment)
        return variables

    def trace(self, pattern, method, folder, kib):
        log = os.path.join(folder, "trace")
        self.start([self.tools["strace"], "-f", "-o", log], pattern, method, os.path.join(folder, "traced"), kib)
        with open(log, errors="replace") as file:
            result = of_trace(file)
        for operation in ("write", "read"):
            result[operation]["instructions"] = None
        return result

    def instructions(self, pattern, method, folder, kib):
        out = os.path.join(folder, "callgrind")
        tool = [self.tools["valgrind"], "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=H5Dwrite", "--toggle-collect=H5Dread"]
        variables = self.start(tool, pattern, method, os.path.join(folder, "counted"), kib)
        text = subprocess.run([self.tools["callgrind_annotate"], "--inclusive=yes", "--threshold=100", out], capture_output=True, text=True, check=True).stdout
        calls = variables * calls_of(pattern.name, kib)
        result = {}
        for operation in ("write", "read"):
            value = of_callgrind(text, f"H5D{operation}")
            result[operation] = value / calls if value else None
        return result


def calls_of(name, kib):
    return {"pieces-4k": kib // 4, "pieces-512": kib * 2, "members": 4, "append": 16}.get(name, 1)
