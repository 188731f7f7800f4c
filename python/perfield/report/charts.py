# SPDX-License-Identifier: BSD-3-Clause
"""The plots of a report, as SVG or PNG in memory, whichever is smaller."""

from __future__ import annotations

import base64
import importlib.util
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.findings import idle_wave
from perfield.report.contents import Report
from perfield.studies import given, loaded
from perfield.text import start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfield.derived.region_sums import RegionSums
    from perfield.plots.source import Source

SMALL = 60_000  # bytes of an SVG that need not be smaller
SHARPNESS = 1.6  # pixels of a raster image per pixel of the page
WIDTH = 10.4  # inches, of 100 pixels of the page each
PAIR = ("compute_time_s", "waiting_time_s")
MOST_FIELDS = 4  # of findings that get a heat map
AT_ONCE = 64  # steps that are handed to a plot
RANKS_AND_STEPS = (
    "A bright row is a rank that takes longer in all steps; a bright column is a step in which all do. Ranks "
    "that compute little while others compute much wait for these."
)
ONE_FIELD = "A bright row is a rank with more than others; a bright column is a step with more than others."
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
            missing.append(f"{start(str(error))}.")
    return images, list(dict.fromkeys(missing))


def _planned(report: Report) -> Iterator[Callable[[], Image]]:
    from perfield.plots.figures import heat_map_figure, imbalance_figure, messages_figure, regions_figure

    run, steps, source = report.run, report.observed.index, read_source(report)
    known = report.observed.has

    def region_bars() -> Image:
        figure = page_figure(4.9)
        newest = steps[-report.region_sums.n_frames :]
        regions_figure(run, newest, figure, source=source)
        return image(
            figure,
            "region_bars",
            (("region_bars", ""),),
            "Bars: where the time of a step goes in each region, divided into computing, MPI and files.",
            "Green is computing. Each other colour is a kind of MPI call, or files. Behind a bar is what "
            "balancing the region would save at most. Times include regions inside.",
        )

    def imbalance() -> Image:
        figure = page_figure(5.2)
        imbalance_figure(run, steps, figure, source=source)
        return image(
            figure,
            "imbalance",
            (("imbalance", ""),),
            "Lines over steps: imbalance of compute time, and below it the seconds of the slowest rank and "
            "of the mean.",
            "Above: how many times the mean the slowest rank computes; 1 is balanced. Below: the gap between "
            "the two lines of compute time is what balancing would save.",
        )

    def heat_map(field: str) -> Image:
        from perfield.plots import heat_map as plot

        figure, shows = page_figure(5.2), [("heat_map", field)]
        beside, caption = "", ONE_FIELD
        if field == PAIR[0]:
            heat_map_figure(run, steps, figure, field, source)
            shows.append(("heat_map", PAIR[1]))
            beside, caption = " and, beside it, of waiting", RANKS_AND_STEPS
        else:
            plot(run, field, steps, figure.subplots(), source)
        means = f" Each value is the mean of {source.joined} steps." if source.joined > 1 else ""
        return image(
            figure,
            f"heat_map-{field}",
            tuple(shows),
            f"Heat map of {field}{beside}: a row for each rank, a column for each step.",
            caption + means,
        )

    def wave() -> Image:
        from perfield.plots import idle_wave as plot

        figure = page_figure(5.2)
        plot(run, idle_wave.worth_reporting(report.observed)[0], figure.subplots(), source)
        return image(
            figure,
            "idle_wave",
            (("idle_wave", PAIR[1]),),
            "Heat map of waiting around an idle wave: a row for each rank, a column for each step, and lines "
            "along the ranks that waited one after the other.",
            "The star is the rank that computed longer once. Its partners wait for it, then theirs for them: "
            "the steeper the line, the faster the delay travels.",
        )

    def matrix() -> Image:
        figure = page_figure(5.6)
        messages_figure(run, steps, figure, source=source)
        return image(
            figure,
            "message_matrix",
            (("message_matrix", ""),),
            "Matrix of bytes: a row for each sending rank, a column for each receiving rank.",
            "Cells near the diagonal are messages between neighbouring ranks. A full row or column is a rank "
            "that talks with all others.",
        )

    if not len(steps):
        return
    yield region_bars
    if known(PAIR[0]):
        yield imbalance
    kinds = ("heat_map", "mesh", "machine")  # only one field is drawn on the mesh, and one on the machine
    named = dict.fromkeys(f.picture.field for f in report.findings if f.picture.kind in kinds)
    first = PAIR[0] if known(PAIR[0]) else "step_time_s"
    more = [field for field in named if field not in (first, *PAIR, "") and known(field)]
    for field in [first, *more[:MOST_FIELDS]]:
        yield lambda field=field: heat_map(field)
    for place, read in report.studied.items():
        if read is not None:
            yield from loaded(place).images(read)
    if any(finding.picture.kind == "idle_wave" for finding in report.findings):
        yield wave
    for kind, place in given("FINDING_IMAGES").items():
        if any(finding.picture.kind == kind for finding in report.findings):
            yield partial(loaded(place), report)
    if len(report.observed.messages):
        yield matrix


