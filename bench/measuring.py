# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What the programs of this folder share: environments, methods, repeated measurements, and how results are shown."""

import json
import os
import platform
import statistics
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(SOURCE, "tests", "programs"))
from ended_unseen import ended_unseen  # noqa: E402

NATIVE = ("native independent", "native collective")


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
        if process.returncode != 0 and not ended_unseen(process.returncode, out + err):
            raise RunFailed(f"exit status {process.returncode}\n{out}{err}")
        return json.loads(out.strip().splitlines()[-1])

    @staticmethod
    def check_container(path):
        # Without this, a plugin that does not load would be measured as native HDF5.
        with open(path, "rb") as file:
            if file.read(4) != b"sion":
                raise RunFailed("the file written is not a container: is the plugin there?")


def rates(samples, operation):
    return [s[f"{operation}_bytes"] / s[f"{operation}_s"] / 2**20 for s in samples]


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


def measure_all(measure, methods, repetitions):
    """{method name: [sample]} of interleaved runs, in an order that rotates; before them one of each that checks values and does not count."""
    note("checking values")
    for method in methods:
        measure(method, verify=True)
    results = {method.name: [] for method in methods}
    for repetition in range(repetitions):
        note(f"repetition {repetition + 1} of {repetitions}")
        turn = repetition % len(methods)
        for method in methods[turn:] + methods[:turn]:
            results[method.name].append(measure(method, verify=False))
    note("")
    return results


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
