#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that disagree before a file is created or opened: about settings, the call, the file's name,
or whether it is open already. Each gets right data, or the same error on every rank, at once."""

import os
import re
import sys

from harness import bento_env, built, check, check_container, run, run_test, say
import harness

DEADLINE = 20  # what a wait for another rank would take, and no test may


def ranks_do(*groups, **more):
    """Groups of ranks (number, environment, actions on the file): what each rank said, by action and in their order. An action
    that comes once more is ACTION#2, and so on."""
    command = ["mpirun"]
    total = 0
    for count, env, path, actions in groups:
        if total:
            command.append(":")
        command += ["-n", count, "env", *(f"{k}={v}" for k, v in env.items())]
        command += [built("tests", "agree_ranks"), path, *actions.split()]
        total += count
    result = run(command, bento_env(H5BENTO_TIMEOUT=str(DEADLINE), **more), timeout=120)
    check(result.seconds < DEADLINE, f"a rank was waited for:\n{result.tail()}")
    said = [{} for _ in range(total)]
    for rank, action, text in re.findall(r"^rank (\d+) (\S+): (.*)$", result.text, re.M):
        check(not text.startswith("WRONG DATA"), f"rank {rank} {action}: {text}")
        check(action != "infos" or text == "0", f"rank {rank}: {text} MPI_Info objects are left")
        before = sum(known.partition("#")[0] == action for known in said[int(rank)])
        said[int(rank)][f"{action}#{before + 1}" if before else action] = text
    return said


def same_error(said, action, *words, ranks=None):
    for rank in ranks or range(len(said)):
        text = said[rank].get(action, "nothing")
        check(text not in ("ok", "nothing"), f"rank {rank} {action}: {text}, and no error")
        for word in words:
            check(word in text, f"rank {rank} {action}: no '{word}' in: {text}")
    texts = {re.sub(r"^rank \d+: ", "", said[rank][action]) for rank in ranks or range(len(said))}
    check(len(texts) == 1, f"{action}: different errors: {texts}")


def all_fine(said):
    for rank, actions in enumerate(said):
        for action, text in actions.items():
            check(text == "ok", f"rank {rank} {action}: {text}")


def part_of(said, begin, count):
    """What each rank said to some of its actions, of which it has as many as the others."""
    numbers = {len(actions) for actions in said}
    check(len(numbers) == 1 and begin + count <= min(numbers), f"so many actions: {numbers}, not {begin + count}")
    return [dict(list(actions.items())[begin : begin + count]) for actions in said]


def var(**values):
    return {f"H5BENTO_{key.upper()}": str(value) for key, value in values.items()}


WRITE = "create write=1 flush write=2 close"
READ = "open check=2 close"


def other_chunk():
    said = ranks_do((1, var(chunk="4M"), "a.h5", WRITE), (2, var(chunk="1M"), "a.h5", WRITE))
    same_error(said, "create", "a.h5", "chunk=4M on rank 0", "chunk=1M on ranks 1, 2")
    check(not os.path.exists("a.h5"), "a file was created all the same")
    # Unlike text, like value.
    all_fine(
        ranks_do(
            (1, var(chunk="4M"), "a.h5", f"{WRITE} {READ}"),
            (2, var(chunk="4194304"), "a.h5", f"{WRITE} {READ}"),
        )
    )


ALL = dict(
    align="64K", chunk="1M", checksum="md5", durability="power", files=2, keep=3, minmax="on", view="off",
    view_copy="1M", view_maps=7,
)  # fmt: skip


def only_on_rank_0():
    """Variables that mpirun did not forward."""
    all_fine(ranks_do((1, var(**ALL), "b.h5", WRITE), (2, {}, "b.h5", WRITE)))
    check_container("b.h5")
    check(os.path.exists("b.h5.000001"), "files=2 of rank 0 has no effect")
    all_fine(ranks_do((3, {}, "b.h5", READ)))
    all_fine(ranks_do((1, var(step=1), "b.h5", "open check=1 close"), (2, {}, "b.h5", "open check=1 close")))
    all_fine(ranks_do((1, var(keep=2), "b.h5", "openw write=5 close"), (2, {}, "b.h5", "openw write=5 close")))
    all_fine(ranks_do((3, {}, "b.h5", "open check=5 close")))


