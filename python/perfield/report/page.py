# SPDX-License-Identifier: BSD-3-Clause
"""A report as one page of HTML, which needs no other file, no network and no JavaScript."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfield.analysis.findings import Picture
from perfield.catalyst_scripts.owned_folder import new_file
from perfield.derived.injected import is_injected
from perfield.report import sections as said
from perfield.report.charts import Image
from perfield.report.contents import Report
from perfield.report.sections import KINDS_OF_TIME, chance, cost, percent, sections
from perfield.report.view import ADDRESS, command, view_of
from perfield.text import counted, in_seconds, printable

TEMPLATE = Path(__file__).with_name("page.html")
NEEDS_JINJA = (
    "the page needs jinja2 3.1 or newer, which this Python does not have; install the Debian package "
    "python3-jinja2, or call pip install 'perfield[report]'. --text prints the report without it."
)


class PageError(OSError):
    """The page cannot be made; the text says what is missing."""


def page(report: Report, images: Sequence[Image] = (), notes: Sequence[str] = (), linked: bool = True) -> str:
    """The page as HTML.

    images : plots and pictures. notes : sentences about those that are missing. linked : findings link to
    the browser view.
    Raises PageError if jinja2 is not installed.
    """
    if importlib.util.find_spec("jinja2") is None:
        raise PageError(NEEDS_JINJA)
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_printable)
    environment.globals.update(percent=percent, in_seconds=in_seconds, kinds_of_time=KINDS_OF_TIME)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    made = sections(report, notes)
    findings = [
        {
            **{"finding": finding, "cost": cost(finding, report), "chance": chance(finding)},
            "image": _image_of(finding.picture, images),
            "view": view_of(finding, report) if linked else None,
        }
        for finding in report.findings
    ]
    return template.render(
        report=report,
        title=title(report),
        when=when(report),
        command=" ".join(report.command),
        findings=findings,
        sections=made,
        images={section.name: _of(section, images) for section in made},
        said=said,
        view_address=ADDRESS,
        view_command=command(report),
    )


def title(report: Report) -> str:
    """A run in a line: "heat3d: 8 ranks on 1 host, 40 steps"."""
    hosts = counted(len(report.placement.nodes), "host")
    ranks = counted(report.run.n_ranks, "rank")
    n_steps, n_frames = int(report.run.spans.sum()), len(report.run)
    if report.is_whole:
        steps = "no steps"
    elif report.run.has_windows:
        steps = f"{counted(n_frames, 'window')} of the clock"
    else:
        steps = counted(n_steps, "step")
        steps += f" as {counted(n_frames, 'frame')}" if n_steps > n_frames else ""
    injected = ", latencies injected" if is_injected(report.run) else ""
    return f"{printable(report.program)}: {ranks} on {hosts}, {steps}{injected}"


def when(report: Report) -> str:
    """When the run began: "22 November 2026, 13:52 UTC"; "" if unknown."""
    start = report.start
    return "" if start is None else f"{start.day} {start:%B %Y, %H:%M} UTC"


def write(path: Path, text: str) -> None:
    """Writes a page, which gets its name when it is complete, so that nobody sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as place:
        place.write_bytes(text.encode("utf-8", errors="replace"))


def _image_of(picture: Picture, images: Sequence[Image]) -> Image | None:
    """The image that shows a finding: its picture, or the heat map of the picture's field."""
    shown = {what: image for image in reversed(images) for what in image.shows}
    asked = [(picture.kind, picture.field), ("heat_map", picture.field)]
    asked += [(picture.kind, "")] * (picture.kind not in ("mesh", "machine"))
    return next((shown[what] for what in asked if what in shown), None)


def _of(section: said.Section, images: Sequence[Image]) -> list[Image]:
    return [image for begin in section.images for image in images if image.name.startswith(begin)]


def _printable(value: Any) -> Any:
    return printable(value) if type(value) is str else value
