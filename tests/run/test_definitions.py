# SPDX-License-Identifier: BSD-3-Clause
"""Definitions that ranks share by hash: read like their own, also where texts are lost or late."""

from __future__ import annotations

import numpy as np
import pytest
from scale import synthetic

import perfield
from perfield.run.definitions import read_definitions
from perfield.run.streams import Streams
from twins import twin


@pytest.fixture
def run_path(tmp_path):
    """A run of two nodes of three ranks, with three regions."""
    return synthetic.write(tmp_path / "run", 2, 3, 2, regions=3)


def shape(path) -> tuple:
    """Regions, quantities and all numbers of a frame."""
    run = perfield.open(path)
    frame = run.frame(1)
    return (
        run.known_regions,
        run.quantities,
        {name: frame.values[name].tolist() for name in run.columns.names},
    )


def without(path, is_lost) -> None:
    """Writes the streams again without some entries, as if they never were; is_lost(file name, entry)."""
    for file in (path / "stream").glob("*.pf"):
        data = file.read_bytes()
        file.unlink()
        writers: dict[int, twin.Writer] = {}
        for entry in twin.decode(data)[0]:
            if not is_lost(file.name, entry):
                writer = writers.setdefault(entry["rank"], twin.Writer(file, entry["rank"]))
                writer.add(
                    entry["type"], data[entry["offset"] + twin.HEADER.size : entry["end"]], entry["index"]
                )


def is_region_1(entry: dict) -> bool:
    return entry["type"] == "definition" and entry["body"]["name"] == "region 1"


def test_shared_definitions_read_like_those_of_each_rank(run_path, tmp_path):
    own = synthetic.write(tmp_path / "own", 2, 3, 2, regions=3, shared=False)
    np.testing.assert_equal(shape(run_path), shape(own))
    assert perfield.open(run_path).frame(1).values["region_0_time_s"].tolist() == pytest.approx(
        [synthetic.region_ns(0, core, 1) * 1e-9 for core in (0, 1, 2)] * 2, rel=1e-12
    )


def test_the_text_of_another_node_names_regions(run_path):
    before = shape(run_path)
    without(run_path, lambda file, entry: file.startswith("n0000") and is_region_1(entry))
    np.testing.assert_equal(shape(run_path), before)


def test_lost_texts_name_regions_by_hash_and_are_damage(run_path):
    (hash,) = {
        e["index"]
        for file in (run_path / "stream").glob("*.pf")
        for e in twin.decode(file.read_bytes())[0]
        if is_region_1(e)
    }
    without(run_path, lambda _, entry: is_region_1(entry))
    run = perfield.open(run_path)
    assert {region.name for region in run.known_regions} == {"region 0", "region 2", f"region {hash:016x}"}
    assert f"region_{hash:016x}_time_s" in run.columns.names
    assert any(f"{hash:016x}" in sentence and "lost" in sentence for sentence in run.damage)


def test_late_texts_of_a_running_program_are_awaited(tmp_path, run_path):
    for file in (run_path / "stream").glob("*.pf"):
        data = file.read_bytes()
        texts = [data[e["offset"] : e["end"]] for e in twin.decode(data)[0] if is_region_1(e)]
        file.with_suffix(".late").write_bytes(b"".join(texts))
    without(run_path, lambda _, entry: is_region_1(entry))
    streams = Streams(run_path / "stream", run_path / "analysis", twin.RUN_ID)
    awaited = read_definitions(streams, 6, running=True)
    assert not awaited.damage and len(awaited.regions) == 2 * 6
    for file in (run_path / "stream").glob("*.late"):
        with file.with_suffix(".pf").open("ab") as stream:
            stream.write(file.read_bytes())
    streams.refresh()
    assert len(read_definitions(streams, 6, running=True).regions) == 3 * 6
