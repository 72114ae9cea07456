# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The order and the number of runs: rounds in which each method of each group has one, within a time."""

import random
import sys
import time

from measuring import NATIVE, RunFailed

from suite.patterns import OF_NAME, TUNED, TWO, methods_of
from suite.runs import NotMeasured

LEAST, MOST = 3, 15
# A native mode this much slower than the best of its kind when the values are checked is not measured again: its median could not
# become the faster one.
HOPELESS = 3.0
RUN_SECONDS = 1.2  # of a run on an idle machine, before there is an estimate


class Progress:
    """One line on a terminal that is written again, else a line for each round."""

    def __init__(self, what, count, end):
        self.what, self.count, self.end, self.done = what, count, end, 0
        self.terminal = sys.stderr.isatty()
        if not self.terminal:
            print(f"{what}: {count} runs", file=sys.stderr, flush=True)

    def step(self, text):
        self.done += 1
        if self.terminal:
            left = max(0, self.end - time.monotonic()) / 60
            print(f"\r\033[K{self.what}, run {self.done} of {self.count}, about {left:.0f} min left: {text}", end="", file=sys.stderr, flush=True)

    def close(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Plan:
    def __init__(self, runs, groups, options):
        self.runs, self.options = runs, options
        self.order = random.Random(options.seed)
        self.cells = {group: methods_of(OF_NAME[group.pattern], options) for group in groups}
        self.cells = {group: methods for group, methods in self.cells.items() if methods}
        self.samples = {group: {method.name: [] for method in methods} for group, methods in self.cells.items()}
        self.seconds = {}
        self.not_measured = []
        self.unsettled = 0
        self.failed = None
        for group, methods in self.cells.items():
            for method in [m for m in methods if group.synced and m.name == "subfiling"]:
                self.leave_out(group, method, "its subfiles are not synced with the file that has the name")
            for method in [m for m in self.cells[group] if group.ranks < 2 and m.name in (TWO, "bento files=2")]:
                self.leave_out(group, method, "one rank writes one file")

    def count(self):
        return sum(len(methods) for methods in self.cells.values())

    def announce(self):
        count, options = self.count(), self.options
        text = f"{count} runs a round, {len(self.cells)} groups; a first round checks all values"
        if options.quick:
            text += ", and is the only one"
        elif options.repetitions:
            text += f", {options.repetitions} more are measured; about {count * RUN_SECONDS * (options.repetitions + 1) / 60:.0f} minutes on an idle machine"
        else:
            text += f"; then as many as fit into {options.minutes:g} minutes in all, {LEAST} to {MOST}"
        print(text, file=sys.stderr, flush=True)

    def measure(self):
        """A failure, or an interrupt from the keyboard, ends the rounds, and what was measured until then is shown."""
        begun = time.monotonic()
        self.announce()
        self.round("checking values", begun + self.count() * RUN_SECONDS, verify=True)
        if self.options.quick:
            return
        for group in self.cells:
            self.end_check(group)
        try:
            self.rounds(begun)
        except RunFailed as error:
            self.failed = str(error)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)

    def rounds(self, begun):
        each = sum(self.seconds[group, method.name] for group, methods in self.cells.items() for method in methods)
        count = self.options.repetitions or self.fitting(each, time.monotonic() - begun)
        print(f"{count} rounds of about {each:.0f} s", file=sys.stderr, flush=True)
        started = time.monotonic()
        for number in range(count):
            each = (time.monotonic() - started) / number if number else each
            if not self.options.repetitions and number >= LEAST and time.monotonic() + each > begun + self.options.minutes * 60:
                print(f"the time is over after {number} rounds", file=sys.stderr)
                return
            self.round(f"round {number + 1} of {count}", time.monotonic() + (count - number) * each, verify=False)

    def fitting(self, each, gone):
        left = self.options.minutes * 60 - gone
        rounds = max(LEAST, min(MOST, int(left / each)))
        if rounds * each > left:
            print(f"{LEAST} rounds take longer than asked for: {(rounds * each + gone) / 60:.0f} minutes in all", file=sys.stderr)
        return rounds

    def round(self, what, end, verify):
        """The methods of a group follow each other, so that they see the same machine; both orders are random."""
        progress = Progress(what, self.count(), end)
        groups = list(self.cells)
        self.order.shuffle(groups)
        for group in groups:
            methods = list(self.cells[group])
            self.order.shuffle(methods)
            for method in methods:
                progress.step(f"{group.key}, {method.name}")
                self.one(group, method, verify)
        progress.close()

    def one(self, group, method, verify):
        begun = time.monotonic()
        try:
            sample = self.runs.measure(group, method, verify)
        except NotMeasured as reason:
            self.leave_out(group, method, str(reason))
            return
        except RunFailed as error:
            # Of others' methods that cannot do it in time there is a line, of ours and of wrong values a failure.
            if verify and method.name in ("subfiling", *NATIVE, *TUNED) and "no end after" in str(error):
                self.leave_out(group, method, f"no end after {self.options.timeout:g} s")
                return
            raise
        self.seconds[group, method.name] = time.monotonic() - begun
        self.unsettled += not sample["settled"]
        self.samples[group][method.name].append(sample)

    def leave_out(self, group, method, reason):
        self.not_measured.append({"group": group.key, "method": method.name, "reason": reason})
        self.cells[group].remove(method)
        del self.samples[group][method.name]

    def end_check(self, group):
        """What the check has measured does not count, but tells which native mode is hopeless."""
        natives = [m for m in self.cells[group] if m.name in NATIVE + TUNED]
        first = {m.name: self.samples[group][m.name].pop() for m in self.cells[group]}
        for method in natives:
            mine = first[method.name]
            for other in (first[each.name] for each in natives):
                times = [(mine[f"{o}_s"], other[f"{o}_s"]) for o in OF_NAME[group.pattern].operations]
                if all(a > HOPELESS * b for a, b in times):
                    slower = min(a / b for a, b in times)
                    self.leave_out(group, method, f"{slower:.0f} times slower than another native mode when the values were checked")
                    break
