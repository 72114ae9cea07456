#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: careful.py [CASE...]

What h5bento must not do to files: replace those of a container, or one that is being written; leave something behind after Ctrl-C; write
control characters of names to the terminal. And what it must say to scripts.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

from tool import answer, h5bento

from harness import bento_env, built, check, driver_env, mpirun, native_env, python, run, run_test, say

TWO_FILES = """
import h5py, sys
from mpi4py import MPI
for name in sys.argv[1:]:
    with h5py.File(name, "w", driver="mpio", comm=MPI.COMM_WORLD) as file:
        file.create_dataset("x", (2, 30000), "i4")[MPI.COMM_WORLD.rank] = 7
"""
HELD = """
import h5py, sys
file = h5py.File(sys.argv[1], "w")
file["precious"] = 5
file.flush()
print("written", flush=True)
sys.stdin.readline()
file["more"] = 6
file.close()
"""


def two_files(*names):
    mpirun(2, [python(), "-c", TWO_FILES, *names], bento_env(string="bento files=2"))


def one_file(*names, script="file['x'] = range(10)", env=None):
    program = f"import h5py, numpy as np, sys\nfor name in sys.argv[1:]:\n    with h5py.File(name, 'w') as file: {script}"
    run([python(), "-c", program, *names], env or bento_env())


def case_own_parts():
    """No copy takes the place of a physical file of what is copied, nor of another container of several."""
    two_files("run.h5", "other.h5")
    one_file("plain.h5", env=native_env())
    for out in ("run.h5", "run.h5.000001", "other.h5", "other.h5.000001"):
        for words in (["defrag", "-f", "run.h5", out], ["export", "-f", "run.h5", out], ["import", "-f", "plain.h5", out]):
            if words[0] == "import" and out.startswith("run"):
                continue
            h5bento(*words, ok=(1,))
    for name in ("run.h5", "other.h5"):
        h5bento("verify", name)


