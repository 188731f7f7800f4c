# SPDX-License-Identifier: BSD-3-Clause
"""Puts names on what a view shows: at most LABELS, none over another, the most important ones first.

A label is beside the thing that it names, with a thin line to it. Labels are text at a place on the
screen, so they stay legible from any side; `Labels.show` places them anew for the camera.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import vtkmodules.vtkRenderingFreeType  # noqa: F401  measures text
from colours import TEXT, font_size
from drawing import pv
from processes import Lines
from vtkmodules.vtkRenderingCore import vtkTextProperty, vtkTextRenderer

LABELS = 40
FREE = (0.01, 0.8, 0.01, 0.87)  # left, right, bottom, top of the area without title and legend
POINTS = 21
DPI = 72  # ParaView's, for text
MARGIN = 5  # pixels around a label's text
APART = 3  # pixels between two labels
AWAY = (
    14,
    28,
    48,
    75,
    110,
    150,
    200,
    260,
    330,
    400,
    480,
)  # pixels of a label from the thing, in the order of trial
NEAR = 4
DIRECTIONS = 16
DOTS = 24  # points of a line that are tested against boxes
ALONE = 4  # pixels around a named thing that no other label may cover


@dataclass(frozen=True)
class Label:
    """A name for the thing at a point in space. Where labels compete, the larger priority wins.

    towards : the direction on the screen in which the label should be; None: away from the middle. near : its
    place may be as near as NEAR pixels.
    """

    text: str
    at: tuple[float, float, float]
    priority: float = 0.0
    towards: tuple[float, float] | None = None
    near: bool = False


@dataclass(frozen=True)
class Placed:
    """A label's place in pixels from the lower left: its box (left, right, bottom, top), and its thing."""

    text: str
    box: tuple[float, float, float, float]
    at: tuple[float, float]


class Camera:
    """Projects points of space to pixels of a view, and back."""

    def __init__(self, view: Any):
        self.size = np.array(view.ViewSize, float)
        self._eye = np.array(view.CameraPosition, float)
        forward = np.array(view.CameraFocalPoint, float) - self._eye
        distance = np.linalg.norm(forward)
        self._forward = forward / distance
        right = np.cross(self._forward, np.array(view.CameraViewUp, float))
        self._right = right / np.linalg.norm(right)
        self._up = np.cross(self._right, self._forward)
        self._height = 2 * view.CameraParallelScale if view.CameraParallelProjection else None
        self._slope = 2 * np.tan(np.radians(view.CameraViewAngle) / 2)

    def pixels(self, points: Any) -> np.ndarray:
        """Pixels (n, 2) of points (n, 3)."""
        way = np.asarray(points, float).reshape(-1, 3) - self._eye
        on_screen = np.stack([way @ self._right, way @ self._up], axis=1)
        return on_screen / self._unit(way @ self._forward)[:, None] + self.size / 2

    def box(self, points: Any) -> tuple[float, ...]:
        """The box in pixels around points (n, 3): left, right, bottom, top."""
        pixels = self.pixels(points)
        (left, bottom), (right, top) = pixels.min(axis=0).tolist(), pixels.max(axis=0).tolist()
        return left, right, bottom, top

    def points(self, pixels: Any, depth: float) -> np.ndarray:
        """The points (n, 3) at pixels (n, 2) at a distance from the camera's plane."""
        across = (np.asarray(pixels, float).reshape(-1, 2) - self.size / 2) * self._unit(np.array([depth]))
        return self._eye + depth * self._forward + across @ np.stack([self._right, self._up])

    def nearest(self, bounds: Sequence[float]) -> float:
        """Distance of the camera's plane from the nearest corner of a box, x0 to z1."""
        corners = np.array(list(itertools.product(bounds[0:2], bounds[2:4], bounds[4:6])))
        return float(((corners - self._eye) @ self._forward).min())

    def _unit(self, depth: np.ndarray) -> np.ndarray:
        """Length in space of one pixel at each depth."""
        height = self._slope * np.maximum(depth, 1e-12) if self._height is None else self._height
        return np.broadcast_to(height / self.size[1], depth.shape)