def read_source(report: Report) -> Source:
    """What plots draw, from the tables that the report has read: a `perfield.plots.source.Source`.

    Where rows of the tables hold several steps (`joined`), each of these has the mean of the row.
    """
    from perfield.plots.source import Source

    observed = report.observed
    place = {int(index): number for number, index in enumerate(observed.index.tolist())}
    each = np.bincount(observed.row)

    def rows_of(positions: np.ndarray) -> np.ndarray:
        return np.array([place[int(index)] for index in report.run.step_indexes[positions]], np.int64)

    class Read(Source):
        joined = int(each.max(initial=1))

        def values(self, positions: np.ndarray, names: list[str]) -> Iterator[np.ndarray]:
            rows = observed.row[rows_of(positions)]
            for begin in range(0, len(rows), AT_ONCE):
                here = rows[begin : begin + AT_ONCE]
                values = np.full((len(here), len(names), observed.n_ranks), np.nan)
                for number, name in enumerate(names):
                    share = each[here, None] if name.endswith("_time_s") else 1
                    values[:, number, observed.ranks] = observed.of(name)[here] / share
                yield values

        def of_steps(self, positions: np.ndarray) -> np.ndarray:
            steps = rows_of(positions)
            found = np.full((3, len(steps)), np.nan)
            for number, (sums, name) in enumerate(
                ((observed.largest, PAIR[0]), *((observed.totals, name) for name in PAIR))
            ):
                if observed.has(name):
                    seen = np.isfinite(observed.of(name)).sum(axis=1)[observed.row[steps]]
                    found[number] = sums[name][steps] / (1 if sums is observed.largest else seen.clip(1))
                    found[number, seen == 0] = np.nan
            return found

        def messages(self, positions: np.ndarray) -> Iterator[np.ndarray]:
            yield observed.messages

        def region_sums(self, positions: np.ndarray) -> RegionSums:
            return report.region_sums

    return Read(report.run)


def page_figure(height: float) -> Figure:
    """An empty figure as wide as the page. height : inches."""
    from perfield.plots.style import new_figure

    return new_figure((WIDTH, height))


def image(
    figure: Figure,
    name: str,
    shows: tuple,
    alt: str,
    caption: str,
    colours: Sequence[tuple[float, ...]] = (),
) -> Image:
    """Saves a figure as SVG; where that is large, as PNG if that is smaller. colours : as `shaded` there."""
    from matplotlib import rc_context

    width, height = (round(100 * inches) for inches in figure.get_size_inches())

    def saved(kind: str) -> bytes:
        file = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {}
        figure.savefig(file, format=kind, dpi=100 * SHARPNESS, metadata=metadata)
        figure.set_layout_engine("none")  # it is laid out now
        return file.getvalue()

    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "perfield"}):
        data, kind = saved("svg"), "svg+xml"
        if len(data) > SMALL:
            is_map = any(axes.images for axes in figure.axes)
            raster = few_colours(saved("png"), colours) if is_map else saved("png")
            data, kind = min((data, kind), (raster, "png"), key=lambda made: len(made[0]))
    return Image(name, shows, alt, caption, kind, data, width, height)


def few_colours(png: bytes, shaded: Sequence[tuple[float, ...]] = ()) -> bytes:
    """The same image in 256 colours: those of the colour maps, greys and the colour of what is beyond.

    png : file of a heat map or matrix, which has no others. shaded : colours that it shows in all shades
    down to white, in place of the colour map of waiting.
    """
    import matplotlib
    from PIL import Image as Pixels

    from perfield.catalyst_scripts.palette import BEYOND

    maps = ("viridis",) if shaded else ("viridis", "magma")
    shown = [matplotlib.colormaps[name](np.linspace(0, 1, 112))[:, :3] for name in maps]
    if shaded:
        weight = np.linspace(1, 0.1, 112 // len(shaded))[:, None]  # white is a grey
        shown += [1 - weight * (1 - np.array(rgb)) for rgb in shaded]
    greys = np.repeat(np.linspace(0, 1, 28)[:, None], 3, axis=1)
    colours = np.concatenate([*shown, greys, [BEYOND] * 4])
    palette = Pixels.new("P", (1, 1))
    palette.putpalette((255 * colours).round().astype(np.uint8).tobytes())
    file = io.BytesIO()
    image = Pixels.open(io.BytesIO(png)).convert("RGB")
    image.quantize(palette=palette, dither=Pixels.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()
