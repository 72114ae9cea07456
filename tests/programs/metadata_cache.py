#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Groups, attributes and datasets that ranks make and delete together, while each looks at others of them and one wants a
metadata cache that evicts: all ranks keep the same addresses, so that every value is right afterwards. A flush makes
the cache small, and many changes without a flush leave it small.

    metadata_cache.py [flat|nested]           the test, or one half of it
    mpirun ... metadata_cache.py --run SEED LIBVER... | --nested SEED LIBVER FLUSHES    its programs; many without a flush with each LIBVER
"""

import os
import sys

RANKS = 3
KEPT = 256 * 1024  # bytes, of the cache after a flush
MANY = 1400  # datasets without a flush, and so more changes than twice UnflushedChanges::kMost
MOST = 1200 * 1024  # bytes, of the cache meanwhile: without a bound these datasets take half as much again
VALUES = 180  # in the attribute of each of them


def program(seed, with_many):
    import random

    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    together = random.Random(seed)  # what all ranks do
    alone = random.Random(seed + rank)  # what each looks at

    def eager(file):
        """A cache as small as the library allows, which the connector must not let evict."""
        config = file.id.get_mdc_config()
        assert not config.evictions_enabled
        config.evictions_enabled = True
        config.set_initial_size = True
        config.initial_size = config.min_size = 1024
        file.id.set_mdc_config(config)
        assert not file.id.get_mdc_config().evictions_enabled

    def cached(file):
        return file.id.get_mdc_size()[2]

    for libver in ("earliest", "latest"):
        wanted, largest = {}, 0
        name = f"{libver}.h5"
        with h5py.File(name, "w", driver="mpio", comm=comm, libver=libver) as file:
            if rank == 1:
                eager(file)
            for round_ in range(3):
                for number in range(180):
                    path = f"g{together.randrange(12)}/{together.randrange(150)}"
                    if path in wanted and together.random() < 0.5:
                        del file[path]
                        del wanted[path]
                    elif path not in wanted:
                        value = together.randrange(10**6)
                        data = file.create_dataset(path, (2 * ranks,), "i4")
                        data[2 * rank : 2 * rank + 2] = np.full(2, value + rank)
                        for more in range(together.choice((1, 1, 2, 20))):
                            data.attrs[f"a{more}"] = np.full(together.randrange(1, 60), value)
                        wanted[path] = value
                    for _ in range(alone.randrange(3)):
                        seen = alone.choice(sorted(wanted) or [None])
                        assert seen is None or file[seen].attrs["a0"][0] == wanted[seen]
                file["round"] = round_
                before = cached(file)
                file.flush()
                assert cached(file) <= min(KEPT, before), (round_, before, cached(file))
                largest = max(largest, before)
                del file["round"]
            assert KEPT < largest <= MOST, largest
            group = file.create_group("many")
            many, late = MANY if libver in with_many else 0, []
            for number in range(many):
                data = group.create_dataset(str(number), (ranks,), "i4")
                data.attrs["number"] = np.full(VALUES, number, "i4")
                if alone.random() < 0.7:  # by itself: the others are asked to give up metadata in other calls
                    data[rank] = number + rank
                else:
                    late.append(number)
                if alone.random() < 0.3:
                    seen = alone.randrange(number + 1)
                    assert (group[str(seen)].attrs["number"] == seen).all()
                assert cached(file) <= MOST, (number, cached(file))
            for number in late:
                group[str(number)][rank] = number + rank
        for how in ({"driver": "mpio", "comm": comm}, {}):
            comm.barrier()
            with h5py.File(name, "r", **how) as file:
                assert sum(len(group) for group in file.values()) == len(wanted) + many
                for number in range(rank, many, 7):
                    data = file[f"many/{number}"]
                    assert (data.attrs["number"] == number).all() and (data[...] == number + np.arange(ranks)).all(), number
                # Together each rank reads all, and else each some.
                for path, value in list(wanted.items()) if how else list(wanted.items())[rank::ranks]:
                    data = file[path]
                    found = data[...].reshape(ranks, 2)
                    assert (found == value + np.arange(ranks)[:, None]).all(), (path, value, found)
                    assert (data.attrs["a0"] == value).all(), path
    print("right")


def nested_program(seed, libver, flushes):
    """Objects in groups in groups, with attributes that come and go; each rank reads some of its own choice, or makes
    the others wait in an iteration. Where an object lies in the file is the same on all ranks."""
    import random

    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    together, alone = random.Random(seed), random.Random(seed * 100 + comm.rank)
    with h5py.File("nested.h5", "w", driver="mpio", comm=comm, libver=libver) as file:
        objects, groups, attributes, places = ["/"], [""], {}, {}
        file.create_group("first")  # so that there is something to iterate over

        def change(step):
            kind = together.random()
            place = f"{together.choice(groups)}/o{step}"
            if kind < 0.3:
                data = file.create_dataset(place, (comm.size,), "i4")
                data[comm.rank] = step + comm.rank
            elif kind < 0.4:
                data = file.create_group(place)
                if len(groups) < 60:
                    groups.append(place)
            else:
                path = together.choice(objects[-40:] + groups[1:])
                name, value = f"a{together.randrange(40)}", np.arange(together.choice((1, 3, 50, 400))) + step
                file[path].attrs[name] = value
                attributes[path, name] = value
                return
            objects.append(place)
            places[place] = h5py.h5o.get_info(data.id).addr

        def from_iteration(first, last):
            """The same changes, made in the callback of an iteration."""
            steps = iter(range(first, last))

            def callback(name):
                for step in steps:
                    change(step)
                return name

            root = file["/"].id
            assert root.links.iterate(callback) is not None

        for begin in range(0, 1500, 100):
            if not flushes and begin % 300 == 0 and comm.rank == begin // 300 % comm.size:
                from_iteration(begin, begin + 100)
            else:
                for step in range(begin, begin + 100):
                    change(step)
                    if attributes and alone.random() < 0.3:
                        path, name = alone.choice(list(attributes)[-200:])
                        assert np.array_equal(file[path].attrs[name], attributes[path, name])
            if flushes:
                file.flush()
        everywhere = comm.allgather(places)
        differ = [path for path in places if len({seen[path] for seen in everywhere}) > 1]
        assert not differ, f"{len(differ)} of {len(places)} objects lie elsewhere, the first is {differ[0]}"
        late = file.create_dataset("late", (len(places),), h5py.ref_dtype)
        if comm.rank == comm.size - 1:
            late[...] = np.array([file[path].ref for path in sorted(places)], h5py.ref_dtype)
    comm.barrier()
    with h5py.File("nested.h5", "r", driver="mpio", comm=comm) as file:
        # Each rank follows some of them; that it is the object of that path is quicker to see than its name.
        for path, reference in list(zip(sorted(places), file["late"][...]))[comm.rank :: comm.size]:
            assert file[reference] == file[path] and file[path].name == path, path
        for (path, name), value in list(attributes.items())[comm.rank :: comm.size]:
            assert np.array_equal(file[path].attrs[name], value), (path, name)
    print("right")


def test(*halves):
    script = os.path.abspath(__file__)
    if "flat" in halves or not halves:
        found = mpirun(RANKS, [python(), "-B", script, "--run", "1", *some(1, ("earliest", "latest"))], bento_env())
        check(found.out.count("right") == RANKS, found.tail())
    if "nested" in halves or not halves:
        test_nested(script)
    say(f"{RANKS} ranks: every value, the same places on all, and caches below {KEPT} bytes after each flush, {MOST} without one")


def test_nested(script):
    for libver, flushes, first in some(2, (("earliest", 1, 13), ("latest", 0, 2), ("latest", 1, 1), ("latest", 1, 4))):
        found = mpirun(RANKS, [python(), "-B", script, "--nested", str(first), libver, str(flushes)], bento_env())
        check(found.out.count("right") == RANKS, found.tail())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        program(int(sys.argv[2]), sys.argv[3:])
        sys.exit(0)
    if sys.argv[1:2] == ["--nested"]:
        nested_program(int(sys.argv[2]), sys.argv[3], sys.argv[4] == "1")
        sys.exit(0)
    from harness import bento_env, check, mpirun, python, run_test, say, some

    run_test(test, *sys.argv[1:])
