#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The real SIONlib and the real FTI judge containers, streams and exports.

    judges.py sion | fti11 | fti16

Each is found by an environment variable that names where it is installed: H5BENTO_JUDGE_SIONLIB, H5BENTO_JUDGE_FTI11,
H5BENTO_JUDGE_FTI16. Without it the test is skipped.
"""

import array
import glob
import os
import re
import shutil
import struct
import sys

import harness
from harness import HERE, Skip, bento_env, built, check, mpirun, native_env, python, run, run_test, say, some

BIG = 300000  # doubles of a rank: more than one chunk of 1 MiB
SMALL = 3000  # in a record below 64 KiB
# One program has all sessions of all files, each with variables in the place of settings in its string.
SETTINGS = """
import os
def settle(settings):
    for name in [name for name in os.environ if name in settle.given]:
        del os.environ[name]
    pairs = [pair.split("=") for pair in settings.split(";") if pair]
    settle.given = {"H5BENTO_" + key.upper(): value for key, value in pairs}
    os.environ.update(settle.given)
settle.given = {}
"""
# path, settings, mode, how many of the ranks: "w", "r+", or "add", which is for more ranks than before.
WRITE = SETTINGS + """
import sys, h5py, numpy as np
from mpi4py import MPI
world, big = MPI.COMM_WORLD, int(sys.argv[1])
def write(comm, path, mode):
    with h5py.File(path, "w" if mode == "w" else "r+", driver="mpio", comm=comm) as f:
        if mode == "add":
            f.create_dataset("more", (comm.size, 200000), "f8")[comm.rank] = np.arange(200000) * comm.rank
            return
        if mode == "w":
            f.create_dataset("big", (comm.size, big), "f8")
            f.create_dataset("small", (comm.size, 7), "i4")
        base = f["big"].shape[0] if mode == "w" else 100
        for turn in range(2):
            f["big"][comm.rank] = np.arange(big) * (comm.rank + 1) + turn + base
            f["small"][comm.rank] = np.arange(7) + 10 * comm.rank
            f.flush()
for path, settings, mode, ranks in zip(*(sys.argv[at::4] for at in range(2, 6))):
    settle(settings)
    comm = world.Split(0 if world.rank < int(ranks) else MPI.UNDEFINED)
    if world.rank < int(ranks):
        write(comm, path, mode)
    world.Barrier()
