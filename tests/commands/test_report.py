# SPDX-License-Identifier: BSD-3-Clause
"""perfield report: what it writes and prints, also of runs that lack much."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfield.commands import main
from twins import twin

pytest.importorskip("jinja2", reason="jinja2 is not installed")


@pytest.fixture(autouse=True)
def no_plots(request, monkeypatch):
    """Plots take long to draw; tests that need them ask for `with_plots`."""
    if "with_plots" not in request.fixturenames:
        monkeypatch.setattr("perfield.report.charts.plots", lambda report: ([], []))


@pytest.fixture
def with_plots():
    """Draws the plots of the page."""


WORDS = re.compile(r"<[^>]+>")


def words_of(run: Path, *options: str) -> str:
    """The words of the page that `perfield report` writes."""
    assert main(["report", str(run), "--no-pictures", *options]) == 0
    text = (run / "analysis" / "report.html").read_text()
    return " ".join(WORDS.sub(" ", text[text.index("<body") :]).split())


def test_page_path_and_first_findings_are_printed(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", steps=40)
    words_of(run)
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == f"report     {run}/analysis/report.html"
    assert second.startswith("1. (up to ")


def test_page_goes_where_output_says(tmp_path):
    run = twin.write_run(tmp_path / "run")
    assert main(["report", str(run), "--no-pictures", "-o", str(tmp_path / "deep" / "my.html")]) == 0
    assert "<!DOCTYPE html>" in (tmp_path / "deep" / "my.html").read_text()
    assert not (run / "analysis").exists()


def test_text_has_the_sections_and_tables_of_the_page(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", steps=40)
    assert main(["report", str(run), "--text"]) == 0
    text = capsys.readouterr().out
    titles = [
        "Findings",
        "What ran where",
        "Efficiency",
        "Imbalance of each region",
        "Slowest steps",
        "Messages",
    ]
    places = [text.index(f"\n{title}\n-") for title in titles]
    assert places == sorted(places)
    assert "<td" not in text
    assert not (run / "analysis").exists()


def test_span_joins_steps_that_make_one_of_the_program(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", steps=40)
    assert main(["report", str(run), "--text", "--span", "4"]) == 0
    assert ", 40 steps as 10 frames\n" in capsys.readouterr().out


def test_efficiency_is_that_of_the_closing_lines(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", steps=40)
    assert main(["report", str(run), "--text"]) == main(["info", str(run)]) == 0
    text = capsys.readouterr().out
    reported = re.search(r"parallel (\d+ %) = load balance (\d+ %) x communication (\d+ %)", text)
    for name, share in zip(("parallel efficiency", "load balance", "communication"), reported.groups()):
        assert re.search(rf"{name} +{share} ", text), name


def drawn_by_nobody(directory, images):
    """In place of ParaView: a white image for each."""
    from PIL import Image

    files = [directory / "images" / name for image in images for name in image["files"]]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        Image.new("RGB", (1280, 720), "white").save(file)
    return files


def pictures_of(run: Path) -> list[str]:
    """Names of the pictures on the page that `perfield report` writes."""
    assert main(["report", str(run)]) == 0
    text = (run / "analysis" / "report.html").read_text()
    return re.findall(r'<image id="data-(mesh|machine)"', text)


def test_page_has_one_picture_of_the_mesh_and_one_of_the_machine(tmp_path):
    pytest.importorskip("paraview", reason="ParaView's Python is not installed")
    run = twin.write_run(tmp_path / "run")
    assert pictures_of(run) == ["mesh", "machine"]
    assert "coloured by compute_time_s of each rank" in (run / "analysis" / "report.html").read_text()


def test_run_without_mesh_and_differences_has_no_pictures_and_says_why(tmp_path, monkeypatch):
    pytest.importorskip("vtkmodules", reason="VTK is not installed")
    monkeypatch.setattr("perfield.output.images.draw_images", drawn_by_nobody)
    run = twin.write_run(tmp_path / "run", mesh=False, change_step=twin.without_calls)
    assert pictures_of(run) == []
    page = (run / "analysis" / "report.html").read_text()
    assert "There is no picture of the mesh: no rank of" in page
    assert "There is no picture of the machine: no image of compute_time_s: 4.2 ms everywhere, in all" in page


def test_page_stays_whole_where_nothing_can_be_drawn(tmp_path, monkeypatch):
    pytest.importorskip("vtkmodules", reason="VTK is not installed")

    def fails(directory, images):
        raise OSError("images need a display, and DISPLAY is not set")

    monkeypatch.setattr("perfield.report.pictures.draw_images", fails)
    run = twin.write_run(tmp_path / "run")
    assert pictures_of(run) == []
    text = (run / "analysis" / "report.html").read_text()
    assert "no picture of mesh or machine: images need a display" in text
    assert "How this was computed" in text


def test_run_without_machine_file_says_so(tmp_path):
    words = words_of(twin.write_run(tmp_path / "run"))
    assert "The run has no description of the machine of node0" in words
    assert "not described" in words


def test_run_of_one_step_is_reported(tmp_path, with_plots):
    words = words_of(twin.write_run(tmp_path / "run", steps=1))
    assert "heat: 4 ranks on 1 host, 1 step " in words
    assert "a single step; nothing can be said about how it changes" in words


def test_one_step_answers_no_question_that_compares_steps(tmp_path, capsys):
    run = twin.write_run(tmp_path / "run", steps=1)
    assert main(["report", str(run), "--text"]) == 0
    asked, could_not_look = " ".join(capsys.readouterr().out.split()).split("Not checked: ", 1)
    for question in ("Do steps take longer", "Do ranks lose time"):
        assert question not in asked and question in could_not_look
    assert "Do ranks lose time irregularly? The run lacks steps that could be compared." in could_not_look


def test_run_without_steps_says_that_it_could_not_look(tmp_path):
    run = twin.write_run(tmp_path / "run", steps=0, ended=False, change_rank=twin.live_rank)
    words = words_of(run)
    assert "No step is finished yet" in words
    assert "perfield could not check anything" in words
    assert "found nothing" not in words


def test_whole_run_without_steps_is_one_frame(tmp_path):
    words = words_of(twin.write_run(tmp_path / "run", steps=0))
    assert "The program closed no step: one frame covers the whole run" in words
    assert "heat: 4 ranks on 1 host, no steps" in words
    assert "whole run" in words and "the first step" not in words
    assert "found nothing, but most costs show only where several steps can be compared" in words
    assert "The whole run was one step, with its setup and teardown." in words


def test_run_that_still_grows_is_reported_as_it_was_when_read(tmp_path):
    run = twin.write_run(tmp_path / "run", steps=30, ended=False, change_rank=twin.live_rank)
    grown = twin.write_run(tmp_path / "grown", steps=33, ended=False, change_rank=twin.live_rank)
    (source,), (target,) = ((path / "stream").glob("*.pf") for path in (grown, run))
    whole = source.read_bytes()
    target.write_bytes(whole[: len(target.read_bytes()) + 500])  # an entry is half written
    words = words_of(run)
    assert "The program still runs" in words
    assert re.search(r"heat: 4 ranks on 1 host, 3\d steps", words)
    assert "damage" not in words


def test_fields_that_appear_late_are_reported(tmp_path, with_plots):
    def late(rank, step, values):
        if step < 20:
            twin.without_calls(rank, step, values)

    words = words_of(twin.write_run(tmp_path / "run", steps=40, change_step=late))
    assert "isend" in words or "messages between 4 pairs" in words


def test_damaged_run_says_what_is_lost(tmp_path, with_plots):
    run = twin.write_run(tmp_path / "run", steps=40)
    (stream,) = (run / "stream").glob("*.pf")
    data = bytearray(stream.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 300] = b"x" * 300
    stream.write_bytes(data)
    words = words_of(run)
    assert "damaged" in words
    assert "of 40 steps are left out" in words


def test_rank_that_never_checked_in_is_reported(tmp_path):
    def larger(rank, values):
        values["size"] = 5

    assert "1 of 5 ranks never checked in" in words_of(twin.write_run(tmp_path / "run", change_rank=larger))


def test_run_without_mpi_says_what_it_could_not_look_for(tmp_path, with_plots):
    run = twin.write_run(
        tmp_path / "run", change_rank=twin.without_mpi, change_step=twin.without_calls, steps=20
    )
    words = words_of(run)
    assert "Parallel efficiency is not known: MPI was not measured" in words
    assert re.search(r"Not checked: .+? The run lacks .*mpi", words)


def test_names_that_hold_html_formulas_and_broken_bytes_are_shown_as_they_are(tmp_path, with_plots):
    names = ("<script>alert(1)</script>", "a\x1b[31m$\\frac{x$\udcff\u202e")
    run = twin.write_run(tmp_path / "run", regions=names, hosts=("<b>&",))
    assert main(["report", str(run), "--no-pictures"]) == 0
    text = (run / "analysis" / "report.html").read_text()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "&lt;b&gt;&amp;" in text
    assert "\x1b" not in text and "\u202e" not in text
    assert r"a\x1b[31m$\frac{x$" in text


def test_page_without_matplotlib_stays_whole(tmp_path, with_plots, monkeypatch):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name)
    )
    words = words_of(twin.write_run(tmp_path / "run"))
    assert "The plots are missing: they need matplotlib" in words
    assert "Slowest steps" in words


def test_missing_jinja_is_reported_with_its_package(tmp_path, monkeypatch, capsys):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jinja2" else found(name))
    assert main(["report", str(twin.write_run(tmp_path / "run")), "--no-pictures"]) == 2
    assert "pip install 'perfield[report]'" in capsys.readouterr().err
