# SPDX-License-Identifier: BSD-3-Clause
"""The names on a view: beside their things, never over one another, the most important first."""

from __future__ import annotations

import pytest
from drivers.in_paraview import in_paraview

pytest.importorskip("paraview", reason="ParaView's Python modules are not installed")

VIEW = """
from labels import LABELS, Camera, Label, Labels, arrange
import itertools
from scene import FREE, fit_points, new_view
pv._DisableFirstRenderCameraReset()
view = new_view()
view.ViewSize = (1280, 720)
shown = pv.Show(pv.Sphere(Radius=5), view)
bounds = (-5, 5) * 3
corners = list(itertools.product(bounds[0:2], bounds[2:4], bounds[4:6]))
fit_points(view, corners, (-1.0, 0.75, -0.6), (0.0, 0.0, 1.0), FREE)
"""


def overlapping(boxes: list) -> list:
    return [
        (a, b)
        for n, a in enumerate(boxes)
        for b in boxes[:n]
        if a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
    ]


def test_at_most_forty_labels_and_none_over_another(tmp_path):
    script = """
import numpy as np
from labels import Label, arrange
points = np.random.default_rng(3).uniform(100, 900, (300, 2))
labels = [Label(str(n), (0, 0, 0), n) for n in range(300)]
placed = arrange(labels, points, [(90, 25)] * 300, (0, 1000, 0, 1000))
result = [[list(one.box) for one in placed], [one.text for one in placed]]
"""
    boxes, texts = in_paraview(script, tmp_path)
    assert 10 < len(boxes) <= 40
    assert not overlapping(boxes)
    assert all(box[0] >= 0 and box[1] <= 1000 and box[2] >= 0 and box[3] <= 1000 for box in boxes)
    assert texts[0] == "299", "the most important label comes first"


def test_lesser_label_gives_way_where_two_compete(tmp_path):
    script = """
from labels import Label, arrange
labels = [Label("less", (0, 0, 0), 1.0), Label("more", (0, 0, 0), 2.0)]
free = (0, 130, 0, 60)  # room for one
result = [one.text for one in arrange(labels, [(10, 30), (12, 30)], [(100, 25)] * 2, free)]
"""
    assert in_paraview(script, tmp_path) == ["more"]


def test_thing_outside_the_view_has_no_label(tmp_path):
    script = """
from labels import Label, arrange
result = [one.text for one in arrange([Label("far", (0, 0, 0))], [(-5, 30)], [(20, 9)], (0, 200, 0, 200))]
"""
    assert in_paraview(script, tmp_path) == []


def test_camera_projects_points_to_the_pixels_of_the_image(tmp_path):
    script = f"""{VIEW}
import numpy as np
from vtkmodules.vtkRenderingCore import vtkCoordinate
view.CameraParallelProjection = 1
pv.SaveScreenshot("{tmp_path}/shot.png", view, ImageResolution=(1280, 720))
points = np.random.default_rng(1).uniform(-5, 5, (6, 3))
result = []
for parallel in (1, 0):
    view.CameraParallelProjection = parallel
    camera = Camera(view)
    renderer = view.GetRenderer()
    pixels = []
    for point in points:
        place = vtkCoordinate()
        place.SetCoordinateSystemToWorld()
        place.SetValue(*point)
        pixels.append(place.GetComputedDoubleDisplayValue(renderer))
    back = camera.points(camera.pixels(points), camera.nearest(bounds))
    result.append([camera.pixels(points).tolist(), pixels, camera.pixels(back).tolist()])
"""
    for own, vtk, back in in_paraview(script, tmp_path):
        for a, b, c in zip(own, vtk, back):
            assert a == pytest.approx(b, abs=1.5)
            assert a == pytest.approx(c, abs=1e-6)


def test_label_covers_exactly_the_box_that_was_reserved(tmp_path):
    script = f"""{VIEW}
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader
view.Background = (0.0, 1.0, 0.0)
shown.Visibility = 0
[placed] = Labels(view, bounds).show([Label("rank 3, node12, core 7", (4.0, 0.0, 0.0))])
pv.SaveScreenshot("{tmp_path}/shot.png", view, ImageResolution=(1280, 720))
reader = vtkPNGReader()
reader.SetFileName("{tmp_path}/shot.png")
reader.Update()
pixels = vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()).reshape(720, 1280, -1)[:, :, :3]
bright = (pixels[:, :, 0] > 150) & (pixels[:, :, 2] > 150)
rows, columns = bright.any(axis=1).nonzero()[0], bright.any(axis=0).nonzero()[0]
result = [[int(n) for n in (columns[0], columns[-1], rows[0], rows[-1])], list(placed.box)]
"""
    seen, reserved = in_paraview(script, tmp_path)
    assert seen == pytest.approx(reserved, abs=4)


def test_other_labels_replace_the_ones_before(tmp_path):
    script = f"""{VIEW}
labels = Labels(view, bounds)
labels.show([Label(f"rank {{n}}", (n, 0.0, 0.0), n) for n in range(4)])
sources = len(pv.GetSources())
labels.show([Label("rank 9", (1.0, 0.0, 0.0))])
texts = [text for text in labels.proxies if hasattr(text, "Text")]
visible = [text.Text for text in texts if pv.GetDisplayProperties(text, view).Visibility]
result = [visible, len(pv.GetSources()) - sources]
"""
    assert in_paraview(script, tmp_path) == [["rank 9"], 0]


def test_labels_leave_a_place_free_if_they_can(tmp_path):
    """They are beside the place, with a line into it; without other room they are in it."""
    script = """
from labels import Label, arrange
label, thing = [Label("one", (0, 0, 0))], [(300, 300)]
inside = (200, 400, 200, 400)
result = [
    [one.box for one in arrange(label, thing, [(90, 25)], free, avoid=[inside])]
    for free in ((0, 600, 0, 600), (210, 390, 210, 390))
]
"""
    ((beside,), (within,)) = in_paraview(script, tmp_path)
    assert not overlapping([beside, (200, 400, 200, 400)])
    assert overlapping([within, (200, 400, 200, 400)])
