# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: suite_test.py

The parts of bench/run that measure nothing: statistics, verdicts, the plan of the runs, counts from traces, tables and plots.
"""

import os
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("H5BENTO_SOURCE", "."), "bench"))
from measuring import NATIVE, RunFailed
from suite import counts, disk, plan, plots, results, tables
from suite.patterns import NAMES, Group, groups_of
from suite.runs import with_option
from suite.targets import Comparisons

GROUP = Group("slabs", "tmpfs", False, False, 4, 16384)
SVG = "{http://www.w3.org/2000/svg}"


def sample(rate, **more):
    """One that wrote and read 1 MiB at so many MiB/s."""
    half = {"bytes": 1 << 20, "s": 1 / rate, "calls_s": 0.5 / rate, "close_s": 0.001, "peak_kib": 2048}
    return {f"{o}_{key}": value for o in ("write", "read") for key, value in half.items()} | {"settled": True} | more


def samples_of(**rates):
    """`native_independent=[...]`: rates of its rounds."""
    return {name.replace("_", " "): [sample(rate) for rate in each] for name, each in rates.items()}


class Statistics(unittest.TestCase):
    def test_interval(self):
        self.assertEqual(results.interval([3, 1, 2]), (1, 3))  # too few: all of them
        self.assertEqual(results.interval(list(range(6))), (0, 5))
        self.assertEqual(results.interval(list(range(1, 16))), (4, 12))  # 15 samples: 96 %

    def test_verdicts(self):
        near = [0.90, 0.95, 1.0, 1.05, 1.1, 0.99, 1.01]
        for values, target, expected in (
            ([1.1] * 7, 0.97, "ok"),
            ([0.5] * 7, 0.97, "**BELOW**"),
            (near, 0.97, "ok, no statement possible"),
            ([0.9, 0.95, 0.96, 0.94, 1.2, 0.9, 0.93], 0.97, "**BELOW**, no statement possible"),
            (near, None, "-"),
        ):
            self.assertEqual(results.verdict(results.judged(values, target)), expected)

    def test_rates(self):
        s = results.summary([sample(100), sample(300), sample(200)], ("write",))["write"]
        self.assertEqual([round(s["observed"][key]) for key in ("median", "min", "max")], [200, 100, 300])
        self.assertEqual(round(s["calls"]["median"]), 400)
        self.assertEqual((s["close_ms"], s["peak_mib"]), (1.0, 2.0))


class Targets(unittest.TestCase):
    def found(self, samples, group=GROUP, **more):
        return {c["title"]: c for c in Comparisons({group: samples, **more.get("others", {})}).found if c["operation"] == "write" and c["pattern"] == group.pattern}

    def test_faster_native_of_the_same_round(self):
        samples = samples_of(native_independent=[100, 200], native_collective=[90, 110], bento=[100, 200])
        found = self.found(samples)["bento / native, independent"]
        self.assertEqual(found["values"], [1.0, 1.0])
        self.assertTrue(found["ok"])

    def test_below_is_marked(self):
        samples = samples_of(native_independent=[100] * 7, bento=[50] * 7)
        lines = "\n".join(tables.comparisons(list(self.found(samples).values())))
        self.assertIn("1 ratios, 1 below", lines)
        self.assertIn("0.50..0.50 |   0.97 | **BELOW**", lines)

    def test_copy_in_memory(self):
        """Native's calls take 1 s more with the copy; so may ours, and a tenth."""
        ghosts, blocks = (GROUP.__class__(name, "tmpfs", False, False, 4, 4096) for name in ("ghosts", "blocks"))
        others = {blocks: samples_of(native_independent=[1.0], bento=[1.0])}
        found = self.found(samples_of(native_independent=[1 / 3], bento=[1 / 3]), ghosts, others=others)
        self.assertAlmostEqual(found["bento / native's copy and bento's blocks, calls alone"]["median"], 1.0)

    def test_pieces(self):
        pieces = Group("pieces-4k", "tmpfs", False, False, 4, 4096)
        found = self.found(samples_of(native_independent=[100], bento=[190]), pieces, others={GROUP: samples_of(bento=[200])})
        self.assertAlmostEqual(found["bento / the smallest of 2 x native, 0.95 x its slabs"]["median"], 1.0)
        limited = samples_of(native_independent=[100], bento=[190], least=[100])
        found = self.found(limited, pieces, others={GROUP: samples_of(bento=[200])})
        self.assertAlmostEqual(found["bento / the smallest of 2 x native, 0.95 x its slabs, 0.97 x least"]["median"], 1.9 / 0.97)


