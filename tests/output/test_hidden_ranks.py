# SPDX-License-Identifier: BSD-3-Clause
"""The hot rank shows in every image, by its pixels, also if other ranks surround it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader

from twins import twin

INNER = 21  # at (1, 1, 1) of 4 x 4 x 4 ranks


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """A run of 4 x 4 x 4 ranks with a hot rank in the inside."""
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    path = tmp_path_factory.mktemp("hidden") / "run"
    return twin.write_run(path, ranks=64, steps=2, blocks=(4, 4, 4), change_step=twin.one_hot_rank(INNER))


def pixels(path):
    """(height, width, 3) of an image, from below and left of the legend."""
    reader = vtkPNGReader()
    reader.SetFileName(str(path))
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    image = vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars())[:, :3].reshape(height, width, 3)
    return image[:, : round(0.77 * width)].astype(int)


def hot_share(path):
    """Share of the pixels left of the legend that are green or yellow: of the upper half of the scale.

    Small values are dark violet, and lavender where they are translucent.
    """
    _, green, blue = np.moveaxis(pixels(path), 2, 0)
    return float(((green > 140) & (green > blue + 50)).mean())


def drawn(perfield_cli, run_path, *options, steps="1"):
    """The images of compute time on the mesh in these steps."""
    where = run_path.parent / "-".join(["out", *options])
    words = ("--fields", "compute_time_s", "--steps", steps, "--images", "--geometry", "-o", where)
    result = perfield_cli("render", run_path, *words, *options, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return sorted((where / "images").glob("*geometry_compute_time_s_frame_*.png"))


def test_surrounded_hot_rank_shows_in_every_frame(perfield_cli, run_path):
    shares = [hot_share(path) for path in drawn(perfield_cli, run_path, steps="all")]
    assert len(shares) == 2 and min(shares) > 0.01, shares


@pytest.mark.parametrize("options, least", [(("--explode", "1"), 0.0005), (("--view", "highest"), 0.01)])
def test_surrounded_hot_rank_shows_in_each_view(perfield_cli, run_path, options, least):
    (image,) = drawn(perfield_cli, run_path, *options)
    assert hot_share(image) > least


def test_opaque_pieces_show_all_their_faces(perfield_cli, tmp_path):
    """Wherever a piece lies, its cube shows the same area."""
    shares = []
    for hot in (0, 7):
        path, change = tmp_path / f"hot-{hot}" / "run", twin.one_hot_rank(hot)
        path.parent.mkdir()
        run = twin.write_run(path, ranks=8, steps=2, blocks=(2, 2, 2), change_step=change)
        shares.append(hot_share(*drawn(perfield_cli, run, "--view", "highest")))
    assert min(shares) > 0.03 and shares[0] == pytest.approx(shares[1], rel=0.05)


def test_a_field_of_the_simulation_is_opaque_behind_an_image_of_opaque_ranks(perfield_cli, run_path):
    where = run_path.parent / "five"
    result = perfield_cli("render", run_path, "--images", "--geometry", "-o", where, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    names = sorted(path.name for path in (where / "images").glob("*.png"))
    assert [name[3:] for name in names[1:3]] == ["heat_map.png", "regions.png"]
    image = pixels(where / "images" / names[-1])
    shown = image[: round(0.84 * len(image))].min(axis=2)
    pale = (shown > 180) & (shown < 255)
    assert "temperature" in names[-1] and pale.sum() < 0.05 * (shown < 255).sum()


def test_plain_view_hides_the_surrounded_rank(perfield_cli, run_path):
    """What the other views are for."""
    (image,) = drawn(perfield_cli, run_path, "--view", "plain")
    assert hot_share(image) == 0
