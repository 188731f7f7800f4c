# SPDX-License-Identifier: BSD-3-Clause
"""Films: a frame for each step, at the chosen rate and size; the last film stays until a new one is made."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from perfield.output.images import ImagesError
from perfield.output.movie import Movie, MovieError
from twins import twin

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")


def probed(path: Path) -> dict:
    """What ffprobe says of a film: codec_name, width, height, nb_read_frames, duration."""
    command = [
        "ffprobe",
        "-v",
        "error",
        "-count_frames",
        "-show_streams",
        "-show_format",
        "-of",
        "json",
        path,
    ]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {**said["streams"][0], "duration": float(said["format"]["duration"])}


def distinct_frames(path: Path, part: str = "iw:ih:0:0") -> int:
    """How many of a film's frames differ, in a part: width, height, left, top."""
    command = ["ffmpeg", "-v", "error", "-i", path, "-vf", f"crop={part}", "-f", "framemd5", "-"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return len({line.rpartition(",")[2] for line in said if not line.startswith("#")})


@pytest.fixture
def frames(tmp_path) -> str:
    """Three images, as input for ffmpeg."""
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=101x75:rate=1", "-frames:v", "3"]
    subprocess.run([*command, "-start_number", "0", tmp_path / "image_%06d.png"], check=True)
    return str(tmp_path / "image_%06d.png")


@needs_ffmpeg
def test_film_of_a_run_has_each_step_at_the_chosen_rate_and_size(perfield_cli, tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=4, steps=6, hosts=("a", "b"))
    film = tmp_path / "out.mp4"
    options = ("--steps", "1,6", "--fps", 2, "--size", "640x520", "--fields", "solve_time_s")
    result = perfield_cli("render", run, "--film", film, *options)
    assert result.returncode == 0, result.stderr
    assert "out.mp4  2 frames, 1 s" in result.stdout
    about = probed(film)
    assert (about["codec_name"], about["width"], about["height"]) == ("h264", 640, 520)
    assert (about["nb_read_frames"], about["duration"]) == ("2", pytest.approx(1.0))
    assert distinct_frames(film, "320:364:320:0") == 2, "the machine"
    assert distinct_frames(film, "640:156:0:364") == 2, "a line goes through ranks by steps"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.mp4", "run"]
    assert not (run / "pictures/images").exists()


@needs_ffmpeg
@pytest.mark.long
def test_film_of_one_step_is_one_frame_and_says_so(perfield_cli, tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=2, steps=1)
    options = ("--topology", "--size", "320x240", "--fields", "temperature")  # which the mesh alone has
    result = perfield_cli("render", run, "--film", tmp_path / "out.gif", *options)
    assert result.returncode == 0, result.stderr
    assert "no film of temperature: these pictures have no values of that name" in result.stdout
    assert "the film has one frame, as one step was written" in result.stdout
    assert (probed(tmp_path / "out.gif")["nb_read_frames"], probed(tmp_path / "out.gif")["width"]) == (
        "1",
        320,
    )


@needs_ffmpeg
@pytest.mark.parametrize("ending, codec", [("mp4", "h264"), ("webm", "vp9"), ("gif", "gif")])
def test_ending_chooses_the_format_and_two_pictures_are_side_by_side(frames, tmp_path, ending, codec):
    film = tmp_path / f"film.{ending}"
    Movie(film, rate=2).join([frames, frames])
    about = probed(film)
    assert (about["codec_name"], about["nb_read_frames"]) == (codec, "3")
    assert about["width"] == 202 and about["height"] in (75, 76)
    assert about["duration"] == pytest.approx(1.5, abs=0.1)


@needs_ffmpeg
@pytest.mark.parametrize("n_pictures", [1, 2])
def test_what_is_below_is_as_wide_as_the_pictures(frames, tmp_path, n_pictures):
    wide = f"testsrc=size={n_pictures * 101}x31:rate=1"
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", wide, "-frames:v", "3"]
    subprocess.run([*command, "-start_number", "0", tmp_path / "below_%06d.png"], check=True)
    film = tmp_path / "film.gif"
    Movie(film).join([frames] * n_pictures, str(tmp_path / "below_%06d.png"))
    about = probed(film)
    assert (about["width"], about["height"], about["nb_read_frames"]) == (n_pictures * 101, 75 + 31, "3")


@needs_ffmpeg
def test_name_with_a_colon_is_a_file(frames, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Movie(Path("film:2.mp4")).join([frames])
    assert probed(tmp_path / "film:2.mp4")["nb_read_frames"] == "3"


@needs_ffmpeg
def test_failing_film_leaves_the_one_of_before(tmp_path):
    film = tmp_path / "film.mp4"
    film.write_text("the film of before")
    with pytest.raises(MovieError, match=r"ffmpeg made no .*film\.mp4 and ended with"):
        Movie(film).join([str(tmp_path / "no_%06d.png")])
    assert film.read_text() == "the film of before"
    assert list(tmp_path.iterdir()) == [film]


@pytest.mark.parametrize(
    "name, words",
    [("film.avi", "end it in one of .mp4, .webm, .gif"), ("nowhere/film.mp4", "in a folder that exists")],
)
def test_wrong_file_is_reported_before_anything_is_written(perfield_cli, tmp_path, name, words):
    run = twin.write_run(tmp_path / "run", ranks=2, steps=2)
    result = perfield_cli("render", run, "--film", tmp_path / name)
    assert result.returncode != 0
    assert words in result.stderr
    assert not (run / "pictures").exists()


def test_missing_ffmpeg_and_display_are_reported_with_their_packages(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(MovieError, match="install the Debian package ffmpeg, or draw the steps as images"):
        Movie(tmp_path / "film.mp4").check()
    (tmp_path / "ffmpeg").write_text("")
    (tmp_path / "ffmpeg").chmod(0o755)
    with pytest.raises(ImagesError, match=r"install the Debian package (xvfb|python3-paraview)"):
        Movie(tmp_path / "film.mp4").check()


def test_wrong_rate_size_and_camera_are_reported(perfield_cli, tmp_path):
    for option, value, words in (
        ("--fps", "1000", "give 0.1 to 60 frames a second"),
        ("--size", "big", "'big' is no size of an image"),
        ("--camera", "tpo", "did you mean top?"),
    ):
        result = perfield_cli("render", tmp_path, "--film", "film.mp4", option, value)
        assert result.returncode == 2
        assert words in " ".join(result.stderr.split())
