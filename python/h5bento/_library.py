# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What libh5bento.so does with containers that no program of this process needs to have open. The C interface, h5bento.h,
says more about each call."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

from h5bento._errors import BentoError

if TYPE_CHECKING:
    import numpy

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

__all__ = ["BentoError"]

_UNKNOWN = 2**64 - 1
_MOST_DIMENSIONS = 32  # H5S_MAX_RANK
_u64, _size, _text, _handle, _int = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int


class _Number(ctypes.Structure):
    class _Value(ctypes.Union):
        _fields_ = [("i", ctypes.c_int64), ("u", _u64), ("d", ctypes.c_double)]

    _fields_ = [("kind", _int), ("value", _Value)]


_P = ctypes.POINTER
# name: (result, arguments). A call that returns _int is one with a status, except those of `report_sound`.
_CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "version": (_text, ()),
    "last_error": (_text, ()),
    "use_module": (None, (_text, _handle)),
    "is_container": (_int, (_text, _P(_int))),
    "steps_list": (_int, (_text, _P(_handle))),
    "steps_count": (_size, (_handle,)),
    "steps_number": (_u64, (_handle, _size)),
    "steps_datasets": (_size, (_handle, _size)),
    "steps_dataset": (_text, (_handle, _size, _size)),
    "steps_free": (None, (_handle,)),
    "dataset_open": (_int, (_text, _text, _u64, _P(_handle))),
    "dataset_step": (_u64, (_handle,)),
    "dataset_rank": (ctypes.c_uint, (_handle,)),
    "dataset_extent": (_u64, (_handle, ctypes.c_uint)),
    "dataset_element_bytes": (_size, (_handle,)),
    "dataset_hid": (ctypes.c_int64, (_handle,)),
    "dataset_free": (None, (_handle,)),
    "find": (_int, (_text, _text, _Number, _Number, _P(_u64), _P(_u64), _P(_handle))),
    "boxes_count": (_size, (_handle,)),
    "boxes_rank": (ctypes.c_uint, (_handle,)),
    "boxes_start": (_u64, (_handle, _size, ctypes.c_uint)),
    "boxes_extent": (_u64, (_handle, _size, ctypes.c_uint)),
    "boxes_skipped": (_u64, (_handle,)),
    "boxes_free": (None, (_handle,)),
    "verify": (_int, (_text, ctypes.c_uint, _P(_handle))),
    "recover": (_int, (_text, _P(_handle))),
    "report_sound": (_int, (_handle,)),
    "report_step": (_u64, (_handle,)),
    "report_damage": (_u64, (_handle,)),
    "report_count": (_size, (_handle,)),
    "report_text": (_text, (_handle, _size)),
    "report_file": (_text, (_handle, _size)),
    "report_offset": (_u64, (_handle, _size)),
    "report_task": (_u64, (_handle, _size)),
    "report_dataset": (_u64, (_handle, _size)),
    "report_dataset_step": (_u64, (_handle, _size)),
    "report_notes": (_size, (_handle,)),
    "report_note": (_text, (_handle, _size)),
    "report_free": (None, (_handle,)),
    "export_fti": (_int, (_text, _text, _int, ctypes.c_int32, _P(_u64))),
}


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.environ.get("H5BENTO_LIBRARY") or os.path.join(folder, "lib", "libh5bento.so")
    loaded = ctypes.CDLL(path)
    for name, (result, arguments) in _CALLS.items():
        function = getattr(loaded, f"h5bento_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


def _call(name: str, *arguments: Any) -> Any:
    return getattr(_library(), f"h5bento_{name}")(*arguments)


def _checked(name: str, *arguments: Any) -> None:
    status = _call(name, *arguments)
    if status != 0:
        raise BentoError(_call("last_error").decode(errors="replace"), status)


def _with_hdf5(name: str, *arguments: Any) -> None:
    """A call that uses the HDF5 of h5py, under its lock."""
    from h5bento import _connector, _hdf5

    _hdf5.connector()  # the plugin is in the process now, bound to that HDF5
    with _hdf5.lock():
        plugin = os.path.join(_connector.get_plugin_path(), "libh5bento_vol_serial.so")
        _call("use_module", os.fsencode(plugin), _hdf5.address())
        _checked(name, *arguments)


def _path(path: "Path") -> bytes:
    return _text_of(os.fsencode(os.fspath(path)))


def _text_of(name: str | bytes) -> bytes:
    """For C, which would see the end of the text there."""
    text = name.encode() if isinstance(name, str) else name
    if b"\0" in text:
        raise ValueError(f"a zero byte in {name!r}")
    return text


def _in_range(what: str, value: int, low: int, high: int) -> int:
    """For C, which would take other bits of it."""
    value = operator.index(value)
    if not low <= value <= high:
        raise ValueError(f"{what} {value}, which is not {low} to {high}")
    return value


def version() -> str:
    """The version of the C library in this package."""
    return _call("version").decode()


def is_container(path: "Path") -> bool:
    """Is this file a container of h5bento? A file of another kind is none; one that cannot be read is a BentoError."""
    yes = _int()
    _checked("is_container", _path(path), ctypes.byref(yes))
    return yes.value != 0


@dataclass(frozen=True)
class Step:
    """A kept step: what one flush or close has committed."""

    number: int  #: absolute, from 1
    datasets: tuple[str, ...]  #: paths of those that have records of it: text and the like has none


def steps(path: "Path") -> list[Step]:
    """The kept steps of a container, oldest first. Uses the HDF5 of h5py. Raises BentoError."""
    handle = _handle()
    _with_hdf5("steps_list", _path(path), ctypes.byref(handle))
    try:
        return [
            Step(
                _call("steps_number", handle, i),
                tuple(_call("steps_dataset", handle, i, k).decode() for k in range(_call("steps_datasets", handle, i))),
            )
            for i in range(_call("steps_count", handle))
        ]
    finally:
        _call("steps_free", handle)


class StepDataset:
    """A dataset as it was at one of its steps: `shape`, `dtype`, and values by `dataset[...]` as of h5py."""

    def __init__(self, handle: Any) -> None:
        import h5py

        self._handle: Any = handle
        #: the absolute step that is seen
        self.step: int = _call("dataset_step", handle)
        # A second reference to the id, so that h5py may close its own.
        identifier = h5py.h5i.wrap_identifier(_call("dataset_hid", handle))
        h5py.h5i.inc_ref(identifier)
        self._dataset = h5py.Dataset(identifier)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._open().shape

    @property
    def dtype(self) -> "numpy.dtype[Any]":
        return self._open().dtype

    def __getitem__(self, selection: Any) -> Any:
        return self._open()[selection]

    def _open(self) -> Any:
        if self._handle is None:
            raise ValueError("this dataset is closed")
        return self._dataset

    def close(self) -> None:
        """Also when it is garbage: until then the file counts as open."""
        if self._handle is not None:
            self._dataset = None
            _call("dataset_free", self._handle)
            self._handle = None

    def __enter__(self) -> "StepDataset":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self.close()


def open_step(path: "Path", dataset: str, step: int) -> StepDataset:
    """Opens a dataset as it was at its step `step`: relative to the dataset, so 0 is what was written first. Uses the
    HDF5 of h5py. Raises BentoError, also for a step that is no longer kept. For a whole file as of an absolute step:
    h5bento.File(path, step=...)."""
    handle = _handle()
    step = _in_range("step", step, 0, _UNKNOWN)
    _with_hdf5("dataset_open", _path(path), _text_of(dataset), step, ctypes.byref(handle))
    return StepDataset(handle)


@dataclass(frozen=True)
class Box:
    """Elements start .. start + shape of a dataset, one number for each dimension."""

    start: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """For `dataset[box.slices]`."""
        return tuple(slice(start, start + count) for start, count in zip(self.start, self.shape))


@dataclass(frozen=True)
class Found:
    boxes: tuple[Box, ...]
    skipped: int  #: records that need not be read


def _number(value: int | float) -> _Number:
    """Of Python or of numpy. An integer that no dataset can hold becomes the nearest float, which some can."""
    number = _Number()
    try:
        whole = operator.index(value)
    except TypeError:
        whole = None
    if whole is None or not -(2**63) <= whole < 2**64:
        number.kind, number.value.d = 2, float(value)
    elif whole < 2**63:
        number.kind, number.value.i = 0, whole
    else:
        number.kind, number.value.u = 1, whole
    return number


def _limit(numbers: Sequence[int] | None) -> Any:
    """For C, which reads as many as the dataset has dimensions: as many as any dataset has."""
    if numbers is None:
        return None
    if len(numbers) > _MOST_DIMENSIONS:
        raise ValueError(f"{len(numbers)} numbers for a dataset, which has {_MOST_DIMENSIONS} dimensions at most")
    if any(operator.index(number) < 0 for number in numbers):
        raise ValueError(f"a start or shape below 0: {tuple(numbers)}")
    return (_u64 * _MOST_DIMENSIONS)(*numbers)


def find(
    path: "Path",
    dataset: str,
    low: int | float,
    high: int | float,
    start: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
) -> Found:
    """Boxes of a dataset in which values from `low` to `high`, both included, may be. Only the index is read; a container
    that was written with `minmax=True` rules records out. `start` and `shape` limit the search, both or none. Uses the
    HDF5 of h5py. Raises BentoError, and that or ValueError for limits that are not one number for each dimension."""
    if (start is None) != (shape is None):
        raise TypeError("start and shape are given both or not at all")
    limits = [_limit(start), _limit(shape)]
    handle = _handle()
    _with_hdf5("find", _path(path), _text_of(dataset), _number(low), _number(high), *limits, ctypes.byref(handle))
    try:
        dimensions = range(_call("boxes_rank", handle))
        for numbers in (start, shape):
            if numbers is not None and len(numbers) != len(dimensions):
                raise ValueError(f"{dataset} has {len(dimensions)} dimensions, not {len(numbers)}")
        boxes = tuple(
            Box(
                tuple(_call("boxes_start", handle, i, d) for d in dimensions),
                tuple(_call("boxes_extent", handle, i, d) for d in dimensions),
            )
            for i in range(_call("boxes_count", handle))
        )
        return Found(boxes, _call("boxes_skipped", handle))
    finally:
        _call("boxes_free", handle)


@dataclass(frozen=True)
class Finding:
    """One piece of damage. `None` where a place is not known."""

    text: str
    file: str
    offset: int | None
    task: int | None
    dataset: int | None
    step: int | None


@dataclass(frozen=True)
class Report:
    """What verify or recover found."""

    sound: bool  #: nothing is damaged
    step: int  #: the newest, absolute
    damage: int  #: all that was found; `findings` may have less
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]  #: what was done, or should be known


