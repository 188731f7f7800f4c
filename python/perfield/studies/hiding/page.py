# SPDX-License-Identifier: BSD-3-Clause
"""A study of communication hiding as one page of HTML, which needs no other file."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfield.report.charts import Image
from perfield.report.page import NEEDS_JINJA, TEMPLATE, PageError

if TYPE_CHECKING:
    from perfield.studies.hiding.model.study import Comparison

WORDS = (
    "A MatVec is a product of the matrix with a vector. A rank computes some inner elements "
    "while it waits for input, then the others while it waits for output: alpha is the share of the "
    "first ones. A wait is hidden if it is no longer than eps; C is the time of computing alone.",
    "The method fixed halves the elements; dynamic lets alpha follow the waits; test asks MPI again and "
    "again whether the input is there. T_max is the time of the rank that takes longest in a MatVec.",
)
HEADINGS = {
    "hidden_%": "hidden (%)",
    "fast_%": "fast, own fit (%)",
    "fast_pooled_%": "fast, one fit of all (%)",
    "median_ms": "median (ms)",
    "T_max_ms": "mean T_max (ms)",
    "gain_half_%": "gain, fastest half (%)",
    "gain_all_%": "gain, all (%)",
    "gain_fast_%": "gain, fast regime (%)",
}  # of the table of `perfield lab hide`
OWN_TEMPLATE = Path(__file__).with_name("page.html")


@dataclass(frozen=True)
class Part:
    """A setting of a study on the page. rows : of its table, the same names in each; columns : what they
    are."""

    title: str
    sentences: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    images: Sequence[Image] = field(default=())
    columns: str = ""


def images_of(compared: Comparison) -> list[Image]:
    """The figures of a setting, as PNG. Raises ModuleNotFoundError without matplotlib."""
    from perfield.studies.hiding.plots import figures

    found = []
    for name, caption, draw in figures(compared):
        figure, file = draw(), io.BytesIO()
        figure.savefig(file, format="png", dpi=130)
        width, height = (round(100 * inches) for inches in figure.get_size_inches())
        found.append(Image(name, (), f"plot: {name}", caption, "png", file.getvalue(), width, height))
    return found


def page(title: str, origin: str, parts: Sequence[Part]) -> str:
    """The page as HTML. origin : where the numbers come from. Raises PageError if jinja2 is not installed."""
    if importlib.util.find_spec("jinja2") is None:
        raise PageError(NEEDS_JINJA)
    from jinja2 import Environment

    head = TEMPLATE.read_text(encoding="utf-8").partition("</head>")[0]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(head + OWN_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(title=title, origin=origin, parts=parts, words=WORDS, headings=HEADINGS)