def arrange(
    labels: Iterable[Label],
    at: np.ndarray,
    sizes: Sequence[tuple[float, float]],
    free: tuple[float, float, float, float],
    avoid: Iterable[tuple[float, float, float, float]] = (),
    kept: Iterable[tuple[float, float, float, float]] = (),
) -> list[Placed]:
    """Gives labels their places, in pixels; those without room are dropped.

    at : (n, 2), where each label's thing is. sizes : width and height of each label. free : the area for
    labels. avoid : boxes that labels leave free if they can; lines may cross them. kept : boxes that no label
    may cover, and that lines cross only where the label would have no place. Boxes are (left, right, bottom,
    top).
    """
    labels = list(labels)
    at = np.asarray(at, float).reshape(-1, 2)
    left, right, bottom, top = free
    visible = (at[:, 0] >= left) & (at[:, 0] <= right) & (at[:, 1] >= bottom) & (at[:, 1] <= top)
    order = sorted(np.flatnonzero(visible), key=lambda n: -labels[n].priority)[:LABELS]
    things = np.array([(x - ALONE, x + ALONE, y - ALONE, y + ALONE) for x, y in at[order]]).reshape(-1, 4)
    boxes = np.zeros((0, 4))
    shunned = np.array(list(avoid), float).reshape(-1, 4)
    whole = np.array(list(kept), float).reshape(-1, 4)
    lines = np.zeros((0, 4))
    middle = np.array([(left + right) / 2, (bottom + top) / 2])
    placed = []
    for turn, n in enumerate(order):
        away = (NEAR, *AWAY) if labels[n].near else AWAY
        tried = _candidates(at[n], sizes[n], np.array(labels[n].towards or at[n] - middle), away)
        fits = (tried[:, 0] >= left) & (tried[:, 1] <= right) & (tried[:, 2] >= bottom) & (tried[:, 3] <= top)
        fits &= ~_overlap(tried, boxes, APART) & ~_overlap(tried, np.delete(things, turn, axis=0), 0)
        ends = _nearest(tried, at[n])
        way = np.linspace(0, 1, DOTS)[None, :, None]
        line = at[n] + (ends - at[n])[:, None] * way
        dots = np.concatenate([line, line], axis=2)[:, :, [0, 2, 1, 3]]
        crossing = _overlap(dots.reshape(-1, 4), boxes, 0).reshape(len(tried), -1).any(axis=1)
        fits &= ~crossing & ~_overlap(tried, lines, 0) & ~_overlap(tried, whole, APART)
        if fits.any():
            over = _overlap(dots.reshape(-1, 4), whole, 0).reshape(len(tried), -1).any(axis=1)
            clear = ~_overlap(tried, shunned, APART)
            best = (fits & ~over & clear, fits & ~over, fits & clear, fits)
            first = np.argmax(next(some for some in best if some.any()))
            box = tried[first]
            boxes = np.concatenate([boxes, box[None]])
            lines = np.concatenate([lines, dots[first]])
            placed.append(Placed(labels[n].text, tuple(box.tolist()), tuple(at[n].tolist())))
    return placed


def _candidates(
    at: np.ndarray, size: tuple[float, float], towards: np.ndarray, distances: Iterable[int]
) -> np.ndarray:
    """Boxes (n, 4) around a thing: the near ones first, and of these the ones in a direction."""
    turn = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)
    turn = turn[np.argsort(-np.cos(turn - np.arctan2(towards[1], towards[0])), kind="stable")]
    directions = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    half = np.array(size) / 2
    middles = np.concatenate([at + directions * (half + away) for away in distances])
    return np.concatenate([middles - half, middles + half], axis=1)[:, [0, 2, 1, 3]]


def _overlap(boxes: np.ndarray, others: np.ndarray, apart: float) -> np.ndarray:
    """Whether each box comes nearer than `apart` to any of the others."""
    a, b = boxes[:, None], others[None]
    return (
        (a[..., 0] < b[..., 1] + apart)
        & (b[..., 0] < a[..., 1] + apart)
        & (a[..., 2] < b[..., 3] + apart)
        & (b[..., 2] < a[..., 3] + apart)
    ).any(axis=1)


