#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: The h5bento developers
"""Checks SION containers against the description of the format, without any of h5bento's own code.

Written from docs/formats/sion.md alone. Stricter than SIONlib's readers: it wants what SIONlib's writers
produce, not all that its readers let pass. As a module:

    report = check_container("x.sion")     # the master of several physical files, or any single one
    report.problems                        # [Problem(file, offset, text)], empty if all is well
    report.notes                           # [text], unusual but allowed
    report.container.tasks                 # [Task]: file, local, rank, chunk, sizes
    report.container.stream(3)             # bytes of a task's logical stream

With bento=True it also asks for what the connector promises of its own containers: equal block counts,
META2 inside the last task's chunk, no key-value mode. It then allows bytes between META1 and the first chunk.
"""

import argparse
import json
import os
import struct
import sys
from collections import namedtuple

sys.dont_write_bytecode = True  # the checkers lie in the checkout
from sion_physical_file import PREFIX_AT, PhysicalFile, Problem, Unreadable

Task = namedtuple("Task", "file local rank chunk sizes")  # sizes: used bytes, block by block


def suffixed(name, index):
    return name if index == 0 else "%s.%06d" % (name, index)


class Container:
    """All physical files and the tasks in global order."""

    def __init__(self, report, path, alone):
        self.report, self.path = report, path
        self.files = [PhysicalFile(report, path)]
        self.mapping, self.tasks = [], []
        head = self.files[0]
        if head.broken:
            return
        if head.nfiles > 1 and head.filenumber == 0 and not alone:
            head.index = 0
            self.open_others()
            if not any(file.broken for file in self.files):
                self.read_mapping()
        else:
            head.index = head.filenumber if head.nfiles > 1 else None
            if head.index != 0:
                head.check_end()
            head.check_place_of_meta2(head.rows_end)
            self.mapping = [(0, task) for task in range(head.ntasks)]
        for file, task in self.mapping:
            there = self.files[file]
            self.tasks.append(Task(file, task, there.ranks[task], there.chunks[task], there.sizes[task]))
        if head.mode == "inline":
            self.check_records()

    def close(self):
        for file in self.files:
            file.close()

    def stream(self, task):
        return self.files[self.tasks[task].file].stream(self.tasks[task].local)

    def open_others(self):
        head = self.files[0]
        for index in range(1, head.nfiles):
            path = suffixed(self.path, index)
            if not os.path.exists(path):
                head.wrong(28, "nfiles %d, but there is no %s" % (head.nfiles, os.path.basename(path)))
                head.broken = True
                return
            other = PhysicalFile(self.report, path, index)
            self.files.append(other)
            if other.broken:
                continue
            for offset, field in ((4, "word"), (8, "library"), (12, "patch"), (16, "version"), (28, "nfiles"),
                                  (36, "mode"), (PREFIX_AT, "prefix")):
                if getattr(other, field) != getattr(head, field):
                    other.wrong(offset, "%s is %r, that of file 0 is %r"
                                % (field, getattr(other, field), getattr(head, field)))
            if other.fsblksize != head.fsblksize:
                self.report.notes.append("%s: fsblksize %d, that of file 0 is %d"
                                         % (os.path.basename(path), other.fsblksize, head.fsblksize))
            other.check_end()
            other.check_place_of_meta2(other.rows_end)
        if os.path.exists(suffixed(self.path, head.nfiles)):
            self.report.notes.append("%s does not belong to it" % os.path.basename(suffixed(self.path, head.nfiles)))

    def read_mapping(self):
        head = self.files[0]
        at = head.rows_end
        try:
            count = head.number(at, "i", "mapping_size")
            total = sum(file.ntasks for file in self.files)
            if count != total:
                head.stop(at, "mapping_size %d for %d tasks" % (count, total))
            table = head.numbers(at + 4, 2 * count, "i", "mapping")
        except Unreadable:
            return
        end = at + 4 + 8 * count
        if not self.report.bento and end != head.size:
            head.wrong(end, "%d bytes behind the mapping" % (head.size - end))
        head.check_place_of_meta2(end)
        pairs = list(zip(table[::2], table[1::2]))
        seen = {}
        good = True
        for task, (file, local) in enumerate(pairs):
            where = at + 4 + 8 * task
            if not 0 <= file < len(self.files) or not 0 <= local < self.files[file].ntasks:
                head.wrong(where, "mapping of task %d to (%d, %d), which does not exist"
                           % (task, file, local))
                good = False
            elif (file, local) in seen:
                head.wrong(where, "tasks %d and %d are both mapped to (%d, %d)"
                           % (seen[file, local], task, file, local))
                good = False
            elif self.files[file].ranks[local] != task:
                head.wrong(where, "task %d has globalrank %d" % (task, self.files[file].ranks[local]))
            seen[file, local] = task
        if good:
            self.mapping = pairs

    def check_records(self):
        for index, task in enumerate(self.tasks):
            file = self.files[task.file]
            stream = self.stream(index)
            at = 0
            while at < len(stream):
                if len(stream) - at < 16:
                    file.wrong(None, "task %d: %d bytes of a record head at the end of the stream"
                               % (index, len(stream) - at))
                    break
                length = struct.unpack_from(file.order + "q", stream, at + 8)[0]
                if not 0 <= length <= len(stream) - at - 16:
                    file.wrong(None, "task %d: record of length %d at %d of %d bytes"
                               % (index, length, at, len(stream)))
                    break
                at += 16 + length
            for block, size in enumerate(task.sizes[:-1]):
                if size != task.chunk:
                    file.wrong(None, "task %d: block %d has %d bytes, records fill all but the last"
                               % (index, block, size))


