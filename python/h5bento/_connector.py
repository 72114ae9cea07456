# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Which files of h5py go through the connector.

Before h5py is imported the environment decides, as it does for any program with HDF5. Afterwards HDF5 has read it, so
the access list of each h5py.File gets its connector here.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import importlib.abc
import importlib.util
import os
import subprocess
import sys
import threading
import warnings
from typing import Any, Iterator, Mapping

from h5bento import _hdf5, _library

#: Names of settings, which `enable()` and `File` take as keywords.
SETTINGS = frozenset(
    "align buffer checksum chunk commit durability files keep minmax stats step timeout verify view view_copy view_grace view_maps stripe_count stripe_size visible".split()
)

_VARIABLES = ("HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR", "H5BENTO_PLUGIN")
# What the connector serves; files of other drivers are ordinary HDF5 files.
_DRIVERS = (None, "sec2", "stdio", "direct", "log", "mpio")


class OrdinaryFileWarning(UserWarning):
    """A file is an ordinary HDF5 file although h5bento is enabled."""


_stack: list["Enabled"] = []
_environment: dict[str, str | None] = {}  # as it was before the first enable()
_own_choice = os.environ.get("HDF5_VOL_CONNECTOR", "")  # the user's
_read_by_hdf5 = _own_choice  # when h5py was imported; until then, what it would read


class _OneFile(threading.local):
    """Settings of the File that this thread is opening."""

    settings: dict[str, Any] | None = None


_one_file = _OneFile()
_warned: set[str] = set()


def get_plugin_path() -> str:
    """The folder of the plugin, as HDF5_PLUGIN_PATH wants it. HDF5 loads whatever lies in it."""
    return os.environ.get("H5BENTO_WHEEL_PLUGINS") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugins")


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings as the connector reads them: `keep=3;view=off`. Raises TypeError for one that does not exist."""
    parts = []
    for key, value in settings.items():
        if key not in SETTINGS:
            raise TypeError(f"h5bento has no setting {key!r}; it has {', '.join(sorted(SETTINGS))}")
        if isinstance(value, bool):
            value = "on" if value else "off"
        value = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        if ";" in value or "\n" in value:
            raise ValueError(f"the value of {key} has a semicolon or a line end in it: {value!r}")
        parts.append(f"{key}={value}")
    return ";".join(parts)


class Enabled:
    """What `enable()` returns. As a context manager it restores the state before on leaving; who enters it again enables
    h5bento again."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self._thread = threading.get_ident()
        self._entered = 0

    def __enter__(self) -> "Enabled":
        if not self._entered and self not in _stack:
            self._thread = threading.get_ident()
            _push(self)
        self._entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._entered -= 1
        if self in _stack and not self._entered:
            # What this thread has enabled since goes, too; other threads' contexts are theirs.
            since = _stack.index(self)
            _stack[since:] = [other for other in _stack[since:] if other._thread != self._thread]
        _apply()


def enable(**settings: Any) -> Enabled:
    """Makes every h5py.File from now on a container when it is created, with these settings; opens containers as such.

    Before `import h5py` this sets HDF5_PLUGIN_PATH and HDF5_VOL_CONNECTOR, so h5py's low-level calls, netCDF4 and
    PyTables in this process, and programs that it starts, use h5bento as well. After the import it concerns h5py.File
    only. What cannot be a container warns once (OrdinaryFileWarning): a user block, Python file objects, and drivers
    such as "core".

    Also a context manager: `with h5bento.enable(keep=3): ...`. Raises TypeError and ValueError for settings that do not
    exist, BentoError if the HDF5 of h5py cannot load the plugin.
    """
    settings_text(settings)
    enabled = Enabled(dict(settings))
    _push(enabled)
    return enabled


def _push(enabled: Enabled) -> None:
    _stack.append(enabled)
    try:
        _apply()
    except BaseException:
        _stack.remove(enabled)
        _apply()
        raise


def disable() -> None:
    """Takes back every enable(): each new h5py.File is an ordinary one again. Files that are open stay what they are. If
    h5py was imported while h5bento was enabled, its low-level calls, netCDF4 and PyTables go on with containers in this
    process: HDF5 has read its environment once for all."""
    _stack.clear()
    _apply()


def is_enabled() -> bool:
    """Is a new h5py.File a container?"""
    return bool(_stack)


@contextlib.contextmanager
def for_one_file(settings: Mapping[str, Any]) -> Iterator[None]:
    """The next h5py.File is a container with these settings besides those of enable()."""
    settings_text(settings)
    _patch()
    before, _one_file.settings = _one_file.settings, {**_current_settings(), **settings}
    try:
        yield
    finally:
        _one_file.settings = before


def _is_bento(choice: str) -> bool:
    return choice.split(" ")[0] == "bento"


def _current_settings() -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for enabled in _stack:
        merged.update(enabled.settings)
    return merged


