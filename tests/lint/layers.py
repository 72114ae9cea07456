#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: layers.py CHECKOUT

Holds every #include against the table "Folders, and which may include which" of docs/architecture.md: a folder may
include itself, what its row names, and nothing else of the project. `HDF5` and `MPI` in a row are their headers.
A permission that nothing uses is an error too, so the table says what is. And a source includes the header of its own
name first, so that its compilation shows whether the header includes all that it needs.

exit status: 0 clean; 1 something found (file:line: reason)
"""

import os
import re
import sys

SOURCES = (".cpp", ".hpp", ".c", ".h", ".inc")
OUTSIDE = {"HDF5": re.compile(r"(H5[A-Za-z]*|hdf5(_hl)?)\.h$"), "MPI": re.compile(r"(^|/)mpi\.h$")}


def read_table(path):
    """{folder: folders that it may include}"""
    table = {}
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for line in text[text.index("## Folders, and which may include which") :].splitlines()[1:]:
        if line.startswith("## "):
            break
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3:
            table[cells[0].strip("`/")] = {name.strip("`/") for name in re.findall(r"`[^`]+`|\b(?:HDF5|MPI)\b", cells[2])}
    return table


def folder_of(path, folders):
    """The longest folder of the table that holds the path."""
    found = [folder for folder in folders if path.startswith(folder + "/")]
    return max(found, key=len, default=None)


def parts_of(name, folders):
    """What an included name stands for in the table; None if it is nothing of the project's."""
    for outside, pattern in OUTSIDE.items():
        if pattern.search(name):
            return outside
    return folder_of(name, folders) if "/" in name else None


def main(root):
    os.chdir(root)
    table = read_table("docs/architecture.md")
    found, used = [], {folder: set() for folder in table}
    tops = {folder.split("/")[0] for folder in table}
    for top in sorted(tops):
        for place, _, names in os.walk(top):
            for path in sorted(os.path.join(place, name) for name in names if name.endswith(SOURCES)):
                here = folder_of(path, table)
                if here is None:
                    found.append(f"{path}:1: its folder is not in the table of docs/architecture.md")
                    continue
                header, first = path[: -len(".cpp")] + ".hpp", True
                with open(path, encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
                        if match and first and path.endswith(".cpp") and os.path.exists(header) and match[1] != header:
                            found.append(f"{path}:{number}: the first header that it includes is not its own, {header}")
                        first = first and not match
                        there = parts_of(match[1], table) if match else None
                        if there in (None, here):
                            continue
                        used[here].add(there)
                        if there not in table[here]:
                            found.append(f"{path}:{number}: {here} may not include {there} ({match[1]})")
    for folder, allowed in table.items():
        for name in sorted(allowed - used[folder]):
            found.append(f"docs/architecture.md:1: {folder} may include {name}, but does not")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
