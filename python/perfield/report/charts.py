# SPDX-License-Identifier: BSD-3-Clause
"""The plots of a report, as SVG or PNG in memory, whichever is smaller."""

from __future__ import annotations

import base64
import importlib.util
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfield.report.contents import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARPNESS = 1.6  # pixels of a raster image per pixel of the page
WIDTH = 10.4  # inches, of 100 pixels of the page each
PAIR = ("compute_time_s", "waiting_time_s")
NO_PLOTS = (
    "The plots are missing: they need matplotlib 3.6 or newer; install the Debian package "
    "python3-matplotlib, or call pip install 'perfield[report]'."
)


@dataclass(frozen=True)
class Image:
    """An image of the page.

    name : of its place on the page, "heat_map-compute_time_s". shows : pictures that a finding may name, as
    (kind, field). alt : what is seen, for those who do not see it. caption : what to look for. kind : of the
    data, "svg+xml" or "png". width, height : in pixels of the page.
    """

    name: str
    shows: tuple[tuple[str, str], ...]
    alt: str
    caption: str
    kind: str
    data: bytes
    width: int
    height: int

    @property
    def address(self) -> str:
        """The image as a data: address."""
        return f"data:image/{self.kind};base64,{base64.b64encode(self.data).decode()}"


def plots(report: Report) -> tuple[list[Image], list[str]]:
    """The plots of a report, in the order of its sections; and why others are missing, in sentences."""
    if importlib.util.find_spec("matplotlib") is None:
        return [], [NO_PLOTS]
    from perfield.plots.style import PlotError

    images, missing = [], []
    for drawn in _planned(report):
        try:
            images.append(drawn())
        except PlotError as error:
            missing.append(f"{str(error)[:1].upper()}{str(error)[1:]}.")
    return images, list(dict.fromkeys(missing))


def _planned(report: Report) -> Iterator[Callable[[], Image]]:
    run, steps = report.run, None
    known = set(run.columns.names)

    def region_bars() -> Image:
        from perfield.plots.figures import regions_figure

        figure = _figure(4.9)
        regions_figure(run, steps, figure)
        return _image(
            figure,
            "region_bars",
            (("region_bars", ""),),
            "Bars: where the time of a step goes in each region, divided into computing, MPI and files.",
            "Green is computing. Each other colour is a kind of MPI call or files. Behind a bar stands what "
            "balancing the region would save at most. Times include regions inside.",
        )

    def heat_map(field: str) -> Image:
        from perfield.plots.figures import heat_map_figure

        figure = _figure(5.2)
        heat_map_figure(run, steps, figure, field)
        with_waiting = "" if field == PAIR[1] else " and, beside it, of waiting"
        return _image(
            figure,
            f"heat_map-{field}",
            (("heat_map", field), *([("heat_map", PAIR[1])] if field == PAIR[0] else [])),
            f"Heat map of {field}{with_waiting}: a row for each rank, a column for each step.",
            "A bright row is a rank that takes longer in all steps; a bright column is a step in which all "
            "do. Ranks that are dark where others are bright wait for them.",
        )

    def imbalance() -> Image:
        from perfield.plots.figures import imbalance_figure

        figure = _figure(5.2)
        imbalance_figure(run, steps, figure)
        return _image(
            figure,
            "imbalance",
            (("imbalance", ""),),
            "Lines over steps: imbalance of compute time, and below it the seconds of the slowest rank and "
            "of the mean.",
            "Above: how many times the mean the slowest rank computes; 1 is balanced. Below: the gap between "
            "the two lines of compute time is what balancing would save.",
        )

    def matrix() -> Image:
        from perfield.plots.figures import messages_figure

        figure = _figure(5.6)
        messages_figure(run, steps, figure)
        return _image(
            figure,
            "message_matrix",
            (("message_matrix", ""),),
            "Matrix of bytes: a row for each sending rank, a column for each receiving rank.",
            "Cells near the diagonal are messages between neighbouring ranks. A full row or column is a rank "
            "that talks with all others.",
        )

    yield region_bars
    yield imbalance
    if PAIR[0] in known:
        yield lambda: heat_map(PAIR[0])
    else:
        yield lambda: heat_map("step_time_s")
    told = dict.fromkeys(f.picture.field for f in report.findings if f.picture.kind == "heat_map")
    for field in told:
        if field in known and field not in (*PAIR, ""):
            yield lambda field=field: heat_map(field)
    if len(report.observed.messages):
        yield matrix


def _figure(height: float) -> Figure:
    from perfield.plots.figures import new_figure

    return new_figure((WIDTH, height))


def _image(figure: Figure, name: str, shows: tuple, alt: str, caption: str) -> Image:
    """Saves a figure in both kinds and keeps the smaller one."""
    from matplotlib import rc_context

    width, height = (round(100 * inches) for inches in figure.get_size_inches())
    made = {}
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "perfield"}):
        for kind, ending in (("svg+xml", "svg"), ("png", "png")):
            file = io.BytesIO()
            metadata = {"Date": None} if ending == "svg" else {}
            figure.savefig(file, format=ending, dpi=100 * SHARPNESS, metadata=metadata)
            made[kind] = file.getvalue()
    made["png"] = few_colours(made["png"])
    kind = min(made, key=lambda kind: len(made[kind]))
    return Image(name, shows, alt, caption, kind, made[kind], width, height)


def few_colours(png: bytes) -> bytes:
    """The same image with at most 256 colours, if that is smaller. png : file of the image."""
    from PIL import Image as Pixels

    file = io.BytesIO()
    image = Pixels.open(io.BytesIO(png)).convert("RGB")
    image.quantize(256, dither=Pixels.Dither.NONE).save(file, "PNG", optimize=True)
    return min(png, file.getvalue(), key=len)
