# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""From samples to medians, ratios and verdicts."""

import math
import statistics

from suite.patterns import OF_NAME

CONFIDENCE = 0.95


def rate(sample, operation, measure="s"):
    """MiB/s. `s`: from the open to the close, as a user observes it; `calls_s`: in the calls alone, which others call the raw rate."""
    return sample[f"{operation}_bytes"] / sample[f"{operation}_{measure}"] / 2**20


def interval(values):
    """Where the median is with 95 %, by the ranks of the samples and nothing else; below six samples there is no such interval, and it is all of them."""
    ordered, count = sorted(values), len(values)
    outside, cut = 0.0, 0
    while cut < count // 2:
        outside += 2 * math.comb(count, cut) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        cut += 1
    cut = max(cut, 1)
    return ordered[cut - 1], ordered[count - cut]


def spread(values):
    low, high = interval(values)
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "low": low, "high": high, "count": len(values)}


def summary(samples, operations):
    result = {"repetitions": len(samples)}
    for operation in operations:
        s = {"observed": spread([rate(each, operation) for each in samples]), "calls": spread([rate(each, operation, "calls_s") for each in samples])}
        for name, key, factor in (("close_ms", "close_s", 1e3), ("peak_mib", "peak_kib", 1 / 1024)):
            values = [each[f"{operation}_{key}"] * factor for each in samples if f"{operation}_{key}" in each]
            s[name] = statistics.median(values) if values else None
        result[operation] = s
    return result


def summaries(samples):
    """{group: {method: summary}}, without methods that have no samples."""
    return {
        group: {name: summary(each, OF_NAME[group.pattern].operations) for name, each in methods.items() if each}
        for group, methods in samples.items()
    }


def judged(values, target):
    """A comparison of samples of the same rounds. `certain` is false where the target lies within the interval of the median: the spread is then larger than the difference, and more cannot be said."""
    result = spread(values)
    result["target"], result["ok"], result["certain"] = target, None, None
    if target is not None:
        result["ok"] = result["median"] >= target
        result["certain"] = result["low"] >= target if result["ok"] else result["high"] < target
    return result


def verdict(comparison):
    if comparison["target"] is None:
        return "-"
    return ("ok" if comparison["ok"] else "**BELOW**") + ("" if comparison["certain"] else ", no statement possible")
