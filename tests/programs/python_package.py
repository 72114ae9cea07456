#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The Python package and the plugin without MPI, in the HDF5 that the wheel of h5py brings.

A program writes, grows a dataset, flushes and is killed; recovered, the file opens with h5py alone. enable() before and
after `import h5py`, disable(), files that stay ordinary ones, wrong settings, steps and values; and a plugin that leaves
no name of HDF5 or MPI to the process that loads it.
"""

import os
import re
import signal
import subprocess
import textwrap

from harness import SOURCE, build_folder, built, check, native_env, run, run_test, say

PLUGIN = ("plugins-serial", "libh5bento_vol_serial.so")
WRITER = """
    import sys, numpy as np
    {imports}
    file = h5py.File("run.h5", "w")
    for step in range(20):
        if "group" in file:
            del file["group"]
        file.require_group("group")["values"] = np.full(500, step)
        if "grown" not in file:
            file.create_dataset("grown", (0,), "i8", maxshape=(None,), chunks=(1000,), compression="gzip")
        file["grown"].resize((step + 1) * 1500, 0)
        file["grown"][step * 1500 :] = step
        file.attrs["step"] = step
        file.flush()
        print(step, flush=True)
    file["grown"][...] = -1
    del file["group"]
    print("written", flush=True)
    sys.stdin.read()
"""
# Complex numbers came with HDF5 2.0.
NEWER = """
    import h5bento; h5bento.enable()
    import h5py, numpy as np
    with h5py.File("newer.h5", "w", libver="latest") as file:
        file["known"] = np.arange(50000.0)
        space = h5py.h5s.create_simple((3,))
        strange = h5py.h5d.create(file.create_group("folder").id, b"strange", h5py.h5t.COMPLEX_IEEE_F64LE, space)
        strange.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1 + 2j, 3j, 4]), h5py.h5t.NATIVE_DOUBLE_COMPLEX)
        h5py.h5a.create(file["folder"].id, b"a", h5py.h5t.NATIVE_INT32, space).write(np.arange(3, dtype="i4"))
        file["described"] = np.arange(5)
        h5py.h5a.create(file["described"].id, b"b", h5py.h5t.COMPLEX_IEEE_F64LE, space)
        file["again"] = file["folder/strange"]
        file["last"] = "end"
"""
NEWER_READER = """
    import h5py, numpy as np, sys
    with h5py.File(sys.argv[1], "r") as file:
        assert np.array_equal(file["known"][...], np.arange(50000.0)) and file["last"][()] == b"end"
        assert list(file["folder"].attrs["a"]) == [0, 1, 2]
        assert list(file["described"]) == [0, 1, 2, 3, 4]
        assert len(file["described"].attrs) == (1 if sys.argv[2] == "with" else 0)
        for name in ("folder/strange", "again"):
            if sys.argv[2] == "with":
                values = np.zeros(3, "c16")
                file[name].id.read(h5py.h5s.ALL, h5py.h5s.ALL, values, h5py.h5t.NATIVE_DOUBLE_COMPLEX)
                assert list(values) == [1 + 2j, 3j, 4], values
                continue
            link = file.get(name, getlink=True)
            assert isinstance(link, h5py.SoftLink) and "cannot be opened" in link.path, link.path
            assert file.get(name) is None
"""
READER = """
    import h5py, numpy as np
    with h5py.File("run.h5", "r") as file:
        assert file.attrs["step"] == 19
        assert (file["group/values"][...] == np.full(500, 19)).all()
        assert (file["grown"][...] == np.repeat(np.arange(20), 1500)).all()
        {more}
