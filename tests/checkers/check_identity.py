# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: The h5bento developers
"""What the physical files of a container of the connector say of themselves, against its root (docs/format.md, "Root" and
"Identity"); part of check_containers.py. Hashes as in check_fti.py: not checked where there is no XXH3."""

import os
import struct
from collections import namedtuple

from check_fti import xxh3

SECTOR, SLOT, IDENTITY_AT, HOLDER_AT, BEFORE = 4096, 512, 1024, 2048, 8
STEP_AT, SESSION_AT = 48, 3328  # in a root
Root = namedtuple("Root", "file_id session step")

Identity = namedtuple("Identity", "part turn file_id session before name")


def superblock_address(tasks):
    address = SECTOR
    while address < 1088 + 16 * tasks:
        address *= 2
    return address


def sound(sector):
    return xxh3 is None or xxh3(sector[:-16]) == sector[-16:]


def newest_root(file):
    """The newest valid root, or None if there is none: then it is no container of ours."""
    found = None
    at = superblock_address(file.ntasks) + SECTOR
    for slot in range(2):
        file.handle.seek(at + slot * SECTOR)
        sector = file.handle.read(SECTOR)
        if len(sector) < SECTOR or sector[:8] != b"BNTOROOT" or not sound(sector):
            continue
        sequence = struct.unpack_from("<Q", sector, 16)[0]
        if found is None or sequence > found[0]:
            step = struct.unpack_from("<Q", sector, STEP_AT)[0]
            found = sequence, Root(sector[24:40], sector[SESSION_AT : SESSION_AT + 16], step)
    return found and found[1]


def is_joined(file):
    """Of physical file 0: do its streams hold HDF5 files, written through the file driver?"""
    file.handle.seek(superblock_address(file.ntasks) + SECTOR)
    sector = file.handle.read(SECTOR)
    return sector[:8] == b"BNTOROOT" and struct.unpack_from("<I", sector, 12)[0] & 16 != 0


def identity(file):
    newest = None
    at = superblock_address(file.ntasks) + IDENTITY_AT
    for slot in range(2):
        file.handle.seek(at + slot * SLOT)
        bytes_ = file.handle.read(SLOT)
        if len(bytes_) < SLOT or bytes_[:8] != b"BNTOPART" or not sound(bytes_):
            continue
        part, length, turn = struct.unpack_from("<IIQ", bytes_, 8)
        before = [bytes_[56 + 16 * i : 72 + 16 * i] for i in range(BEFORE)]
        name = bytes_[184 : 184 + length]
        found = Identity(part, turn, bytes_[24:40], bytes_[40:56], [s for s in before if any(s)], name)
        if newest is None or found.turn > newest.turn:
            newest = found
    return newest


def writer_died(file):
    """Of physical file 0 of a container that was closed once: its last writer did not come to its close. The streams' file
    blocks tell of its commits then, of which META2 does not know yet (docs/format.md, "A rank's stream")."""
    file.handle.seek(superblock_address(file.ntasks) + HOLDER_AT)
    return file.handle.read(8) == b"BNTHOLD1"


def check(files):
    """Problems of the physical files (PhysicalFile of check_sion) of one closed container."""
    root = newest_root(files[0])
    if root is None:
        return []
    problems = []
    found = [identity(file) for file in files]
    known = {root.session} | ({found[0].session} if found[0] else set())
    for index, (file, said) in enumerate(zip(files, found)):
        where = "%s @ %d" % (os.path.basename(file.path), superblock_address(file.ntasks) + IDENTITY_AT)
        if said is None:
            problems.append("%s: no valid identity" % where)
            continue
        if said.part != index:
            problems.append("%s: identity of part %d in physical file %d" % (where, said.part, index))
        if said.file_id != root.file_id:
            problems.append("%s: the identity's container is not that of the root" % where)
        if said.session not in known:
            problems.append("%s: written last by a session that file 0 does not know" % where)
        if not 0 < len(said.name) < 256:
            problems.append("%s: identity with a name of %d bytes" % (where, len(said.name)))
    if found[0] and root.session != found[0].session and root.session not in found[0].before:
        problems.append("%s: the root's session is not among those of the identity" % files[0].path)
    return problems