"""


def judge(name):
    variable = f"H5BENTO_JUDGE_{name}"
    path = os.environ.get(variable, "")
    if not path:
        raise Skip(f"{variable} does not say where it is installed")
    check(os.path.isdir(path), f"{variable}={path}: no such folder")
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def compile_c(source, output, *options):
    run(["mpicc", "-w", "-O1", "-o", output, os.path.join(HERE, source), *options], native_env())
    return os.path.abspath(output)


# ---- SIONlib ----


def sion_tool(tools, name, *arguments):
    """Its exit status is 0 whatever it finds; an error is in what it prints."""
    result = run([os.path.join(tools, name), *arguments], native_env())
    check("SION_ERROR" not in result.text and "abort" not in result.text, f"{name}: {result.tail()}")
    return result.out


def check_with_sionlib(place, reader, path, ranks):
    import check_sion

    report = check_sion.check_container(path, bento=True)
    check(not report.problems, f"{path}: {report.problems[:3]}")
    container = report.container
    tasks, streams = len(container.tasks), [container.stream(task) for task in range(len(container.tasks))]
    tools = os.path.join(place, "bin")
    # What siondump prints is rounded, and the number of tasks is not.
    dump = sion_tool(tools, "siondump", "-a", path)
    check(re.search(rf"number of tasks: +{tasks}\b", dump), f"siondump does not say {tasks} tasks:\n{dump[:2000]}")
    sion_tool(tools, "sionsplit", path, f"{path}.split")
    for task, stream in enumerate(streams):
        check(read(f"{path}.split{task:05}") == stream, f"{path}: sionsplit gets another stream of task {task}")
    sion_tool(tools, "siondefrag", "-q", "1", path, f"{path}.sion")
    defragmented = check_sion.check_container(f"{path}.sion")
    check(not defragmented.problems, f"siondefrag of {path}: {defragmented.problems[:3]}")
    check(
        [defragmented.container.stream(task) for task in range(tasks)] == streams,
        f"{path}: siondefrag changes a stream",
    )
    # In one file the last task, our catalogue, need not be opened.
    for number in {tasks, tasks - 1} if len(container.files) == 1 else {tasks}:
        result = mpirun(number, [reader, path, f"{path}.read"], native_env(), ok=None)
        check(result.status == 0 and "SION_ERROR" not in result.text, f"{number} ranks of SIONlib: {result.tail()}")
        for rank in range(number):
            check(read(f"{path}.read.{rank}") == streams[rank], f"{path}: rank {rank} of SIONlib gets another stream")
    say(f"{path}: {tasks} tasks in {len(container.files)} files, {sum(map(len, streams))} bytes: equal, written by {ranks}")
    container.close()
    defragmented.container.close()
    for name in glob.glob(f"{path}.split*") + glob.glob(f"{path}.read*") + [f"{path}.sion"]:
        os.remove(name)


def sion():
    place = judge("SIONLIB")
    options = run([os.path.join(place, "bin", "sionconfig"), "--libs", "--mpi", "--be"], native_env()).out.split()
    flags = run([os.path.join(place, "bin", "sionconfig"), "--cflags", "--mpi", "--be"], native_env()).out.split()
    reader = compile_c("judge_sion.c", "reader", *flags, *options)
    cases = ("chunk=1M", "chunk=1M;files=2", "chunk=1M;files=3;checksum=md5;align=1")
    sessions = [("once.h5", cases[0], "w", "3")]
    for number, settings in enumerate(cases):
        sessions += [(f"{number}.h5", settings, "w", "3"), (f"{number}.h5", settings, "r+", "2")]
    sessions += [("many.h5", "chunk=1M;files=3", "w", "3"), ("many.h5", "", "add", "4")]
    mpirun(4, [python(), "-c", WRITE, BIG, *(word for session in sessions for word in session)], bento_env())
    check_with_sionlib(place, reader, "once.h5", "3 ranks")
    for number in range(len(cases)):
        check_with_sionlib(place, reader, f"{number}.h5", "3 and then 2 ranks")
    # All writers as tasks of one file, those of ranks that came later among them.
    tool = [built("bin", "h5bento"), "transfer"]
    if os.path.exists(tool[0]):
        run([*tool, "submit", "many.h5", "one.h5", "--arrive", "onefile", "--no-start", "--file", "t"], native_env())
        run([*tool, "run", "--until-done", "--no-scr", "--file", "t"], native_env())
        check_with_sionlib(place, reader, "one.h5", "3 and then 4 ranks, in one file")


# ---- FTI ----

RANKS = 2
# From what was written here, and from what it made of that, once or twice.
CHECKPOINTS = (2, 3, 4) if os.environ.get("H5BENTO_TEST_ALL") else (2, 3)
NEXT = bytes(range(1, 256)) + b"\0"  # what the application makes of a byte between two checkpoints
CONFIG = """[Basic]
head = 0
node_size = 1
ckpt_dir = ./Local
glbl_dir = ./Global
meta_dir = ./Meta
ckpt_l1 = 0
ckpt_l2 = 0
ckpt_l3 = 0
ckpt_l4 = 0
inline_l2 = 1
inline_l3 = 1
inline_l4 = 1
keep_last_ckpt = 0
group_size = 2
max_sync_intv = 0
ckpt_io = 3
verbosity = 1
[Restart]
failure = 0
exec_id = NULL
[Injection]
rank = 0
number = 0
position = 0
frequency = 0
[Advanced]
block_size = 1024
transfer_size = 16
mpi_tag = 2612
general_tag = 2612
ckpt_tag = 711
stage_tag = 406
final_tag = 3107
lustre_striping_unit = 4194304
lustre_striping_factor = -1
lustre_striping_offset = -1
local_test = 1
"""


class Application:
    """An application of FTI in a folder of its own; every run of it adds 1 to each byte, takes a checkpoint and dies."""

    def __init__(self, program, folder, variables):
        """variables: for each rank, {id: bytes} in the order in which they are protected."""
        self.program, self.folder, self.variables = program, folder, variables
        for name in ("Local", "Global", "Meta"):
            os.makedirs(os.path.join(folder, name))
        with open(os.path.join(folder, "config.fti"), "w") as file:
            file.write(CONFIG)
        for rank, values in enumerate(variables):
            with open(os.path.join(folder, f"variables.{rank}"), "w") as file:
                file.writelines(f"{number} {len(value)}\n" for number, value in values.items())

    def run(self, checkpoint):
        """Returns what FTI said, and what each rank had in its variables; nothing of these if FTI_Init failed."""
        command = [self.program, "config.fti", "variables", "out", str(checkpoint)]
        result = mpirun(RANKS, command, native_env(), ok=None, cwd=self.folder)
        check(result.status in (2, 7), f"{self.folder}: exit status {result.status}\n{result.tail()}")
        if result.status == 2:
            return result.text, []
        answers = []
        for rank in range(RANKS):
            line, _, data = read(os.path.join(self.folder, f"out.{rank}")).partition(b"\n")
            answers.append((int(line.split()[1]), data))
        return result.text, answers

    def replace(self, files):
        """Puts files[rank] in the place of the checkpoint that the last run took."""
        for rank in range(RANKS):
            found = glob.glob(os.path.join(self.folder, "Local", "**", f"Ckpt*-Rank{rank}.fti"), recursive=True)
            check(len(found) == 1, f"{self.folder}: checkpoints of rank {rank}: {found}")
            shutil.copyfile(files[rank], found[0])

    def expect(self, checkpoint, what):
        text, answers = self.run(checkpoint)
        check(len(answers) == RANKS, f"{what}: FTI_Init failed\n{text[-2000:]}")
        for rank, (recovered, data) in enumerate(answers):
            check(recovered == 0, f"{what}: FTI_Recover returned {recovered} on rank {rank}\n{text[-2000:]}")
            wanted = b"".join(self.variables[rank].values())
            check(data == wanted, f"{what}: rank {rank} recovered something else")
            self.variables[rank] = {number: value.translate(NEXT) for number, value in self.variables[rank].items()}


# kind, sessions, settings: also what FTI cannot restart from as it lies. How the pieces are put together is the same for both
# versions, so the last ones are only 1.1's.
EXPORT_CASES = (
    ("twice", 3, "chunk=1M;checksum=md5"),
    ("patched", 1, "chunk=8M"),
    ("filter", 1, "chunk=8M"),
    ("empty", 1, "chunk=8M"),
    ("twice", 1, "chunk=1M"),
    ("reversed", 1, "chunk=1M;checksum=md5"),
)


def exports(version, program):
    form = {"1.1": "fti", "1.6": "fti16"}[version]
    cases = EXPORT_CASES if version == "1.1" else some(4, EXPORT_CASES)
    write_streams([(f"{number}-{form}.h5", settings, kind, sessions, BIG) for number, (kind, sessions, settings) in enumerate(cases)])
    for number, (kind, sessions, settings) in enumerate(cases):
        path, folder, what = f"{number}-{form}.h5", f"{number}-{form}", f"{kind}, {sessions} sessions, {settings}"
        take_streams(path)
        run([built("bin", "h5bento"), "export", path, f"{folder}-files", "--format", form], native_env())
        variables = [streamed(kind, sessions, rank, BIG) for rank in range(RANKS)]
        application = Application(program, folder, variables)
        application.run(1)
        application.replace([os.path.join(f"{folder}-files", f"Ckpt1-Rank{rank}.fti") for rank in range(RANKS)])
        for checkpoint in CHECKPOINTS:
            application.expect(checkpoint, f"export of {what}")
        say(f"FTI {version} restarts from the export of {what}, and from what it made of it")


# How streams come about that FTI shall judge; argv: path, settings, kind, number of sessions, elements of a rank.
STREAMS = SETTINGS + """
import sys, h5py, numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
mine = slice(comm.rank, comm.rank + 1)
def write(f, kind, session, big):
    turns = {"once": 1, "thrice": 3}.get(kind, 2)
    if not session:
        extra = dict(chunks=(1, big), compression="gzip") if kind == "filter" else {}
        f.create_dataset("big", (comm.size, big), "f8", **extra)
        f.create_dataset("small", (comm.size, 7), "i4")
    for turn in range(turns):
        values = np.arange(big) * (comm.rank + 1) + 10 * session + turn
        half = big // 2
        if kind == "filter":
            with f["big"].collective:
                f["big"][mine] = values
        elif kind in ("reversed", "halves"):
            for part in (slice(half, None), slice(half))[:: 1 if kind == "reversed" else -1]:
                f["big"][comm.rank, part] = values[part]
        elif kind == "patched" and turn:
            f["big"][comm.rank, 5000:5100] = values[5000:5100]
        else:
            f["big"][comm.rank] = values
        if kind != "empty" or comm.rank == 0:
            f["small"][comm.rank] = np.arange(7) + 10 * comm.rank + session
        f.flush()
