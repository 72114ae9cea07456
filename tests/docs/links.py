#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Every relative link and picture in a Markdown file of the sources leads to a file or folder that is there, and to a
heading of it that GitHub would name so. (scripts/docs checks those in docs/ as well, by Sphinx's rules.)"""

import functools
import os
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(path):
    """The text without code, in which brackets mean other things."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^( *)```.*?^\1```", "", file.read(), flags=re.DOTALL | re.MULTILINE)
    return text


@functools.lru_cache(maxsize=None)
def anchors(path):
    """The names of the headings."""
    found, seen = set(), {}
    for line in re.findall(r"^#+ +(.*)$", prose(path), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen[name] = seen.get(name, -1) + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def main():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard", "*.md"], stdout=subprocess.PIPE, text=True)
    names = listed.stdout.split()
    if len(names) < 15:
        sys.exit(f"git knows {len(names)} Markdown files only: {names}")
    links = 0
    wrong = []
    for name in names:
        path = os.path.join(SOURCE, name)
        for target in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(path))):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            file, _, anchor = target.partition("#")
            place = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(place):
                wrong.append(f"{name}: {target}: there is no {os.path.relpath(place, SOURCE)}")
            elif anchor and place.endswith(".md") and anchor not in anchors(place):
                wrong.append(f"{name}: {target}: no heading is called so")
    print(*wrong, f"{links} links in {len(names)} files, {len(wrong)} lead nowhere", sep="\n")
    sys.exit(bool(wrong) or links < 100)


if __name__ == "__main__":
    main()