"""
BEFORE = 'import h5bento; h5bento.enable(keep="all", minmax=True); import h5py'
AFTER = 'import h5py, h5bento; h5bento.enable(keep="all", minmax=True)'
CALLS = """
    import h5bento, os
    assert h5bento.is_container("run.h5") and not h5bento.is_container(__file__)
    assert h5bento.verify("run.h5").sound
    import h5py
    report = h5bento.recover("run.h5")
    assert report.sound and report.damage == 0 and report.step == 20, report
    steps = h5bento.steps("run.h5")
    assert [step.number for step in steps] == list(range(1, 21)), steps
    assert "/grown" in steps[5].datasets, steps[5]
    with h5bento.open_step("run.h5", "/grown", 4) as dataset:
        assert dataset.shape == (7500,) and (dataset[6000:] == 4).all() and dataset.step == 5
    found = h5bento.find("run.h5", "/grown", 7, 7)
    assert found.boxes and found.skipped, found
    assert h5bento.find("run.h5", "/grown", 100.0, 200.0).boxes == ()
    with h5bento.File("run.h5", "r", step=3) as file:
        assert file.attrs["step"] == 2
    for call in (lambda: h5bento.recover("nowhere.h5"), lambda: h5bento.verify(__file__), lambda: h5bento.open_step("run.h5", "/grown", 99)):
        try:
            call()
        except h5bento.BentoError as error:
            assert "nowhere.h5" in str(error) or "calls.py" in str(error) or "99" in str(error), error
        else:
            raise AssertionError("no error")
"""
STATE = """
    import io, os, warnings
    import h5bento
    {imports}
    def kind(name):
        with open(name, "rb") as file:
            return {{b"sion": "container", b"\\x89HDF": "ordinary"}}[file.read(4)]
    def make(name, opener=h5py.File, **more):
        with opener(name, "w", **more) as file:
            file["x"] = 1
        return kind(name)
    assert make("a.h5") == "container"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for again in range(2):
            h5py.File(io.BytesIO(), "w").close()
            h5py.File("core.h5", "w", driver="core").close()
            h5py.File("block.h5", "w", userblock_size=512).close()
    kinds = sorted(str(one.message).split(" a file is")[0] for one in caught)
    assert kinds == ["with a Python file object", "with a user block", "with driver='core'"], kinds
    assert all(one.filename == __file__ for one in caught), caught
    with h5py.File("chunks.h5", "w") as file:
        data = file.create_dataset("x", data=range(4000), chunks=(1000,), compression="gzip")
        mask, stored = data.id.read_direct_chunk((2000,))
        data.id.write_direct_chunk((0,), stored, mask)
        assert list(data[:1000]) == list(range(2000, 3000))
    h5bento.disable()
    assert "HDF5_VOL_CONNECTOR" not in os.environ and "HDF5_PLUGIN_PATH" not in os.environ
    assert make("b.h5") == "ordinary" and not h5bento.is_enabled()
    h5py.File("new.h5", "a").close()
    with h5bento.enable(keep=2):
        with h5bento.enable(align="8K"):
            assert make("c.h5") == "container"
        assert make("d.h5") == "container"
    assert make("e.h5") == "ordinary"
    again = h5bento.enable()
    for turn in range(2):
        with again:
            with again:
                pass
            assert make("again.h5") == "container"
        assert make("again.h5") == "ordinary" and not h5bento.is_enabled()
    assert make("f.h5", h5bento.File, keep=2) == "container"
    assert make("g.h5") == "ordinary"
    for settings in (dict(kep=2), dict(keep="1;view=off")):
        try:
            h5bento.enable(**settings)
        except (TypeError, ValueError):
            assert not h5bento.is_enabled()
        else:
            raise AssertionError(settings)
    try:
        h5bento.File("h.h5", "w", keep="many")
    except OSError as error:
        assert "keep=many" in str(error), error
    else:
        raise AssertionError("keep=many was taken")
"""
TWO = """
    import ctypes, os, sys
    import h5bento
    h5bento.enable()
    def other():
        library = ctypes.CDLL(os.path.join({root!r}, "lib", "libhdf5.so"))
        for name in ("H5Fcreate", "H5Fopen"):
            getattr(library, name).restype = ctypes.c_int64
        library.H5Fcreate.argtypes = (ctypes.c_char_p, ctypes.c_uint, ctypes.c_int64, ctypes.c_int64)
        library.H5Fopen.argtypes = (ctypes.c_char_p, ctypes.c_uint, ctypes.c_int64)
        library.H5Fclose.argtypes = (ctypes.c_int64,)
        assert library.H5open() >= 0
        return library
    if {first}:
        second = other()
    import h5py
    if not {first}:
        second = other()
    with h5py.File("ours.h5", "w") as file:
        file["x"] = range(1000)
        assert second.H5Fopen(b"ours.h5", 1, 0) < 0, "two writers"
        made = second.H5Fcreate(b"theirs.h5", 2, 0, 0)
        assert made > 0 and second.H5Fclose(made) >= 0
    opened = second.H5Fopen(b"ours.h5", 1, 0)
    assert opened > 0 and second.H5Fclose(opened) >= 0
    for name in ("ours.h5", "theirs.h5"):
        assert h5bento.is_container(name), name
        h5py.File(name, "r").close()
    assert h5bento.recover("ours.h5").sound and h5bento.steps("ours.h5")