for path, settings, kind, sessions, big in zip(*(sys.argv[at::5] for at in range(1, 6))):
    settle(settings)
    for session in range(int(sessions)):
        with h5py.File(path, "r+" if session else "w", driver="mpio", comm=comm) as f:
            write(f, kind, session, int(big))
"""


def streamed(kind, sessions, rank, big):
    """What rank `rank` of STREAMS has written last, as the bytes of its variables 0 and 1."""
    turn = {"once": 0, "thrice": 2}.get(kind, 1)
    last = 10 * (sessions - 1) + turn
    values = array.array("d", range(last, last + big * (rank + 1), rank + 1))
    if kind == "patched":
        before = array.array("d", range(last - 1, last - 1 + big * (rank + 1), rank + 1))
        values = before[:5000] + values[5000:5100] + before[5100:]
    small = [] if kind == "empty" and rank else [value + 10 * rank + sessions - 1 for value in range(7)]
    return {0: values.tobytes(), 1: struct.pack(f"<{len(small)}i", *small)}


def write_streams(cases):
    """path, settings, kind, sessions, elements of a rank"""
    mpirun(RANKS, [python(), "-c", STREAMS, *(word for case in cases for word in case)], bento_env(), timeout=120)


def take_streams(path):
    """Takes the streams out of a container, and returns of each whether its gate is open."""
    import check_fti
    import check_sion

    report = check_sion.check_container(path, bento=True)
    gates = []
    for rank in range(RANKS):
        stream = report.container.stream(rank)
        with open(f"{path}.stream.{rank}", "wb") as file:
            file.write(stream)
        checked = check_fti.check_stream(stream)
        check(checked.ok, f"{path}: stream of rank {rank}: {checked.problems[:3]}")
        gates.append(checked.gate == "open")
    report.container.close()
    return gates


def restart(program, folder, variables, path):
    application = Application(program, folder, variables)
    application.run(1)
    application.replace([f"{path}.stream.{rank}" for rank in range(RANKS)])
    return application


# kind, sessions, settings, elements of a rank: and from which ranks' streams FTI restarts.
STREAM_CASES = (
    ("once", 1, "chunk=1M", BIG, (True, True)),
    ("twice", 3, "chunk=8M", BIG, (True, True)),
    # Behind data of more than 1 MiB lie the hashes of its parts; but the first turn's data is one piece, and dead.
    ("halves", 1, "chunk=8M", BIG, (True, True)),
    ("patched", 1, "chunk=8M", BIG, (False, False)),
    ("filter", 1, "chunk=8M", BIG, (False, False)),
    ("empty", 1, "chunk=8M", BIG, (True, False)),
    # Only in the tier long.
    ("once", 1, "chunk=8M", BIG, (True, True)),
    ("once", 1, "", SMALL, (True, True)),
    ("twice", 1, "chunk=1M", BIG, (True, True)),
    ("twice", 1, "chunk=8M", BIG, (True, True)),
    ("thrice", 1, "chunk=8M", BIG, (True, True)),
    ("halves", 1, "chunk=8M", BIG // 2, (True, True)),
    ("reversed", 1, "chunk=8M", BIG // 2, (False, False)),
)


def streams(program):
    """The streams of a container with checksum=md5 are FTI-FF 1.1 files, from which FTI goes on, or which it refuses."""
    chosen = some(6, STREAM_CASES)
    cases = [(f"{number}.h5", f"checksum=md5;{settings}", kind, sessions, big) for number, (kind, sessions, settings, big, _) in enumerate(chosen)]
    kind, sessions, settings, big, _ = chosen[0]
    write_streams([*cases, ("xxh3.h5", f"checksum=xxh3;{settings}", kind, sessions, big)])
    for number, (kind, sessions, settings, big, wanted) in enumerate(chosen):
        path, what = f"{number}.h5", f"{kind}, {sessions} sessions, {settings or 'chunk as it comes'}, {big} elements"
        gates = take_streams(path)
        check(tuple(gates) == wanted, f"{what}: FTI may restart from the streams of {gates}, want {wanted}")
        variables = [streamed(kind, sessions, rank, big) for rank in range(RANKS)]
        application = restart(program, f"streams-{number}", variables, path)
        if all(wanted):
            for checkpoint in CHECKPOINTS:
                application.expect(checkpoint, f"streams of {what}")
            say(f"FTI 1.1 restarts from the streams of {what}, and from what it made of them")
        else:
            text, answers = application.run(2)
            check("do not match" not in text, f"{what}: FTI does not take it for a file of its own\n{text[-2000:]}")
            for rank, (recovered, data) in enumerate(answers):
                right = data == b"".join(variables[rank].values())
                check((recovered == 0) == wanted[rank], f"{what}: FTI_Recover returned {recovered} on rank {rank}")
                check(right if wanted[rank] else not any(data), f"{what}: rank {rank} has other data")
            say(f"FTI 1.1 restarts from {what}: {wanted}")

    # Of a stream with one bit changed it does not: else it would have judged nothing. Nor with other hashes.
    kind, sessions, settings, big, _ = chosen[0]
    for path in ("damaged.h5", "xxh3.h5"):
        if path == "xxh3.h5":
            take_streams(path)
        else:
            shutil.copy("0.h5.stream.0", f"{path}.stream.0")
            data = bytearray(read("0.h5.stream.1"))
            data[len(data) // 2] ^= 1
            with open(f"{path}.stream.1", "wb") as file:
                file.write(data)
        variables = [streamed(kind, sessions, rank, big) for rank in range(RANKS)]
        text, answers = restart(program, f"folder-{path}", variables, path).run(2)
        check("Checksum do not match" in text, f"FTI accepts the streams of {path}\n{text[-2000:]}")
        check(not any(recovered == 0 for recovered, _ in answers), f"FTI recovers from the streams of {path}")
    say("FTI 1.1 refuses a stream with a bit changed, and streams with other hashes than MD5")


def fti(name, version):
    place = judge(name)
    library = os.path.join(place, "lib")
    program = compile_c(
        "judge_fti.c",
        "application",
        f"-I{place}/include",
        f"-L{library}",
        f"-Wl,-rpath,{library}",
        "-fcommon",
        "-lfti",
        "-lcrypto",
        "-lm",
    )
    exports(version, program)
    if version == "1.1":
        streams(program)


def main(which):
    if harness.REHEARSAL:
        raise Skip("native files are no containers")
    {"sion": sion, "fti11": lambda: fti("FTI11", "1.1"), "fti16": lambda: fti("FTI16", "1.6")}[which]()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, sys.argv[1], containers=3 if sys.argv[1] == "sion" else 2)
