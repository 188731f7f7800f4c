# SPDX-License-Identifier: BSD-3-Clause
"""The page of a report in a real browser, offline."""

from __future__ import annotations

import re

import pytest
from drivers.chromium import SECTIONS, opened

import perfield
from perfield.report import report
from perfield.report.charts import plots
from perfield.report.page import page, write
from twins import twin

pytest.importorskip("jinja2", reason="jinja2 is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

IMAGES = {"region_bars", "imbalance", "heat_map-compute_time_s", "message_matrix"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page of a run with findings; a region has a name that is HTML."""
    place = tmp_path_factory.mktemp("page")
    run = perfield.open(
        twin.write_run(place / "run", regions=("<script>document.title='bad'</script>", "halo"))
    )
    made = report(run)
    images, missing = plots(made)
    assert made.findings and not missing
    write(place / "report.html", page(made, images))
    return place / "report.html"


def test_browser_shows_all_sections_and_images_offline(file, tmp_path):
    elements, said = opened(file, tmp_path, "--dump-dom")
    assert re.findall(r'<section id="(\w+)"', elements) == list(SECTIONS)
    images = re.findall(r'<image id="data-([^"]+)"[^>]* href="data:image/(?:png|svg\+xml);base64,', elements)
    assert set(images) >= IMAGES
    assert "<title>heat: 4 ranks on 1 host, 5 steps</title>" in elements
    assert "What helps:" in elements
    assert "CONSOLE" not in said


def test_page_stays_whole_without_javascript(file, tmp_path):
    """The page forbids scripts, so that one that slipped in would not run."""
    other = tmp_path / "other.html"
    script = "<script>document.body.textContent = 'bad'</script></body>"
    other.write_text(file.read_text().replace("</body>", script))
    elements, said = opened(other, tmp_path, "--dump-dom")
    assert re.findall(r'<section id="(\w+)"', elements) == list(SECTIONS)
    assert "Content Security Policy" in said
    other.write_text(other.read_text().replace("Content-Security-Policy", "none"))
    assert "<section" not in opened(other, tmp_path, "--dump-dom")[0]


def test_browser_draws_the_images(file, tmp_path):
    without = tmp_path / "without.html"
    without.write_text(re.sub(r' href="data:[^"]+"', "", file.read_text()))
    shots = []
    for page_file in (file, without):
        shot = tmp_path / "shot.png"
        opened(page_file, tmp_path, f"--screenshot={shot}", "--window-size=1280,6000")
        shots.append(shot.read_bytes())
    assert len(shots[0]) > 1.2 * len(shots[1])


def test_page_prints_on_paper(file, tmp_path):
    paper = tmp_path / "report.pdf"
    opened(file, tmp_path, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", paper.read_bytes()))
    assert 2 <= pages <= 8