def only_on_others():
    said = ranks_do((1, {}, "c.h5", WRITE), (2, var(**ALL), "c.h5", WRITE))
    same_error(said, "create", *(f"{key}={value} on ranks 1, 2" for key, value in ALL.items()))
    check(not os.path.exists("c.h5"), "a file was created all the same")
    same_error(said, "create", "no chunk= on rank 0", "keep=1 on rank 0, where nothing was said")
    # The defaults, said aloud; and what is each process's own.
    others = dict(buffer="64K", timeout=19, keep=1, files=1, checksum="xxh3", minmax="off")
    all_fine(ranks_do((1, {}, "c.h5", WRITE), (2, var(**others), "c.h5", f"{WRITE}")))
    # A file that is there does not mind what a new one would be like.
    others = var(chunk="1M", files=2)
    all_fine(ranks_do((1, {}, "c.h5", READ), (1, others, "c.h5", READ), (1, {}, "c.h5", READ)))
    said = ranks_do((2, {}, "c.h5", READ), (1, var(step=1), "c.h5", READ))
    same_error(said, "open", "no step= on rank 0", "step=1 on rank 2")


def string_and_variable():
    said = ranks_do(
        (1, {}, "d.h5", f"conn=chunk=4M;keep=2 {WRITE}"), (2, var(chunk="1M"), "d.h5", WRITE)
    )
    same_error(said, "create", "chunk=4M on rank 0", "chunk=1M on ranks 1, 2")
    all_fine(
        ranks_do(
            (1, var(chunk="1M"), "d.h5", f"conn=chunk=4M;keep=2 {WRITE} {READ}"),
            (2, var(chunk="4M"), "d.h5", f"{WRITE} {READ}"),
        )
    )


def wrong_on_one():
    all_fine(ranks_do((3, {}, "e.h5", WRITE)))
    for action in ("create", "open", "delete"):
        said = ranks_do((2, {}, "e.h5", action), (1, var(chunk="lots"), "e.h5", action))
        same_error(said, action, "rank 2: H5BENTO_CHUNK: chunk=lots: accepted is")
    said = ranks_do((3, var(colour="red", keep="none"), "e.h5", "create"))
    same_error(said, "create", "H5BENTO_KEEP: keep=none")
    check("rank 0" not in said[0]["create"], f"all ranks are wrong, one is named: {said[0]}")
    all_fine(ranks_do((3, {}, "e.h5", READ)))


def other_call():
    calls = (
        ("open", "openw"),
        ("openw", "open"),
        ("create", "open"),
        ("excl", "create"),
        ("delete", "open"),
        ("create", "userblock"),
        ("userblock", "create"),
    )
    first, others = (" ".join(each) for each in zip(*calls))
    said = ranks_do((1, {}, "f.h5", f"{WRITE} {first} {READ}"), (2, {}, "f.h5", f"{WRITE} {others} {READ}"))
    before, behind = len(WRITE.split()), len(READ.split())
    all_fine(part_of(said, 0, before))
    for number in range(len(calls)):
        both = [{"call": text} for actions in part_of(said, before + number, 1) for text in actions.values()]
        same_error(both, "call", "do not make the same call", "on rank 0", "on ranks 1, 2")
    all_fine(part_of(said, before + len(calls), behind))


def other_name():
    said = ranks_do((1, {}, "g.h5", "create"), (2, {}, "other.h5", "create"))
    same_error(said, "create", "'g.h5' on rank 0", "'other.h5' on ranks 1, 2")
    check(not os.path.exists("g.h5") and not os.path.exists("other.h5"), "a file was created")
    # Another spelling is no other file.
    here = os.path.abspath("g.h5")
    all_fine(
        ranks_do((1, {}, "g.h5", f"{WRITE} {READ}"), (1, {}, "./g.h5", f"{WRITE} {READ}"),
                 (1, {}, here, f"{WRITE} {READ}"))
    )  # fmt: skip


