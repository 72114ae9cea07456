# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of whole programs share: environments, deadlines, statistics, containers.

A test is a script that calls run_test(function, ...). Exit status 0: passed, 1: failed, 77: skipped.
It works in a folder of its own below the current one, which is removed unless the test failed.

  H5BENTO_TEST_CONNECTOR   connector string to test instead of `bento`, e.g. `bento files=2`
  H5BENTO_TEST_REHEARSAL   `native` or `pass_through`: rehearse the tests with HDF5's own connectors,
                           to prove the tests themselves; what only bento can fulfil is not checked
  H5BENTO_TEST_ALL         if set, cases that the tiers quick and full leave out for time are run, too
  H5BENTO_TEST_TIMES       if set, says of each command how much processor time it took
"""

import fnmatch
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import sanitizer
from ended_unseen import ended_unseen

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "checkers"))

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
READ_BACK = os.path.join(SOURCE, "examples", "read_back.py")
REHEARSAL = os.environ.get("H5BENTO_TEST_REHEARSAL", "")
PASS_THROUGH = "pass_through under_vol=0;under_info={}"
# H5BENTO_PLUGIN=serial: the plugin without MPI, which HDF5_PLUGIN_PATH then names the folder of.
MODULE = "libh5bento_vol_serial.so" if os.environ.get("H5BENTO_PLUGIN") == "serial" else "libh5bento_vol.so"
SKIPPED = 77

# Where the sanitizers report while a test runs (sanitizer.Reports); None with an ordinary connector.
SANITIZER = None


class Failure(Exception):
    """The test has failed; the text says why."""


class Skip(Exception):
    """The test cannot run here; the text says why."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def check_is(found, wanted, what):
    """Of what a call gave: in check(call() == x, f"{call()}") it would be made twice."""
    check(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def say(text):
    print(text, flush=True)


def some(count, cases):
    """The first `count` of the cases, which are in that order for it; all of them with H5BENTO_TEST_ALL."""
    cases = list(cases)
    if os.environ.get("H5BENTO_TEST_ALL"):
        return cases
    check(0 < count < len(cases), f"{count} of {len(cases)} cases: nothing is left out, or all")
    say(f"{count} of {len(cases)} cases; H5BENTO_TEST_ALL=1 runs the others, too")
    return cases[:count]


# ---- environments --------------------------------------------------------------------------------


def load_environment():
    """That of scripts/env, for a test that was started by hand."""
    if "H5BENTO_PYTHON" in os.environ and "HDF5_ROOT" in os.environ:
        return
    result = subprocess.run(
        [os.path.join(SOURCE, "scripts", "env"), "env", "-0"], capture_output=True
    )
    if result.returncode != 0:
        raise Failure(f"scripts/env: {result.stderr.decode()}")
    os.environ.update(
        item.split("=", 1) for item in result.stdout.decode().split("\0") if "=" in item
    )


def build_folder():
    return os.environ.get("H5BENTO_BUILD") or os.path.dirname(os.environ["HDF5_PLUGIN_PATH"])


def built(*parts):
    """A program of the build folder."""
    path = os.path.join(build_folder(), *parts)
    check(os.access(path, os.X_OK), f"{path} has not been built")
    return path


def hdf5_tool(name):
    path = os.path.join(os.environ["HDF5_ROOT"], "bin", name)
    check(os.access(path, os.X_OK), f"{path} is missing")
    return path


def kept_program(folder, name):
    """One of HDF5's own test programs; `folder`: the variable of scripts/env that says where it is."""
    path = os.path.join(os.environ.get(folder, ""), name)
    check(os.access(path, os.X_OK), f"{path} is missing (scripts/bootstrap builds it)")
    return path


def api_program(name):
    return kept_program("H5BENTO_API_TESTS", name)


def python():
    return os.environ["H5BENTO_PYTHON"]


def native_env(**more):
    """HDF5 alone: no connector, no plugin."""
    dropped = (
        "HDF5_VOL_CONNECTOR",
        "HDF5_PLUGIN_PATH",
        "HDF5_PLUGIN_PRELOAD",
        "HDF5_DRIVER",
        "HDF5_DRIVER_CONFIG",
    )
    kept = (
        "H5BENTO_BUILD",
        "H5BENTO_DEPS",
        "H5BENTO_MPI",
        "H5BENTO_PLUGIN",
        "H5BENTO_PYTHON",
        "H5BENTO_PYTHON_NATIVE",
        "H5BENTO_SOURCE",
        "H5BENTO_TEST_ALL",
        "H5BENTO_HDF5_SOURCE",
        "H5BENTO_API_TESTS",
        "H5BENTO_PARALLEL_TESTS",
    )
    env = {
        k: v
        for k, v in os.environ.items()
        if k not in dropped and (not k.startswith("H5BENTO_") or k in kept)
    }
    # The shared-memory transport prints a warning and goes on where ptrace is forbidden; output is
    # compared.
    env.setdefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
    if SANITIZER:
        # For programs of ours, which are sanitized themselves.
        env.update(sanitizer.options(SANITIZER.folder))
    env.update(more)
    return env


def connector():
    """The connector string under test, or None in a native rehearsal."""
    if REHEARSAL:
        return {"native": None, "pass_through": PASS_THROUGH}[REHEARSAL]
    return os.environ.get("H5BENTO_TEST_CONNECTOR", "bento")


def preload_sanitizer(env, library):
    """Programs that are not ours load this library of ours."""
    if SANITIZER:
        sanitizer.preload(env, library, SANITIZER.folder)
        SANITIZER.expected = "asan" in env["LD_PRELOAD"]  # TSan has no such line


def library_env(library):
    """For such a program without the connector."""
    env = native_env()
    preload_sanitizer(env, library)
    return env


OTHER_MEMORY = """
import ctypes, os, sys
class Part(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
data, copy = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
here, there = Part(ctypes.addressof(copy), 8), Part(ctypes.addressof(data), 8)
begin, end = os.pipe(), os.pipe()
sibling = os.fork()
if sibling == 0:
    os.read(end[0], 1)
    os._exit(0)
if os.fork() == 0:  # as ranks are: neither is the other's parent
    read = ctypes.CDLL(None, use_errno=True).process_vm_readv(sibling, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    os._exit(0 if read == 8 else 1)
status = os.wait()[1]
os.write(end[1], b"x")
sys.exit(1 if status else 0)
"""


def env_of_nodes(nodes, **settings):
    """Ranks that are on one machine in truth: what one of them has in memory another one reads by cross-memory attach."""
    settings = {"OMPI_MCA_btl_vader_single_copy_mechanism": "cma", **settings}
    return bento_env(H5BENTO_TEST_NODES=str(nodes), **settings)


def command_on_nodes(clocks, *program):
    """One rank of this script for each of the clocks (H5BENTO_TEST_CLOCK)."""
    command = ["mpirun"]
    for clock in clocks:
        more = [] if len(command) == 1 else [":"]
        command += [*more, "-n", 1, "env", f"H5BENTO_TEST_CLOCK={clock}"]
        command += [python(), "-B", os.path.abspath(sys.argv[0]), *program]
    return command


def no_other_memory():
    """Why ranks of this machine that play several nodes cannot read each other's memory here; empty if they can."""
    if os.environ.get("H5BENTO_MPI") == "mpich":
        return "Open MPI's way to read another process's memory is used here, and this is MPICH"
    if run([sys.executable, "-c", OTHER_MEMORY], os.environ, ok=None).status != 0:
        return "a process may not read another one's memory here (process_vm_readv)"
    return ""


def bento_env(stats=None, string=None, **more):
    """HDF5 with the connector; its statistics go to the file `stats`."""
    env = native_env()
    require_plugin()
    if not REHEARSAL:
        env["HDF5_PLUGIN_PATH"] = os.environ["HDF5_PLUGIN_PATH"]
        preload_sanitizer(env, plugin())
    string = connector() if string is None or REHEARSAL else string
    if string:
        env["HDF5_VOL_CONNECTOR"] = string
    if stats:
        env["H5BENTO_STATS"] = os.path.abspath(stats)
    env.update(more)
    return env


def driver_env(config=None, **more):
    """HDF5 with the plugins to be found, and the file driver chosen if `config` is given."""
    env = native_env()
    require_plugin()
    path = os.path.join(os.environ["HDF5_PLUGIN_PATH"], "libh5bento_vfd.so")
    check(os.path.isfile(path), f"{path} is missing")
    env["HDF5_PLUGIN_PATH"] = os.environ["HDF5_PLUGIN_PATH"]
    preload_sanitizer(env, path)
    if config is not None:
        env["HDF5_DRIVER"] = "bento"
        env["HDF5_DRIVER_CONFIG"] = config
    env.update(more)
    return env


def plugin():
    return os.path.join(os.environ["HDF5_PLUGIN_PATH"], MODULE)


def require_plugin():
    """A missing plugin is a failure, never a skip: HDF5 goes on with its native connector then."""
    if REHEARSAL:
        return
    check(os.path.isfile(plugin()), f"{MODULE} is not in {os.environ['HDF5_PLUGIN_PATH']}")


# ---- running -------------------------------------------------------------------------------------


class Result:
    def __init__(self, command, status, out, err, seconds):
        self.command, self.status, self.out, self.err, self.seconds = (
            command,
            status,
            out,
            err,
            seconds,
        )

    @property
    def text(self):
        return self.out + self.err

    def tail(self, lines=40):
        return "\n".join(self.text.strip().splitlines()[-lines:])


def descendants(pid):
    """Processes below `pid`; Open MPI puts ranks into process groups of their own."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(), ()):
            found.append(child)
            todo.append(child)
    return found


def kill_tree(process, grace=5):
    """Ends a process that we started and everything below it."""
    below = descendants(process.pid)
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
    for pid in below:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def alive(pid):
    """A zombie has given back its files and locks."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


def mpi_leftovers(pids, mpirun):
    """What Open MPI leaves behind of these processes if they are killed: shared memory, and mpirun's folder."""
    base = os.environ.get("OMPI_MCA_orte_tmpdir_base", tempfile.gettempdir())
    found = set(glob.glob(os.path.join(base, "ompi.*", f"pid.{mpirun}")))
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps") as file:
                found.update(re.findall(r"/\S*/vader_segment\.\S+", file.read()))
        except OSError:
            pass
    return found


def kill_ranks(process):
    """SIGKILL to all processes below a running mpirun that we started, and to itself; returns when they are gone."""
    below = descendants(process.pid)
    left = mpi_leftovers(below, process.pid)
    for pid in below + [process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait(10)
    end = time.monotonic() + 10
    while any(alive(pid) for pid in below) and time.monotonic() < end:
        time.sleep(0.005)
    for path in left:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.exists(path):
            os.remove(path)


# Any exit status, and a deadline that passed (status None).
ANY = object()


def run(command, env, timeout=60, ok=(0,), cwd=None, merge=False):
    """Runs to the end; a passed deadline, or an exit status not in `ok` (None: any), is a failure.

    merge: stderr in the order of stdout, in .out."""
    command = [str(part) for part in command]
    if SANITIZER:
        timeout *= 3
    begin = time.monotonic()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Into files: a rank that outlives mpirun would keep a pipe open, and the test waiting.
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        process = subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out if merge else err,
        )
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                kill_tree(process)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    if ended_unseen(status, "".join(texts)):
        say("mpirun did not see the end of a rank that exited with 0; see ended_unseen.py")
        status = 0
    result = Result(command, status, texts[0], texts[1], time.monotonic() - begin)
    if os.environ.get("H5BENTO_TEST_TIMES"):
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        say(f"{processor:6.2f} s of processors, {result.seconds:6.2f} s: {' '.join(command)[:200]}")
    if status is None and ok is not ANY:
        raise Failure(f"no end after {timeout} s: {' '.join(command)}\n{result.tail()}")
    if ok is not ANY and ok is not None and status not in ok:
        raise Failure(f"exit status {status}: {' '.join(command)}\n{result.tail()}")
    return result


def mpirun(ranks, command, env, **more):
    return run(["mpirun", "-n", ranks, *command], env, **more)


# ---- what the connector left behind --------------------------------------------------------------


class Stats:
    """Sums over the lines of a statistics file: one JSON object per process."""

    KINDS = ("diverted", "skeleton", "passed_through")
    COUNTS = ("writes", "bytes_written", "reads", "bytes_read")

    def __init__(self, path):
        self.lines = []
        if os.path.exists(path):
            with open(path) as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        self.lines.append(self._parse(line, f"{path}:{number}"))
        self.sums = {
            k: {c: sum(line[k][c] for line in self.lines) for c in self.COUNTS} for k in self.KINDS
        }

    @classmethod
    def _parse(cls, line, where):
        try:
            value = json.loads(line)
            for kind in cls.KINDS:
                for count in cls.COUNTS:
                    if not isinstance(value[kind][count], int) or value[kind][count] < 0:
                        raise ValueError(f"{kind}.{count} is {value[kind][count]!r}")
            for file in value["files"]:
                if not isinstance(file["path"], str) or not isinstance(file["container"], bool):
                    raise ValueError(f"files has {file!r}")
        except (ValueError, KeyError, TypeError) as error:
            raise Failure(f"{where}: no statistics line: {error!r}: {line[:200]}") from None
        return value

    def __getattr__(self, name):
        if name in Stats.KINDS:
            return self.sums[name]
        raise AttributeError(name)

    def files(self, container=True):
        return sorted(
            {f["path"] for line in self.lines for f in line["files"] if f["container"] == container}
        )

    def text(self):
        parts = [f"{len(self.lines)} processes, {len(self.files())} containers"]
        for kind in self.KINDS:
            s = self.sums[kind]
            parts.append(
                f"{kind.replace('_', ' ')} {s['bytes_written']} B written, {s['bytes_read']} B read"
            )
        return "; ".join(parts)


def check_diverted(stats_path, written=None, read=None, processes=1, at_least=False, only=True):
    """Fails unless the raw bytes went through the connector's own path.

    written, read: bytes that must have been diverted (None: some for written, any for read).
    at_least: more is also right. only: none may have been passed through or kept in the skeleton.
    """
    if REHEARSAL:
        say(f"  rehearsal ({REHEARSAL}): statistics not checked")
        return None
    stats = Stats(stats_path)
    say(f"  statistics: {stats.text()}")
    check(
        len(stats.lines) >= processes,
        f"{len(stats.lines)} of {processes} processes wrote statistics",
    )
    check(stats.files(), "no file was a container: the connector passed everything through")
    found = stats.diverted["bytes_written"]
    if written is None:
        check(found > 0, "no byte written was diverted")
    elif written or not at_least:
        check(
            found == written or (at_least and found > written),
            f"{found} of {written} bytes written were diverted",
        )
    if read is not None:
        found = stats.diverted["bytes_read"]
        check(
            found == read or (at_least and found > read),
            f"{found} of {read} bytes read were diverted",
        )
    if only:
        for kind in ("passed_through", "skeleton"):
            count = stats.sums[kind]["bytes_written"]
            check(count == 0, f"{count} bytes written were counted as {kind}")
    return stats


def check_containers(stats_path, processes=1):
    """Fails unless some file was a container; for programs that write hardly any raw data."""
    if REHEARSAL:
        say(f"  rehearsal ({REHEARSAL}): statistics not checked")
        return None
    stats = Stats(stats_path)
    say(f"  statistics: {stats.text()}")
    check(
        len(stats.lines) >= processes,
        f"{len(stats.lines)} of {processes} processes wrote statistics",
    )
    check(stats.files(), "no file was a container: the connector passed everything through")
    return stats


def is_container(path):
    with open(path, "rb") as file:
        return file.read(4) == b"sion"


def check_container(path):
    check(os.path.exists(path), f"{path} was not written")
    if not REHEARSAL:
        check(is_container(path), f"{path} is not a container")


def check_equal(path_a, path_b, ranks=0, **more):
    """Compares two files value for value through the connector, serially or on `ranks` ranks."""
    command = [python(), READ_BACK, "--compare", path_a, path_b]
    if ranks:
        result = mpirun(ranks, command[:2] + ["--mpi"] + command[2:], bento_env(), ok=None, **more)
    else:
        result = run(command, bento_env(), ok=None, **more)
    check(result.status == 0, f"{path_a} and {path_b} differ:\n{result.tail()}")
    lines = [line for line in result.out.splitlines() if line.startswith("equal: ")]
    check(len(lines) == 1, f"read_back.py said nothing of equality:\n{result.tail()}")
    return lines[0]


class Leaves:
    """What the running test leaves behind, as run_test was told."""

    least = 1  # containers that must have been checked at its end
    unfinished = {}  # {pattern of names: why these were not closed}
    unhashed = {}  # {pattern of names: why these have records without a hash}
    checked = 0
    largest = 0  # bytes of the largest record in one of them


def unexpected(texts, allowed):
    """Those of `path: text` whose file has a name that no pattern allows."""
    return [
        text
        for text in texts
        if not any(fnmatch.fnmatchcase(os.path.basename(text.split(": ")[0]), name) for name in allowed)
    ]


def check_all_containers(folder):
    """Every container that a test leaves behind must pass the checkers that know nothing of the connector."""
    if REHEARSAL:
        return
    import check_containers

    result = check_containers.check_folder(folder)
    problems = list(result.problems)
    problems += unexpected(result.unfinished, Leaves.unfinished)
    problems += unexpected(result.unhashed, {"*"} if "checksum=none" in connector() else Leaves.unhashed)
    shown = "\n".join(problems[:10])
    check(not problems, f"{len(problems)} violations of the formats:\n{shown}")
    Leaves.checked += result.containers
    Leaves.largest = max(Leaves.largest, result.largest)
    if result.containers or result.unfinished:
        unfinished = f", {len(result.unfinished)} not closed" if result.unfinished else ""
        say(f"  formats: {result.containers} containers and {result.streams} streams checked{unfinished}")


def check_number_of_containers():
    """A test whose containers are gone, or never were, would prove nothing of the format."""
    if not REHEARSAL:
        check(Leaves.checked >= Leaves.least, f"only {Leaves.checked} containers were checked, not {Leaves.least}")


# ---- a test --------------------------------------------------------------------------------------


def watch_sanitizers():
    """From here on, processes report to a folder of this test, if the connector is a sanitized one."""
    global SANITIZER
    if not REHEARSAL and sanitizer.runtimes(plugin()):
        SANITIZER = sanitizer.Reports(os.getcwd())


def check_sanitizers():
    """Fails if a process of this test was reported, whatever became of it."""
    if not SANITIZER:
        return
    processes, found = SANITIZER.judge()
    shown = "\n\n".join(found[:3])
    check(not found, f"{len(found)} findings of the sanitizers, in {SANITIZER.folder}:\n{shown}")
    check(processes or not SANITIZER.expected, "no process ran to its end under the sanitizers")
    say(f"  sanitizers: no finding; {processes} processes ran to their end under them")


def first_seed(given):
    """Where a random test begins: at `given`, or, in .ci/run, somewhere else each time (H5BENTO_TEST_SEED)."""
    moved = int(os.environ.get("H5BENTO_TEST_SEED") or 0)
    say(f"seeds from {given + moved} on")
    return given + moved


def forget_folder(folder):
    """True if the test leaves nothing behind, on purpose or by accident."""
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)


