# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The results as text, in Markdown, so that a document takes them as they are."""

import statistics

from suite.patterns import OF_NAME, ranks_text
from suite.results import verdict
from suite.runs import readers

PHASES = {"create": "create", "write": "H5Dwrite", "flush": "first flush", "close": "close", "open": "H5Dopen", "read": "H5Dread"}
WHAT_RATES_ARE = (
    "MiB/s: medians, slowest and fastest in brackets. Observed: from just before the open on the first rank to just after the close on the last; calls: in "
    "the calls that move data alone. The close is a part of the observed time. Peak: the largest resident memory of a rank, buffers included."
)
WHAT_RATIOS_ARE = (
    "Ratios of the same rounds: median, slowest and fastest. \"No statement possible\": the target lies within the interval in which the median is with 95 % "
    "(below six rounds: within slowest and fastest)."
)


def table(heads, rows):
    """Lines of a Markdown table, the first column to the left."""
    cells = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    widths = [max(len(row[c]) for row in cells) for c in range(len(heads))]
    lines = []
    for row in cells:
        padded = [cell.ljust(width) if c == 0 else cell.rjust(width) for c, (cell, width) in enumerate(zip(row, widths))]
        if row is cells[1]:
            padded = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines.append(f"| {' | '.join(padded)} |")
    return lines


def number(value):
    return "-" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def with_spread(s):
    return f"{number(s['median'])} ({number(s['min'])}..{number(s['max'])})"


def rates(summaries):
    lines = []
    for condition in dict.fromkeys(group.condition for group in summaries):
        rows = []
        for group, methods in summaries.items():
            if group.condition == condition and not OF_NAME[group.pattern].small:
                rows += [rate_row(group, name, s) for name, s in methods.items()]
        if rows:
            heads = ["pattern, size, method", *(f"{o}, {m}" for o in ("write", "read") for m in ("observed", "calls", "close ms")), "peak MiB", "rounds"]
            lines += ["", f"### Rates: {condition}", "", *table(heads, rows)]
    return lines and [*lines, "", WHAT_RATES_ARE]


def rate_row(group, name, s):
    row = [f"{group.pattern}, {group.size}, {name}"]
    if OF_NAME[group.pattern].reader:
        row[0] += f" (read by {ranks_text(readers(group))})"
    for operation in ("write", "read"):
        o = s.get(operation)
        row += [with_spread(o["observed"]), number(o["calls"]["median"]), number(o["close_ms"])] if o else ["-"] * 3
    peaks = [s[o]["peak_mib"] for o in ("write", "read") if o in s and s[o]["peak_mib"]]
    return [*row, number(max(peaks, default=None)), str(s["repetitions"])]


def small(samples, datasets):
    lines = []
    for group, methods in samples.items():
        if not OF_NAME[group.pattern].small:
            continue
        names = [name for name, each in methods.items() if each]
        lines += ["", f"### {datasets} small datasets: {group.condition}", ""]
        per = 1e6 / datasets
        rows = [(title, phase, per) for phase, title in PHASES.items()]
        rows = [(f"{title}, us a dataset", phase, unit) for title, phase, unit in rows]
        rows += [("one dataset and a flush, ms", "one", 1e3), ("peak memory, MiB", "peak_kib", 1 / 1024)]
        body = []
        for title, phase, unit in rows:
            values = [[s["phases"][phase] * unit for s in methods[name]] for name in names]
            body.append([title, *(f"{number(statistics.median(v))} ({number(min(v))}..{number(max(v))})" for v in values)])
        lines += table(["on the slowest rank", *names], body)
    return lines


def comparisons(found):
    if not found:
        return []
    conditions = list(dict.fromkeys(c["condition"] for c in found))
    rows = []
    for c in found:
        place = [c["pattern"], c["size"]] if c["size"] != "0 MiB" else [c["pattern"]]
        place += [c["condition"]] if len(conditions) > 1 else []
        target = "-" if c["target"] is None else f"{c['target']:.2f}"
        rows.append([f"{', '.join(place)}, {c['operation']}: {c['title']}", f"{c['median']:.2f}", f"{c['min']:.2f}..{c['max']:.2f}", target, verdict(c)])
    below = sum(c["ok"] is False for c in found)
    condition = f": {conditions[0]}" if len(conditions) == 1 else ""
    heads = [f"{len(found)} ratios, {below} below", "median", "min..max", "target", "verdict"]
    return ["", f"### Targets{condition}", "", *table(heads, rows), "", WHAT_RATIOS_ARE]


def counts(found):
    if not found:
        return []
    rows = []
    for c in found:
        row = [f"{c['pattern']}, {c['method']}"]
        for operation in ("write", "read"):
            o = c.get(operation)
            row += [number(o[key]) if o else "-" for key in ("system_calls", "transfers", "kib_a_transfer", "instructions")]
        close = c.get("close")
        rows.append([*row, number(close["system_calls"] if close else None), number(c["syncs"])])
    heads = ["pattern, method"]
    for operation in ("write", "read"):
        heads += [f"{operation}: system calls", f"{operation}s", "KiB each", "instructions"]
    return ["", "### A call of H5Dwrite and H5Dread, one rank", "", *table([*heads, "close: system calls", "syncs in all"], rows)]


def not_measured(entries):
    return ["", "### Not measured", "", *(f"- {e['group']}, {e['method']}: {e['reason']}" for e in entries)] if entries else []
