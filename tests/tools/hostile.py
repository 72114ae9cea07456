#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: hostile.py COUNT

The commands of h5bento over containers that were edited by chance: as many with checksums that agree again, which the
decoders have to see through, and as many with flipped bytes. None may crash, hang, or take much memory.
"""

import os
import random
import resource
import sys

from tool import built, copy, flip, h5bento, native_env, run, write_ranks

from harness import check, first_seed, run_test, say

COMMANDS = (
    ["info"], ["layout"], ["ls", "-r", "-l"], ["steps"], ["verify", "-j", "2"], ["view", "status"], ["find"],
    ["repair"], ["verify"],
)


def drive(path):
    """All commands; their statuses."""
    statuses = []
    for words in COMMANDS:
        more = ["/line", "--min", "3"] if words == ["find"] else []
        statuses.append(h5bento(*words, path, *more, ok=None, timeout=60).status)
    return statuses


def main(count):
    seed = first_seed(0)
    os.mkdir("edited")
    run([built("tests", "hostile_files"), seed, count, "edited"], native_env())
    sound = damaged = unreadable = 0
    for number in range(seed, seed + count):
        say(f"  seed {number}: {(statuses := drive(f'edited/{number}.h5'))}")
        unreadable += statuses[0] == 2
        damaged += statuses[4] == 1
        sound += statuses[4] == 0
    check(damaged > 0, "no edit was found by verify")
    say(f"{count} edited containers: verify finds {sound} sound, {damaged} damaged; {unreadable} cannot be read at all")
    for name in os.listdir("edited"):
        os.remove(f"edited/{name}")

    write_ranks("whole.h5", 2, "bento chunk=256K", "--rows", "64", "--columns", "128")
    size = os.path.getsize("whole.h5")
    for number in range(seed, seed + count):
        dice = random.Random(number)
        copy("whole.h5", "flipped.h5")
        places = [dice.randrange(min(size, 65536) if dice.random() < 0.5 else size) for _ in range(dice.randrange(1, 6))]
        for place in places:
            flip("flipped.h5", place, 1 << dice.randrange(8))
        say(f"  seed {number}: bytes {places}: {drive('flipped.h5')}")
        os.remove("flipped.h5")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    say(f"largest process: {peak} MiB")
    check(peak < 1024, f"a process took {peak} MiB")


if __name__ == "__main__":
    run_test(main, int(sys.argv[1]))
