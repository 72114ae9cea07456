#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every closed container below a folder with the independent checkers: its physical files as SION, each
writer's stream as FTI-FF, and all of it as SIONlib's MPI reader would see it.

    check_containers.py FOLDER...

A container whose META1 has no pointer to META2 was not closed (its program was killed, or is running): it is
counted, not judged. Nothing in here knows how the connector writes, but for what check_identity.py holds of its files.
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

Result = collections.namedtuple("Result", "containers streams unfinished problems")


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
    """(streams checked, problems) of the writers; the last task of each file is the catalogue."""
    checked, problems = 0, []
    for number, task in enumerate(report.container.tasks):
        file = report.container.files[task.file]
        if task.local == file.ntasks - 1 or not 0 < sum(task.sizes) <= LARGEST_STREAM:
            continue
        walk = check_fti.check_stream(report.container.stream(number))
        checked += 1
        problems += [f"{file.path}: stream of task {task.local} at byte {offset}: {text}" for offset, text in walk.problems]
    return checked, problems


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
    containers = streams = unfinished = 0
    problems = []
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(where, name)
            if not os.path.isfile(path) or os.path.islink(path) or not is_master(path):
                continue
            if not is_closed(path):
                unfinished += 1
                continue
            report = check_sion.check_container(path, bento=True)
            containers += 1
            if report.problems:
                problems += [f"{path}: {problem}" for problem in report.problems]
                continue
            checked, wrong = check_streams(report)
            streams += checked
            problems += wrong + check_mpi_reader(report) + check_identity.check(report.container.files)
            report.container.close()
    return Result(containers, streams, unfinished, problems)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    status = 0
    for folder in sys.argv[1:]:
        result = check_folder(folder)
        for problem in result.problems:
            print(problem)
        print(f"{folder}: {result.containers} containers, {result.streams} streams checked, {result.unfinished} not closed, "
              f"{len(result.problems)} violations")
        status = status or bool(result.problems)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