def _apply() -> None:
    """Makes environment and h5py follow the stack."""
    global _read_by_hdf5
    if _stack:
        if not _environment:
            _environment.update({name: os.environ.get(name) for name in _VARIABLES})
        _set_environment()
    else:
        for name, value in _environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _environment.clear()
    if "h5py" not in sys.modules:
        _read_by_hdf5 = os.environ.get("HDF5_VOL_CONNECTOR", "")
        if not any(isinstance(finder, _PatchWhenImported) for finder in sys.meta_path):
            sys.meta_path.insert(0, _PatchWhenImported())
        return
    _patch()
    if _stack:
        _hdf5.connector()  # now, so that an HDF5 that cannot have it says so here


@functools.cache
def _default_folders() -> str:
    """Where the HDF5 of h5py looks for plugins if HDF5_PLUGIN_PATH does not say where, as that variable would say it:
    filters that are installed there must still be found. Empty if there is no such folder."""
    usual = ["/usr/local/hdf5/lib/plugin", "/usr/local/lib/plugin", os.path.join(sys.prefix, "lib", "hdf5", "plugin")]
    if not any(map(os.path.isdir, usual + glob.glob("/usr/lib/*/hdf5/plugins"))):
        return ""
    # A frozen program is its own interpreter; and the child may call enable() by itself.
    if getattr(sys, "frozen", False) or not sys.executable or "H5BENTO_ASKS_FOLDERS" in os.environ:
        return ""
    # Only the library itself knows its own, and this process's may not be loaded yet.
    ask = "from h5py import h5pl; print(*(h5pl.get(i).decode() for i in range(h5pl.size())), sep='\\n')"
    environment = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    environment["H5BENTO_ASKS_FOLDERS"] = "1"
    try:
        said = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return ":".join(filter(os.path.isdir, said.stdout.splitlines())) if said.returncode == 0 else ""


def _set_environment() -> None:
    before = _environment["HDF5_PLUGIN_PATH"] or _default_folders()
    os.environ["HDF5_PLUGIN_PATH"] = get_plugin_path() + (f":{before}" if before else "")
    text = settings_text(_current_settings())
    os.environ["HDF5_VOL_CONNECTOR"] = f"bento {text}" if text else "bento"
    os.environ["H5BENTO_PLUGIN"] = "serial"


def _warn(what: str, text: str | None = None) -> None:
    """Once for each `what`."""
    if what not in _warned:
        _warned.add(what)
        # The line of the program, behind those of h5py and of this package.
        frame, level = sys._getframe(), 1
        while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in ("h5py", "h5bento"):
            frame, level = frame.f_back, level + 1
        text = text or f"with {what} a file is an ordinary HDF5 file, not a container"
        warnings.warn(text, OrdinaryFileWarning, stacklevel=level)


def _warn_if_ordinary(name: Any, mode: Any, settings: Mapping[str, Any]) -> None:
    """Who opens an ordinary file to write on expects it to survive; who asks for a step, to get it."""
    if mode not in ("r+", "a") and "step" not in settings:
        return
    try:
        ordinary = os.path.isfile(name) and not _library.is_container(name)
    except (OSError, TypeError, ValueError):
        return
    if ordinary:
        _warn("what is there", f"{os.fsdecode(name)!r} is an ordinary HDF5 file, and stays one: `h5bento import` makes a container of it")


class _PatchWhenImported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Calls _patch() when h5py has made the functions that it wraps."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        # Debian's is h5py._debian_h5py_serial._hl.files, or of MPI.
        if not (name.startswith("h5py.") and name.endswith("._hl.files")):
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            self._loader = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        module.__spec__.loader = module.__loader__ = self._loader
        _wrap(module)


def _patch() -> None:
    """Wraps the two functions by which every h5py.File gets its access list and is opened."""
    from h5py._hl import files

    _wrap(files)


def _wrap(files: Any) -> None:
    if hasattr(files.make_fapl, "h5bento_original"):
        return
    make_fapl, make_fid = files.make_fapl, files.make_fid

    def make_fapl_through_connector(driver: Any, *args: Any, **keywords: Any) -> Any:
        plist = make_fapl(driver, *args, **keywords)
        one = _one_file.settings
        if one is not None or _stack:
            default = os.environ.get("HDF5_DRIVER", "").split(" ")[0]
            if driver not in _DRIVERS:
                _warn("a Python file object" if driver == "fileobj" else f"driver={driver!r}")
            elif driver is None and default and default not in _DRIVERS:
                _warn(f"HDF5_DRIVER={default}")
            settings = _current_settings() if one is None else one
            _hdf5.set_connector(plist.id, settings_text(settings))
        elif _is_bento(_read_by_hdf5) and not _is_bento(_own_choice):
            _hdf5.set_native(plist.id)  # h5py was imported while h5bento was enabled
        return plist

    def make_fid_with_warning(name: Any, mode: Any, userblock_size: Any, *args: Any, **keywords: Any) -> Any:
        if _one_file.settings is not None or _stack:
            if userblock_size:
                _warn("a user block")
            _warn_if_ordinary(name, mode, _current_settings() if _one_file.settings is None else _one_file.settings)
        return make_fid(name, mode, userblock_size, *args, **keywords)

    make_fapl_through_connector.h5bento_original = make_fapl  # type: ignore[attr-defined]
    files.make_fapl = make_fapl_through_connector
    files.make_fid = make_fid_with_warning