class Report:
    def __init__(self, path, bento):
        self.path, self.bento = path, bento
        self.problems, self.notes = [], []
        self.container = None

    def line(self):
        name = self.path
        if self.problems:
            return "%s: %d violation%s" % (name, len(self.problems), "s" * (len(self.problems) > 1))
        tasks = self.container.tasks
        return "%s: good, format %d, %d physical file%s, %d task%s, %d bytes in streams" % (
            name, self.container.files[0].version, len(self.container.files), "s" * (len(self.container.files) > 1),
            len(tasks), "s" * (len(tasks) > 1), sum(sum(task.sizes) for task in tasks))

    def as_json(self):
        result = {"container": self.path, "good": not self.problems, "notes": self.notes,
                  "violations": [problem._asdict() for problem in self.problems]}
        if not self.problems:
            result["files"] = [{"name": os.path.basename(file.path), "fsblksize": file.fsblksize, "ntasks": file.ntasks,
                                "filenumber": file.filenumber, "maxchunks": file.maxchunks, "meta2": file.meta2}
                               for file in self.container.files]
            result["tasks"] = [task._asdict() for task in self.container.tasks]
        return result


def check_container(path, bento=False, alone=False):
    """Checks a container; `alone` looks at the named physical file only. Raises OSError if it cannot be read."""
    report = Report(path, bento)
    report.container = Container(report, path, alone)
    head = report.container.files[0]
    if bento and not head.broken and head.mode != "none":
        head.wrong(36, "key-value mode %s in a container of the connector" % head.mode)
    return report


def main():
    parser = argparse.ArgumentParser(description="Check SION containers against the description of the format.")
    parser.add_argument("containers", nargs="*", metavar="CONTAINER", help="file 0 of each container, or a sub-file")
    parser.add_argument("--bento", action="store_true", help="also ask for what the connector promises")
    parser.add_argument("--alone", action="store_true", help="check the named physical files only")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--self-test", action="store_true", help="check the checker on the golden containers")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--golden", default=os.path.join(here, "..", "data", "sion"), help="folder for --self-test")
    options = parser.parse_args()
    if options.self_test:
        import check_sion_selftest
        return 0 if check_sion_selftest.self_test(options.golden) else 1
    if not options.containers:
        parser.error("no container given")
    reports = []
    for path in options.containers:
        try:
            report = check_container(path, options.bento, options.alone)
            report.container.close()
        except OSError as error:
            report = Report(path, options.bento)
            report.problems.append(Problem(os.path.basename(path), None, error.strerror))
        reports.append(report)
    if options.json:
        print(json.dumps([report.as_json() for report in reports], indent=1))
    else:
        for report in reports:
            print(report.line())
            for note in report.notes:
                print("  note: %s" % note)
            for problem in report.problems:
                print("  %s%s: %s"
                      % (problem.file, "" if problem.offset is None else " @ %d" % problem.offset, problem.text))
    return 1 if any(report.problems for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
