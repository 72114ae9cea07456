# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""One run of one method: the processes, and the checks of what they left."""

import json
import os
import shutil
import tempfile

from measuring import Bench, RunFailed

from suite import disk
from suite.patterns import LEAST, OF_NAME

SMALL_BYTES = 128 * 8  # of a dataset and rank
WRITING = ("create", "write", "flush", "one", "close")
READING = ("reopen", "open", "read")


class NotMeasured(Exception):
    """A method that this machine does not have."""


def with_option(connector, option):
    return f"{connector}{';' if ' ' in connector else ' '}{option}"


def readers(group):
    reader = OF_NAME[group.pattern].reader
    if reader == "view":
        return 1
    if reader == "other":
        return group.ranks - 1 if group.ranks > 1 else 2
    return group.ranks


class Runs(Bench):
    def __init__(self, options, folders):
        super().__init__(options, None)
        self.folders = folders  # of tmpfs, of the disk
        self.small = os.path.join(options.build, "bench", "small_datasets")

    def measure(self, group, method, verify):
        """One sample: what the programs printed, as one dictionary."""
        self.folder = self.folders[group.where]
        settled = group.where != "disk" or disk.settle()
        work = tempfile.mkdtemp(dir=self.folder)
        try:
            run = self.measure_small if OF_NAME[group.pattern].small else self.measure_large
            sample = run(group, method, verify, work)
            sample["settled"] = settled
            return sample
        except RunFailed as error:
            raise RunFailed(f"{group.key}, {method.name}: {error}") from None
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def environment_of(self, method, group, stats, plugin=True):
        if method.name == LEAST:
            return dict(self.native_environment, HDF5_VOL_CONNECTOR=LEAST, HDF5_PLUGIN_PATH=os.path.join(self.options.build, "bench"))
        if not method.connector or not plugin:
            return self.native_environment
        connector = with_option(method.connector, "durability=power") if group.synced else method.connector
        environment = dict(self.environment, HDF5_VOL_CONNECTOR=connector)
        if stats:
            environment["H5BENTO_STATS"] = stats
        return environment

    def measure_large(self, group, method, verify, work):
        pattern = OF_NAME[group.pattern]
        path, stats = os.path.join(work, "data"), os.path.join(self.folder, "stats")
        variables = self.options.variables or pattern.variables
        if group.pattern == "interleaved":
            variables = -(-variables // 4) * 4  # one for each member
        common = [*method.arguments, *pattern.arguments, "--kib", str(group.kib), "--variables", str(variables)]
        if group.synced and not method.connector:
            common.append("--sync")
        if verify:
            common.append("--verify")
        environment = self.environment_of(method, group, stats if verify else None)

        def start(ranks, *arguments, env=environment):
            result = self.call(["mpirun", "-n", str(ranks), self.program, *common, *arguments, path], env)
            if "not_measured" in result:
                raise NotMeasured(result["not_measured"])
            return result

        if os.path.exists(stats):
            os.remove(stats)
        if method.name != "filter" and (pattern.reader or group.cold):
            sample = start(group.ranks, "--phase", "write")
            sample["dropped"] = disk.forget(work) if group.cold else None
            more = ["--serial"] if pattern.reader == "view" else []
            reading = self.environment_of(method, group, environment.get("H5BENTO_STATS"), plugin=pattern.reader != "view")
            sample |= start(readers(group), "--phase", "read", "--written-by", str(group.ranks), *more, env=reading)
        else:
            sample = start(group.ranks)
        if method.connector:
            self.check_container(path)
        if verify and method.connector:
            wanted = {"bytes_written": sample["write_bytes"], "bytes_read": 0 if pattern.reader == "view" else sample["read_bytes"]}
            check_counts(stats, wanted)
        if verify and sample["wrong"] != 0:
            raise RunFailed(f"{sample['wrong']} values are wrong")
        return sample

    def measure_small(self, group, method, _verify, work):
        path, count = os.path.join(work, "data"), self.options.datasets
        environment = self.environment_of(method, group, None)
        phases = self.call(["mpirun", "-n", str(group.ranks), self.small, str(count), path], environment)
        if method.connector:
            self.check_container(path)
        if phases.pop("wrong"):
            raise RunFailed("values are wrong")
        return small_sample(phases, count * SMALL_BYTES * group.ranks)


def small_sample(phases, data):
    sample = {"phases": phases, "write_bytes": data, "read_bytes": data, "write_calls_s": phases["write"], "read_calls_s": phases["read"]}
    sample |= {"write_s": sum(phases[name] for name in WRITING), "read_s": sum(phases[name] for name in READING)}
    sample |= {"write_close_s": phases["close"], "write_peak_kib": phases["peak_kib"]}
    return sample


def check_counts(path, wanted):
    """The connector must have moved all that the program did; else native HDF5 was measured under its name."""
    with open(path) as file:
        lines = [json.loads(line) for line in file if line.strip()]
    for key, least in wanted.items():
        diverted = sum(line["diverted"][key] for line in lines)
        if diverted < least:
            raise RunFailed(f"{key}: {diverted} of {least} were diverted")
