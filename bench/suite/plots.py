# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the results as SVG: a dot for each median, a line from the slowest to the fastest, on a logarithmic axis."""

import math
import os
from html import escape

from suite.patterns import OF_NAME
from suite.targets import fastest_native

# Colours that colour-blind people tell apart, and shapes for those who see none.
SERIES = {
    "raw": ("#666666", "square"),
    "raw-shared": ("#aaaaaa", "square"),
    "raw-two": ("#bbbbbb", "diamond"),
    "raw-kept": ("#888888", "triangle"),
    "filter": ("#666666", "triangle"),
    "native": ("#d55e00", "diamond"),
    "tuned": ("#e69f00", "diamond"),
    "least": ("#f0a0a0", "circle"),
    "subfiling": ("#cc79a7", "triangle"),
    "bento view=off": ("#56b4e9", "circle"),
    "bento": ("#0072b2", "circle"),
    "bento files=2": ("#009e73", "circle"),
}
OTHER = ("#000000", "circle")
LEFT, RIGHT, TOP, ROW, BOTTOM, WIDTH = 170, 30, 76, 30, 40, 860
BELOW = "#c00000"


class Axis:
    """A logarithmic axis over all values, with round numbers at its ends."""

    STEPS = (1, 2, 5)

    def __init__(self, values):
        low, high = min(values), max(values)
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
        marks = [step * 10.0**power for power in powers for step in self.STEPS]
        first = max(i for i, mark in enumerate(marks) if mark <= low)
        last = min(i for i, mark in enumerate(marks) if mark >= high)
        self.ticks = marks[first : max(last, first + 1) + 1]

    def x(self, value):
        low, high = math.log(self.ticks[0]), math.log(self.ticks[-1])
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(value) - low) / (high - low)


def shape(kind, x, y, color):
    points = {"square": "-4,-4 4,-4 4,4 -4,4", "diamond": "0,-5.5 5.5,0 0,5.5 -5.5,0", "triangle": "0,-5.5 5,4 -5,4"}
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>'
    return f'<polygon points="{points[kind]}" transform="translate({x:.1f} {y:.1f})" fill="{color}"/>'


def text(x, y, content, anchor="start", size=12, color="#222222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}">{escape(content)}</text>'


def line(x1, y1, x2, y2, color, width=1.0, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"{more}/>'


def legend(names):
    parts, x = [], LEFT
    for name in names:
        color, kind = SERIES.get(name, OTHER)
        parts += [shape(kind, x, 56, color), text(x + 10, 60, name)]
        x += 26 + 6.6 * len(name)
    return parts


def dot_plot(title, about, axis_label, rows, at=None):
    """rows: [(label, [(series, median, min, max, below)])], `at`: where a line across all rows stands. What is below its target has a red ring."""
    values = [value for _, dots in rows for _, *three, _ in dots for value in three] + ([at] if at else [])
    axis, height = Axis(values), TOP + ROW * len(rows) + BOTTOM
    used = [name for name in SERIES if any(name == dot[0] for _, dots in rows for dot in dots)]
    used += [name for name in dict.fromkeys(dot[0] for _, dots in rows for dot in dots) if name not in SERIES]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img" aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(12, 22, title, size=15),
        text(12, 40, about, size=11, color="#555555"),
        *legend(used),
    ]
    bottom = height - BOTTOM
    for tick in axis.ticks:
        parts += [line(axis.x(tick), TOP, axis.x(tick), bottom, "#dddddd"), text(axis.x(tick), bottom + 16, f"{tick:g}", "middle", 11)]
    parts.append(text(WIDTH - RIGHT, bottom + 33, axis_label, "end", 11, "#555555"))
    if at:
        parts.append(line(axis.x(at), TOP, axis.x(at), bottom, "#222222", 1.5))
    for number, (label, dots) in enumerate(rows):
        parts += row(axis, TOP + ROW * number, label, dots)
    return "\n".join([*parts, "</svg>\n"])


def row(axis, top, label, dots):
    parts = [text(LEFT - 10, top + ROW / 2 + 4, label, "end"), line(LEFT, top, WIDTH - RIGHT, top, "#eeeeee")]
    for place, (name, median, low, high, below) in enumerate(dots):
        color, kind = SERIES.get(name, OTHER)
        y = top + ROW * (place + 1) / (len(dots) + 1)
        parts += [line(axis.x(low), y, axis.x(high), y, color, 1.5), shape(kind, axis.x(median), y, color)]
        if below:
            parts.append(f'<circle cx="{axis.x(median):.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{BELOW}" stroke-width="1.5"/>')
    return parts


def three(s):
    return s["median"], s["min"], s["max"]


def rate_dots(methods, samples, operation):
    """The methods of a group; of native and tuned modes the faster one."""
    fastest = {kind: fastest_native({n: v for n, v in samples.items() if n.startswith(kind)}, operation) for kind in ("native", "tuned")}
    dots = []
    for name, s in methods.items():
        kind = name.split(" ")[0]
        if kind not in fastest:
            dots.append((name, *three(s[operation]["observed"]), False))
        elif fastest[kind] == name:
            dots.append((kind, *three(s[operation]["observed"]), False))
    return dots


def file_name(what, condition):
    return f"{what}, {condition}".replace(", ", "_").replace(" ", "-") + ".svg"


def label_of(group, groups):
    same = [each for each in groups if each.pattern == group.pattern and each.condition == group.condition]
    return group.pattern if len(same) == 1 else f"{group.pattern}, {group.size}"


def about(machine, rounds):
    return f"{machine['cpu']}, {machine['processors']} processors, Linux {machine['kernel']}; median, slowest and fastest of {rounds} rounds"


def all_plots(machine, samples, summaries, comparisons):
    """{file name: SVG}"""
    plots = {}
    for condition in dict.fromkeys(group.condition for group in summaries):
        groups = [group for group in summaries if group.condition == condition]
        under = about(machine, max(s["repetitions"] for g in groups for s in summaries[g].values()))
        for operation in ("write", "read"):
            rows = [
                (label_of(group, groups), rate_dots(summaries[group], samples[group], operation))
                for group in groups
                if operation in OF_NAME[group.pattern].operations
            ]
            rows = [each for each in rows if each[1]]
            if rows:
                plots[file_name(operation, condition)] = dot_plot(f"{operation}: {condition}", under, "MiB/s from open to close", rows)
        rows = ratio_rows([c for c in comparisons if c["condition"] == condition and c["headline"]])
        if rows:
            label = "time of native / time of bento: right of the line bento is faster"
            plots[file_name("ratio", condition)] = dot_plot(f"bento beside the fastest native mode: {condition}", under, label, rows, at=1.0)
    return plots


def ratio_rows(comparisons):
    rows = {}
    for c in comparisons:
        name = c["title"].split(",")[0].split(" / ")[0]
        below = c["ok"] is False and c["certain"]
        rows.setdefault(f"{c['pattern']} {c['size']} {c['operation']}".replace(" 0 MiB", ""), []).append((name, *three(c), below))
    return list(rows.items())


def save(plots, folder):
    os.makedirs(folder, exist_ok=True)
    for name, content in plots.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)