"""

ODD = """
    import gc, os, threading
    import h5bento, h5py, numpy as np
    # Numbers of numpy, and integers that no dataset of integers can hold.
    with h5bento.File("odd.h5", "w", minmax=True) as file:
        file["f"] = np.full((4, 100), 2.5, "f4")
        file["i"] = np.arange(1000)
    for low, high, found in (
        (np.float32(2.5), np.float32(2.5), True), (np.float32(2.75), 3, False), (0, 2**64, True), (-(2**63) - 1, 10, True),
        (np.int16(3), np.uint8(4), False), (np.int64(2), np.float64(2.5), True),
    ):
        boxes = h5bento.find("odd.h5", "/f", low, high).boxes
        assert bool(boxes) == found, (low, high, boxes)
    assert h5bento.find("odd.h5", "/i", np.int64(0), 2**70).boxes
    for start, shape in (((0,), (5,)), ((0, 0, 0), (1, 1, 1)), ((0, 0), (1,)), ((-1, 0), (1, 1))):
        try:
            raise AssertionError(h5bento.find("odd.h5", "/f", 0, 9, start, shape))
        except (ValueError, h5bento.BentoError):
            pass
    assert h5bento.find("odd.h5", "/f", 0, 9, (1, 0), (1, 100)).boxes
    # What nobody holds any more is closed.
    with h5bento.File("kept.h5", "w", keep=3) as file:
        file["x"] = [1]
    assert h5bento.open_step("kept.h5", "/x", 0)[0] == 1
    gc.collect()
    h5bento.File("kept.h5", "w", keep=3).close()
    # A link to a file that is not there yet, as natively.
    os.mkdir("far")
    os.symlink("far/there.h5", "link.h5")
    with h5bento.File("link.h5", "w") as file:
        file["x"] = [7]
    assert h5bento.is_container("far/there.h5") and os.path.islink("link.h5")
    # Settings are those of the thread that opens the file, and a context is left by its own thread.
    wrong = []
    def work(number):
        for turn in range(150):
            name = f"thread{number}.h5"
            if number == 0:
                h5py.File(name, "w").close()
                wrong.extend(["a container"] * h5bento.is_container(name))
            else:
                with h5bento.File(name, "w", view=number == 1) as file:
                    file.attrs["a"] = 1
                try:
                    h5py.File(name, "r").close()  # without the connector: it reads the view
                    seen = True
                except OSError:
                    seen = False
                wrong.extend([f"{number}: view {seen}"] * (seen != (number == 1)))
            os.remove(name)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong, wrong
    first = h5bento.enable()
    other = threading.Thread(target=lambda: h5bento.enable(keep=2))
    other.start()
    other.join()
    first.__exit__()
    assert h5bento.is_enabled(), "another thread's enable() is gone"
    h5bento.disable()
    assert not h5bento.is_enabled()
"""

ORDINARY = """
    import os, warnings
    import h5bento, h5py
    with h5py.File("plain.h5", "w") as file:
        file["x"] = 1
    with h5bento.File("steps.h5", "w", keep=3) as file:
        file["x"] = [1]
    def warned(work):
        h5bento._connector._warned.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
        assert all(one.filename == __file__ for one in caught), caught
        return [one.category for one in caught]
    one = [h5bento.OrdinaryFileWarning]
    for name, mode, settings, wanted in (
        ("plain.h5", "a", dict(keep=3), one), ("plain.h5", "r+", {}, one), ("plain.h5", "r", {}, []), ("plain.h5", "r", dict(step=1), one),
        ("steps.h5", "a", {}, []), ("steps.h5", "r", dict(step=1), []), ("fresh.h5", "a", {}, []),
    ):
        said = warned(lambda: h5bento.File(name, mode, **settings).close())
        assert said == wanted, (name, mode, settings, said)
    os.environ["HDF5_DRIVER"] = "core"
    assert warned(lambda: h5bento.File("core.h5", "w").close()) == one
    # What C would cut or wrap around.
    for call in (
        lambda: h5bento.open_step("steps.h5", "/x", 2**64), lambda: h5bento.open_step("steps.h5", "/x", -1),
        lambda: h5bento.open_step("steps.h5", "/x\\0y", 0), lambda: h5bento.verify("steps.h5\\0.h5"),
        lambda: h5bento.export_fti("steps.h5", ".", 2**32 + 1), lambda: h5bento.find("steps.h5", "/x\\0", 0, 1),
    ):
        try:
            raise AssertionError(call())
        except ValueError:
            pass
    dataset = h5bento.open_step("steps.h5", "/x", 0)
    dataset.close()
    try:
        raise AssertionError(dataset.shape)
    except ValueError:
        pass
