#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of README and docs are run as they stand.

    examples.py BUILD [FILE]

Every fenced block of shell or Python is in EXAMPLES, by its file and its first line, with what it needs around it, or in
NOT_RUN with the reason; one that is in neither, and an entry without a block, is a failure. A block of a shell session
runs its lines behind `$ `; what it prints must be what stands there, numbers aside, where the entry says so.

The blocks run in a copy of what the checkout looks like to its user (`scripts/`, `examples/`, `build/`), in which
`~/h5bento` is the checkout.
"""

import glob
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
SHELL, PYTHON = ("sh", "bash", "shell", "console"), ("python", "py", "pycon")
INERT = ("json", "cmake", "c", "{toctree}", "{doxygenfile}")


@dataclass
class Example:
    before: str = ""  # shell, in the same folder
    after: str = ""  # shell, which must succeed; in the same shell as a block of shell
    status: int = 0  # of the last command
    same_output: bool = False
    same_folder: bool = False  # as the block before in this file
    instead: dict = field(default_factory=dict)  # what stands there: what is run


PARTICLES = "head -c 4 particles.h5 | grep -q sion"
READ_PLAIN = "env -u PYTHONPATH $H5BENTO_PYTHON_NATIVE -c 'import h5py; assert list(h5py.File(\"run.h5\")[\"x\"]) == list(range(10))'"
FIVE_LINES = Example(after=f"head -c 4 run.h5 | grep -q sion; {READ_PLAIN}")
RUN = "python3 -B $PREPARE run.h5"
TOOL = Example(before=RUN)

EXAMPLES = {
    "README.md: import h5bento": FIVE_LINES,
    'README.md: $ eval "$(scripts/env)" && export HDF5_VOL_CONNECTOR=bento': Example(same_output=True),
    'examples/README.md: eval "$(scripts/env)"': Example(after=PARTICLES),
    "examples/README.md: h5pcc examples/particles.c -o particles": Example(
        after="for program in particles heat; do LD_LIBRARY_PATH=$HDF5_ROOT/lib ./$program --help; done"
    ),
    "docs/python.md: import h5bento": FIVE_LINES,
    "docs/python.md: import h5bento (2)": Example(same_folder=True, after="grep -q True output"),
    "docs/readers/h5py.md: import h5bento": FIVE_LINES,
    "docs/readers/hdf5-code.md: export HDF5_PLUGIN_PATH=~/h5bento/build/plugins": Example(
        after="h5bento check; build/examples/particles particles.h5; " + PARTICLES
    ),
    "docs/usage.md: export HDF5_PLUGIN_PATH=~/h5bento/build/plugins": Example(after=PARTICLES),
    "docs/usage.md: export HDF5_VOL_CONNECTOR='bento cache=/dev/shm/me;flush=async;bw=200M'": Example(
        before="mkdir cache project; printf '#!/bin/sh\\nexec build/examples/particles \"$1\"\\n' >program; chmod +x program",
        after="head -c 4 project/out.h5 | grep -q sion; h5bento verify project/out.h5",
        instead={
            "export HDF5": "export HDF5_PLUGIN_PATH=build/plugins HDF5",
            "'bento cache=/dev/shm/me;flush=async;bw=200M'": '"bento cache=$PWD/cache;flush=async;bw=200M"',
            "/project/run/": "project/",
            "-n 64 program": "-n 4 ./program",
        },
    ),
    "docs/vfd.md: export HDF5_PLUGIN_PATH=~/h5bento/build/plugins": Example(
        before="cp $CHECKPOINT checkpoint", after="test -e ckpt.bento -a ! -e ckpt.0003.h5"
    ),
    "docs/vfd.md: h5bento view build ckpt.bento": Example(same_folder=True),
    "docs/tools.md: $ h5bento info run.h5": TOOL,
    "docs/tools.md: $ h5bento ls -l run.h5": Example(before=RUN, same_output=True),
    "docs/tools.md: $ h5bento steps run.h5": Example(before=RUN, same_output=True),
    "docs/tools.md: $ h5bento layout run.h5": TOOL,
    "docs/tools.md: $ h5bento layout run.h5 (2)": TOOL,
    "docs/tools.md: $ h5bento find find.h5 /energy --min 12.5 --max 14": Example(before="python3 -B $PREPARE find.h5", same_output=True),
    "docs/tools.md: $ h5bento verify run.h5": Example(before="python3 -B $PREPARE run.h5 damaged.h5", status=1),
    "docs/tools.md: $ h5bento repair torn.h5": Example(before="python3 -B $PREPARE torn.h5"),
    "docs/tools.md: $ h5bento view status run.h5": Example(before="python3 -B $PREPARE run.h5 edited.h5", instead={"status edited.h5": "status edited.h5 || test $? = 1"}),
    "docs/tools.md: $ h5bento check": Example(before="unset HDF5_VOL_CONNECTOR HDF5_DRIVER", status=1),
}

NOT_RUN = {
    "README.md: pip install h5py dist/h5bento-*.whl": "needs PyPI and minutes to build the wheel: the test python_wheel does it",
    "README.md: scripts/demo": "builds everything: the test demo runs the first, without its build, and this is a test of the second",
    "docs/readers/developer.md: scripts/bootstrap --dev": "builds everything: .ci/run begins with these two",
    "docs/transfer.md: h5bento transfer submit /local/box.h5 /project/run/ --bw 50M": "alternatives, and FILE in place of a name; "
    "the tests of tests/transfer run each of them",
}


def blocks():
    """{name: (language, text)}, in order."""
    found, count = {}, {}
    names = ["README.md", "examples/README.md"] + sorted(
        os.path.relpath(path, SOURCE) for path in glob.glob(os.path.join(SOURCE, "docs", "**", "*.md"), recursive=True)
    )
    for name in names:
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            text = file.read()
        for _, language, body in FENCE.findall(text):
            language = language.strip().split(" ")[0]
            session = body.lstrip().startswith("$ ")
            if language in INERT or (not language and not session):
                continue
            if language and language not in SHELL + PYTHON:
                sys.exit(f"{name}: a block of '{language}', which this test does not know")
            first = re.split(r" {2,}", body.strip().split("\n")[0])[0]
            key = f"{name}: {first}"
            count[key] = count.get(key, 0) + 1
            found[key if count[key] == 1 else f"{key} ({count[key]})"] = (language or "console", body)
    return found


def plain(text):
    """A text without what differs from run to run: numbers with their units, and the width of blanks before them."""
    text = re.sub(r"\b(B|KiB|MiB|GiB|TiB)\b", "B", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"\d[\d.,]*", "N", text)).strip()


def environment(build, home):
    env = {k: v for k, v in os.environ.items() if not k.startswith("H5BENTO_") or k.startswith(("H5BENTO_PYTHON", "H5BENTO_MPI", "H5BENTO_DEPS"))}
    env.pop("HDF5_PLUGIN_PATH", None)
    here = os.path.dirname(os.path.abspath(__file__))
    # The bootstrap's folder, which HOME would lead elsewhere.
    cache = os.path.dirname(os.path.dirname(os.path.dirname(os.environ["H5BENTO_PYTHON_NATIVE"])))
    if env.get("H5BENTO_MPI", "openmpi") != "openmpi":
        cache = os.path.dirname(cache)  # scripts/env goes below it again
    env.setdefault("H5BENTO_DEPS", cache)
    env.update(
        HOME=home,
        PATH=f"{build}/bin:{env['PATH']}",
        PYTHONPATH=os.path.join(SOURCE, "python"),
        PYTHONDONTWRITEBYTECODE="1",
        H5BENTO_BUILD=build,
        H5BENTO_TRANSFER_FILE=os.path.join(home, "transfer.scrinfo"),  # a daemon of our own
        H5BENTO_WHEEL_PLUGINS=os.path.join(build, "plugins-serial"),
        H5BENTO_LIBRARY=os.path.join(build, "lib", "libh5bento.so"),
        PREPARE=os.path.join(here, "prepare.py"),
        CHECKPOINT=os.path.join(here, "checkpoint"),
        COLUMNS="80",
    )
    return env


def checkout(folder, build):
    os.makedirs(folder)
    for name in ("scripts", "examples", "python"):
        os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))
    os.symlink(build, os.path.join(folder, "build"))


def commands(body, language):
    """The shell's lines of a block, and what a session prints."""
    if language in PYTHON:
        return None, ""
    lines = body.strip("\n").split("\n")
    if not lines[0].startswith("$ "):
        return "\n".join(lines), ""
    typed = "\n".join(line[2:] for line in lines if line.startswith("$ "))
    return typed, "\n".join(line for line in lines if not line.startswith("$ "))


