# SPDX-License-Identifier: BSD-3-Clause
"""Columns of fields: the kernel agrees with plain Python on the same entries, and bad input is absent."""

from __future__ import annotations

import random

import numpy as np
import pytest

import perfield
from twins import reference, twin

TIMES = [(f"mpi_{name}_time", "ns", "region", "sum") for name in ("p2p", "wait", "collective", "io")]
TIMES += [("file_time", "ns", "region", "sum")]
FILES = [("file_time", "ns", "rank", "sum"), ("file_read_count", "1", "rank", "sum")]
FILES += [("file_write", "B", "rank", "sum")]
COUNTERS = [("instructions", "1", "region", "sum"), ("cycles", "1", "region", "sum")]
WITHOUT_PU = [(name, "ns", "rank", "sum") for name in ("run_delay_time", "mpi_without_pu", "throttled_time")]
STATES = [("heap", "B", "rank", "max"), ("level", "1", "rank", "last"), ("depth", "1", "region", "max")]
# By rank: (name, unit, scope, over steps), its id being the place.
QUANTITIES = (
    [*TIMES, *FILES, *COUNTERS, ("task_clock_time", "ns", "region", "sum")],
    [*WITHOUT_PU, *FILES, ("energy", "uJ", "rank", "sum"), *STATES],
    [("cycles", "1", "region", "sum"), *TIMES, ("instructions", "1", "region", "sum"), *STATES],
    [
        *WITHOUT_PU[:1],
        ("stolen_time", "ns", "rank", "sum"),
        ("device_kernel_time", "ns", "rank", "sum"),
        *TIMES,
    ],
)
SOURCES = (["pmpi", "io"], ["api"], ["kokkos", "scorep-mpi"], ["cupti"])
CALLS = ((5, 0), (19, 1), (57, 2), (36, 3), (94, 4), (97, 4), (100, 5))


def any_step(rank, step, values, ids=(1, 2, 3, 4, 5, 77)):
    """Random values, also of unknown regions and calls; now and then no step at all."""
    chance = random.Random(1000 * step + rank)
    if chance.random() < 0.15:
        return False

    def number():
        return chance.choice((0, 1, chance.randrange(10**6), chance.randrange(10**9)))

    copied = [key for key in twin.STEP_KEYS if key not in ("label", "time", "span", "kind", "flags", "pu")]
    values |= {key: number() for key in copied if key != "mesh_version"}
    values |= {"flags": chance.choice((0, 0, 8)), "pu": chance.choice((-1, 3))}
    values |= {"measured_ns": 10**9 + number()}
    values["regions"] = [
        {"id": id, "threads": 1, "count": number(), "inclusive_max_ns": number(), "self_max_ns": number()}
        for id in chance.sample(ids, chance.randrange(len(ids)))
    ]
    places = (*ids, twin.OF_RANK, twin.OF_RANK)
    values["quantities"] = [
        {"region": chance.choice(places), "quantity": chance.choice((*range(12), 60000)), "value": number()}
        for _ in range(chance.randrange(20))
    ]
    with_mpi = rank != 1 or step % 2
    values["messages"] = [
        {
            "peer": chance.randrange(-3, 5),
            "call": chance.choice((5, 12, 28)),
            "count": number(),
            "bytes": number(),
        }
        for _ in range(chance.randrange(8) if with_mpi else 0)
    ]
    values["waits"] = [
        {"peer": chance.choice((-3, 0, 1, 3, 10**6)), "count": 1, "ns": number()}
        for _ in range(chance.randrange(4))
    ]
    values["calls"] = [
        {"call": call, "time_class": kind, "count": number(), "ns": number(), "bytes_out": number(),
         "bytes_in": number()} for call, kind in chance.sample(CALLS, chance.randrange(6))
        if with_mpi
    ]  # fmt: skip
    return None


def any_step_with_others(rank, step, values):
    """Likewise with time in `other regions`, to which unknown regions then belong."""
    return any_step(rank, step, values, (0, 1, 2, 3, 4, 5, 77))


def any_step_with_threads(rank, step, values):
    """Likewise with regions that up to five threads of a rank were in."""
    if any_step(rank, step, values) is False:
        return False
    chance = random.Random(step + 1000 * rank)
    for row in values["regions"]:
        times = [row["inclusive_max_ns"]]
        times += [chance.randrange(times[0] + 1) for _ in range(chance.randrange(5))]
        row |= {"threads": len(times), "inclusive_sum_ns": sum(times), "inclusive_min_ns": min(times)}
    return None


