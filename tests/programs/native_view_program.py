#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A serial h5py program that writes about everything HDF5 can hold into files of a folder.

    native_view_program.py FOLDER quick|plain|first|second|stock|values [LIBVER]

first: creates the files (quick: fewer and smaller ones; plain: one of
its own). second: opens main.h5 again; overwrites, deletes, renames, adds. stock: what
somebody without the connector may do to it in an r+ session; values: the same, where the data lies. LIBVER: earliest or latest (default).
"""

import os
import sys

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5p, h5s, h5t

# Partly written contiguous datasets have fill values: natively, what was not written is undefined without.
LARGE = 70 << 10  # bytes: too large to be copied into the view
ALL = bool(os.environ.get("H5BENTO_TEST_ALL"))  # as in harness.py
# Boxes that are written one upon the other into one dataset, and pieces of it that are to be seen in the end, at least. The time
# that HDF5 takes to read a virtual dataset grows with their square; native_view_many.py has a dataset of thousands.
BOXES, PIECES = (1500, 1000) if ALL else (600, 500)
BYTES = 0  # of fixed-size types, written as datasets


PARTICLE = np.dtype(
    [("id", "u8"), ("x", "f4", (3,)), ("kind", "i1"), ("tag", "S5"), ("spin", [("up", "f8"), ("down", "f2")])]
)
ALIGNED = np.dtype([("a", "i1"), ("b", "f8"), ("c", ">i2")], align=True)
COLOUR = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42, "NONE": -1}, basetype="i2")
TYPES = {
    "i1": "i1",
    "u2": "u2",
    "i4": "<i4",
    "u8_be": ">u8",
    "i2_be": ">i2",
    "f2": "f2",
    "f4": "f4",
    "f8": "f8",
    "f8_be": ">f8",
    "c8": "c8",
    "c16": "c16",
    "bool": "?",
    "enum": COLOUR,
    "string": "S7",
    "utf8": h5py.string_dtype("utf-8", 9),
    "opaque": "V5",
    "time": h5py.opaque_dtype("M8[us]"),
    "array": np.dtype(("f4", (2, 3))),
    "array_be": np.dtype((">i4", (5,))),
    "particle": PARTICLE,
    "aligned": ALIGNED,
}


ONE_OF_A_KIND = ("u2", "i2_be", "f8", "c8", "enum", "utf8", "opaque", "array", "particle")


def values(dtype, count, seed=0):
    """Reproducible values of a type."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed + 1)
    if dtype.subdtype:
        base, shape = dtype.subdtype
        return values(base, count * int(np.prod(shape)), seed).reshape((count,) + shape)
    if dtype.names:
        result = np.zeros(count, dtype)
        for number, name in enumerate(dtype.names):
            result[name] = values(dtype[name], count, seed + 11 * number)
        return result
    if h5py.check_enum_dtype(dtype) is not None:
        return random.choice(sorted(h5py.check_enum_dtype(dtype).values()), count).astype(dtype)
    if dtype.kind == "b":
        return random.random(count) < 0.5
    if dtype.kind in "iu":
        raw = random.bytes(count * dtype.itemsize)
        return np.frombuffer(raw, dtype.newbyteorder("=")).astype(dtype)
    if dtype.kind == "f":
        return (random.integers(-(1 << 10), 1 << 10, count) / 8.0).astype(dtype)
    if dtype.kind == "c":
        return (values("f8", count, seed) + 1j * values("f8", count, seed + 5)).astype(dtype)
    if dtype.kind == "S":
        words = [b"%x" % x for x in random.integers(0, 1 << 30, count)]
        return np.array([w[: dtype.itemsize] for w in words], dtype)
    if dtype.kind == "M":
        return random.integers(0, 1 << 40, count).astype("M8[us]").astype(dtype)
    if dtype.kind == "V":
        return np.frombuffer(random.bytes(count * dtype.itemsize), dtype)
    raise TypeError(dtype)


def put(dataset, selection, data):
    global BYTES
    dataset[selection] = data
    if not dataset.dtype.hasobject:
        BYTES += int(np.prod(np.shape(data)[: dataset.ndim])) * dataset.id.get_type().get_size()


