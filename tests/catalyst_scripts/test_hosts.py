# SPDX-License-Identifier: BSD-3-Clause
"""perfield's pipelines in pvbatch and in ParaView's GUI: images, extracts, what is shown, wrong options."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from in_paraview import in_paraview
from vtkmodules.vtkIOImage import vtkPNGReader

import perfield
import twin
from perfield.catalyst.pipelines import NAMES
from perfield.output.images import SCRIPTS, display
from perfield.output.picture_series import PictureSeries
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology_scene

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """All 5 steps of a run on two hosts."""
    path = tmp_path_factory.mktemp("hosts")
    twin.write_run(path / "run", ranks=4, steps=5, hosts=("a", "b"))
    run = perfield.open(path / "run")
    options = GeometryOptions(pieces=choose_pieces(run))
    PictureSeries(run, range(5), path, options, topology_scene(run)).write()
    return path


def pvbatch(name: str, *words: object, n_display: str | None = None, **more: str):
    """Runs one of perfield's pipelines in pvbatch."""
    if shutil.which("pvbatch") is None:
        pytest.skip("pvbatch is not installed")
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | more
    environment |= {"DISPLAY": n_display} if n_display else {}
    command = ["pvbatch", SCRIPTS / f"{name}.py", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


def size_of(path: Path) -> tuple[int, int]:
    """Width and height of an image."""
    reader = vtkPNGReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput().GetDimensions()[:2]


def test_each_pipeline_is_short_and_begins_with_what_it_shows_and_how_it_runs():
    for name in NAMES:
        lines = (SCRIPTS / f"{name}.py").read_text().splitlines()
        assert len(lines) < 40
        assert lines[1].startswith('"""') and lines[1].endswith(".")
        text = "\n".join(lines)
        assert f"PERFIELD_CATALYST_SCRIPTS={name}" in text and "perfield follow RUN" in text
        assert f"pvbatch {name}.py" in text and f"--script={name}.py" in text


def test_pvbatch_draws_both_pictures_of_every_second_step(pictures, tmp_path):
    place = ("--output", tmp_path / "drawn")
    with display() as number:
        given = {"n_display": number, "PERFIELD_CATALYST_SIZE": "320x240"}
        result = pvbatch("both", pictures, "--every", 2, "--fields", "solve_time_s", *place, **given)
        above = pvbatch(
            "geometry", pictures, "--every", 4, "--camera", "front", "--output", tmp_path / "front", **given
        )
    assert result.returncode == above.returncode == 0, result.stdout + result.stderr + above.stderr
    names = [
        f"{picture}_solve_time_s_00000{n}.png" for picture in ("geometry", "topology") for n in (0, 2, 4)
    ]
    assert sorted(path.name for path in place[1].iterdir()) == names
    assert {size_of(path) for path in place[1].iterdir()} == {(320, 240)}
    assert len({path.read_bytes() for path in place[1].iterdir()}) == 6
    drawn = sorted((tmp_path / "front").iterdir())
    assert [path.name for path in drawn] == [f"geometry_compute_time_s_00000{n}.png" for n in (0, 4)]


def test_pvbatch_extracts_the_chosen_fields_without_a_display(pictures, tmp_path):
    result = pvbatch(
        "extracts_only", pictures, "--every", 3, "--fields", "solve_time_s", "--output", tmp_path
    )
    assert result.returncode == 0, result.stdout + result.stderr
    script = f"""
reader = pv.OpenDataFile("{tmp_path}/geometry.pvd")
result = []
for time in reader.TimestepValues:
    reader.UpdatePipeline(time)
    arrays = {{array.Name: array.GetRange(0) for array in reader.PointData.values()}}
    result.append([time, sorted(arrays), arrays["solve_time_s"]])
"""
    steps = in_paraview(script, pictures)
    assert [time for time, _, _ in steps] == [0.5, 2.0]
    for (_, arrays, found), step in zip(steps, (0, 3)):
        assert arrays == ["rank", "solve_time_s"]
        assert found == pytest.approx([twin.solve_ns(rank, step) * 1e-9 for rank in (0, 3)])


WRONG = [
    (
        ("both", "PICTURES", "--fields", "solve_tim_s"),
        "no field 'solve_tim_s' here; did you mean solve_time_s?",
    ),
    (("both", "PICTURES", "--camera", "topology:tpo"), "--camera: 'tpo' is no camera; did you mean top?"),
    (("extracts_only", "nowhere"), "nowhere holds no pictures"),
    (("extracts_only", "PICTURES", "--output", "PICTURES"), "holds the pictures themselves"),
]


@pytest.mark.parametrize("words, said", WRONG)
def test_pvbatch_says_what_is_wrong_and_writes_nothing(pictures, words, said):
    before = sorted(pictures.iterdir())
    with display() as number:
        name, *words = [str(pictures) if word == "PICTURES" else word for word in words]
        result = pvbatch(name, *words, n_display=number)
    assert result.returncode == 1
    assert said in result.stdout + result.stderr
    assert sorted(pictures.iterdir()) == before


def test_pvbatch_without_a_display_names_the_remedy(pictures):
    result = pvbatch("geometry", pictures)
    assert result.returncode == 1
    assert "start the script under xvfb-run -a (Debian package xvfb)" in result.stdout + result.stderr


def test_gui_follows_the_options_of_the_environment(pictures, monkeypatch):
    for key, value in {"FIELDS": "solve_time_s,nothing", "CAMERA": "topology:top", "EVERY": "2"}.items():
        monkeypatch.setenv(f"PERFIELD_CATALYST_{key}", value)
    monkeypatch.setenv("PERFIELD_CATALYST_SIZE", "640x480")
    script = f"""
exec(open("{SCRIPTS}/extracts_only.py").read(), {{"__name__": "__main__"}})
views = pv.GetViews()
shown = [list(shape.ColorArrayName)[1] for view in views for shape in view.Representations
         if hasattr(shape, "ColorArrayName") and shape.Visibility and list(shape.ColorArrayName)[1]]
eye = [a - b for a, b in zip(views[1].CameraPosition, views[1].CameraFocalPoint)]
extractors = pv.servermanager.ProxyManager().GetProxiesInGroup("extractors").values()
writers = [one.Writer.FileName for one in extractors]
result = [sorted(set(shown)), eye, pv.GetAnimationScene().Stride, sorted(writers),
          list(pv.GetLayout(views[0]).PreviewMode)]
"""
    shown, eye, stride, writers, preview = in_paraview(script, pictures)
    assert shown == ["solve_time_s"]
    assert eye[0] == pytest.approx(0) and eye[2] == pytest.approx(0) and eye[1] > 0
    assert stride == 2
    assert writers == ["geometry_{timestep:06d}.vtm", "topology_{timestep:06d}.vtm"]
    assert preview == [1280, 480]