def run_test(function, *arguments, containers=1, unfinished=(), unhashed=()):
    """Runs function(*arguments) in a folder of its own, then the checkers over what it left there.

    containers: so many closed ones at least must be checked, including those that the test gave to check_all_containers.
    unfinished, unhashed: {pattern of names: reason} of those that may lack META2 or hashes; without, either is a failure."""
    Leaves.least, Leaves.unfinished, Leaves.unhashed, Leaves.checked = containers, unfinished, unhashed, 0
    # ctest ends a test that takes too long; the finally clauses below it end its children.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = None
    status = 1
    try:
        load_environment()
        if REHEARSAL:
            say(f"REHEARSAL with {REHEARSAL}: this proves the test, not the connector")
        folder = tempfile.mkdtemp(
            prefix=f"{os.path.splitext(os.path.basename(sys.argv[0]))[0]}-", dir=os.getcwd()
        )
        watch_sanitizers()
        os.chdir(folder)
        try:
            function(*arguments)
        finally:
            # Often the reason of what the test noticed.
            check_sanitizers()
        check_all_containers(folder)
        check_number_of_containers()
        status = 0
    except Skip as reason:
        say(f"SKIP: {reason}")
        status = SKIPPED
    except Failure as reason:
        say(f"FAILED: {reason}")
    except Exception:
        traceback.print_exc()
    if folder:
        if status == 1:
            say(f"files of the failed test: {folder}")
        else:
            forget_folder(folder)
            if SANITIZER:
                shutil.rmtree(SANITIZER.folder, ignore_errors=True)
    sys.exit(status)


def parse_lines(pattern, text):
    """Matches of a pattern at the beginning of lines."""
    return [m for m in (re.match(pattern, line) for line in text.splitlines()) if m]
