# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: run_quick.py BUILD

bench/run in its quick form: nearly each pattern, and each kind of method, once, with every value checked. Then its results, and the plots that
it makes of them again.
"""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
SOURCE = os.environ["H5BENTO_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "bench"))
from suite.patterns import OF_NAME, QUICK


def run(*arguments):
    done = subprocess.run([os.path.join(SOURCE, "bench", "run"), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench/run: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(condition, text):
    if not condition:
        sys.exit(text)


def check_samples(groups):
    for pattern in (OF_NAME[name] for name in QUICK):
        group = groups[pattern.name]["samples"]
        check("bento" in group and len(group) >= 2, f"{pattern.name}: only {', '.join(group)}")
        check(pattern.name != "slabs" or set(group) == set(pattern.methods), f"slabs: only {', '.join(group)}")
        for name, samples in group.items():
            check(len(samples) == 1, f"{pattern.name}, {name}: {len(samples)} samples")
            for operation in pattern.operations:
                seconds = samples[0][f"{operation}_s"]
                check(seconds >= samples[0][f"{operation}_calls_s"] > 0, f"{pattern.name}, {name}: {operation} took {seconds} s")
            check(pattern.small or samples[0]["wrong"] == 0, f"{pattern.name}, {name}: values were not checked")


def main(build):
    common = ["--tmpfs", ".", "--disk", "."]
    text = run("--quick", "--build", build, *common, "--json", "bench.json", "--plots", "plots")
    with open("bench.json", encoding="utf-8") as file:
        found = json.load(file)
    check_samples({group["pattern"]: group for group in found["groups"]})
    check(found["not_measured"] == [], f"not measured: {found['not_measured']}")
    check("| slabs, 0.0625 MiB, bento files=2 " in text, f"a row is missing\n{text}")
    check(len(os.listdir("plots")) == 3, f"plots: {os.listdir('plots')}")
    for name in os.listdir("plots"):
        ElementTree.parse(os.path.join("plots", name))
    check(run("--again", "bench.json", "--build", build, *common, "--plots", "again") == text, "other tables the second time")
    check(subprocess.run(["diff", "-r", "plots", "again"], check=False).returncode == 0, "other plots the second time")


if __name__ == "__main__":
    main(sys.argv[1])