class FakeRuns:
    """Rates by method; raises what is no number."""

    def __init__(self, rates):
        self.rates, self.asked = rates, []

    def measure(self, group, method, verify):
        self.asked.append((group.pattern, method.name, verify))
        rate = self.rates.get(method.name, 100)
        if isinstance(rate, Exception):
            raise rate
        return sample(rate)


def options_of(**more):
    values = {"patterns": ["slabs", "bands"], "where": ["tmpfs"], "synced": [False], "cold": [False], "ranks": [4], "mib": None, "methods": None}
    values |= {"complete": False, "tuned": False, "quick": False, "connector": [], "repetitions": 2, "minutes": 1, "timeout": 9, "seed": 1}
    return types.SimpleNamespace(**(values | more))


class Plans(unittest.TestCase):
    def setUp(self):
        self.stderr, sys.stderr = sys.stderr, open(os.devnull, "w")

    def tearDown(self):
        sys.stderr.close()
        sys.stderr = self.stderr

    def run_plan(self, rates, **more):
        options = options_of(**more)
        runs = FakeRuns(rates)
        done = plan.Plan(runs, groups_of(options), options)
        done.measure()
        return done, runs.asked

    def test_rounds(self):
        done, asked = self.run_plan({})
        count = done.count()
        self.assertEqual(len(asked), 3 * count)
        self.assertTrue(all(verify for *_, verify in asked[:count]) and not any(verify for *_, verify in asked[count:]))
        self.assertTrue(all(len(each) == 2 for methods in done.samples.values() for each in methods.values()))
        patterns = [pattern for pattern, *_ in asked[:count]]
        self.assertEqual(sum(a != b for a, b in zip(patterns, patterns[1:])), 1)  # a pattern's methods stay together
        self.assertNotEqual(asked[count : 2 * count], asked[2 * count :])  # in another order

    def test_hopeless(self):
        done, asked = self.run_plan({NATIVE[1]: 10})
        self.assertEqual(sum(method == NATIVE[1] for _, method, _ in asked), 2)
        self.assertEqual({entry["method"] for entry in done.not_measured}, {NATIVE[1]})

    def test_failures(self):
        done, _ = self.run_plan({NATIVE[0]: RunFailed("no end after 9 s")})
        self.assertIn("no end after 9 s", done.not_measured[0]["reason"])
        for rates in ({"bento": RunFailed("no end after 9 s")}, {NATIVE[0]: RunFailed("1 values are wrong")}):
            self.assertRaises(RunFailed, self.run_plan, rates)

    def test_failure_later(self):
        """What was measured until then is kept, and the failure is told."""

        class Failing(FakeRuns):
            def measure(self, group, method, verify):
                if len(self.asked) == 20:
                    raise RunFailed("late")
                return super().measure(group, method, verify)

        options = options_of()
        done = plan.Plan(Failing({}), groups_of(options), options)
        done.measure()
        self.assertEqual(done.failed, "late")
        self.assertEqual(sum(len(each) for methods in done.samples.values() for each in methods.values()), 20 - done.count())

    def test_time_is_over(self):
        class Slow(FakeRuns):
            def measure(self, group, method, verify):
                time.sleep(0.01 if verify else 0.03)  # slower than it looked at first
                return super().measure(group, method, verify)

        options = options_of(repetitions=None, minutes=1.5 / 60)
        done = plan.Plan(Slow({}), groups_of(options), options)
        done.measure()
        self.assertIn(len(done.samples[groups_of(options)[0]]["raw"]), (3, 4))

    def test_subfiling_is_not_synced(self):
        done, asked = self.run_plan({}, synced=[True], tuned=True)
        self.assertFalse([1 for _, method, _ in asked if method == "subfiling"])
        self.assertEqual(len(done.not_measured), 2)

    def test_groups(self):
        everything = {"patterns": list(NAMES), "where": ["tmpfs", "disk"], "synced": [False, True], "cold": [False, True]}
        groups = groups_of(options_of(**everything))
        self.assertEqual(len(set(groups)), len(groups))
        self.assertFalse([g for g in groups if g.cold and g.where == "tmpfs"])
        self.assertEqual(len([g for g in groups if g.pattern == "small"]), 2)

    def test_connector_strings(self):
        self.assertEqual(with_option("bento", "durability=power"), "bento durability=power")
        self.assertEqual(with_option("bento files=2", "durability=power"), "bento files=2;durability=power")


