# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of steps share: steps_writer started, watched and killed; steps_state.py asked."""

import os
import re
import subprocess
import time

import harness
from harness import HERE, bento_env, built, check, native_env, python
from native_view_check import stock_env, stock_python

STATE = os.path.join(HERE, "steps_state.py")


def environment(options="", **more):
    """The connector under test with more options in its string."""
    if harness.REHEARSAL:
        return bento_env(**more)
    string = harness.connector()
    if options:
        string += (";" if " " in string else " ") + options
    return bento_env(string=string, **more)


class Judge:
    """steps_state.py's answers, from one process as long as it lives."""

    def __init__(self, env=None, interpreter=None):
        self.command = [interpreter or python(), "-B", STATE]
        self.env = env or environment()
        self.process = None

    @classmethod
    def stock(cls):
        """h5py from a wheel, without a plugin."""
        return cls(stock_env(), stock_python())

    @classmethod
    def native(cls):
        return cls(native_env())

    def __call__(self, path, step=None):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        self.process.stdin.write(f"step={step or ''}\n{path}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            self.close()
            answer = "WRONG: the reader crashed"
        return answer

    def expect(self, wanted, path, what, step=None):
        """Fails with `what` if the file is not at the step `wanted`."""
        answer = self(path, step)
        check(answer == f"step {wanted}", f"{what}: {path}: {answer}, not step {wanted}")

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(10)
            self.process.stdout.close()
            self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Writer:
    """steps_writer under mpirun, in the background. The log is FILE.log, here, and goes on over several runs."""

    def __init__(self, path, how, steps, ranks=3, env=None, **options):
        self.path, self.ranks = path, ranks
        self.log, self.out = (os.path.basename(path) + ending for ending in (".log", ".out"))
        self.begun = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        for sign in ("freed", "go"):
            if os.path.exists(f"{self.log}.{sign}"):
                os.remove(f"{self.log}.{sign}")
        command = ["mpirun", "-n", str(ranks), built("tests", "steps_writer"), path, self.log, how, str(steps)]
        command += [f"{name}={value}" for name, value in options.items()]
        self.output = open(self.out, "w+")
        self.process = subprocess.Popen(
            command, env=env or environment(), stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output
        )

    def lines(self, what):
        """The numbers behind a word in the log of this run, up to now."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            file.seek(self.begun)
            return [int(number) for number in re.findall(rf"^{what} (\d+)$", file.read(), re.M)]

    def last(self, what, otherwise=0):
        return (self.lines(what) or [otherwise])[-1]

    def wait_for(self, what, count=1, seconds=30):
        end = time.monotonic() + seconds
        while len(self.lines(what)) < count:
            check(self.process.poll() is None, f"the writer ended early:\n{self.text()}")
            check(time.monotonic() < end, f"no {count} x `{what}` after {seconds} s:\n{self.text()}")
            time.sleep(0.005)
        return self.last(what)

    def go_on(self, sign="freed"):
        open(f"{self.log}.{sign}", "w").close()

    def errors(self):
        """Per rank: (step, call, seconds, text) of each failure."""
        result = {}
        for rank in range(self.ranks):
            path = f"{self.log}.{rank}"
            if os.path.exists(path):
                with open(path) as file:
                    found = [re.match(r"(\d+) (\w+) ([\d.]+): (.*)", line) for line in file]
                result[rank] = [(int(m[1]), m[2], float(m[3]), m[4]) for m in found]
        return result

    def text(self):
        with open(self.out) as file:
            return "\n".join(file.read().strip().splitlines()[-30:])

    def wait(self, status=0, seconds=60):
        try:
            found = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise harness.Failure(f"the writer did not end within {seconds} s:\n{self.text()}") from None
        self.output.close()
        check(status is None or found == status, f"the writer's exit status is {found}, not {status}:\n{self.text()}")
        return found

    def kill(self):
        if self.process.poll() is None:
            harness.kill_ranks(self.process)
        if not self.output.closed:
            self.output.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def write_steps(path, how, steps, ranks=3, env=None, **options):
    """A whole run; returns the step that was closed."""
    with Writer(path, how, steps, ranks, env, **options) as writer:
        writer.wait()
        closed = writer.lines("closed")
        check(len(closed) == 1, f"the writer closed {closed}:\n{writer.text()}")
        return closed[0]