def case_being_written():
    """Nor of one that a program is writing: it would go on into a file without a name."""
    one_file("a.h5")
    one_file("plain.h5", env=native_env())
    for name, env in (("live.h5", bento_env()), ("native.h5", native_env())):
        process = subprocess.Popen([python(), "-c", HELD, name], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(process.stdout.readline() == "written\n", "no program")
        for words in (["defrag", "-f", "a.h5"], ["export", "-f", "a.h5"], ["import", "-f", "plain.h5"]):
            check("open for writing" in h5bento(*words, name, ok=(1,)).err, f"{words}: another reason")
        process.communicate("\n", timeout=30)
        check(process.returncode == 0, "the program failed")
    read = "import h5py, sys\nfor name in sys.argv[1:]: print(list(h5py.File(name)))"
    said = run([python(), "-c", read, "live.h5", "native.h5"], bento_env()).out.splitlines()
    check(len(said) == 2 and all("precious" in line for line in said), f"its data are gone: {said}")
    h5bento("defrag", "-f", "a.h5", "plain.h5")  # which nobody writes


def case_picture():
    """A picture takes the place of a picture only."""
    one_file("a.h5", "b.h5")
    check("no picture" in h5bento("layout", "b.h5", "--svg", "a.h5", ok=(1,)).err, "another reason")
    h5bento("verify", "a.h5")
    for _ in range(2):
        h5bento("layout", "b.h5", "--svg", "b.svg")
    with open("b.svg") as file:
        check("<svg" in file.read(), "no picture")


def case_interrupted():
    """Ctrl-C, SIGTERM and SIGHUP leave nothing."""
    one_file("big.h5", script="file.create_dataset('x', data=np.random.default_rng(1).random(20_000_000))")
    stopped = 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for words in (["defrag", "big.h5", "o.h5"], ["defrag", "big.h5"], ["export", "--format", "fti", "big.h5", "o"]):
            before = set(os.listdir())
            process = subprocess.Popen([built("bin", "h5bento"), *words], env=native_env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            end = time.monotonic() + 10
            while process.poll() is None and set(os.listdir()) == before and time.monotonic() < end:
                time.sleep(0.002)
            process.send_signal(number)
            process.wait(20)
            left = set(os.listdir()) - before
            if process.returncode == -number:
                stopped += 1
                check(not left, f"{words}: {left} is left behind")
            for name in left:
                shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
    check(stopped >= 4, f"only {stopped} of 9 were interrupted")
    h5bento("verify", "big.h5")
    say(f"{stopped} of 9 interrupted")


def case_names():
    """Control characters in names stay in the file."""
    one_file("n.h5", script=r"file['a\x1b[31mred\nx'] = np.arange(10.)")
    run([python(), "-c", r"import h5py; h5py.File('b\x1b[31m' + chr(10) + 'rank 9.h5', 'w')['x'] = 1"], driver_env("container=d.bento"))
    for words in (["ls", "n.h5"], ["steps", "n.h5"], ["info", "d.bento"], ["find", "n.h5", "a\x1b[31mno\n", "--min", "1"]):
        result = h5bento(*words, ok=None)
        check("\x1b" not in result.text and "\nx" not in result.text and "\nrank 9" not in result.text, f"{words}: {result.text!r}")


def case_scripts():
    """JSON also for wrong usage; silence when the reader goes; status 1 for a file that is missing."""
    for words in (["info"], ["info", "--bogus", "x"], ["verify", "-j", "x", "y"], ["export", "--format", "foo", "a", "b"]):
        check(answer(*words, ok=(2,))["error"]["text"], f"{words}: no reason")
    one_file("many.h5", script="[file.create_group('g%0300d' % i) for i in range(500)]")  # more than a pipe holds
    script = f"'{built('bin', 'h5bento')}' ls many.h5 | head -n 1; echo ${{PIPESTATUS[0]}}"
    result = run(["bash", "-c", script], native_env())
    check(result.out.split()[-1] == "0" and not result.err, result.text)
    for rank in (0, 1):
        config = f"container=c.bento;rank={rank};size=2;files=2;session=q"
        run([python(), "-c", f"import h5py; h5py.File('f{rank}.h5', 'w')['x'] = 1"], driver_env(config))
    h5bento("info", "c.bento")
    os.remove("c.bento.000001")
    check("problem" in h5bento("info", "c.bento", ok=(1,)).out, "a file is missing, and info does not say so")


def case_killed():
    """What only a close writes is not judged after a kill, in whatever session: nothing is damaged."""
    write = "file.create_dataset('x', data=np.arange(200000)); file['y'] = np.arange(90000); file.flush(); file['y'][...] = 5"
    again = "; ".join(f"file['x'][{at}:{at} + 50000] = {at}; file['y'][...] = {at}" for at in (0, 40000, 100000))
    names = [f"k{flushes}.h5" for flushes in (0, 1, 2)]
    one_file(*names, script=write)
    for flushes, name in enumerate(names):
        program = f"import h5py, os, signal\nfile = h5py.File('{name}', 'r+')\n{again}\n"
        program += f"for _ in range({flushes}):\n    file.flush()\n    {again}\n"
        run([python(), "-c", program + "os.kill(os.getpid(), signal.SIGKILL)"], bento_env(), ok=(-signal.SIGKILL,))
        check("not closed" in h5bento("verify", name).out, "it was closed?")
        h5bento("repair", name)
        check("not closed" not in h5bento("verify", name).out, "it was not repaired")


def case_links():
    """The files of a container lie beside the target of a symbolic link, not beside the link."""
    os.mkdir("there")
    two_files("there/run.h5")
    os.symlink("there/run.h5", "link.h5")
    for words in (["verify"], ["info"], ["ls"]):
        h5bento(*words, "link.h5")
    h5bento("export", "link.h5", "out.h5")


def case_single_elements():
    """Every second element in one step, the others in an older one that is kept: a sound file, and no question of minutes."""
    write = "d = file.create_dataset('x', (160000,), 'i4'); d[1::2] = 1; file.flush(); d[0::2] = 2"
    one_file("holes.h5", script=write, env=bento_env(string="bento keep=all"))
    check("sound" in h5bento("verify", "holes.h5").out, "not sound")


def main(names):
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("case_")}
    for name in names or cases:
        folder = f"{name}.case"
        os.mkdir(folder)
        os.chdir(folder)
        cases[name]()
        os.chdir("..")
        shutil.rmtree(folder)
        say(name)


if __name__ == "__main__":
    run_test(lambda: main(sys.argv[1:]), containers=0)
