# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What the programs of this folder share: environments, methods, repeated measurements, and how results are shown."""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VARIABLES = {"slabs": 8, "bands": 8, "pieces": 1}
NATIVE = ("native independent", "native collective")
# A method this much slower than the best of its kind in the first repetition is not repeated: its
# median could not become the faster one.
HOPELESS = 3.0


class RunFailed(Exception):
    pass


def base_environment(build):
    """What scripts/env sets, without any choice of a connector."""
    environment = dict(os.environ)
    for name in [n for n in environment if n.startswith("H5BENTO_") and n != "H5BENTO_DEPS"]:
        del environment[name]
    for name in ("HDF5_VOL_CONNECTOR", "HDF5_DRIVER", "HDF5_DRIVER_CONFIG"):
        environment.pop(name, None)
    environment["H5BENTO_BUILD"] = build
    text = subprocess.run(
        [os.path.join(SOURCE, "scripts", "env"), "env", "-0"],
        env=environment,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return dict(item.split("=", 1) for item in text.split("\0") if "=" in item)


class Method:
    def __init__(self, name, arguments, connector=None):
        self.name, self.arguments, self.connector = name, arguments, connector


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.program = os.path.join(options.build, "bench", "bento_bench")
        self.environment = base_environment(options.build)
        self.native_environment = {
            k: v for k, v in self.environment.items() if k != "HDF5_PLUGIN_PATH"
        }

    def measure(self, method, pattern, verify):
        """Runs one method once in an empty folder, and returns what the program printed."""
        work = tempfile.mkdtemp(dir=self.folder)
        try:
            # The path is the name of a file in the folder, so that whatever lies beside it goes
            # with it.
            path = os.path.join(work, "data")
            command = [
                "mpirun",
                "-n",
                str(self.options.ranks),
                self.program,
                *method.arguments,
                "--pattern",
                pattern,
            ]
            command += ["--variables", str(self.variables(pattern)), "--kib", str(self.options.kib)]
            command += (
                ["--piece-bytes", str(self.options.piece_bytes)]
                + (["--verify"] if verify else [])
                + [path]
            )
            environment = self.native_environment
            stats = os.path.join(work, "stats")
            if method.connector:
                environment = dict(self.environment, HDF5_VOL_CONNECTOR=method.connector)
                if verify:
                    environment["H5BENTO_STATS"] = stats
            result = self.call(command, environment)
            if method.connector:
                self.check_container(path)
                if verify:
                    self.check_stats(stats, result["bytes"])
            if verify and result["wrong"] != 0:
                raise RunFailed(f"{result['wrong']} values are wrong")
            return result
        except RunFailed as error:
            raise RunFailed(f"{method.name}, {pattern}: {error}") from None
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def variables(self, pattern):
        return self.options.variables or VARIABLES[pattern]

    def call(self, command, environment):
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )
        try:
            out, err = process.communicate(timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            raise RunFailed(f"no end after {self.options.timeout} s") from None
        except BaseException:
            process.terminate()
            process.communicate()
            raise
        if process.returncode != 0:
            raise RunFailed(f"exit status {process.returncode}\n{out}{err}")
        return json.loads(out.strip().splitlines()[-1])

    @staticmethod
    def check_container(path):
        # Without this, a plugin that does not load would be measured as native HDF5.
        with open(path, "rb") as file:
            if file.read(4) != b"sion":
                raise RunFailed("the file written is not a container: is the plugin there?")

    @staticmethod
    def check_stats(path, wanted):
        with open(path) as file:
            lines = [json.loads(line) for line in file if line.strip()]
        for key in ("bytes_written", "bytes_read"):
            diverted = sum(line["diverted"][key] for line in lines)
            if diverted != wanted:
                raise RunFailed(f"{key}: {diverted} of {wanted} were diverted")


def rates(samples, operation):
    return [s["bytes"] / s[f"{operation}_s"] / 2**20 for s in samples]


def summary(samples):
    """Medians and spreads in MiB/s, and the median time of the close alone in ms."""
    result = {"repetitions": len(samples)}
    for operation in ("write", "read"):
        values = rates(samples, operation)
        result[operation] = {
            "median": statistics.median(values),
            "min": min(values),
            "max": max(values),
            "close_ms": statistics.median(s[f"{operation}_close_s"] for s in samples) * 1e3,
        }
    return result


def measure_all(bench, methods, options):
    """{pattern: {method name: [sample]}}"""
    results = {}
    for pattern in options.patterns:
        note(f"{pattern}: checking values")
        for method in methods:
            bench.measure(method, pattern, verify=True)
        results[pattern] = {method.name: [] for method in methods}
        running = list(methods)
        for repetition in range(options.repetitions):
            note(f"{pattern}: repetition {repetition + 1} of {options.repetitions}")
            turn = repetition % len(running)
            for method in running[turn:] + running[:turn]:
                results[pattern][method.name].append(bench.measure(method, pattern, verify=False))
            if repetition == 0:
                running = without_hopeless(running, results[pattern])
    note("")
    return results


def without_hopeless(methods, samples):
    natives = [m for m in methods if m.name in NATIVE]
    if len(natives) < 2:
        return methods
    dropped = []
    for slow, fast in (natives, natives[::-1]):
        if all(
            samples[slow.name][0][f"{o}_s"] > HOPELESS * samples[fast.name][0][f"{o}_s"]
            for o in ("write", "read")
        ):
            dropped.append(slow)
    return [m for m in methods if m not in dropped]


def note(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def rate_cells(s):
    spread = f"{s['min']:.0f}..{s['max']:.0f}"
    return f"{s['median']:>8.0f} {spread:>13} {s['close_ms']:>9.1f}"


def mark(target, reached):
    return "-" if target is None else f"{target:.2f} {'ok' if reached else 'BELOW'}"


def machine(folder):
    model = ""
    try:
        with open("/proc/cpuinfo") as file:
            model = next(
                (line.split(":", 1)[1].strip() for line in file if line.startswith("model name")),
                "",
            )
    except OSError:
        pass
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], capture_output=True, text=True
    ).stdout.strip()
    return {
        "cpu": model,
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "file_system": kind,
    }
