# SPDX-License-Identifier: BSD-3-Clause
"""The first images of the planted programs say the planted answer."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

import perfield
from perfield.output.image_plan import plan_images
from perfield.output.survey import survey

pytestmark = pytest.mark.alone


@pytest.fixture
def rendered(planted_run, perfield_cli, tmp_path):
    """rendered(case, *options): the description of the pictures of a planted program, and their folder."""

    def render(case, *options):
        run = planted_run(case).cwd / "perfield-run"
        folder = tmp_path / case
        result = perfield_cli("render", run, "-o", folder, *options, timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
        return json.loads((folder / "pictures.json").read_text()), folder

    return render


def shown(description, folder, number):
    """What an image shows, of the mesh: its field, its scale, and rank -> value."""
    image = plan_images(description, None)[number]
    assert image["layer"] == "geometry"
    about = description["layers"]["geometry"]["arrays"][image["field"]]
    return image["field"], about["scale"], field_of(description, folder, image["field"], image["steps"][0])


def field_of(description, folder, field, step=None):
    """rank -> value of an array of the mesh, in a step or in the first."""
    index = description["steps"].index(step) if step else 0
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(sorted((folder / "geometry").glob("*.vtm"))[index]))
    reader.Update()
    picture = reader.GetOutput()
    values = {}
    for block in range(picture.GetNumberOfBlocks()):
        name = picture.GetMetaData(block).Get(vtkCompositeDataSet.NAME())
        array = picture.GetBlock(block).GetPointData().GetArray(field)
        values[int(name.removeprefix("rank_"))] = vtk_to_numpy(array)[0]
    return values


@pytest.mark.parametrize(("case", "costliest"), [("cells", 1), ("cost", 2), ("waits", 0)])
def test_first_of_all_images_shows_the_costliest_rank_and_the_second_that_others_wait_for_it(
    rendered, case, costliest
):
    description, folder = rendered(case)
    field, _, compute = shown(description, folder, 0)
    assert field == "compute_time_s_mean"
    assert max(compute, key=compute.get) == costliest
    caused_field, _, caused = shown(description, folder, 1)
    assert caused_field == "caused_wait_time_s_mean"
    assert max(caused, key=caused.get) == costliest
    waiting = field_of(description, folder, "waiting_time_s_mean")
    assert min(waiting, key=waiting.get) == costliest
    others = sum(waiting.values()) - waiting[costliest]
    assert 0.5 * others < caused[costliest] <= 1.01 * others


def test_costly_region_comes_first_though_all_ranks_spend_as_long_in_it(planted_run):
    run = perfield.open(planted_run("waits").cwd / "perfield-run")
    assert survey(run).regions[0] == "solve"


def test_output_steps_are_reported_and_passed_over(rendered):
    description, _ = rendered("output")
    output = [step["frame"] for step in description["steps"] if "writes output" in step["title"]]
    assert {19, 59} & set(output) and all(frame % 20 == 19 for frame in output)
    assert description["slowest"] % 20 != 19
    assert description["typical"] % 20 != 19
    drawn = {step["frame"] for image in plan_images(description, None) for step in image.get("steps", ())}
    assert not {frame for frame in drawn if frame % 20 == 19}


def test_nothing_stands_out_of_noise(rendered):
    """On a scale from zero, equal ranks have nearly the same colour."""
    description, folder = rendered("noise")
    _, (low, high), values = shown(description, folder, 0)  # waiting has a scale of its own
    assert low == 0.0
    assert np.ptp(np.array(list(values.values()))) / high < 0.5


def test_five_images_answer_first(rendered):
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    _, folder = rendered("cells", "--images")
    names = sorted(path.name for path in (folder / "images").glob("*.png"))
    assert names[:4] == [
        *("01_geometry_compute_time_s_mean.png", "02_topology_compute_time_s_mean.png"),
        *("03_heat_map.png", "04_regions.png"),
    ]
    assert len(names) <= 5
