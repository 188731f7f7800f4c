# SPDX-License-Identifier: BSD-3-Clause
"""Films of phases: their frames, orders and refusals."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from perfield.plots.style import PlotError  # noqa: E402
from perfield.studies.rhythm import plots as rhythm  # noqa: E402
from perfield.studies.rhythm.model import phase_dataset  # noqa: E402

TURN = 2 * np.pi


def drifting(n: int = 4):
    """Ranks of which each is a little slower than the one before; even ones on node a."""
    times = np.linspace(0.0, 3.0, 13)
    found = phase_dataset(TURN * (1 - 0.1 * np.arange(n)[:, None]) * times, times, source="run")
    return found.assign_coords(node_name=("oscillator", np.array(["ab"[rank % 2] for rank in range(n)])))


def pixels(path, number: int) -> np.ndarray:
    """A frame of a GIF as (rows, columns, 3)."""
    with pillow.open(path) as image:
        image.seek(number)
        return np.asarray(image.convert("RGB")).astype(int)


def test_gif_has_a_frame_for_each_moment_and_they_differ(tmp_path):
    path = rhythm.film(drifting(), tmp_path / "circle.gif", frames=5)
    with pillow.open(path) as image:
        assert image.n_frames == 5
    assert np.abs(pixels(path, 0) - pixels(path, 4)).max() > 100


def test_rank_of_the_frame_does_not_move(tmp_path):
    still = rhythm.film(drifting(), tmp_path / "of.gif", frame=0, frames=2)
    right = pixels(still, 1)[300:400, 500:560]  # angle 0
    viridis = np.abs(right - np.array([68, 1, 84])).sum(axis=2).min()
    assert viridis < 60


def test_matrix_is_ordered_by_node(tmp_path):
    by_rank = rhythm.film(drifting(), tmp_path / "rank.gif", "matrix", frames=2)
    by_node = rhythm.film(drifting(), tmp_path / "node.gif", "matrix", order="node_name", frames=2)
    assert np.abs(pixels(by_rank, 1)[100:560, 80:550] - pixels(by_node, 1)[100:560, 80:550]).max() > 50


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "film.avi"}, "a film ends in .gif or .mp4"),
        ({"kind": "bars"}, "'bars' is not a film; expected one of circle, matrix"),
        ({"frame": 9}, "frame = 9 is not a rank; expected 'mean' or one of 0 to 3"),
        (
            {"order": "colour"},
            "order = 'colour' is unknown here; expected 'phase' or one of oscillator, node_name",
        ),
        ({"order": [0, 0, 1, 2]}, "each of the positions 0 to 3 once"),
        ({"frames": 1}, "a film of 1 frames"),
    ],
)
def test_what_makes_no_film_is_refused_in_a_sentence(tmp_path, arguments, words):
    given = {"path": "film.gif", "kind": "circle", **arguments}
    with pytest.raises(PlotError, match=words.replace("(", r"\(")):
        rhythm.film(drifting(), tmp_path / given.pop("path"), given.pop("kind"), **given)


def test_mp4_without_ffmpeg_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlotError, match="install the Debian package ffmpeg, or make a"):
        rhythm.film(drifting(), tmp_path / "film.mp4")


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_mp4_is_made_where_ffmpeg_is(tmp_path):
    path = rhythm.film(drifting(), tmp_path / "film.mp4", frames=3)
    assert path.read_bytes()[4:8] == b"ftyp"
