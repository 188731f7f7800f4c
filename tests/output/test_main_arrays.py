# SPDX-License-Identifier: BSD-3-Clause
"""The arrays that pictures carry by default."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

import perfield
from perfield import commands
from perfield.output.main_arrays import main_arrays
from perfield.output.survey import survey
from twins import twin


@pytest.fixture
def run(tmp_path):
    """A run with six regions, of which "costly" has most to save by balancing."""
    regions = ("a", "costly", "b", "c", "d", "e")

    def six_regions(rank, step, values):
        times = {
            1: 10,
            2: 5_000_000 * (rank == 1) + 100,
            3: 20 * rank,
            4: 30 * rank,
            5: 40 * rank,
            6: 50 * rank,
        }
        values["regions"] = [twin.region_row(number, ns) for number, ns in times.items()]

    return twin.write_run(tmp_path / "run", ranks=2, steps=3, regions=regions, change_step=six_regions)


def arrays_of(path) -> list[str]:
    """The point arrays of a written piece."""
    piece = next((path / "pictures/geometry").rglob("rank_0.*"))
    return [array.get("Name") for array in ET.parse(piece).getroot().iter("DataArray") if array.get("Name")]


def test_computing_and_waiting_come_first_then_the_regions_with_most_to_save(run):
    opened = perfield.open(run)
    surveyed = survey(opened)
    names = main_arrays(opened.frame(0).values, surveyed)
    pair = [name for name in names if not name.startswith(("compute_time", "waiting_time"))]
    assert names[0].startswith("compute_time") and pair[0].startswith("costly_")
    costs = [
        name
        for name in names
        if name in {f"{stem}_compute_time_s" for stem in ("costly", "c", "d", "e", "b", "a")}
    ]
    assert costs == ["costly_compute_time_s", "e_compute_time_s", "d_compute_time_s", "c_compute_time_s"]
    assert 15 <= len(names) <= 26


def test_pictures_carry_the_main_arrays_and_the_own_fields(run, capsys):
    assert commands.main(["render", str(run)]) == 0
    names = arrays_of(run)
    assert {"temperature", "compute_time_s", "waiting_time_s", "costly_compute_time_s", "rank"} <= set(names)
    assert "a_compute_time_s" not in names and "minor_faults" not in names
    layers = json.loads((run / "pictures/pictures.json").read_text())["layers"]
    assert "minor_faults" not in layers["topology/measurements"]["arrays"]
    assert len(layers["geometry"]["arrays"]) <= 28


def test_all_arrays_come_on_request(run):
    assert commands.main(["render", str(run), "--arrays", "all"]) == 0
    assert {"a_compute_time_s", "minor_faults", "e_self_time_s"} <= set(arrays_of(run))


@pytest.mark.parametrize(
    "name", ["minor_faults", "a_compute_time_per_cell_s", "a_time_per_call_s", "isend_count"]
)
def test_wanted_fields_come_too(run, name):
    assert commands.main(["render", str(run), "--fields", name]) == 0
    layers = json.loads((run / "pictures/pictures.json").read_text())["layers"]
    assert name in layers["geometry"]["arrays"]


def test_every_step_carries_the_same_arrays(run):
    assert commands.main(["render", str(run), "--steps", "all"]) == 0
    found = set()
    for piece in (run / "pictures/geometry").rglob("rank_*.vt?"):
        found.add(tuple(array.get("Name") for array in ET.parse(piece).getroot().iter("DataArray")))
    assert len(found) == 1
