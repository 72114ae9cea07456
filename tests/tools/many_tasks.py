#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: many_tasks.py TASKS

A container with so many tasks, each with a record: info, layout and ls answer in under a second.
"""

import resource
import sys

from tool import answer, built, h5bento, native_env, run

from harness import bento_env, check, python, run_test, say


def main(tasks):
    program = f"import h5py; h5py.File('base.h5', 'w').create_dataset('data', ({tasks}, 8), 'f8')"
    run([python(), "-c", program], bento_env())
    run([built("tests", "many_tasks"), "base.h5", "many.h5", tasks], native_env(), timeout=120)
    for words in (["info"], ["layout"], ["ls", "-l"]):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = h5bento(*words, "many.h5").seconds
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Of the processor: other tests run beside this one.
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        say(f"  {words[0]}: {seconds:.3f} s, of which {busy:.3f} s on a processor")
        check(busy < 1, f"{words} took {busy:.2f} s")
    info = answer("info", "many.h5")
    check(info["ranks"] == tasks and info["records"] == tasks, f"{info}")
    rows = [line for line in h5bento("layout", "many.h5").out.splitlines() if line.startswith("  task")]
    check(0 < len(rows) <= 32, f"{len(rows)} rows")
    check(len(answer("layout", "many.h5")["files"][0]["tasks"]) == tasks, "tasks in JSON")


if __name__ == "__main__":
    run_test(main, int(sys.argv[1]))