@pytest.fixture(scope="module", params=[any_step, any_step_with_others, any_step_with_threads])
def path(tmp_path_factory, request):
    """A run of four ranks, each with other sources and quantities, on two hosts; a fifth never checked in."""

    def each_its_own(rank, values):
        values |= {"sources": SOURCES[rank], "size": 5}

    path = twin.write_run(
        tmp_path_factory.mktemp("columns") / "run",
        ranks=4,
        steps=30,
        hosts=("a", "b"),
        change_rank=each_its_own,
        change_step=request.param,
        ended=False,
        quantities=(),
    )
    for stream in (path / "stream").iterdir():
        entries = twin.decode(stream.read_bytes())[0]
        for rank in {entry["rank"] for entry in entries}:
            writer = twin.Writer(stream, rank)
            writer.sequence = sum(entry["rank"] == rank for entry in entries)
            for id, name, block in ((3, "flux", 0), (4, "flux", 1), (5, "late", -1)):
                definition = {"id": id, "name": name, "block": block, "armed_at": 0}
                writer.add("region", twin.json_body(definition), index=id)
            for id, (name, unit, scope, over_steps) in enumerate(QUANTITIES[rank]):
                definition = {"id": id, "name": name, "unit": unit, "scope": scope}
                definition |= {"over_steps": over_steps, "over_threads": "sum", "help": ""}
                writer.add("quantity", twin.json_body(definition), index=id)
    return path


@pytest.fixture(scope="module")
def run(path):
    return perfield.open(path)


def test_fields_match_plain_python(path, run):
    assert len(run) == 30 and not run.damage
    for frame in run.frames():
        expected = reference.fields(path, frame.index)
        assert set(frame.values) == set(expected)
        for name, column in expected.items():
            np.testing.assert_allclose(frame.values[name], column, rtol=1e-12, err_msg=name)


def test_fields_of_a_block_match_plain_python(path, run):
    seen = 0
    for frame in run.frames():
        expected = reference.block_fields(path, frame.index)
        assert {name: set(blocks) for name, blocks in frame.block_values.items()} == {
            name: set(blocks) for name, blocks in expected.items()
        }
        for name, blocks in expected.items():
            for place, value in blocks.items():
                np.testing.assert_allclose(frame.block_values[name][place], value, rtol=1e-12, err_msg=name)
                seen += 1
    assert seen > 100


def test_many_frames_at_once_equal_single_frames(run):
    names = run.columns.names
    values = run.values(names)
    assert values.shape == (30, len(names), 5)
    for number, frame in enumerate(run.frames()):
        np.testing.assert_array_equal(values[number], list(frame.values.values()))


def test_chosen_fields_and_frames_equal_those_of_all(run):
    names = ["waited_for_time_s", "flux_count", "rank"]
    values = run.values(names, [7, 3, 7])
    for place, number in enumerate((7, 3, 7)):
        for row, name in enumerate(names):
            np.testing.assert_array_equal(values[place, row], run.frame(number).values[name])
    assert run.values(names, slice(2, 2)).shape == (0, 3, 5)
    assert run.values([], slice(2, 4)).shape == (2, 0, 5)


def test_field_of_all_regions_is_one_array(run):
    names = run.columns.of_regions("<region>_compute_time_s")
    assert names == [f"{stem}_compute_time_s" for stem in run.columns.stems]
    assert set(run.columns.stems) == {region.field for region in run.known_regions}
    assert run.values(names).transpose(0, 2, 1).shape == (30, 5, len(names))


def test_missing_fields_and_frames_are_named(run):
    with pytest.raises(KeyError, match="has no field 'nothing'"):
        run.values(["nothing"])
    with pytest.raises(IndexError):
        run.values(["rank"], [30])


def test_entries_damaged_after_opening_are_absent(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=3))
    stream = next((tmp_path / "run" / "stream").iterdir())
    data = bytearray(stream.read_bytes())
    entry = next(e for e in twin.decode(bytes(data))[0] if e["type"] == "step" and e["index"] == 1)
    data[entry["offset"] + 100] ^= 1
    stream.write_bytes(data)
    values = run.values(["step_time_s", "solve_time_s"])
    absent = np.isnan(values)
    assert absent[1, :, entry["rank"]].all() and absent.sum() == 2


def test_file_that_is_gone_is_an_error(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=3))
    next((tmp_path / "run" / "stream").iterdir()).unlink()
    with pytest.raises(perfield.RunError, match="is no longer there"):
        run.values(["step_time_s"])
