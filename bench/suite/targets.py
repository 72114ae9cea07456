# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What is held against what, and the targets."""

import statistics

from measuring import NATIVE

from suite.patterns import BENTO, KEPT, LEAST, OF_NAME, TUNED, TWO
from suite.results import judged, rate
from suite.runs import WRITING

EQUAL = 0.97  # "not slower"
FILES_2, NO_HASH = "bento files=2", "bento files=2;checksum=none"

# pattern, operation, method, held against, target
RATIOS = (
    ("slabs", "write", "bento", "raw-shared", 0.95),
    ("slabs", "write", NO_HASH, "raw", 0.95),
    ("slabs", "read", "bento", "raw", 0.95),
    ("slabs", "read", FILES_2, "raw", 0.95),
    *((pattern, *more) for pattern in ("bands", "blocks") for more in (
        ("write", "bento", "raw-shared", 0.90),
        ("read", "bento", "raw", 0.90),
    )),
    *((pattern, "write", FILES_2, "native", 2.0) for pattern in ("pieces-4k", "pieces-512")),
    ("overwrite", "write", "bento", KEPT, 0.95),
    ("deflate-1", "write", "bento", "filter", 0.9),
    ("deflate-6", "write", "bento", "filter", 0.9),
    ("restart-same", "read", "bento", "raw", 0.8),
    ("restart-other", "read", "bento", "raw", 0.8),
    ("view", "read", "bento", "native", 0.9),
)  # fmt: skip
# What has a target of its own beside native.
OWN = {(pattern, operation) for pattern, operation, method, base, _ in RATIOS if (method, base) == ("bento", "native")}
# Natively a flush writes over the one before, and a death in the middle loses both. Here that stays until the next one is
# complete, which costs plain pwrite (raw-kept) as much.
OWN |= {("overwrite", "write"), ("pieces-4k", "read")}
COPIES = {"ghosts": "blocks", "conversion": "slabs"}  # a pattern, and what it is without its copy in memory
PIECES = ("pieces-4k", "pieces-512")
OF_TWO_FILES = {"slabs": 0.85, "bands": 0.75, "blocks": 0.75}  # of raw, by "files=2"


def fastest_native(methods, operation):
    """The name of the native mode with the best median, tuned or not; of those that were measured as often as any."""
    names = [name for name in (*NATIVE, *TUNED) if methods.get(name)]
    most = max((len(methods[name]) for name in names), default=0)
    names = [name for name in names if len(methods[name]) == most]
    return max(names, key=lambda name: statistics.median(rate(s, operation) for s in methods[name]), default=None)


def values_of(methods, name, operation, measure="s"):
    if name == "native":
        name = fastest_native(methods, operation)
    return [rate(sample, operation, measure) for sample in methods.get(name) or []]


def named(methods, name, operation):
    fastest = fastest_native(methods, operation) if name == "native" else None
    return fastest.replace("native", "native,") if fastest else name


