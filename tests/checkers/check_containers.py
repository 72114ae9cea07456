#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every closed container below a folder with the independent checkers: its physical files as SION, each
writer's stream as FTI-FF, and all of it as SIONlib's MPI reader would see it.

    check_containers.py [--unfinished] [--unhashed] FOLDER...

A container whose META1 has no pointer to META2 was not closed (its program was killed, or is running): it cannot be
judged, which is wrong unless --unfinished says that it was to be expected. So it is with records that have no hash, which
only `checksum=none` may leave behind (--unhashed). Nothing in here knows how the connector writes, but for what
check_identity.py holds of its files.
"""
import collections
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_fti  # noqa: E402
import check_identity  # noqa: E402
import check_sion  # noqa: E402
import sion_mpi_reader  # noqa: E402

LARGEST_STREAM = 256 << 20  # bytes that are taken into memory for the walk along a stream

# unfinished: containers that were not closed; unhashed: streams that have records without a hash. Both as lines of text.
# largest: bytes of the largest record that is still live.
Result = collections.namedtuple("Result", "containers streams unfinished unhashed problems largest")


def is_master(path):
    """A SION file that is not one of the further physical files of another."""
    if re.search(r"\.\d{6,}$", path) and os.path.exists(re.sub(r"\.\d{6,}$", "", path)):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"sion"


def is_closed(path):
    with open(path, "rb") as file:
        head = file.read(28)
        if len(head) < 28:
            return False
        tasks = struct.unpack_from("<i", head, 24)[0]
        file.seek(1076 + 16 * tasks + 4)
        pointer = file.read(8)
    return len(pointer) == 8 and pointer != b"\0" * 8


def check_streams(report):
    """(streams checked, problems, streams with records that have no hash, largest record); the last task of each file is the
    catalogue."""
    checked, problems, unhashed, largest = 0, [], [], 0
    root = check_identity.newest_root(report.container.files[0])
    for number, task in enumerate(report.container.tasks):
        file = report.container.files[task.file]
        if task.local == file.ntasks - 1 or not 0 < sum(task.sizes) <= LARGEST_STREAM:
            continue
        walk = check_fti.check_stream(report.container.stream(number), newest=root and root.step)
        checked += 1
        largest = max(largest, walk.largest)
        where = f"{file.path}: stream of task {task.local}"
        problems += [f"{where} at byte {offset}: {text}" for offset, text in walk.problems]
        if walk.unhashed:
            unhashed.append(f"{where}: {walk.unhashed} records without a hash")
    return checked, problems, unhashed, largest


def check_mpi_reader(report):
    """SIONlib's MPI reader gets the same streams; in one file with as many ranks as wrote, task r by rank r."""
    container = report.container
    if sum(os.path.getsize(file.path) for file in container.files) > LARGEST_STREAM:
        return []
    tasks = len(container.tasks)
    ranks = tasks if len(container.files) > 1 else tasks - 1
    try:
        streams = sion_mpi_reader.read(report.path, ranks)
    except sion_mpi_reader.NotReadable as error:
        return [str(error)]
    return [f"{report.path}: SIONlib's MPI reader gets another stream of task {task} than is there"
            for task, stream in enumerate(streams) if stream != container.stream(task)]


def check_folder(folder):
    containers = streams = largest = 0
    unfinished, unhashed, problems = [], [], []
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(where, name)
            if not os.path.isfile(path) or os.path.islink(path) or not is_master(path):
                continue
            if not is_closed(path):
                unfinished.append(f"{path}: not closed")
                continue
            report = check_sion.check_container(path, bento=True)
            containers += 1
            if report.problems:
                problems += [f"{path}: {problem}" for problem in report.problems]
                continue
            # The streams of a joined container are HDF5 files; its tests look into them.
            if check_identity.is_joined(report.container.files[0]):
                problems += check_identity.check(report.container.files)
                report.container.close()
                continue
            if not check_identity.writer_died(report.container.files[0]):
                checked, wrong, bare, record = check_streams(report)
                largest = max(largest, record)
                streams += checked
                unhashed += bare
                problems += wrong
            problems += check_mpi_reader(report) + check_identity.check(report.container.files)
            report.container.close()
    return Result(containers, streams, unfinished, unhashed, problems, largest)


def main():
    allowed = {argument for argument in sys.argv[1:] if argument in ("--unfinished", "--unhashed")}
    folders = [argument for argument in sys.argv[1:] if argument not in allowed]
    if not folders or any(folder.startswith("-") for folder in folders):
        print(__doc__)
        return 2
    status = 0
    for folder in folders:
        result = check_folder(folder)
        problems = list(result.problems)
        problems += [] if "--unfinished" in allowed else result.unfinished
        problems += [] if "--unhashed" in allowed else result.unhashed
        for problem in problems:
            print(problem)
        print(f"{folder}: {result.containers} containers, {result.streams} streams checked, {len(result.unfinished)} not closed, "
              f"{len(problems)} violations")
        status = status or bool(problems)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
