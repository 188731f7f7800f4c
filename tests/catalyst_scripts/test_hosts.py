# SPDX-License-Identifier: BSD-3-Clause
"""perfield's pipelines in pvbatch and in ParaView's GUI: images, extracts, what is shown, wrong options."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from drivers import live_client
from drivers.in_paraview import in_paraview
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader

import perfield
from perfield.catalyst_scripts.pipeline_options import PIPELINES
from perfield.output.images import SCRIPTS, display
from perfield.output.picture_series import PictureSeries
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology_scene
from twins import twin

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    """All 5 steps of a run on two hosts."""
    path = tmp_path_factory.mktemp("hosts")
    twin.write_run(path / "run", ranks=4, steps=5, hosts=("a", "b"))
    run = perfield.open(path / "run")
    options = GeometryOptions(pieces=choose_pieces(run))
    PictureSeries(run, range(5), path / "pictures", options, topology_scene(run)).write()
    return path / "pictures"


def pvbatch(name: str, *words: object, n_display: str | None = None, ranks: int = 1, **more: str):
    """Runs one of perfield's pipelines in pvbatch, in as many processes as `ranks`."""
    if shutil.which("pvbatch") is None:
        pytest.skip("pvbatch is not installed")
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | more
    environment |= {"DISPLAY": n_display} if n_display else {}
    command = ["pvbatch", SCRIPTS / f"{name}.py", *map(str, words)]
    if ranks > 1:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), *command]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


def pixels(path: Path) -> np.ndarray:
    """The colours of an image, (height, width, 3)."""
    reader = vtkPNGReader()
    reader.SetFileName(str(path))
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    return vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()).reshape(height, width, -1).astype(int)


def size_of(path: Path) -> tuple[int, int]:
    """Width and height of an image."""
    return pixels(path).shape[1::-1]


def test_each_pipeline_is_short_and_begins_with_what_it_shows_and_how_it_runs():
    for name in PIPELINES:
        lines = (SCRIPTS / f"{name}.py").read_text().splitlines()
        assert len(lines) < 40
        assert lines[1].startswith('"""') and lines[1].endswith(".")
        text = "\n".join(lines)
        assert f"PERFIELD_CATALYST_SCRIPTS={name}" in text and "perfield follow RUN" in text
        assert f"pvbatch {name}.py" in text and f"--script={name}.py" in text


def test_pvbatch_draws_both_pictures_of_every_fourth_step(pictures, tmp_path):
    place = ("--output", tmp_path / "drawn")
    with display() as number:
        given = {"n_display": number, "PERFIELD_CATALYST_SIZE": "320x240"}
        result = pvbatch("both", pictures, "--every", 4, "--fields", "solve_time_s", *place, **given)
    assert result.returncode == 0, result.stdout + result.stderr
    names = [f"{picture}_solve_time_s_00000{n}.png" for picture in ("geometry", "topology") for n in (0, 4)]
    assert sorted(path.name for path in place[1].glob("*.png")) == names
    assert {size_of(path) for path in place[1].glob("*.png")} == {(320, 240)}
    assert len({path.read_bytes() for path in place[1].glob("*.png")}) == 4


@pytest.mark.long
def test_two_processes_of_pvbatch_draw_what_one_draws(pictures, tmp_path):
    with display() as number:
        given = {"n_display": number, "PERFIELD_CATALYST_SIZE": "640x480", "PERFIELD_LAYOUT": "ring"}
        for ranks in (1, 2):
            output = ("--output", tmp_path / str(ranks))
            result = pvbatch("both", pictures, "--every", 5, *output, ranks=ranks, **given)
            assert result.returncode == 0, result.stdout + result.stderr
    assert len(list((tmp_path / "1").glob("*.png"))) == 2
    for path in (tmp_path / "1").glob("*.png"):
        differs = np.abs(pixels(path) - pixels(tmp_path / "2" / path.name)).max(axis=2) > 8
        assert differs.mean() < 0.002  # edges may move by a pixel where two processes meet


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
    pytest.param(
        ("both", "PICTURES", "--fields", "solve_tim_s"),
        "no field 'solve_tim_s' here; did you mean solve_time_s?",
        marks=pytest.mark.long,
    ),
    (("both", "PICTURES", "--camera", "topology:tpo"), "--camera: 'tpo' is no camera; did you mean top?"),
    pytest.param(("extracts_only", "nowhere"), "nowhere holds no pictures", marks=pytest.mark.long),
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


