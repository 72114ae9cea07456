# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The simulation sends what MPI sends: messages and bytes of each phase are equal.

usage: counted_phases.py SCALE_SIM COUNTED_PHASES RANKS NODES MPIEXEC [OPTION...]
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from harness import run


def lines_of(command, nodes):
    environment = {**os.environ, "H5BENTO_TEST_NODES": nodes}
    return [line for line in run(command, environment, timeout=300).out.splitlines() if " ranks, " in line]


def compare(simulation, program, ranks, nodes, launcher, pattern):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        folder = os.path.realpath(folder)
        # Names are part of what is sent.
        path = os.path.join(folder, "counted.h5")
        real = lines_of([*launcher, program, path, pattern], nodes)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        path = os.path.join(os.path.realpath(folder), "counted.h5")
        simulated = lines_of([simulation, "--counts", "--ranks", ranks, "--node", "env",
                              "--pattern", pattern, "--path", path], nodes)
    wrong = [f"MPI:        {a}\nsimulation: {b}" for a, b in zip(real, simulated) if a != b]
    if wrong or len(real) != len(simulated) or len(real) < 10:
        sys.exit(f"{pattern}, {ranks} ranks on {nodes} nodes:\n" + "\n".join(wrong or [str(real), str(simulated)]))
    print(f"{pattern}, {ranks} ranks on {nodes} nodes: {len(real)} phases, equal")
    print("\n".join(real))


def main():
    simulation, program, ranks, nodes, *launcher = sys.argv[1:]
    for pattern in "slab", "irregular":
        compare(simulation, program, ranks, nodes, [*launcher, ranks], pattern)


main()
