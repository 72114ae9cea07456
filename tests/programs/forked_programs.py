# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Many short h5py programs, each in a process of its own: forked from one that has loaded h5py, and opened no file.

Most of the time of such a program is the start of Python with h5py. The connector is loaded by then, so its string, and
what else it reads when it is loaded, are those of the first process.
"""

import json
import os
import subprocess

import harness
from harness import Failure, Result, python

# Each line on stdin is an order; the answer is the program's exit status, negative if a signal has ended it.
SERVER = """
import gc, json, os, signal, sys
import h5py, numpy
gc.freeze()  # else each child copies all that it looks through
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit(0)
order = json.loads(line)
signal.alarm(order["seconds"])
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number, name in ((1, "out"), (2, "err")):
    os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
os.environ.update(order["settings"])
sys.argv = ["-c", *order["words"]]
exec(compile(order["code"], "<program>", "exec"), {"__name__": "__main__"})
"""


class Forked:
    """Starts a first process for each interpreter and environment that it is asked for; all of them end with it."""

    def __init__(self):
        self.servers = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers.values():
            server.stdin.close()
            server.wait(20)
            server.stdout.close()

    def run(self, code, words, env, interpreter=None, ok=(0,), seconds=60, **settings):
        """Like harness.run, of `python -c code words`. settings: of the environment, for this program alone."""
        command = [interpreter or python(), "-c", *map(str, words)]
        key = command[0], tuple(sorted(env.items()))
        if key not in self.servers:
            self.servers[key] = subprocess.Popen(
                [command[0], "-c", SERVER], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        server = self.servers[key]
        paths = {name: os.path.abspath(f"forked.{name}") for name in ("out", "err")}
        seconds *= 3 if harness.SANITIZER else 1
        order = {"code": code, "words": command[2:], "seconds": seconds, "settings": settings, **paths}
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline().strip()
        if not answer:
            raise Failure(f"the process that starts {' '.join(command)} has ended")
        texts = []
        for path in paths.values():
            with open(path) as file:
                texts.append(file.read())
            os.remove(path)
        result = Result(command, int(answer), *texts, None)
        if ok is not None and result.status not in ok:
            raise Failure(f"exit status {result.status}: {' '.join(command)}\n{result.tail()}")
        return result
