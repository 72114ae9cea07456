# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Texts for types, and plain comparable values for data, of two HDF5 files: what native_view_compare.py compares.

H5Tequal will not do: it tells apart two variable-length types of different files, and does not say
whether a type is committed.
"""

import hashlib

import h5py
import numpy as np
from h5py import h5o, h5r, h5s, h5t

CLASSES = {
    h5t.INTEGER: "integer",
    h5t.FLOAT: "float",
    h5t.STRING: "string",
    h5t.BITFIELD: "bitfield",
    h5t.OPAQUE: "opaque",
    h5t.COMPOUND: "compound",
    h5t.REFERENCE: "reference",
    h5t.ENUM: "enum",
    h5t.VLEN: "vlen",
    h5t.ARRAY: "array",
}


def key_of(object_id):
    """What identifies an object within its file."""
    info = h5o.get_info(object_id)
    return info.fileno, info.addr


def type_text(type_id, paths):
    """Everything about a type, all members included. `paths`: of the committed types, by key."""
    kind = CLASSES.get(type_id.get_class(), f"class {type_id.get_class()}")
    parts = [kind, f"{type_id.get_size()} bytes"]
    if type_id.committed():
        parts.append(f"committed as {paths.get(key_of(type_id), 'nothing with a name')}")
    if kind in ("integer", "float"):
        parts += [f"order {type_id.get_order()}", f"bits {type_id.get_precision()}"]
        parts += [f"offset {type_id.get_offset()}", f"pad {type_id.get_pad()}"]
    if kind == "integer":
        parts.append(f"sign {type_id.get_sign()}")
    if kind == "float":
        parts += [f"fields {type_id.get_fields()}", f"bias {type_id.get_ebias()}"]
        parts += [f"norm {type_id.get_norm()}", f"inner pad {type_id.get_inpad()}"]
    if kind == "string":
        parts += [f"cset {type_id.get_cset()}", f"pad {type_id.get_strpad()}"]
        parts.append("variable" if type_id.is_variable_str() else "fixed")
    if kind == "opaque":
        parts.append(f"tag {type_id.get_tag()!r}")
    if kind == "compound":
        for i in range(type_id.get_nmembers()):
            inner = type_text(type_id.get_member_type(i), paths)
            parts.append(f"{type_id.get_member_name(i)!r} at {type_id.get_member_offset(i)}: {inner}")
    if kind == "enum":
        for i in range(type_id.get_nmembers()):
            parts.append(f"{type_id.get_member_name(i)!r} = {type_id.get_member_value(i)}")
    if kind == "array":
        parts.append(f"shape {type_id.get_array_dims()}")
    if kind == "reference":
        parts.append("region" if type_id.equal(h5t.STD_REF_DSETREG) else "object")
    if kind in ("array", "vlen", "enum"):
        parts.append(f"of {type_text(type_id.get_super(), paths)}")
    return "{" + ", ".join(parts) + "}"


def space_text(space):
    """Which elements a region reference selects, in which order."""
    kind = space.get_select_type()
    text = f"shape {space.get_simple_extent_dims()}, "
    if kind == h5s.SEL_ALL:
        return text + "all"
    if kind == h5s.SEL_NONE:
        return text + "none"
    if kind == h5s.SEL_POINTS:
        return text + f"points {space.get_select_elem_pointlist().tolist()}"
    # The list of blocks comes in the order of creation; the elements are the same in any.
    return text + f"blocks {sorted(map(str, space.get_select_hyper_blocklist().tolist()))}"


# A null reference, or one whose object is gone: bits that nobody can use are not compared.
NO_OBJECT = "reference to nothing"
NO_REGION = "region of nothing"


class Values:
    """Values of one file: references become the path of what they refer to."""

    def __init__(self, file, paths):
        self.file, self.paths = file, paths
        self.references = 0

    def path_of(self, reference):
        try:
            return self.paths.get(key_of(h5r.dereference(reference, self.file.id)), "an object without a path")
        except (ValueError, RuntimeError, OSError, KeyError):
            return None

    def plain(self, value):
        """Something that is equal if and only if the values are."""
        if isinstance(value, h5py.RegionReference):
            self.references += 1
            path = self.path_of(value) if value else None
            return f"region of {path}: {space_text(h5r.get_region(value, self.file.id))}" if path else NO_REGION
        if isinstance(value, h5py.Reference):
            self.references += 1
            path = self.path_of(value) if value else None
            return f"reference to {path}" if path else NO_OBJECT
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array(np.asarray(value))
        if isinstance(value, h5py.Empty):
            return f"empty {value.dtype!r}"
        return value

    def array(self, array):
        """Bytes of the values without padding, or lists where there are objects in them."""
        dtype = array.dtype
        if dtype.names is not None:
            return [array.shape] + [(name, self.array(array[name])) for name in dtype.names]
        if h5py.check_string_dtype(dtype) and dtype.hasobject:
            return [array.shape] + array.reshape(-1).tolist()
        if dtype.hasobject:
            return [array.shape] + [self.plain(item) for item in array.reshape(-1)]
        if dtype.kind != "V":
            array = array.astype(dtype.newbyteorder("<"), copy=False)
        return array.shape, str(array.dtype.kind), np.ascontiguousarray(array).tobytes()


def short(value):
    """For messages: long values as their beginning and a hash."""
    text = repr(value)
    return text if len(text) < 300 else f"{text[:260]}... ({hashlib.sha1(text.encode()).hexdigest()[:8]})"


def same_elements(a, b):
    """Positions at which two arrays of one shape and type without objects differ."""
    def rows(x):
        if x.dtype.names is not None:
            parts = [rows(x[name].reshape((count, -1))) for name in x.dtype.names]
            return np.concatenate(parts, axis=1)
        x = x if x.dtype.kind == "V" else x.astype(x.dtype.newbyteorder("<"), copy=False)
        return np.frombuffer(np.ascontiguousarray(x).tobytes(), np.uint8).reshape(count, -1)

    count = a.shape[0] if a.ndim else 1
    different = rows(a) != rows(b) if count else np.zeros((0, 1), bool)
    return np.flatnonzero(different.any(axis=1)) if different.any() else np.arange(0)