def open_already():
    """By some ranks alone, or by all in different ways: each open is its own, as natively."""
    mine = "self barrier open check=2 checkself=2 close selfclose"
    others = "barrier open check=2 close"
    last = "self barrier create checkself=2 selfclose", "barrier create", "barrier create"
    turns = ((mine, others, others), (others, others, mine), (mine, mine, mine), last)
    said = ranks_do(*((1, {}, "h.h5", " ".join((WRITE, *each))) for each in zip(*turns)))
    for rank, actions in enumerate(said):
        create = next(action for action in reversed(actions) if action.startswith("create"))
        actions["the last create"] = actions.pop(create)
    same_error(said, "the last create", "'h.h5' is open already on rank 0")
    all_fine([{action: text for action, text in actions.items() if action != "the last create"} for actions in said])
    for rank, each in enumerate(zip(*turns)):
        count = len(" ".join((WRITE, *each)).split())
        check(len(said[rank]) == count, f"rank {rank} said {len(said[rank])} of {count} things")


def second_open():
    own = ("conn=keep=3;chunk=1M create write=1 conn= again againclose conn=keep=3 againw againclose write=2 close open "
           "check=2 close conn=")  # fmt: skip
    others = own.replace("conn=keep=3;chunk=1M ", "").replace("conn=keep=3 ", "").replace("conn= ", "").replace(" conn=", "")
    refused = (
        ("keep=2", "keep=3"),
        ("chunk=2M", "chunk=1M"),
        ("view=off", "view=on"),
        ("buffer=64K", "buffer=4M"),
    )
    by_all = " ".join(f"conn=keep=3;chunk=1M create conn={string} again conn= close" for string, _ in refused)
    said = ranks_do(
        (1, {}, "i.h5", f"{own} {by_all} openw again close"),
        (1, {}, "i.h5", f"{others} {by_all} openw again close"),
        (1, {}, "i.h5", f"{others} {by_all} openw conn=buffer=64K again conn= close"),
    )
    # The first one is fine; then those of `refused`, and that of one rank.
    for number, (string, before) in enumerate(refused, 2):
        same_error(said, f"again#{number}", "'i.h5'", string, before)
    # A rank's own is its own error, and everybody's.
    same_error(said, f"again#{len(refused) + 2}", "buffer=64K", "buffer=4M")
    wrong = {f"again#{number}" for number in range(2, len(refused) + 3)}
    all_fine([{action: text for action, text in actions.items() if action not in wrong} for actions in said])
    # The connector string overruled the variable before, and so it does now.
    all_fine(ranks_do((3, var(keep=2), "i.h5", "conn=keep=3 openw conn= again againclose close")))


def refused_by_name():
    said = ranks_do((3, var(visible="commit"), "j.h5", "create atomic write=1 close open check=1 close"))
    same_error(said, "atomic", "MPI atomic mode is not available")
    said = ranks_do((1, var(files=2), "j.h5", "create"))
    same_error(said, "create", "files=2: a container has at most one physical file per rank")
    said = ranks_do((3, var(files=4), "j.h5", "create"))
    same_error(said, "create", "files=4")
    said = ranks_do((2, var(step=1), "j.h5", "create"))
    same_error(said, "create", "step=1: opens files for reading")
    all_fine(ranks_do((3, {}, "j.h5", "open check=1 close")))


def infos():
    """Everything that is no open container gives back the MPI_Info that it got of the access list."""
    actions = "userblock close infos open close open close infos"
    failing = "name=missing.h5 open infos name=k.h5 conn=chunk=lots open infos"
    said = ranks_do((2, {}, "k.h5", f"{actions} name=l.h5 {WRITE} infos {READ} delete infos {failing}"))
    check(all("infos" in actions for actions in said), f"nothing was counted: {said}")


QUICK = (other_chunk, wrong_on_one)
FULL = (only_on_rank_0, only_on_others, string_and_variable, other_call, other_name, open_already, second_open,
        refused_by_name, infos)  # fmt: skip


def test(which="all"):
    if harness.REHEARSAL:
        say("rehearsal: HDF5's own connectors have no settings")
        return
    for case in {"quick": QUICK, "full": FULL}.get(which, QUICK + FULL):
        case()
        say(f"{case.__name__}: fine")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(test, *sys.argv[1:], containers=2)
