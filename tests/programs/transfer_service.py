#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What share/ has for clusters, as it is shipped: the epilog of Slurm and the unit of systemd.

    transfer_service.py epilog | unit
"""

import os
import pwd
import shutil
import subprocess
import sys

from harness import SOURCE, Skip, built, check, native_env, run, run_test, say

EPILOG = os.path.join(SOURCE, "share", "slurm-epilog")
UNIT = os.path.join(SOURCE, "share", "h5bento-transfer.service")
DATA = os.urandom(3 << 20)


def folders(owner):
    """A cache, a destination and a folder for the transfer file, of the user whose job it was."""
    os.chmod(".", 0o755)
    for name in ("cache", "place", "tmp"):
        os.makedirs(name)
        os.chown(name, owner.pw_uid, owner.pw_gid)
    return [os.path.abspath(name) for name in ("cache", "place", "tmp")]


def job_user():
    """Another user than the epilog's, if that one can start the program and come here."""
    start = ["runuser", "-u", "nobody", "--", built("bin", "h5bento"), "--version"]
    if subprocess.run(start, capture_output=True).returncode == 0:
        return pwd.getpwnam("nobody")
    say("nobody cannot start the program (HDF5 lies in root's own folder): the job's user is root")
    return pwd.getpwnam("root")


def epilog():
    """What a killed job has submitted arrives, as the job's user; what cannot arrive is no failure of the node."""
    if os.geteuid() != 0:
        raise Skip("an epilog runs as root")
    owner = job_user()
    cache, place, tmp = folders(owner)
    env = native_env(PATH=f"{built('bin')}:{os.environ['PATH']}", SLURM_JOB_USER=owner.pw_name, SLURM_JOB_ID="7", H5BENTO_EPILOG_HOURS="1")
    transfer_file = os.path.join(tmp, "transfer.scrinfo")
    env["H5BENTO_TRANSFER_FILE"] = transfer_file
    run(["bash", EPILOG], env)  # nothing was ever submitted
    with open(os.path.join(cache, "data"), "wb") as file:
        file.write(DATA)
    os.chown(os.path.join(cache, "data"), owner.pw_uid, owner.pw_gid)
    as_user = ["runuser", "-u", owner.pw_name, "--", built("bin", "h5bento"), "transfer"]
    run([*as_user, "submit", os.path.join(cache, "data"), os.path.join(place, "data"), "--file", transfer_file, "--no-start"], env)
    run(["bash", EPILOG], env)
    with open(os.path.join(place, "data"), "rb") as file:
        check(file.read() == DATA, "what arrived differs")
    check(os.stat(os.path.join(place, "data")).st_uid == owner.pw_uid, "it does not belong to the job's user")
    say("epilog: arrived, as the job's user")
    os.remove(os.path.join(place, "data"))
    run([*as_user, "submit", os.path.join(cache, "data"), os.path.join(place, "later"), "--file", transfer_file, "--no-start"], env)
    os.rmdir(place)
    open(place, "w").close()  # no folder any more
    run(["bash", EPILOG], env)
    os.remove(place)
    os.mkdir(place)
    os.chown(place, owner.pw_uid, owner.pw_gid)
    run([*as_user, "submit", os.path.join(cache, "data"), os.path.join(place, "later"), "--file", transfer_file, "--no-start"], env)
    run(["bash", EPILOG], env)
    check(os.listdir(place) == ["later"], f"{os.listdir(place)}")
    say("epilog: ends in peace when something cannot arrive, and brings it when it is submitted again")


def unit():
    """systemd takes the unit, and its one command is what the program knows."""
    if not shutil.which("systemd-analyze"):
        raise Skip("systemd-analyze is not installed")
    with open(UNIT) as file:
        text = file.read()
    command = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    words = command.removeprefix("ExecStart=").split()
    check(words == ["h5bento", "transfer", "run"], f"{words}")
    with open("h5bento-transfer.service", "w") as file:  # the program is not installed here
        file.write(text.replace("ExecStart=h5bento", f"ExecStart={built('bin', 'h5bento')}"))
    result = subprocess.run(["systemd-analyze", "verify", "--user", "--man=no", os.path.abspath("h5bento-transfer.service")], capture_output=True, text=True,
                            env={**os.environ, "XDG_RUNTIME_DIR": os.getcwd()})
    said = result.stdout + result.stderr
    check(result.returncode == 0 and "h5bento-transfer" not in said, f"systemd-analyze: {said}")
    file = os.path.abspath("transfer.scrinfo")
    run([built("bin", "h5bento"), *words[1:], "--until-done"], native_env(H5BENTO_TRANSFER_FILE=file))
    say("unit: systemd takes it")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test({"epilog": epilog, "unit": unit}[sys.argv[1]], containers=0)