class Comparisons:
    """All comparisons that the samples {group: {method: [sample]}} allow."""

    def __init__(self, samples):
        self.samples, self.found = samples, []
        for group, methods in samples.items():
            if group.pattern == "small":
                self.small(group, methods)
                continue
            for operation in OF_NAME[group.pattern].operations:
                if (group.pattern, operation) not in OWN:
                    self.ratio(group, operation, "bento", "native", EQUAL)
                if group.pattern in PIECES:
                    (self.pieces_written if operation == "write" else self.pieces_read)(group)
                if group.pattern in OF_TWO_FILES and operation == "write":
                    self.two_files(group)
                if group.pattern in COPIES:
                    self.copy(group, operation)
            for pattern, operation, method, base, target in RATIOS:
                if pattern == group.pattern:
                    self.ratio(group, operation, method, base, target)

    def add(self, group, operation, title, values, target, headline=False):
        if not values:
            return
        entry = {"pattern": group.pattern, "operation": operation, "condition": group.condition, "size": group.size, "title": title}
        self.found.append(entry | judged(values, target) | {"values": values, "headline": headline})

    def ratio(self, group, operation, method, base, target):
        methods = self.samples[group]
        above, below = values_of(methods, method, operation), values_of(methods, base, operation)
        title = f"{method} / {named(methods, base, operation)}"
        self.add(group, operation, title, [a / b for a, b in zip(above, below)], target, headline=base == "native")

    def other(self, group, pattern):
        """The samples of another pattern under the same conditions; its size may be another."""
        for each, methods in self.samples.items():
            if each.pattern == pattern and each.condition == group.condition:
                return methods
        return {}

    def pieces_written(self, group):
        """Twice native, 0.95 of the same method's slabs, or in one file what the least of connectors writes, whichever is least."""
        methods, slabs = self.samples[group], self.other(group, "slabs")
        rates = {name: values_of(methods, name, "write") for name in ("native", LEAST, *BENTO)}
        for name in BENTO:
            limits = [(2, "native", rates["native"]), (0.95, "its slabs", values_of(slabs, name, "write"))]
            if name == "bento":
                limits.append((EQUAL, LEAST, rates[LEAST]))
            self.within(group, "write", name, rates[name], limits)

    def pieces_read(self, group):
        """A part of another rate, or what the least of connectors reads."""
        if group.pattern != "pieces-4k":
            return
        methods = self.samples[group]
        limit = (EQUAL, LEAST, values_of(methods, LEAST, "read"))
        for share, base in ((1.2, "native"), (0.6, "raw")):
            self.within(group, "read", "bento", values_of(methods, "bento", "read"), [(share, base, values_of(methods, base, "read")), limit])

    def within(self, group, operation, name, rates, limits):
        """`name` against the smallest of its limits: (share, name of the rate, rates). Those of programs without our code may not have been measured."""
        limits = [limit for limit in limits if limit[2] or limit[1] not in (LEAST, TWO)]
        smallest = [min(share * rate for (share, _, _), rate in zip(limits, each)) for each in zip(*(limit[2] for limit in limits))]
        title = f"{name} / the smallest of " + ", ".join(f"{share} x {base}" for share, base, _ in limits)
        self.add(group, operation, title, [mine / limit for mine, limit in zip(rates, smallest)], 1.0)

    def two_files(self, group):
        """The smaller of a part of raw, and as much of plain pwrite into as many files: ranks that share a file wait for each other there."""
        share, methods = OF_TWO_FILES[group.pattern], self.samples[group]
        limits = [(part, name, values_of(methods, name, "write")) for part, name in ((share, "raw"), (EQUAL, TWO))]
        self.within(group, "write", FILES_2, values_of(methods, FILES_2, "write"), limits)

    def copy(self, group, operation):
        """Native's calls take longer than without the copy in memory; so much longer than its own calls without it may ours take."""
        methods, without = self.samples[group], self.other(group, COPIES[group.pattern])
        rates = [
            values_of(each, name, operation, "calls_s")
            for each, name in ((methods, "bento"), (methods, "native"), (without, "native"), (without, "bento"))
        ]
        values = [mine * (max(0.0, 1 / native - 1 / plain) + 1 / ours) for mine, native, plain, ours in zip(*rates)]
        self.add(group, operation, f"bento / native's copy and bento's {COPIES[group.pattern]}, calls alone", values, 0.9)

    def small(self, group, methods):
        native = methods.get(NATIVE[0]) or []
        for name, writing in (("bento view=off", EQUAL), ("bento", 1 / 1.5)):
            mine = methods.get(name) or []

            def times(total, mine=mine):
                return [total(b) / total(a) for a, b in zip(mine, native)]

            self.add(group, "write", f"{name}, create to close / native", times(lambda s: sum(s["phases"][p] for p in WRITING)), writing, True)
            self.add(group, "read", f"{name}, H5Dread / native", times(lambda s: s["phases"]["read"]), EQUAL)
            self.add(group, "read", f"{name}, H5Dopen / native", times(lambda s: s["phases"]["open"]), EQUAL)
            self.add(group, "write", f"{name}, native's peak memory / bento's", times(lambda s: s["phases"]["peak_kib"]), 0.8)
            more = [(b["phases"]["one"] - a["phases"]["one"]) * 1e3 for a, b in zip(mine, native)]
            self.add(group, "write", f"{name}, one dataset and a flush: ms below native's", more, -1.0)