def many_types(file, names=tuple(TYPES)):
    """Small ones, and ones too large to be copied: contiguous, chunked, filtered, partly written, overwritten."""
    for number, name in enumerate(names):
        dtype = TYPES[name]
        group = file.create_group(f"types/{name}", track_order=number % 2 == 0)
        count = LARGE // np.dtype(dtype).itemsize + number
        data = values(dtype, count, number)
        put(group.create_dataset("large", (count,), dtype), slice(None), data)
        small = group.create_dataset("small", (6, 5), dtype, chunks=(4, 3) if number % 3 else None)
        part = np.s_[1:6, 1:4] if number % 3 else np.s_[:, :]
        shape = (5, 3) if number % 3 else (6, 5)
        put(small, part, values(dtype, int(np.prod(shape)), number).reshape(shape + np.dtype(dtype).shape))
        pieces = group.create_dataset("pieces", (count,), dtype, chunks=(1 + count // 7,), maxshape=(None,))
        for part in range(5):
            put(pieces, slice(part * count // 6, (part + 1) * count // 6 - 3), data[part * count // 6 : (part + 1) * count // 6 - 3])
        put(pieces, slice(count // 9, count // 5), data[: count // 5 - count // 9])
        step = 97 if ALL else max(97, count // 150)  # about 150 single elements at most
        put(pieces, slice(0, count, step), data[0:count:step][::-1])
        filtered = group.create_dataset(
            "filtered", (count,), dtype, chunks=(1000,), compression="gzip", shuffle=True, fletcher32=number % 2 == 0
        )
        put(filtered, slice(10, count - 10), data[10 : count - 10])
        if number == 2:
            group["pieces"].attrs["value"] = values(dtype, 4)
        small.attrs.create("value", values(dtype, 3, 4), dtype=dtype)
        small.attrs.create("scalar", values(dtype, 1, 4)[0], dtype=dtype if np.dtype(dtype).subdtype is None else None)


def odd_types(file):
    """Types that only the low-level interface makes."""
    group = file.create_group("odd")
    tagged = h5t.create(h5t.OPAQUE, 6)
    tagged.set_tag(b"a tag of mine")
    padded = h5t.C_S1.copy()
    padded.set_size(8)
    padded.set_strpad(h5t.STR_SPACEPAD)
    narrow = h5t.STD_I32LE.copy()
    narrow.set_precision(19)
    narrow.set_offset(3)
    gaps = h5t.create(h5t.COMPOUND, 40)
    gaps.insert(b"first", 4, h5t.STD_I16BE)
    gaps.insert(b"second", 16, h5t.IEEE_F64LE)
    for name, kind, data in (
        ("tagged", tagged, np.frombuffer(b"abcdefghijkl" * 6000, "V6")),
        ("padded", padded, np.array([b"one", b"two", b"three"] * 4000, "S8")),
        ("narrow", narrow, np.arange(-20000, 20000, dtype="i4")),
        ("gaps", gaps, np.array([(i, i / 4) for i in range(2000)], [("first", "i2"), ("second", "f8")])),
    ):
        for what, count in (("small", 5), ("large", len(data))):
            dataset = h5py.Dataset(h5d.create(group.id, f"{name}_{what}".encode(), kind, h5s.create_simple((count,))))
            if name != "tagged":
                put(dataset, slice(0, count), data[:count])
            else:
                dataset.id.write(h5s.ALL, h5s.ALL, data[:count].copy(), mtype=kind)
    bits = h5py.Dataset(h5d.create(group.id, b"bits", h5t.STD_B16LE, h5s.create_simple((40,))))
    bits.id.write(h5s.ALL, h5s.ALL, np.arange(40, dtype="u2"), mtype=h5t.STD_B16LE)


def strings(file):
    group = file.create_group("strings")
    words = ["", "plain", "grün", "日本", "x" * 300]
    text, raw = h5py.string_dtype(), h5py.string_dtype("ascii")
    group.create_dataset("variable", data=words * 7, dtype=text)
    group.create_dataset("ascii", data=[b"a", b"bc"], dtype=raw)
    group.create_dataset("many", (5000,), text)[::3] = "often"
    group.create_dataset("filled", (9,), text, fillvalue="nothing yet")[2:4] = ["a", "b"]
    group.create_dataset("scalar", data="just one")
    group["chunked"] = np.array([w.encode() for w in words], object).astype("S")
    mixed = np.dtype([("name", text), ("n", "i4"), ("raw", raw), ("fixed", "S4")])
    group["compound"] = np.array([("ä", 1, b"b", b"c"), ("", -2, b"", b"dddd")], mixed)
    numbers = h5py.vlen_dtype(np.dtype(">i2"))
    lists = group.create_dataset("lists", (4,), numbers)
    lists[0], lists[2] = [1, 2, 3], np.arange(400)
    nested = group.create_dataset("particles", (2,), h5py.vlen_dtype(ALIGNED))
    nested[1] = values(ALIGNED, 3)
    group.attrs["text"] = "grün"
    group.attrs["words"] = words
    group.attrs["fixed"] = np.bytes_("fixed")
    group.attrs.create("fixed utf8", "grün".encode(), dtype=h5py.string_dtype("utf-8", 12))
    group.attrs["compound"] = np.array([("ö", 7, b"r", b"f")], mixed)
    group.attrs.create("lists", np.array([np.arange(3), np.arange(5)], object), dtype=h5py.vlen_dtype("i8"))


def spaces(file):
    group = file.create_group("spaces")
    group["scalar"] = 2.75
    group["scalar particle"] = values(PARTICLE, 1)[0]
    group["null"] = h5py.Empty("f8")
    group["null string"] = h5py.Empty(h5py.string_dtype())
    group.create_dataset("no elements", (0, 4), "f4", maxshape=(None, 4), chunks=(8, 4))
    group.create_dataset("no elements, fixed", (3, 0), "i2")
    group.create_dataset("never", (50, 3), "f4", fillvalue=2.5).attrs["note"] = "nobody writes here"
    group.create_dataset("never, large", (300, 300), ">i4", fillvalue=-3, maxshape=(None, 300))
    group.create_dataset("never, no fill value", (100, 100), "i8")
    group.create_dataset("never, particles", (3000,), PARTICLE, fillvalue=values(PARTICLE, 1, 3)[0])
    part = group.create_dataset("part", (400, 300), "i4", fillvalue=-77, chunks=(50, 60))
    put(part, np.s_[3:390:5, 7:290], values("i4", 78 * 283).reshape(78, 283))
    part = group.create_dataset("part, particles", (3000,), PARTICLE, fillvalue=values(PARTICLE, 1, 4)[0])
    put(part, slice(100, 2800), values(PARTICLE, 2700))
    whole = group.create_dataset("six dimensions", (3, 4, 5, 6, 7, 8), "i2", fillvalue=0)
    put(whole, np.s_[1:, 1:, 1:, 1:, 1:, 1:], values("i2", 2 * 3 * 4 * 5 * 6 * 7).reshape(2, 3, 4, 5, 6, 7))
    points = group.create_dataset("points", (200, 200), "f8", fillvalue=0.5)
    put(points, ([1, 5, 9, 150], 7), np.arange(4.0))
    mask = np.add.outer(np.arange(200), np.arange(200)) % 9 == 0
    put(points, mask, np.arange(float(mask.sum())))
    compact = h5p.create(h5p.DATASET_CREATE)
    compact.set_layout(h5d.COMPACT)
    small = h5d.create(group.id, b"compact", h5t.STD_I32BE, h5s.create_simple((30,)), compact)
    put(h5py.Dataset(small), slice(2, 28), np.arange(26, dtype="i4"))
    growing = group.create_dataset("growing", (0, 311), "f8", maxshape=(None, None), chunks=(2, 90), fillvalue=-0.5)
    for step in range(40):
        growing.resize((step + 1, 311))
        put(growing, step, values("f8", 311, step))
        if step % 13 == 0:
            file.flush()
    growing.resize((20, 200))
    growing.resize((50, 260))
    put(growing, np.s_[45, :], values("f8", 260))
    group["filter chain"] = 0
    del group["filter chain"]
    lossless = group.create_dataset("scale offset", (20000,), "i4", chunks=(512,), scaleoffset=0)
    put(lossless, slice(None), np.arange(20000) % 1000)


def boxes(file, number_of=BOXES, least=PIECES):
    """Random overlapping boxes: more than PIECES of them remain visible."""
    dataset = file.create_dataset("boxes", (700, 600), "i4", fillvalue=-1)
    random = np.random.default_rng(7)
    owner = np.full(dataset.shape, -1)
    for number in range(number_of):
        top, left = random.integers(0, 690), random.integers(0, 590)
        height, width = random.integers(1, 31), random.integers(1, 31)
        where = np.s_[top : top + height, left : left + width]
        owner[where] = number
        put(dataset, where, np.full(owner[where].shape, 1000 * number, "i4") + np.arange(owner[where].shape[1]))
    visible = len(np.unique(owner)) - 1
    assert visible > least, visible
    print(f"pieces: {visible}")


def links(file, many=300):
    group = file.create_group("links", track_order=True)
    for name in ("zeta", "alpha", "mu", "beta"):
        group.create_group(name)
    inner = group.create_group("mu/inner/deeper", track_order=True)
    for number in (3, 1, 2):
        put(inner.create_dataset(f"d{number}", (LARGE // 4,), "i4"), slice(None), np.arange(LARGE // 4) * number)
    group["hard"] = inner["d3"]
    file["also hard"] = inner["d3"]
    group["cycle"] = group
    group["alpha/root"] = file["/"]
    group["alpha/beta"] = group["beta"]
    group["beta/alpha"] = group["alpha"]
    group["soft"] = h5py.SoftLink("/types/i4/large")
    group["soft up"] = h5py.SoftLink("mu/inner")
    group["soft to soft"] = h5py.SoftLink("soft up/deeper/d1")
    group["soft circle"] = h5py.SoftLink("/links/soft circle")
    group["dangling"] = h5py.SoftLink("/nowhere/%d/at all")
    group["external"] = h5py.ExternalLink("other.h5", "/inner/data")
    group["external group"] = h5py.ExternalLink("other.h5", "/inner")
    group["external missing"] = h5py.ExternalLink("missing.h5", "/")
    group["external dangling"] = h5py.ExternalLink("other.h5", "/nowhere")
    del group["zeta"]
    group.create_group("empty")
    odd = file.create_group("odd names")
    for number, name in enumerate(
        ("100%", "%b", "%d%%s", "two words", " ", "grün", "日本語", "a.b", "..c", "tab\there", "new\nline", "x" * 500, "'\"`$;*?")
    ):
        put(odd.create_dataset(name, (LARGE // 8 + number,), "f8"), slice(None), np.arange(LARGE // 8 + number) + 0.5)
        odd.create_group(f"group {name}").attrs[name[:200]] = name
    raw = h5g.create(odd.id, b"latin \xe9", lcpl=h5p.create(h5p.LINK_CREATE))
    h5g.create(raw, b"plain ascii")
    put(h5py.Dataset(h5d.create(raw, b"%\xff data", h5t.STD_I32LE, h5s.create_simple((LARGE // 4,)))), slice(None), np.arange(LARGE // 4))
    deep = file
    for level in range(40):
        deep = deep.create_group(f"level {level}" if level else "deep")
    put(deep.create_dataset("bottom", (LARGE,), "u1"), slice(None), values("u1", LARGE))
    group = file.create_group("many links")
    for number in range(many):
        group[f"n{number * 7919 % many:03d}"] = h5py.SoftLink(f"/x/{number}")
    file.create_group("explicit/order", track_order=True)


def committed(file):
    group = file.create_group("committed")
    group["particle"] = PARTICLE
    group["colour"] = COLOUR
    group["text"] = h5py.string_dtype()
    group["number"] = np.dtype(">f4")
    group["also number"] = group["number"]
    group["inner"] = np.dtype([("p", PARTICLE), ("n", "i4")])
    group["number"].attrs["unit"] = "K"
    group["number"].attrs.create("itself", 5.5, dtype=group["number"])
    small = group.create_dataset("small", (5,), group["particle"], chunks=(2,))
    put(small, slice(1, 4), values(PARTICLE, 3))
    large = group.create_dataset("large", (4000,), group["particle"], fillvalue=values(PARTICLE, 1, 8)[0])
    put(large, slice(0, 3900), values(PARTICLE, 3900))
    put(group.create_dataset("numbers", (LARGE // 4,), group["number"]), slice(None), values("f4", LARGE // 4))
    put(group.create_dataset("more numbers", (300, 300), group["number"], chunks=(30, 30)), np.s_[:, 2:], values("f4", 300 * 298).reshape(300, 298))
    put(group.create_dataset("colours", (LARGE,), group["colour"], fillvalue=-1), slice(2, None), values(COLOUR, LARGE - 2))
    group.create_dataset("texts", (4,), group["text"])[1:3] = ["a", "b"]
    group.create_dataset("never", (400, 400), group["number"])
    for item in (group, small, large):
        item.attrs.create("particle", values(PARTICLE, 2), dtype=group["particle"])
        item.attrs.create("colour", 42, dtype=group["colour"])
    file.attrs.create("number", 1.25, dtype=group["number"])
    unnamed = h5t.py_create(np.dtype([("q", "i4")]), logical=True)
    unnamed.commit(group.id, b"gone")
    put(h5py.Dataset(h5d.create(group.id, b"of a deleted type", unnamed, h5s.create_simple((4,)))), slice(None), np.zeros(4, [("q", "i4")]))
    del group["gone"]


def references(file):
    group = file.create_group("references")
    large, small = file["types/i4/large"], file["types/f8/small"]
    target = [file["links"], large, small, file["committed/number"], file["/"], file["boxes"]]
    group.create_dataset("objects", data=[x.ref for x in target], dtype=h5py.ref_dtype)
    some = group.create_dataset("some", (40,), h5py.ref_dtype, chunks=(10,))
    some[3:5] = np.array([large.ref, group.ref], object)
    box = file["boxes"]
    regions = [large.regionref[5:900:7], small.regionref[1:3, 2:4], box.regionref[100:300, 50:60], box.regionref[...]]
    mask = np.zeros(box.shape, bool)
    mask[[3, 77, 500], [10, 20, 30]] = True
    regions.append(box.regionref[mask])
    group.create_dataset("regions", data=regions, dtype=h5py.regionref_dtype)
    group.create_dataset("no region", (3,), h5py.regionref_dtype)
    both = np.dtype([("object", h5py.ref_dtype), ("n", "i4"), ("region", h5py.regionref_dtype), ("text", h5py.string_dtype())])
    compound = group.create_dataset("compound", (3,), both)
    compound[0] = (large.ref, 1, regions[0], "one")
    compound[2] = (group.ref, 3, regions[2], "three")
    lists = group.create_dataset("lists", (3,), h5py.vlen_dtype(h5py.ref_dtype))
    lists[0], lists[2] = np.array([large.ref, small.ref], object), np.array([box.ref], object)
    group.attrs["object"] = box.ref
    group.attrs["region"] = regions[2]
    group.attrs.create("objects", [x.ref for x in target], dtype=h5py.ref_dtype)
    group.attrs.create("regions", regions, dtype=h5py.regionref_dtype)
    group.attrs.create("null", h5py.Reference(), dtype=h5py.ref_dtype)
    group.attrs.create("lists", np.array([np.array([x.ref for x in target[:k]], object) for k in (1, 3)], object), dtype=h5py.vlen_dtype(h5py.ref_dtype))
    large.attrs["to the next"] = file["types/f4/large"].ref


def dangling(file):
    """In a file of its own, since h5diff gives up on it."""
    doomed = file.create_dataset("doomed", data=np.arange(5))
    put(file.create_dataset("data", (LARGE,), "u1"), slice(None), values("u1", LARGE))
    file.create_dataset("references", data=[doomed.ref, file["data"].ref], dtype=h5py.ref_dtype)
    file.attrs["dangling"] = doomed.ref
    file.attrs["region"] = doomed.regionref[1:3]
    del doomed, file["doomed"]


def scales(file):
    """As netCDF-4 writes them."""
    group = file.create_group("scales", track_order=True)
    sides = {"time": 9, "y": 130, "x": 170}
    for number, (name, length) in enumerate(sides.items()):
        scale = group.create_dataset(name, (length,), "f8", maxshape=(None,) if name == "time" else None)
        put(scale, slice(None), np.arange(length) / 2)
        scale.make_scale(name)
        scale.attrs["_Netcdf4Dimid"] = np.int32(number)
        scale.attrs["units"] = np.bytes_("m")
    bare = group.create_dataset("bare", (130,), ">f4")
    bare.make_scale("This is a netCDF dimension but not a netCDF variable.       130")
    for name in ("temperature", "pressure"):
        data = group.create_dataset(name, (9, 130, 170), "f4", fillvalue=9.96921e36, chunks=(1, 130, 170))
        for axis, scale in enumerate(sides):
            data.dims[axis].attach_scale(group[scale])
            data.dims[axis].label = f"along {scale}"
        put(data, np.s_[:8], values("f4", 8 * 130 * 170).reshape(8, 130, 170))
    group["pressure"].dims[1].attach_scale(bare)
    tiny = group.create_dataset("tiny", (9,), "i2")
    tiny.dims[0].attach_scale(group["time"])
    file.attrs["_NCProperties"] = "version=2,netcdf=4.9.2,hdf5=1.14.5"


def comments_and_attributes(file, latest, counts=(120, 60)):
    h5o.set_comment(file["types/i4/large"].id, "a comment with blanks, grün".encode())
    h5o.set_comment(file["links"].id, b"of a group")
    h5o.set_comment(file["committed/number"].id, b"of a type")
    group = file.create_group("attributes", track_order=True)
    for number in range(counts[0]):
        group.attrs[f"a{number * 37 % counts[0]:03d}"] = number
    dataset = file.create_dataset("many attributes", (200, 200), "f8", track_order=True)
    put(dataset, np.s_[:], values("f8", 40000).reshape(200, 200))
    for number in range(counts[1]):
        dataset.attrs[f"b{number * 37 % counts[1]:03d}"] = np.arange(number)
    dataset.attrs["empty"] = h5py.Empty("i4")
    dataset.attrs["empty string"] = h5py.Empty(h5py.string_dtype())
    dataset.attrs["matrix"] = np.arange(6.0).reshape(2, 3)
    dataset.attrs["flag"] = True
    dataset.attrs["complex"] = 1 - 2j
    dataset.attrs["doomed"] = 1
    del dataset.attrs["doomed"]
    dataset.attrs["matrix"] = "replaced"
    h5a.rename(dataset.id, b"b001", b"renamed")
    if latest:
        dataset.attrs["huge"] = np.arange(20000.0)
        group.attrs["huge text"] = "y" * 80000
    limited = h5s.create_simple((3,), (7,))
    h5a.create(group.id, b"limited", h5t.STD_I32LE, limited).write(np.arange(3, dtype="i4"))
    h5a.create(group.id, b"latin \xe9", h5t.STD_I32LE, h5s.create(h5s.SCALAR)).write(np.array(5, "i4"))


def virtual(file):
    """The user's own virtual datasets over datasets of the same file."""
    layout = h5py.VirtualLayout((2, LARGE // 4 + 2), "i4")
    for row in range(2):
        layout[row, : LARGE // 4] = h5py.VirtualSource(".", f"/links/mu/inner/deeper/d{row + 1}", (LARGE // 4,))
    file.create_virtual_dataset("virtual", layout, fillvalue=-9)
    layout = h5py.VirtualLayout((10,), "f8")
    layout[2:8] = h5py.VirtualSource("missing.h5", "/not/there", (6,))
    file.create_virtual_dataset("virtual over nothing", layout, fillvalue=0.25)


def growing(file):
    """Datasets that grow along another dimension than the first, of whose chunks HDF5 tells wrong places."""
    for name, options in (("plain", {}), ("gzip", {"compression": "gzip"}), ("filled", {"fillvalue": 7})):
        for part in (3, 12):
            data = file.create_dataset(f"growing/{name} {part}", (4, 12), maxshape=(4, None), chunks=(2, 3), dtype="i4", **options)
            put(data, np.s_[:, :part], np.arange(4 * part).reshape(4, part))
    texts = file.create_dataset("growing/texts", (4, 12), maxshape=(4, None), chunks=(2, 3), dtype=h5py.string_dtype(), fillvalue=b"-")
    put(texts, slice(None), np.array([[f"{row} {column}" for column in range(12)] for row in range(4)], dtype=object))


def first(folder, libver):
    with h5py.File(os.path.join(folder, "other.h5"), "w", libver=libver) as file:
        put(file.create_dataset("inner/data", (LARGE // 4,), "f4"), slice(None), np.arange(LARGE // 4))
        file["inner/data"].attrs["from"] = "the other file"
        for part in (spaces, committed):  # all that h5repack can do: not references
            part(file)
        many_types(file, tuple(TYPES) if ALL else ONE_OF_A_KIND)  # main.h5 has all, and plain.h5
    with h5py.File(os.path.join(folder, "dangling.h5"), "w", libver=libver) as file:
        dangling(file)
    with h5py.File(os.path.join(folder, "main.h5"), "w", libver=libver, track_order=True) as file:
        for part in (many_types, odd_types, strings, spaces, boxes, links, committed, references, scales, growing):
            part(file)
        comments_and_attributes(file, libver == "latest")
        virtual(file)
        file.attrs["session"] = 1


def quick(folder, libver):
    """A selection that takes little time to read."""
    with h5py.File(os.path.join(folder, "main.h5"), "w", libver=libver) as file:
        many_types(file, ("i4", "f4", "f8", "particle"))
        boxes(file, 120, 100)
        strings(file)
        links(file, 60)
        for part in (committed, references, scales, growing):
            part(file)
        comments_and_attributes(file, libver == "latest", (20, 12))


def plain(folder, libver):
    """What h5repack copies as it is."""
    with h5py.File(os.path.join(folder, "plain.h5"), "w", libver=libver) as file:
        for part in (many_types, spaces, odd_types):
            part(file)


def second(folder, libver):
    with h5py.File(os.path.join(folder, "main.h5"), "r+", libver=libver) as file:
        put(file["types/i4/large"], slice(100, 9000), values("i4", 8900, 99))
        put(file["types/i4/small"], np.s_[0, :], values("i4", 5, 98))
        put(file["types/f8/pieces"], slice(50, 7000), values("f8", 6950, 97))
        put(file["types/particle/filtered"], slice(5, 900), values(PARTICLE, 895, 96))
        put(file["boxes"], np.s_[40:60, 300:500], np.full((20, 200), 5, "i4"))
        file.move("types/u2", "renamed types")
        file.move("odd names/two words", "odd names/three 50% words")
        del file["types/c8"], file["links/mu/inner/deeper/d2"], file["strings/many"]
        put(file.create_dataset("types/c8", (LARGE // 4,), "i4", fillvalue=4), slice(7, None), values("i4", LARGE // 4 - 7))
        file["spaces/growing"].resize((60, 300))
        put(file["spaces/growing"], np.s_[50:60, 100:], values("f8", 2000).reshape(10, 200))
        put(file["spaces/never, large"], np.s_[10:20], np.ones((10, 300), ">i4"))
        file["strings/variable"][3] = "later"
        file["references/objects"][0] = file["types/f4/large"].ref
        scale = file["scales/time"]
        scale.resize((12,))
        put(scale, slice(9, 12), [7.0, 8.0, 9.0])
        put(file.create_dataset("later", (LARGE // 2,), "u2"), slice(None), values("u2", LARGE // 2))
        file["later"].dims[0].label = "new"
        file.attrs["session"] = 2
        del file["many attributes"].attrs["b002"]


def stock(folder, libver):
    with h5py.File(os.path.join(folder, "main.h5"), "r+") as file:
        file["added"] = np.arange(30000)
        file["types/f4/large"].attrs["added"] = "by stock HDF5"
        file.create_group("added group")["link"] = file["later"]
        del file["odd names/100%"], file["strings/ascii"]
        file.attrs["session"] = 3


def changed_values(folder, libver):
    with h5py.File(os.path.join(folder, "main.h5"), "r+") as file:
        file["types/f8/large"][5:10] = [1, 2, 3, 4, 5]
        file["types/i4/small"][...] = 8
        # Only what somebody has written: stock HDF5 cannot write where a virtual dataset has no source. And arrays of the
        # file's own type: natively, too, HDF5 (1.14.5, 2.0.0) forgets to convert when it writes a part of a virtual dataset,
        # and scalars that h5py spreads fail with 60 mappings.
        file["boxes"][45:55, 310:400] = np.full((10, 90), 77, "i4")
        file["spaces/growing"][5:15, 100:200] = np.full((10, 100), 0.25)


SESSIONS = {"quick": quick, "plain": plain, "first": first, "second": second, "stock": stock, "values": changed_values}

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] and sys.argv[1] in ("-h", "--help") else 2)
    SESSIONS[sys.argv[2]](sys.argv[1], (sys.argv[3:] or ["latest"])[0])
    print(f"bytes: {BYTES}")