def test_follow_runs_a_pipeline_by_name_with_the_same_options(pictures, perfield_cli, tmp_path):
    fields = ("--fields", "solve_time_s,solve_tim_s")
    options = (*fields, "--camera", "top", "--size", "320x240", "--every", "4")
    words = ("--script", "images_only", *options, "-o", tmp_path / "drawn")
    result = perfield_cli("follow", pictures.parent / "run", *words)
    assert result.returncode == 0, result.stderr
    assert "there is no field 'solve_tim_s' here; did you mean solve_time_s?" in result.stdout + result.stderr
    drawn = sorted(path for path in (tmp_path / "drawn").iterdir() if path.suffix)
    names = [f"{name}_solve_time_s_00000{n}.png" for name in ("geometry", "topology") for n in (0, 4)]
    assert [path.name for path in drawn] == names
    assert {size_of(path) for path in drawn} == {(320, 240)}


@pytest.mark.long
def test_live_in_pvbatch_draws_what_follow_sends(pictures, perfield_cli, tmp_path):
    place = f"localhost:{live_client.free_port()}"
    options = ("--live", place, "--output", str(tmp_path / "drawn"), "--size", "320x240")
    command = ["pvbatch", str(SCRIPTS / "live.py"), *options]
    with display() as number, (tmp_path / "said.txt").open("w") as said:
        client = subprocess.Popen(command, env={**os.environ, "DISPLAY": number}, stdout=said, stderr=said)
        try:
            while client.poll() is None and "waits for" not in (tmp_path / "said.txt").read_text():
                time.sleep(0.1)
            result = perfield_cli("follow", pictures.parent / "run", "--script", "live", "--live", place)
            assert result.returncode == 0, result.stderr
            assert client.wait(timeout=300) == 0, (tmp_path / "said.txt").read_text()
        finally:
            client.kill()
            client.wait()
    drawn = {path.name for path in (tmp_path / "drawn").glob("*.png")}
    assert {name.partition("_")[0] for name in drawn} == {"geometry", "topology"}, drawn
    assert "the program has gone" in (tmp_path / "said.txt").read_text()
    assert not (pictures / "run/follow").exists() or not list((pictures / "run/follow").glob("*.vtm"))


@pytest.mark.long
@pytest.mark.parametrize("name", PIPELINES)
def test_window_of_paraview_runs_each_pipeline(pictures, name, tmp_path):
    """The program paraview itself, which executes a script without `__file__`."""
    if shutil.which("paraview") is None:
        pytest.skip("paraview is not installed")
    done = tmp_path / "done.txt"
    script = tmp_path / "script.py"
    script.write_text(
        "import os, traceback\n"
        "said = ''\n"
        "try:\n"
        f"    exec(open({str(SCRIPTS / name) + '.py'!r}).read())\n"
        "    import paraview.simple as pv\n"
        "    said = f'{len(pv.GetViews())} views'\n"
        "except BaseException:\n"
        "    said = traceback.format_exc()\n"
        f"open({str(done)!r}, 'w').write(said)\n"
        "os._exit(0)\n"
    )
    (tmp_path / "ParaView.ini").write_text("[General]\nGeneralSettings.ShowWelcomeDialog=false\n")
    with display() as number:
        environment = {
            **os.environ,
            "DISPLAY": number,
            "PYTHONPATH": str(SCRIPTS),
            "PERFIELD_PICTURES": str(pictures),
            "XDG_CONFIG_DIRS": f"{tmp_path}:/etc/xdg",
            "HOME": str(tmp_path),
        }
        command = ["paraview", f"--script={script}"]
        subprocess.run(command, env=environment, capture_output=True, check=False, timeout=300)
    assert done.read_text() == ("1 views" if name in ("geometry", "topology") else "2 views")
