#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Where the interfaces of two HDF5 versions differ, as their headers have them: one plugin file serves both, so all of it is
either of no concern to the plugins, or chosen when they are loaded.

hdf5_headers.py NAME   compares HDF5_ROOT with NAME/ beside it (scripts/bootstrap --NAME)

Structures, unions and enumerations by their text, functions by their prototypes, and macros by what they stand for, if both
versions have them; and what the newer one lacks. Each difference must stand in KNOWN, and each of those must be there.
"""

import os
import re
import subprocess
import sys

from harness import Failure, Skip, check, native_env, run, run_test, say

KNOWN = (
    # Longer arguments of direct chunk calls: hdf5/base/chunk_arguments.hpp.
    "H5VL_native_dataset_chunk_read_t",
    "H5VL_native_dataset_chunk_write_t",
    # More enumerators behind the old ones: hdf5/base/library_version.hpp has newest_format(); no table of ours has a
    # place for each class of types.
    "H5F_libver_t",
    "H5F_LIBVER_LATEST",
    "H5T_class_t",
    # off_t by another name, and bool for unsigned: passed in the same way.
    "H5Pget_external()",
    "H5Pset_external()",
    # Other functions, which binding/stand_ins.cpp has.
    "H5Dread_chunk()",
    "H5FDperform_init()",
    "H5VLstart_lib_state()",
    "H5VLfinish_lib_state()",
    "H5FD_(log|mpio|sec2|stdio)_init()",
    "H5FD_(LOG|MPIO|SEC2|STDIO)",
    # Not used by plugins, or macros for what is above.
    "H5FD_(core|family|ioc|multi|onion|splitter|subfiling)_init()",
    "H5FD_(CORE|FAMILY|IOC|MULTI|ONION|SPLITTER|SUBFILING)",
    "H5FD_ioc_(begin|end)_thread_exclusive()",
    "H5Iregister_type()",
    "H5Tdecode()",
    "H5TSmutex_(acquire|get_attempt_count|release)()",
    "H5VLpeek_connector_id_by_(name|value)()",
    "H5VL_(native|pass_through)_register()",
    "H5VL_(NATIVE|PASSTHRU)",
)
# What each build has of its own: configuration, versions.
OWN = re.compile(r"H5_|H5(CHECK|OPEN)$|H5(CPP|FC|HL|TEST|TESTPAR|TOOLS)\w*_DLL|H5\w*_(H|VERS\w*|vers)$|H5pubconf")


def preprocessed(root, *flags):
    with open("all.c", "w", encoding="utf-8") as file:
        file.write("#include <hdf5.h>\n")
    return run(["mpicc", "-E", *flags, f"-I{root}/include", "all.c"], native_env()).out


def end_of_body(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise Failure("a body without end")


def interface(root):
    """{name: text}"""
    found = {}
    text = re.sub(r"\b(hbool_t|_Bool)\b", "bool", preprocessed(root, "-P"))
    text = re.sub(r"\s+", " ", text)
    for match in re.finditer(r"(?:typedef )?(struct|union|enum)(?: (\w+))? ?\{", text):
        end = end_of_body(text, match.end() - 1)
        name = re.match(r"\} ?(\w+) ?;", text[end:])
        name = name[1] if name else match[2]
        if name and name.startswith("H5"):
            found[name] = text[match.end() - 1 : end]
    for match in re.finditer(r"([\w* ]+?)\b(H5\w+) ?(\([^;{}]*\)) ?;", text):
        found[match[2] + "()"] = match[1].replace("extern", "").strip() + match[3]
    for line in preprocessed(root, "-dM").splitlines():
        match = re.match(r"#define (H5\w+) (.+)", line)
        if match and not OWN.match(match[1]):
            value = re.sub(r"\bH5(CHECK|OPEN)\b|[()\s]", "", match[2])
            if not value.endswith("_g"):  # a variable
                found[match[1]] = value
    return found


def test():
    root = os.environ["HDF5_ROOT"]
    other = os.path.join(os.path.dirname(root), sys.argv[1])
    if not os.path.isdir(other):
        source = os.environ.get("H5BENTO_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
        if subprocess.run([os.path.join(source, "scripts", "bootstrap"), f"--{sys.argv[1]}"], check=False).returncode != 0:
            raise Skip(f"{other} is not there")
    old, new = interface(root), interface(other)
    check(len(old) > 1500 and len(new) > 1500, f"{len(old)} and {len(new)} names were found")
    check("H5VL_class_t" in old and "H5FD_class_t" in old and "H5Dwrite()" in old and "H5VL_CAP_FLAG_ASYNC" in old, "names")
    differ = sorted(name for name in old if old[name] != new.get(name))
    unknown = [name for name in differ if not any(re.fullmatch(k.replace("()", r"\(\)"), name) for k in KNOWN)]
    shown = "\n".join(f"{name}\n  {old[name][:800]}\n  {new.get(name, 'is not there')[:800]}" for name in unknown)
    check(not unknown, f"differences that nobody has looked at:\n{shown}")
    unused = [k for k in KNOWN if not any(re.fullmatch(k.replace("()", r"\(\)"), name) for name in differ)]
    check(not unused, f"known differences that are none: {unused}")
    say(f"{len(old)} names are compared, {len(differ)} differ, all of them known")


if __name__ == "__main__":
    run_test(test, containers=0)
