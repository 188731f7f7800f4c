# SPDX-License-Identifier: BSD-3-Clause
"""The gallery: its table of pages, and the pages of a tiny run."""

from __future__ import annotations

import importlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.vtkCommonDataModel import vtkImageData

from twins import twin

FOLDER = Path(__file__).resolve().parents[2] / "testcase/gallery"
MODULES = ("pages", "runs", "synthetic", "rhythm", "regimes", "make_gallery", "motorbike")


@pytest.fixture
def gallery(monkeypatch):
    """The modules of testcase/gallery by name, which are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in MODULES:
        monkeypatch.delitem(importlib.sys.modules, name, raising=False)
    return {name: importlib.import_module(name) for name in MODULES}


@pytest.fixture
def tiny(gallery, monkeypatch, tmp_path):
    """Makes pages from a run of 4 ranks on 2 hosts, whatever run they name; returns their folder."""

    def make(name: str, folder: Path, say) -> Path:
        if name == "impossible":
            raise gallery["runs"].NotMadeError("this machine has no such hosts")
        run = folder / "perfield-run"
        if not run.exists():
            steps = 6 if name.startswith("rhythm") else 2
            twin.write_run(run, ranks=4, steps=steps, hosts=("a", "b"))
            (folder / "made.json").write_text(json.dumps({"words": "a tiny run"}))
        return run

    monkeypatch.setattr(gallery["runs"], "make", make)
    return tmp_path


@pytest.fixture
def page(gallery, monkeypatch):
    """page(panel, ...): the only page of the table."""

    def make(*panels):
        only = gallery["pages"].Page("7.2", "Two ranks", "The right one is bright.", panels)
        monkeypatch.setattr(gallery["make_gallery"], "PAGES", (only,))
        return only

    return make


def test_table_names_each_figure_once(gallery):
    numbers = [page.number for page in gallery["pages"].PAGES]
    figures = ["6.1", *(f"7.{n}" for n in range(1, 37)), *(f"A.{n}" for n in range(1, 5))]
    assert [number for number in numbers if not number.startswith("S.")] == figures
    assert len(set(numbers)) == len(numbers)


def test_each_page_has_images_or_a_reason(gallery):
    for page in gallery["pages"].PAGES:
        assert bool(page.panels) != bool(page.why_not), page.number
        assert page.see.endswith(".") and "\n" not in page.see, page.number


def test_all_runs_of_the_table_are_known(gallery):
    wanted = {panel.run for page in gallery["pages"].PAGES for panel in page.panels}
    assert wanted == set(gallery["runs"].names())


def test_pages_on_rhythm_name_the_figures_of_the_paper_and_five_programs(gallery):
    pages = gallery["rhythm"].PAGES
    assert {"O.1", "O.2", "O.4", "O.5", "O.6", "O.7", "O.8", "O.9"} <= {page.number for page in pages}
    measured = {panel.run for page in pages for panel in page.panels} - {""}
    assert measured == set(gallery["runs"].RHYTHMS)
    assert {panel.fields[0] for page in pages for panel in page.panels} == set(gallery["rhythm"].DRAWN)
    numbers = [page.number for page in (*gallery["pages"].PAGES, *pages)]
    assert len(set(numbers)) == len(numbers)


def test_page_of_a_model_needs_no_run(gallery, tmp_path, capsys):
    (wanted,) = [page for page in gallery["rhythm"].PAGES if page.number == "O.4"]
    assert gallery["make_gallery"].make_pages([wanted], tmp_path) == []
    assert "![the chains of the figures](O.4-a.png)" in (tmp_path / "O.4.md").read_text()
    assert (tmp_path / "O.4-a.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert gallery["make_gallery"].make_pages([wanted], tmp_path) == []
    assert capsys.readouterr().out == "", "nothing is drawn again"


def test_page_of_a_measured_program_shows_it_beside_its_model(gallery, tiny, monkeypatch):
    monkeypatch.setattr(gallery["rhythm"], "FILM_FRAMES", 2)
    (wanted,) = [page for page in gallery["rhythm"].PAGES if page.number == "O.jacobi"]
    assert gallery["make_gallery"].make_pages([wanted], tiny) == []
    text = (tiny / "O.jacobi.md").read_text()
    for image in ("O.jacobi-a.png", "O.jacobi-b.png", "O.jacobi-c.gif"):
        assert f"({image})" in text and (tiny / image).exists()
    assert "Run `rhythm-jacobi`: a tiny run." in text


def test_pages_on_regimes_name_the_figures_of_the_paper_and_their_sources(gallery):
    pages = gallery["regimes"].PAGES
    assert [page.number for page in pages] == [f"R.{number}" for number in range(1, 14)]
    panels = [panel for page in pages for panel in page.panels]
    assert {panel.fields[0] for panel in panels} == set(gallery["regimes"].DRAWN)
    assert {panel.run for panel in panels} == {"", *gallery["runs"].STUDIES}
    for panel in panels:
        assert panel.words.startswith("Measured: " if panel.run else "Model: ")


def test_page_of_a_model_of_regimes_needs_no_run(gallery, monkeypatch, tmp_path):
    monkeypatch.setattr(gallery["regimes"], "N_MATVECS", 200)
    panel = next(page for page in gallery["regimes"].PAGES if page.number == "R.2").panels[0]
    gallery["regimes"].draw(panel, None, tmp_path / "densities.png")
    assert (tmp_path / "densities.png").read_bytes().startswith(b"\x89PNG")


def test_page_of_a_record_says_that_it_was_measured(gallery, monkeypatch, tmp_path):
    def make(name: str, folder: Path, say) -> Path:
        for number, method in enumerate(gallery["runs"].METHODS):
            write_record(folder / "perfield-run" / method, seed=number)
        (folder / "made.json").write_text(json.dumps({"words": "two ranks"}))
        return folder / "perfield-run"

    monkeypatch.setattr(gallery["runs"], "make", make)
    (page,) = [page for page in gallery["regimes"].PAGES if page.number == "R.5"]
    page = replace(page, panels=page.panels[1:])
    assert gallery["make_gallery"].make_pages([page], tmp_path) == []
    text = (tmp_path / "R.5.md").read_text()
    assert "## Measured: dynamic alpha, CG" in text and "nothing is injected" in text
    assert "Run `poisson-cg`: two ranks." in text and (tmp_path / "R.5-a.png").exists()


def write_record(folder: Path, seed: int) -> None:
    """What testcase/poisson writes: two ranks whose waits a congestion of some MatVecs lengthens."""
    from known_runs.planted_regimes import two_levels

    from perfield.studies.hiding.matvecs import FIELDS
    from perfield.studies.regimes.model import simulated

    folder.mkdir(parents=True)
    times = simulated(two_levels(), 2, 300, seed)["time_s"].values
    for rank, time_s in enumerate(times):
        rows = np.zeros(len(time_s), [(name, float) for name in FIELDS])
        rows["matvec"] = np.arange(len(time_s))
        rows["alpha"], rows["n_inner1"], rows["n_inner2"], rows["n_mirror"] = 0.5, 50, 50, 10
        rows["w_in"] = rows["w_out"] = time_s / 4
        rows["t_in"] = rows["t_out"] = time_s / 2
        rows["t_start"] = np.cumsum(time_s)
        np.save(folder / f"matvec.{rank}.npy", rows)
    (folder / "study.json").write_text(json.dumps({"method": "fixed", "eps": 1e-5}))


def test_page_of_a_tiny_run_is_made_and_kept(gallery, page, tiny, capsys):
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    panel = gallery["pages"].Panel
    wanted = page(
        panel("tiny", "geometry", ("compute_time_s",), "on the mesh"),
        panel("tiny", "topology", ("measurements/compute_time_s", "messages/source"), "on the machine"),
        panel("tiny", "matrix", ("sent_bytes",), "as a matrix"),
    )
    assert gallery["make_gallery"].make_pages([wanted], tiny) == []
    text = (tiny / "7.2.md").read_text()
    assert "**What to see:** The right one is bright." in text
    assert "Run `tiny`: a tiny run." in text
    for letter, words in zip("abc", ("on the mesh", "on the machine", "as a matrix")):
        assert f"![{words}](7.2-{letter}.png)" in text
        assert (tiny / f"7.2-{letter}.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert gallery["make_gallery"].make_pages([wanted], tiny) == []
    assert capsys.readouterr().out == "", "nothing is drawn again"


def test_page_that_cannot_be_made_says_why(gallery, page, tiny):
    wanted = page(gallery["pages"].Panel("impossible", "geometry", ("rank",), "its ranks"))
    assert gallery["make_gallery"].make_pages([wanted], tiny) == ["7.2"]
    assert "This page was not made: this machine has no such hosts" in (tiny / "7.2.md").read_text()


def test_unknown_field_is_named_on_its_page(gallery, page, tiny):
    wanted = page(gallery["pages"].Panel("tiny", "geometry", ("no_such_field",), "nothing"))
    assert gallery["make_gallery"].make_pages([wanted], tiny) == ["7.2"]
    assert "the pictures have no no_such_field" in (tiny / "7.2.md").read_text()


def test_both_sides_share_camera_and_colours(gallery, page, tiny):
    panel = gallery["pages"].Panel
    fields = ("solve_time_s", "exchange_time_s")
    wanted = page(*(panel("tiny", "geometry", (field,), field) for field in fields))
    work = gallery["make_gallery"].Work(wanted)
    work.made = [gallery["runs"].make("tiny", tiny / "tiny", print)] * 2
    left, right = gallery["make_gallery"].jobs_of(work, tiny)
    assert left["boxes"] == right["boxes"]
    assert left["scales"]["solve_time_s"] == right["scales"]["exchange_time_s"] == [0.0, 0.004]


def test_ranks_of_a_periodic_box_have_six_partners(gallery):
    found = gallery["synthetic"].partners(0, (4, 4, 4))
    assert sorted(peer for peer, _ in found) == [1, 3, 4, 12, 16, 48]
    assert {peer for peer, _ in gallery["synthetic"].partners(0, (4, 4, 4), periodic=False)} == {1, 4, 16}


def test_stand_in_says_what_it_takes(build_case, mpi):
    done = mpi.run(1, build_case("gallery") / "flow")
    assert done.returncode != 0
    assert "flow turbine|wing" in done.stderr


def test_faces_that_two_pieces_share_are_not_drawn_as_the_bike(gallery):
    pieces = [vtkImageData(), vtkImageData()]  # of 2 x 2 x 2 cells, beside each other along x
    for piece, x in zip(pieces, (0.0, 1.0)):
        piece.SetDimensions(3, 3, 3)
        piece.SetSpacing(0.5, 1.0, 0.5)
        piece.SetOrigin(x, -1.0, 0.0)
    (bike, floor, _), (other_bike, _, _) = gallery["motorbike"].placed(pieces)
    assert bike.GetNumberOfPolys() == other_bike.GetNumberOfPolys() == 4 + 2 * 4 + 4  # an end, sides and top
    assert floor.GetNumberOfPolys() == 2  # before the bike's middle, y = 0
    assert other_bike.GetPoint(0)[0] - bike.GetPoint(0)[0] == pytest.approx(1.0 + gallery["motorbike"].APART)