def shell(text, env, folder):
    # `head` may go before the command in front of it has said all.
    text = re.sub(r"(^|; *|&& *)([^|;&\n]+) \| head\b", r"\1{ \2 || [[ $? == 141 ]]; } | head", text, flags=re.M)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text], env=env, cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout


def copy_prepared(env, folder):
    """What RUN makes, which takes longer than most of what is done with it, is made once."""
    prepared = os.path.abspath("prepared")
    if not os.path.exists(prepared):
        os.makedirs(prepared)
        status, said = shell(RUN, env, prepared)
        if status != 0:
            return f"what it needs cannot be made: exit status {status}\n{said[-2000:]}"
    subprocess.run(["cp", "-a", "--sparse=always", f"{prepared}/.", folder], check=True)
    return None


def run(name, example, language, body, env, folder):
    """What is wrong with it; None if nothing is."""
    typed, printed = commands(body, language)
    if typed is None:
        with open(os.path.join(folder, "block.py"), "w", encoding="utf-8") as file:
            file.write(body)
        typed = "$H5BENTO_PYTHON_NATIVE block.py >output"
    for there, instead in example.instead.items():
        if there not in typed:
            return f"there is no '{there}' in it"
        typed = typed.replace(there, instead)
    if example.before == RUN:
        why = copy_prepared(env, folder)
        if why:
            return why
    elif example.before:
        status, said = shell(example.before, env, folder)
        if status != 0:
            return f"what it needs cannot be made: exit status {status}\n{said[-2000:]}"
    if example.after:
        typed = f"{typed}\n{{ {example.after}\n}} >after.log 2>&1 || {{ cat after.log; exit 99; }}"
    status, said = shell(typed, env, folder)
    if status != example.status:
        return f"exit status {status}, not {example.status}\n{said[-2000:]}"
    if example.same_output and plain(said) != plain(printed):
        return f"it prints\n{said}and not\n{printed}"
    return None


