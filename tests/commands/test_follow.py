# SPDX-License-Identifier: BSD-3-Clause
"""perfield follow on odd runs and with wrong options: a sentence, and what there is."""

from __future__ import annotations

import importlib.util
import json

import pytest
from drivers import extracts_of_run as extracts

from twins import twin

NO_DISPLAY = {"DISPLAY": None}
needs_paraview = pytest.mark.skipif(
    importlib.util.find_spec("paraview") is None, reason="ParaView's Python modules are not installed"
)


@pytest.fixture
def follow(perfield_cli, tmp_path):
    """follow(*options, env={}): the finished `perfield follow`."""

    def run(*options: object, env: dict | None = None):
        return perfield_cli("follow", *options, cwd=tmp_path, env={**NO_DISPLAY, **(env or {})})

    return run


def damaged(path) -> None:
    """A run of 3 steps with a broken entry."""
    twin.write_run(path, ranks=2, steps=3)
    (stream,) = (path / "stream").glob("*.pf")
    data = bytearray(stream.read_bytes())
    data[len(data) // 2] ^= 0xFF
    stream.write_bytes(data)


def killed(path) -> None:
    """A run of 2 steps, without a mesh, of processes on this host that live no more."""

    def dead_rank(rank: int, values: dict) -> None:
        twin.live_rank(rank, values)
        values["pid"] = 2**22 + 1

    twin.write_run(path, ranks=2, steps=2, mesh=False, ended=False, change_rank=dead_rank)


RUNS = {  # none of them has a machine
    "killed": (killed, ("no geometry: no rank", "the run was killed; shown 2 of 2 frames")),
    "damaged": (damaged, ("were passed over",)),
}


@needs_paraview
@pytest.mark.parametrize("write, words", RUNS.values(), ids=RUNS.keys())
def test_odd_runs_are_shown_as_far_as_they_go(follow, tmp_path, write, words):
    write(tmp_path / "run")
    result = follow("run")
    assert result.returncode == 0, result.stderr
    assert all(word in result.stderr for word in words), result.stderr
    assert "ERR|" not in result.stderr  # of VTK
    assert extracts.listed(tmp_path / "run/follow/topology.pvd")


@needs_paraview
def test_a_pipeline_of_ones_own_runs_and_its_errors_name_their_line(follow, tmp_path):
    twin.write_run(tmp_path / "run", ranks=2, steps=2)
    script = tmp_path / "mine.py"
    script.write_text("import os\nthis is (wrong\n")
    result = follow("run", "--script", script)
    assert result.returncode == 2 and "mine.py, line 2" in result.stderr
    script.write_text(
        "import paraview.simple as pv\nfrom paraview import catalyst\noptions = catalyst.Options()\n"
        'producer = pv.PVTrivialProducer(registrationName="geometry")\n'
        "def catalyst_execute(info):\n"
        "    producer.UpdatePipeline()\n"
        '    print("SEEN", info.timestep, info.time, producer.PointData["rank"].GetRange())\n'
        "    if info.timestep == 1:\n        raise KeyError('no such thing')\n"
    )
    result = follow("run", "--script", script)
    assert result.returncode == 1 and "SEEN 0 0.5 (0.0, 1.0)" in result.stdout
    assert "the pictures end at step 2" in result.stderr and "KeyError" in result.stderr


@needs_paraview
def test_images_are_drawn_without_a_display_of_the_users(follow, tmp_path):
    twin.write_run(tmp_path / "run", ranks=2, steps=1)
    result = follow("run", "--images", "--no-extracts", "--size", "320x240")
    assert result.returncode == 0, result.stderr
    assert "shown 1 of 1 frames" in result.stderr
    assert list((tmp_path / "run/follow").glob("geometry_*.png"))
    assert not list((tmp_path / "run/follow").glob("*.vtm"))
    result = follow("run", "--images", env={"PATH": "/nowhere"})
    assert result.returncode == 0 and "xvfb" in result.stderr and "shown 1 of 1" in result.stderr
    assert "no X display answers" in result.stderr and "start the ranks" not in result.stderr


HOSTILE = "import pathlib\npathlib.Path('script-of-the-run-ran').touch()\ndef catalyst_execute(info): pass\n"


@needs_paraview
def test_settings_of_a_run_are_shown_and_not_obeyed(follow, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/theirs.py").write_text(HOSTILE)
    asked = {
        "catalyst_scripts": [str(tmp_path / "run/theirs.py")],
        "catalyst_live": "evil.example:1",
        "catalyst_images": True,
    }
    twin.write_run(tmp_path / "run", ranks=2, steps=1, mesh=False, config=asked)
    result = follow("run")
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "script-of-the-run-ran").exists()
    assert not list((tmp_path / "run/follow").glob("*.png"))
    note = next(line for line in result.stderr.splitlines() if "was measured with" in line)
    assert "theirs.py" in note and 'catalyst_live = "evil.example:1"' in note and "as an option" in note
    result = follow("run", "--script", "run/theirs.py", "-o", "mine")
    assert (tmp_path / "script-of-the-run-ran").exists(), result.stderr  # the user named it


def test_without_paraview_a_sentence_says_what_to_install(follow, tmp_path):
    twin.write_run(tmp_path / "run", ranks=2, steps=1)
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'paraview' else find(name, *more)\n"
    )
    result = follow("run", env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 2 and "no module paraview; install the Debian package" in result.stderr


def test_wrong_options_are_refused_with_the_remedy(follow, tmp_path):
    for options, words in (
        (("--every", 0), "--every 0: expected a number of frames from 1"),
        (("--live", "localhost"), "--live localhost: expected host:port"),
        (("--script", "gone.py"), "--script gone.py: there is no such file"),
    ):
        result = follow("run", *options)
        assert result.returncode == 2 and words in result.stderr


def test_a_run_that_never_comes_or_is_none_is_a_sentence(follow, tmp_path):
    result = follow("run", "--wait", 0.5)
    assert result.returncode == 2 and "no run began in run within 0.5 s" in result.stderr
    (tmp_path / "file").write_text("no run\n")
    result = follow("file")
    assert result.returncode == 2 and "file" in result.stderr and "Traceback" not in result.stderr
    (tmp_path / "silent/stream").mkdir(parents=True)
    (tmp_path / "silent/run.json").write_text(json.dumps({"run_id": "0123456789abcdef"}))
    result = follow("silent", "--wait", 0.5)
    assert result.returncode == 2 and "no rank has checked in" in result.stderr


@needs_paraview
def test_two_of_them_do_not_write_to_one_place(follow, tmp_path):
    from perfield.follow.settings import claim

    twin.write_run(tmp_path / "run", ranks=2, steps=1)
    with claim(tmp_path / "run/follow"):
        result = follow("run")
    assert result.returncode == 2 and "another perfield follow writes to" in result.stderr
    with claim(tmp_path / "run/follow"):
        pass  # it is free again
