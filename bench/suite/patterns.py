# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What is measured: patterns, methods, and which of them go together."""

from dataclasses import dataclass

from measuring import NATIVE, Method

PLAIN = ("raw", "raw-shared")
TWO = "raw-two"  # as many files as "bento files=2"
KEPT = "raw-kept"
TUNED = ("tuned independent", "tuned collective")
BENTO = ("bento", "bento files=2")
LEAST = "least"  # least_connector.c
USUAL = PLAIN + NATIVE + BENTO

OF_HDF5 = {
    NATIVE[0]: ["--method", "hdf5"],
    NATIVE[1]: ["--method", "hdf5", "--collective"],
    TUNED[0]: ["--method", "hdf5", "--tuned"],
    TUNED[1]: ["--method", "hdf5", "--tuned", "--collective"],
    "subfiling": ["--method", "subfiling"],
}


def method_of(name):
    if name in OF_HDF5:
        return Method(name, OF_HDF5[name])
    if name == LEAST:
        return Method(name, OF_HDF5[NATIVE[0]])
    if name.split(" ")[0] == "bento":
        return Method(name, OF_HDF5[NATIVE[0]], name)
    return Method(name, ["--method", name])


@dataclass(frozen=True)
class Pattern:
    """`mib` of each of `variables` for each rank. `more` are methods of the complete form."""

    name: str
    about: str
    mib: float
    arguments: tuple = ()
    variables: int = 4
    methods: tuple = USUAL
    more: tuple = TUNED
    operations: tuple = ("write", "read")
    reader: str = ""  # "same", "other": processes of their own, as many or not; "view": one, without the plugin
    plain_only: bool = False  # neither synced nor cold
    small: bool = False  # another program


def pattern(name, about, mib, *arguments, **more):
    return Pattern(name, about, mib, ("--pattern", name, *arguments), **more)


ALL = (
    pattern("slabs", "a rank's slab of 1-D variables in one request", 16, methods=(*PLAIN, TWO, *NATIVE, *BENTO), more=(*TUNED, "subfiling")),
    pattern("bands", "a rank's columns of 2-D variables in one request, rows of 4 KiB", 16, methods=(*PLAIN, TWO, *NATIVE, *BENTO), more=(*TUNED, "subfiling")),
    pattern("blocks", "a rank's block of 3-D variables in one request", 16, methods=(*PLAIN, TWO, *NATIVE, *BENTO), more=(*TUNED, "subfiling")),
    pattern("ghosts", "blocks that lie in larger arrays in memory", 4),
    pattern("conversion", "double in memory, float in the file", 8),
    Pattern("pieces-4k", "slabs in requests of 4 KiB", 8, ("--pattern", "pieces"), methods=(*PLAIN, *NATIVE, LEAST, *BENTO),
            more=(*TUNED, "subfiling")),
    Pattern("pieces-512", "slabs in requests of 512 B", 1, ("--pattern", "pieces", "--piece-bytes", "512"),
            methods=(*PLAIN, *NATIVE, LEAST, *BENTO)),
    pattern("members", "a compound of four, a member at a time, each from an array of its own", 4),
    pattern("interleaved", "an array of structures in memory, a variable for each of their members", 1),
    pattern("gaps", "every third element of slabs that are there already", 0.25, variables=1),
    pattern("overwrite", "slabs written three times, with a flush each", 8, methods=(*PLAIN, KEPT, *NATIVE, *BENTO)),
    pattern("append", "2-D variables that grow with each of 16 requests", 16, more=(*TUNED, "subfiling")),
    Pattern("deflate-1", "slabs in chunks of 1 MiB, deflate 1", 2, ("--pattern", "deflate", "--level", "1"),
            methods=("filter", NATIVE[1], *BENTO), more=TUNED[1:]),
    Pattern("deflate-6", "slabs in chunks of 1 MiB, deflate 6", 2, ("--pattern", "deflate", "--level", "6"),
            methods=("filter", NATIVE[1], *BENTO), more=TUNED[1:]),
    Pattern("restart-same", "slabs, read by new processes, as many", 16, ("--pattern", "slabs"), operations=("read",),
            reader="same"),
    Pattern("restart-other", "slabs, read by one process less (a single one: one more)", 16, ("--pattern", "slabs"),
            operations=("read",), reader="other"),
    Pattern("view", "slabs, read by one process without the plugin", 16, ("--pattern", "slabs"),
            methods=(NATIVE[0], *BENTO), more=(), operations=("read",), reader="view", plain_only=True),
    Pattern("small", "many datasets of 128 doubles a rank with an attribute each", 0, methods=(NATIVE[0], "bento view=off", "bento"),
            more=(), plain_only=True, small=True),
)  # fmt: skip
NAMES = tuple(each.name for each in ALL)
OF_NAME = {each.name: each for each in ALL}
# The quick form leaves out what differs from another pattern in a number only.
QUICK = tuple(name for name in NAMES if name not in ("pieces-512", "deflate-6", "restart-same"))
# Where the number of ranks is varied, and the size.
OVER_RANKS = ("slabs", "bands", "blocks", "pieces-4k", "restart-same")


def methods_of(pattern, options):
    names = list(pattern.methods)
    if options.complete or options.tuned:
        names += pattern.more
    if not pattern.small:
        names += [name for name in options.connector if name not in names]
    if options.quick and pattern.name != "slabs":
        names = [name for name in names if name in ("filter", NATIVE[0], LEAST, "bento")]
    if options.methods:
        names = [name for name in names if name in options.methods]
    return [method_of(name) for name in names]


@dataclass(frozen=True)
class Group:
    """What is compared with each other: one pattern under the same conditions."""

    pattern: str
    where: str  # tmpfs, disk
    synced: bool
    cold: bool
    ranks: int
    kib: int

    @property
    def condition(self):
        return f"{self.where}, {'synced' if self.synced else 'not synced'}, {'cold' if self.cold else 'warm'} reads, {ranks_text(self.ranks)}"

    @property
    def size(self):
        return f"{self.kib / 1024:g} MiB"

    @property
    def key(self):
        return f"{self.pattern}, {self.size}, {self.condition}"


def ranks_text(ranks):
    return f"{ranks} rank{'s' if ranks > 1 else ''}"


def groups_of(options):
    """All groups that the options ask for."""
    found = []
    for where in options.where:
        for synced in options.synced:
            for cold in options.cold:
                for ranks in options.ranks:
                    for name in options.patterns:
                        found += condition_groups(OF_NAME[name], where, synced, cold, ranks, options)
    return found


def condition_groups(pattern, where, synced, cold, ranks, options):
    if cold and where == "tmpfs":  # there is nothing but the cache
        return []
    if pattern.plain_only and (synced or cold):
        return []
    if options.complete and ranks != 4 and pattern.name not in OVER_RANKS:
        return []
    sizes = [0] if pattern.small else options.mib or [pattern.mib]
    return [Group(pattern.name, where, synced, cold, ranks, int(mib * 1024)) for mib in sizes]