"""


def environment():
    return native_env(
        PYTHONPATH=os.path.join(SOURCE, "python"),
        PYTHONDONTWRITEBYTECODE="1",
        H5BENTO_WHEEL_PLUGINS=os.path.join(build_folder(), PLUGIN[0]),
        H5BENTO_LIBRARY=os.path.join(build_folder(), "lib", "libh5bento.so"),
        H5BENTO_PROGRAM=os.path.join(build_folder(), "lib", "libh5bento_program.so"),
    )


def script(name, text, **parts):
    path = os.path.abspath(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(text).format(**parts) if parts else textwrap.dedent(text))
    return [os.environ["H5BENTO_PYTHON_NATIVE"], path]


def write_and_kill(imports):
    command = script("writer.py", WRITER, imports=imports)
    with subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        for line in writer.stdout:
            if line.strip() == "written":
                writer.send_signal(signal.SIGKILL)
                break
    check(writer.returncode == -signal.SIGKILL, f"the writer ended by itself: {writer.returncode}")


def read_plain():
    run(script("reader.py", READER, more='assert "libh5bento" not in open("/proc/self/maps").read()'), native_env())


def check_plugin():
    path = os.path.join(build_folder(), *PLUGIN)
    needed = re.findall(r"\(NEEDED\).*\[([^\]]+)\]", run(["readelf", "-d", path], native_env()).out)
    check(needed and not [name for name in needed if re.match("lib(hdf5|mpi|stdc)", name)], f"the plugin needs {needed}")
    names = re.findall(r" U ((?:H5|MPI_|ompi_)\w+)", run(["nm", "-D", "--undefined-only", path], native_env()).out)
    check(not names, f"the plugin leaves {names} undefined")


def use_program():
    """`python -m h5bento`: in the HDF5 of h5py, and where there is no h5py what needs none."""
    # What the shell chooses for programs is nothing to it, here a connector and a setting that do not exist.
    env = {**environment(), "HDF5_VOL_CONNECTOR": "nonsense", "H5BENTO_CHUNK": "nonsense"}
    for words, status, answer in (
        ("verify run.h5", 0, "sound as of step"),
        ("info run.h5", 0, "closed"),
        ("ls run.h5/group", 2, ""),
        ("ls run.h5 /group", 0, "/group/values"),
        ("steps --json run.h5", 0, '"status": 0'),
        ("repair run.h5", 0, "all data were read"),
        ("export run.h5 exported.h5", 0, "an HDF5 file"),
        ("verify reader.py", 2, ""),
        ("mount run.h5 .", 2, ""),
    ):
        done = run([os.environ["H5BENTO_PYTHON_NATIVE"], "-m", "h5bento", *words.split()], env, ok=(status,))
        check(answer in done.out, f"h5bento {words} says {done.out}")
    os.makedirs("none/h5py", exist_ok=True)
    with open("none/h5py/__init__.py", "w") as file:
        file.write("raise ImportError('no h5py here')\n")
    env["PYTHONPATH"] = os.path.abspath("none") + ":" + env["PYTHONPATH"]
    done = run([os.environ["H5BENTO_PYTHON_NATIVE"], "-m", "h5bento", "verify", "run.h5"], env)
    check("sound" in done.out, f"without h5py verify says {done.out}")
    done = run([os.environ["H5BENTO_PYTHON_NATIVE"], "-m", "h5bento", "ls", "run.h5"], env, ok=(2,))
    check("needs the HDF5 of h5py" in done.err, f"without h5py ls says {done.err}")
    os.remove("exported.h5")


def read_newer_types():
    """An HDF5 that does not know a type leaves out what has it, and shows the rest."""
    run(script("newer.py", NEWER), environment())
    stock = script("newer_reader.py", NEWER_READER)
    run([*stock, "newer.h5", "with"], native_env())
    said = run([built("bin", "h5bento"), "view", "build", "newer.h5"], native_env()).text
    check("'/folder/strange' is not in the native view" in said or "'/again' is not" in said, said)
    said = run([built("bin", "h5bento"), "export", "newer.h5", "newer_exported.h5"], native_env()).text
    check("is left out" in said, said)
    for name in ("newer.h5", "newer_exported.h5"):
        run([*stock, name, "without"], native_env())


def use_debian_layout():
    """There the package that is imported only chooses one of two others."""
    folder = "debian/h5py/_debian_h5py_serial/_hl"
    os.makedirs(folder)
    for name, text in (
        ("debian/h5py/__init__.py", "from ._debian_h5py_serial import *\n"),
        ("debian/h5py/_debian_h5py_serial/__init__.py", "from ._hl import files\n"),
        (f"{folder}/__init__.py", ""),
        (f"{folder}/files.py", "def make_fapl(*_): ...\ndef make_fid(*_): ...\n"),
    ):
        with open(name, "w") as file:
            file.write(text)
    env = environment()
    env["PYTHONPATH"] = os.path.abspath("debian") + ":" + env["PYTHONPATH"]
    code = "import h5bento; h5bento.enable(); import h5py; assert hasattr(h5py.files.make_fapl, 'h5bento_original')"
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", code], env)


def use_default_folder():
    """Filters in HDF5's own folder for plugins are still found. The folder is in a mount namespace of its own."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        say("not run: HDF5's own folder for plugins, for which one must be root")
        return
    folder = "/usr/local/hdf5/lib/plugin"  # that of h5py's wheel
    inside = f'mount -t tmpfs none /usr/local && mkdir -p {folder} && exec "$@"'
    listed = "print([h5py.h5pl.get(i).decode() for i in range(h5py.h5pl.size())])"
    env = {name: value for name, value in environment().items() if name != "HDF5_PLUGIN_PATH"}
    for imports in ("import h5bento; h5bento.enable(); import h5py", "import h5py, h5bento; h5bento.enable()"):
        command = [os.environ["H5BENTO_PYTHON_NATIVE"], "-c", f"{imports}; {listed}"]
        said = run(["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, "sh", *command], env).out
        check(folder in said and PLUGIN[0] in said, said)
    # Where each program of an environment calls enable(), so does the one that is asked for the folders.
    os.makedirs("site")
    with open("site/sitecustomize.py", "w") as file:
        file.write("import os, h5bento\nopen('starts', 'a').write('x')\nh5bento.enable()\n")
    env["PYTHONPATH"] = os.path.abspath("site") + ":" + env["PYTHONPATH"]
    command = [os.environ["H5BENTO_PYTHON_NATIVE"], "-c", "import h5py"]
    run(["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, "sh", *command], env)
    check(os.path.getsize("starts") == 2, f"{os.path.getsize('starts')} processes")


def test():
    check_plugin()
    use_default_folder()
    for imports in (BEFORE, AFTER):
        write_and_kill(imports)
        run(script("through.py", "import h5bento; h5bento.enable()\n" + textwrap.dedent(READER).format(more="")), environment())
        run(script("calls.py", CALLS), environment())
        read_plain()
    use_program()
    say("the program: with the HDF5 of h5py, and without any")
    say("killed after a flush: recovered, and read without a plugin")
    run(script("state_before.py", STATE, imports="h5bento.enable(); import h5py"), environment())
    run(script("state_after.py", STATE, imports="import h5py; h5bento.enable()"), environment())
    say("enable, disable, File and warnings, before and after the import")
    run(script("odd.py", ODD), environment())
    say("odd numbers and limits, garbage, a link to nothing, threads")
    run(script("ordinary.py", ORDINARY), environment())
    read_newer_types()
    say("types that an older HDF5 does not know")
    use_debian_layout()
    say("ordinary files, and the layout of Debian's h5py")
    for first in (False, True):
        run(script(f"two_{first}.py", TWO, root=os.environ["HDF5_ROOT"], first=first), environment())
    say("two HDF5 libraries in one process, in both orders")


if __name__ == "__main__":
    run_test(test)
