# SPDX-License-Identifier: BSD-3-Clause
"""The page of a report: what it says, and that it needs nothing but itself."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from drivers.chromium import SECTIONS

import perfield
from perfield.analysis.findings import Finding, Picture
from perfield.report import report
from perfield.report.charts import Image
from perfield.report.page import page, write
from perfield.report.view import ADDRESS
from twins import twin

pytest.importorskip("jinja2", reason="jinja2 is not installed")


class Elements(HTMLParser):
    """Ids of sections, addresses that the page names, links out of it, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.addresses: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.add(tag)
        named = dict(attrs)
        self.sections += [named["id"]] if tag == "section" else []
        if tag == "a" and not (named["href"] or "").startswith("#"):
            self.links.append(named["href"])
        self.addresses += [named[name] for name in ("src", "href", "action", "srcset") if name in named]

    def handle_data(self, data: str) -> None:
        self.words += data


def a_finding(**changes) -> Finding:
    """A finding as a question yields it."""
    known = {
        "kind": "imbalance",
        "words": "Rank 3 computes twice as long as the mean in solve.",
        "saved_s": 0.01,
        "remedy": "Balance by measured cost.",
        "picture": Picture("heat_map", "compute_time_s"),
        "ranks": np.array([3]),
        "chance": 1e-9,
    }
    return Finding(**{**known, **changes})


def test_title_names_the_script_and_not_its_interpreter(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=4)
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(info | {"command": ["python3", "codes/heat.py", "8"]}))
    assert report(perfield.open(path)).program == "heat.py"


def test_page_has_all_sections_in_order_and_findings_first(tmp_path):
    made = report(perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5)))
    seen = Elements(page(replace(made, findings=(a_finding(),))))
    assert seen.sections == list(SECTIONS)
    words = " ".join(seen.words.split())
    assert "heat: 4 ranks on 1 host, 5 steps" in words
    assert "14 November 2023, 22:13 UTC" in words
    for part in (
        "Rank 3 computes twice",
        "costs up to 10 ms",
        "Balance by measured cost",
        "once in a million",
    ):
        assert part in words


def test_page_loads_no_other_file_and_runs_no_script(tmp_path):
    made = report(perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5)))
    text = page(replace(made, findings=(a_finding(),)))
    seen = Elements(text)
    links = [address for address in seen.addresses if not address.startswith(("#", "data:image/"))]
    assert links and set(links) <= set(seen.links)  # a link is followed only when it is chosen
    assert not seen.tags & {"script", "base", "link", "iframe"}
    assert not re.search(r"url\(|@import", text)
    assert set(re.findall(r"https?://[^/]*/", text)) == {ADDRESS}


def test_findings_link_to_their_place_in_the_browser_view(tmp_path):
    made = report(perfield.open(twin.write_run(tmp_path / "it's a run", ranks=4, steps=5)))
    nowhere = a_finding(picture=Picture("message_matrix"), ranks=np.zeros(0, np.int64))
    seen = Elements(page(replace(made, findings=(a_finding(), nowhere))))
    (link,) = seen.links
    assert re.fullmatch(r"http://localhost:8017/#frame=[0-4]&field=compute_time_s&rank=3", link)
    assert "perfield serve" in seen.words
    assert shlex.quote(str(made.run.path)) in seen.words
    assert "perfield serve" not in Elements(page(replace(made, findings=(nowhere,)))).words


def test_page_is_replaced_as_a_whole(tmp_path):
    file = tmp_path / "analysis" / "report.html"
    write(file, "first")
    write(file, "second \udcff")
    assert file.read_text() == "second ?"
    assert [path.name for path in Path(file.parent).iterdir()] == ["report.html"]


def an_image(name: str, *shows: tuple[str, str]) -> Image:
    """An image that shows nothing."""
    return Image(name, shows, "alt", "caption", "png", b"", 10, 10)


def test_finding_shows_its_picture_or_the_heat_map_of_its_field(tmp_path):
    made = report(perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5)))
    images = [
        an_image("heat_map-io_write_bytes", ("heat_map", "io_write_bytes")),
        an_image("machine", ("machine", "compute_time_s"), ("machine", "")),
        an_image("message_matrix", ("message_matrix", "")),
    ]

    def shown(picture: Picture) -> list[str]:
        text = page(replace(made, findings=(a_finding(picture=picture),)), images)
        return re.findall(r'<use href="#data-([^"]+)"', text)

    assert shown(Picture("machine", "compute_time_s")) == ["machine"]
    assert shown(Picture("machine", "io_write_bytes")) == ["heat_map-io_write_bytes"]
    assert shown(Picture("message_matrix", "empty")) == ["message_matrix"]
    assert shown(Picture("mesh", "cells")) == []