def _report(handle: Any) -> Report:
    def known(name: str, i: int) -> int | None:
        value = _call(f"report_{name}", handle, i)
        return None if value == _UNKNOWN else value

    try:
        findings = tuple(
            Finding(
                _call("report_text", handle, i).decode(errors="replace"),
                os.fsdecode(_call("report_file", handle, i)),
                known("offset", i),
                known("task", i),
                known("dataset", i),
                known("dataset_step", i),
            )
            for i in range(_call("report_count", handle))
        )
        notes = tuple(_call("report_note", handle, i).decode(errors="replace") for i in range(_call("report_notes", handle)))
        return Report(
            _call("report_sound", handle) != 0,
            _call("report_step", handle),
            _call("report_damage", handle),
            findings,
            notes,
        )
    finally:
        _call("report_free", handle)


def verify(path: "Path", jobs: int = 0) -> Report:
    """Reads a container once and compares every checksum, `jobs` streams at a time (0: as many as there are processors).
    Damage is in the report; BentoError is raised for what is no container or cannot be read. Needs no HDF5."""
    handle = _handle()
    jobs = _in_range("jobs", jobs, 0, 2**31 - 1)
    _checked("verify", _path(path), jobs, ctypes.byref(handle))
    return _report(handle)


def recover(path: "Path") -> Report:
    """After the death of the program that wrote it: makes the last committed step what plain readers see, and verifies.
    Uses the HDF5 of h5py. Raises BentoError, also while somebody writes the container."""
    handle = _handle()
    _with_hdf5("recover", _path(path), ctypes.byref(handle))
    return _report(handle)


def export_fti(path: "Path", folder: "Path", checkpoint: int, form: str = "1.6") -> int:
    """Writes the newest step as files for FTI 1.1 or 1.6, one for each rank, into a folder; returns how many. Filtered
    datasets are refused (BentoError)."""
    forms = {"1.1": 11, "1.6": 16}
    if form not in forms:
        raise ValueError(f"FTI {form!r}; there are {', '.join(forms)}")
    files = _u64()
    checkpoint = _in_range("checkpoint", checkpoint, 0, 2**31 - 1)
    _checked("export_fti", _path(path), _path(folder), forms[form], checkpoint, ctypes.byref(files))
    return files.value