def end_daemons(transfer_file):
    """Those that an example has started, and that wait a minute for more work."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if transfer_file.encode() in file.read().split(b"\0"):
                    os.kill(int(path.split("/")[2]), signal.SIGTERM)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass


def main(build, only=None):
    found = blocks()
    wrong = [f"{name}\n  is neither run nor listed with a reason" for name in found if name not in EXAMPLES and name not in NOT_RUN]
    wrong += [f"{name}\n  is in the list of this test, but in no document" for name in {**EXAMPLES, **NOT_RUN} if name not in found]
    env = environment(build, os.path.abspath("home"))
    checkout(os.path.join("home", "h5bento"), build)
    folder, count = "", 0
    for name, (language, body) in found.items():
        example = EXAMPLES.get(name)
        if example is None or (only and not name.startswith(only)):
            continue
        if not example.same_folder:
            folder = os.path.abspath(f"block{count}")
            checkout(folder, build)
        count += 1
        why = run(name, example, language, body, env, folder)
        print("FAILED" if why else "ok    ", name, flush=True)
        if why:
            wrong.append(f"{name}\n  {why}")
    end_daemons(env["H5BENTO_TRANSFER_FILE"])
    print(*wrong, f"{count} examples run, {len(NOT_RUN)} not, {len(wrong)} wrong", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), *sys.argv[2:])