TRACE = """\
7 openat(AT_FDCWD, "data", O_RDWR) = 5
7 access("write {", F_OK) = -1 ENOENT (No such file or directory)
7 pwrite64(5, "..."..., 4096, 0) = 4096
7 fstat(5, {...}) = 0
7 access("}", F_OK) = -1 ENOENT (No such file or directory)
7 fdatasync(5) = 0
7 access("write {", F_OK) = -1 ENOENT (No such file or directory)
7 access("}", F_OK) = -1 ENOENT (No such file or directory)
7 access("close {", F_OK) = -1 ENOENT (No such file or directory)
7 close(5) = 0
7 access("}", F_OK) = -1 ENOENT (No such file or directory)
"""


class Counting(unittest.TestCase):
    def test_trace(self):
        found = counts.of_trace(TRACE.splitlines())
        self.assertEqual(found["write"], {"system_calls": 1.0, "transfers": 0.5, "kib_a_transfer": 4.0, "calls": 2})
        self.assertEqual((found["close"]["system_calls"], found["syncs"]), (1.0, 1))

    def test_callgrind(self):
        text = "1,234 (10.00%)  ???:H5Dwrite_multi [/a/libhdf5.so]\n12,345 (99.00%)  ???:H5Dwrite [/a/libhdf5.so]\n"
        self.assertEqual(counts.of_callgrind(text, "H5Dwrite"), 12345)
        self.assertIsNone(counts.of_callgrind(text, "H5Dread"))


class Disk(unittest.TestCase):
    def test_forget(self):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            path = os.path.join(folder, "file")
            with open(path, "wb") as file:
                file.write(os.urandom(1 << 20))
            self.assertGreater(disk.cached_pages(path), 0)
            dropped = disk.forget(folder)  # a file system in memory keeps all
            self.assertEqual(dropped, disk.cached_pages(path) == 0)


class Plots(unittest.TestCase):
    def setUp(self):
        samples = {GROUP: samples_of(raw=[400] * 7, native_independent=[100] * 7, native_collective=[90] * 7, bento=[50] * 7)}
        machine = {"cpu": "A & B", "processors": 2, "kernel": "6"}
        self.plots = plots.all_plots(machine, samples, results.summaries(samples), Comparisons(samples).found)

    def test_files(self):
        condition = "tmpfs_not-synced_warm-reads_4-ranks.svg"
        self.assertEqual(set(self.plots), {f"{what}_{condition}" for what in ("write", "read", "ratio")})
        for content in self.plots.values():
            self.assertEqual(ElementTree.fromstring(content).tag, SVG + "svg")

    def test_ratio_stands_where_it_belongs(self):
        root = ElementTree.fromstring(next(v for k, v in self.plots.items() if k.startswith("ratio")))
        rings = [c for c in root.iter(SVG + "circle") if c.get("fill") == "none"]
        self.assertEqual(len(rings), 2)  # below the target in both directions
        axis = plots.Axis([0.5, 1.0])
        for ring in rings:
            self.assertAlmostEqual(float(ring.get("cx")), axis.x(0.5), delta=0.06)

    def test_one_native(self):
        write = next(v for k, v in self.plots.items() if k.startswith("write"))
        diamonds = [p for p in ElementTree.fromstring(write).iter(SVG + "polygon") if p.get("fill") == plots.SERIES["native"][0]]
        self.assertEqual(len(diamonds), 2)  # the legend's, and that of the faster mode

    def test_axis(self):
        axis = plots.Axis([3, 450])
        self.assertEqual([round(tick, 6) for tick in axis.ticks], [2, 5, 10, 20, 50, 100, 200, 500])
        self.assertAlmostEqual(axis.x(axis.ticks[0]), plots.LEFT)
        self.assertAlmostEqual(axis.x(axis.ticks[-1]), plots.WIDTH - plots.RIGHT)


if __name__ == "__main__":
    unittest.main()