def _nearest(boxes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The point (n, 2) of each box that is nearest to a point."""
    return np.stack(
        [np.clip(at[0], boxes[:, 0], boxes[:, 1]), np.clip(at[1], boxes[:, 2], boxes[:, 3])], axis=1
    )


class Labels:
    """The labels of a view. They keep their proxies, so showing others is cheap.

    bounds : the box around all that the view shows, x0 to z1; the lines to the things lie in front of it.
    dots : whether a line ends with a dot on the thing.
    """

    def __init__(self, view: Any, bounds: Sequence[float], dots: bool = False):
        self._view = view
        self._bounds = bounds
        self._dots = dots
        self._texts: list[tuple[Any, Any]] = []
        self._lines = Lines("lines to labels")
        self._lines_display: Any = None
        self._shown: list[Label] = []

    @property
    def proxies(self) -> list[Any]:
        """All sources, for the one who deletes the view."""
        return [self._lines.proxy, *(text for text, _ in self._texts)]

    def show(
        self,
        labels: Iterable[Label],
        avoid: Iterable[tuple[float, float, float, float]] = (),
        kept: Iterable[tuple[float, float, float, float]] = (),
    ) -> Any:
        """Shows these labels and no others; returns the `Placed` ones. avoid, kept : as for `arrange`."""
        self._shown = list(labels)
        view, camera = self._view, Camera(self._view)
        size = font_size(view, POINTS)
        sizes = [_size(label.text, size) for label in self._shown]
        width, height = camera.size
        free = (FREE[0] * width, FREE[1] * width, FREE[2] * height, FREE[3] * height)
        at = camera.pixels([label.at for label in self._shown])
        placed = arrange(self._shown, at, sizes, free, avoid, kept)
        while len(self._texts) < len(placed):
            self._texts.append(self._new())
        for n, (text, display) in enumerate(self._texts):
            display.Visibility = int(n < len(placed))
            if n < len(placed):
                text.Text = placed[n].text
                display.FontSize = size
                display.Position = [placed[n].box[0] / width, placed[n].box[2] / height]
        self._draw_lines(placed, camera)
        return placed

    def _new(self) -> tuple[Any, Any]:
        text = pv.Text(registrationName="label")
        display = pv.Show(text, self._view, "TextSourceRepresentation")
        display.WindowLocation = "Any Location"
        display.Color = TEXT
        display.BackgroundColor = [1.0, 1.0, 1.0, 0.8]
        display.Justification = "Left"
        display.VerticalJustification = "Bottom"
        display.Interactivity = 0
        display.ShowBorder, display.BorderThickness = "Always", 0.0  # else it has no background
        display.Padding = MARGIN
        return text, display

    def _draw_lines(self, placed: Sequence[Placed], camera: Camera) -> None:
        ends = [(one.at, _nearest(np.array([one.box]), np.array(one.at))[0]) for one in placed]
        low, high = np.array(self._bounds, float)[0::2], np.array(self._bounds, float)[1::2]
        depth = camera.nearest(self._bounds) - 0.01 * float(np.linalg.norm(high - low))
        lines = [[2 * n, 2 * n + 1] for n in range(len(ends))]
        dots = [line[:1] for line in lines] if self._dots else []
        self._lines.set(camera.points(np.array(ends).reshape(-1, 2), depth), lines, dots)
        if not placed:
            if self._lines_display is not None:
                self._lines_display.Visibility = 0
            return
        if self._lines_display is None:
            self._lines_display = pv.Show(self._lines.proxy, self._view)
            self._lines_display.ColorArrayName = ["POINTS", ""]
            self._lines_display.DiffuseColor = self._lines_display.AmbientColor = TEXT
            self._lines_display.Ambient, self._lines_display.Diffuse = 1.0, 0.0
            self._lines_display.LineWidth = 1.5
            self._lines_display.PointSize = 7.0
        self._lines_display.Visibility = 1


def _size(text: str, points: int) -> tuple[float, float]:
    """Width and height of a label in pixels."""
    look = vtkTextProperty()
    look.SetFontSize(points)
    box = [0, 0, 0, 0]
    vtkTextRenderer.GetInstance().GetBoundingBox(look, text, box, DPI)
    return box[1] - box[0] + 1 + 2 * MARGIN, box[3] - box[2] + 1 + 2 * MARGIN
