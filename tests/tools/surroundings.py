#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""usage: surroundings.py help|check

What h5bento says of itself (--help, manual page, completion), and of the environment.
"""

import glob
import os
import re
import shutil
import sys

from tool import answer, h5bento

from harness import SOURCE, bento_env, build_folder, check, native_env, run, run_test

COMMANDS = ("info", "ls", "steps", "layout", "find", "verify", "repair", "defrag", "export", "import", "mount", "umount", "check")
VIEW = ("status", "build", "drop", "take-over")


def case_help():
    """--help of everything, --version, and wrong usage."""
    text = h5bento("--help").out
    for name in (*COMMANDS, "view"):
        check(re.search(rf"^  {name} ", text, re.M), f"--help does not list {name}")
    for words in [[name] for name in COMMANDS] + [["view"]] + [["view", name] for name in VIEW]:
        shown = h5bento(*words, "--help").out
        check("Usage: h5bento" in shown, f"{words}: --help says\n{shown}")
        check(words == ["view"] or "--json" in shown, f"{words}: no --json in\n{shown}")
    share = os.path.join(SOURCE, "tools", "share")
    page = run(["man", "-l", f"{share}/h5bento.1"], native_env(MANWIDTH="200")).out if shutil.which("man") else None
    with open(f"{share}/h5bento.1") as file:
        page = re.sub(r"\.\x08", "", page or file.read().replace("\\-", "-"))
    for words in [[name] for name in COMMANDS] + [["view", name] for name in VIEW]:
        options = re.findall(r"(--[a-z]+)", h5bento(*words, "--help").out.split("Options:")[1].split("\n\n")[0])
        for option in [" ".join(words), *options]:
            check(option in page, f"the man page does not have {option} of {words}")
    for typed, want in (("inf", ["info"]), ("verify --j", ["--jobs", "--json"]), ("view ", ["build", "drop", "status", "take-over"]),
                        ("export --format f", ["fti", "fti16"]), ("transfer submit --arrive ", ["container", "native", "onefile"]),
                        ("transfer show -m ", ["keyval", "tree"]), ("transfer show --mode k", ["keyval"])):
        script = f'. {share}/h5bento.bash; COMP_WORDS=(h5bento {typed}{"" if typed[-1] != " " else chr(39) * 2}); ' \
            'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _h5bento; printf "%s\\n" "${COMPREPLY[@]}"'
        found = run(["bash", "-c", script], native_env()).out.split()
        check(sorted(found) == want, f"completion of '{typed}': {found}")
    check(re.fullmatch(r"h5bento \d+\.\d+\.\d+\n", h5bento("--version").out), "--version")
    for wrong in ([], ["nothing"], ["info"], ["info", "a", "b"], ["verify", "-j", "x", "a"], ["view"], ["layout", "--svg"]):
        h5bento(*wrong, ok=(2,))


def check_variants(good, reason):
    """Folders with the plugin for HDF5 without MPI, alone and beside the other one, whatever that is called."""
    plugins = os.path.join(build_folder(), "plugins")
    serial = os.path.join(build_folder(), "plugins-serial", "libh5bento_vol_serial.so")
    if not os.path.exists(serial):
        return
    reason("is for an HDF5 without MPI", HDF5_PLUGIN_PATH=os.path.dirname(serial))
    for number, folder in enumerate(("a", "b")):
        os.mkdir(folder)
        shutil.copy(serial, folder)
        own = os.path.join(folder, ("libh5bento_vol.so", "libh5bento_vol_cluster.so")[number])
        shutil.copy(os.path.join(plugins, "libh5bento_vol.so"), own)
        value = answer("check", env={**good, "HDF5_PLUGIN_PATH": folder})
        check(value["active"] and value["plugin"] == own, f"two variants: {value}")


def case_check():
    """check: active, and each reason why not."""
    plugins = os.path.join(build_folder(), "plugins")
    good = bento_env(string="bento")
    check(answer("check", env=good)["active"], "not active in the tests' own environment")

    def reason(want, **changed):
        env = {**good, **changed}
        env = {key: value for key, value in env.items() if value is not None}
        value = answer("check", env=env, ok=(1,))
        check(not value["active"] and any(want in text for text in value["reasons"]), f"{want}: {value}")

    reason("HDF5_VOL_CONNECTOR is not set", HDF5_VOL_CONNECTOR=None)
    reason("another connector", HDF5_VOL_CONNECTOR="pass_through under_vol=0;under_info={}")
    reason("HDF5_PLUGIN_PATH", HDF5_PLUGIN_PATH=os.getcwd())
    reason("unknown key", HDF5_VOL_CONNECTOR="bento nonsense=1")
    reason("H5BENTO_CHUNK", H5BENTO_CHUNK="x")
    reason("switches all plugins off", HDF5_PLUGIN_PRELOAD="::")
    os.mkdir("bad")
    with open("bad/libh5bento_vol.so", "w") as file:
        file.write("no library")
    reason("cannot be loaded", HDF5_PLUGIN_PATH="bad")
    check_variants(good, reason)
    check(os.listdir(plugins) and not glob.glob("/tmp/h5bento-check-*"), "check leaves something behind")
    # A folder for temporary files that is none, and one that nobody can write to.
    for folder in ("nowhere", "bad/libh5bento_vol.so", "/proc"):
        value = answer("check", env={**good, "TMPDIR": folder}, ok=(0,))
        check(any("TMPDIR" in text for text in value["remarks"]), f"TMPDIR={folder}: {value}")
    driver = {key: value for key, value in good.items() if key != "HDF5_VOL_CONNECTOR"}
    driver |= {"HDF5_DRIVER": "bento", "HDF5_DRIVER_CONFIG": "container=c.bento"}
    if os.path.exists(os.path.join(plugins, "libh5bento_vfd.so")):
        value = answer("check", env=driver)
        check(value["active"] and value["checked"] == "driver" and "vfd" in value["plugin"], f"{value}")
        said = h5bento("check", env={**driver, "HDF5_VOL_CONNECTOR": "bento"}).out
        check("file driver is active" in said and "go to the driver" in said, said)
        check(not os.path.exists("c.bento"), "the question made a container")
        # With these every open fails.
        for config, want in (
            ("", "container= is missing"),
            ("container=c.bento;foo=1", "unknown key"),
            ("container=c.bento;chunk=0", "chunk=0"),
            ("container=%9", "%9 needs a star"),
            ("container=none/c.bento", "folder 'none'"),
        ):
            value = answer("check", env={**driver, "HDF5_DRIVER_CONFIG": config}, ok=(1,))
            check(want in value["reasons"][0], f"{config}: {value}")
    value = answer("check", env={**driver, "HDF5_PLUGIN_PATH": os.getcwd()}, ok=(1,))
    check("libh5bento_vfd.so" in value["reasons"][0], f"{value}")


if __name__ == "__main__":
    run_test({"help": case_help, "check": case_check}[sys.argv[1]], containers=0)
