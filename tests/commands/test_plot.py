# SPDX-License-Identifier: BSD-3-Clause
"""`perfield plot`: which files it draws, and its answers to mistakes."""

from __future__ import annotations

import sys

import pytest

from perfield import commands
from twins import twin

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def run(tmp_path):
    """Four ranks, five steps."""
    return twin.write_run(tmp_path / "run", ranks=4, steps=5)


def plot(*words: object) -> int:
    return commands.main(["plot", *map(str, words)])


def test_all_plots_are_drawn_by_default(run, capsys):
    assert plot(run) == 0
    folder = run / "pictures/plots"
    names = ["heat_map_compute_time_s.png", "imbalance.png", "messages.png", "regions.png", "rhythm.png"]
    assert sorted(path.name for path in folder.glob("[!.]*")) == names
    header = (folder / "imbalance.png").read_bytes()[:24]
    assert header[1:4] == b"PNG"
    assert [int.from_bytes(header[at : at + 4], "big") for at in (16, 20)] == [1280, 720]
    assert str(folder / "regions.png") in capsys.readouterr().out


def test_only_names_plots_and_output_the_file(run, tmp_path):
    assert plot(run, "--only", "heat-map", "--field", "solve_time_s", "-o", tmp_path / "heat.svg") == 0
    text = (tmp_path / "heat.svg").read_text()
    assert "<svg" in text and "Solve time of each rank and step" in text
    assert "Waiting time of each rank and step" in text


def test_format_and_folder_are_chosen(run, tmp_path):
    assert plot(run, "--only", "regions,messages", "--to", "svg", "-o", tmp_path / "new") == 0
    assert sorted(path.name for path in (tmp_path / "new").glob("[!.]*")) == ["messages.svg", "regions.svg"]


def test_film_goes_to_the_plots_or_to_the_file_named(run, tmp_path, capsys):
    assert plot(run, "--phases", "circle", "--order", "phase", "--frames", "3") == 0
    assert (run / "pictures/plots/circle.gif").read_bytes()[:6] == b"GIF89a"
    assert plot(run, "--phases", "matrix", "--frames", "2", "-o", tmp_path / "m.gif") == 0
    assert f"{tmp_path / 'm.gif'}" in capsys.readouterr().out


def test_film_that_cannot_be_made_leaves_nothing(tmp_path, capsys):
    path = twin.write_run(tmp_path / "run", steps=1)
    assert plot(path, "--phases", "circle") == 2
    assert "perfield plot: " in capsys.readouterr().err and not (path / "pictures").exists()


def test_rhythm_is_beside_its_model(run, tmp_path):
    assert plot(run, "--only", "rhythm-and-model", "-o", tmp_path / "both.svg") == 0
    assert "v_p" in (tmp_path / "both.svg").read_text()


def test_plot_without_data_is_left_out_in_a_sentence(tmp_path, capsys):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=2, change_step=twin.without_calls)
    assert plot(path) == 0
    assert "no plot messages: no rank of" in capsys.readouterr().out
    assert not (path / "pictures/plots/messages.png").exists()


def test_steps_are_those_of_render(run, capsys):
    assert plot(run, "--only", "imbalance", "--steps", "2:4", "-o", run / "one.svg") == 0
    assert "heat: 4 ranks, 2 of 5 steps" in (run / "one.svg").read_text()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (
            ["--only", "heat"],
            "--only heat is not a plot; expected some of imbalance,heat_map,messages,regions,",
        ),
        (["--field", "compute"], "has no field 'compute'; did you mean compute_time_s"),
        (["-o", "all.png"], "all.png is one file, but 5 plots are to be drawn"),
        (["--only", "regions", "-o", "a.pdf"], "a.pdf ends in .pdf; expected .png or .svg"),
        (["--only", "regions", "-o", "a.png", "--to", "svg"], "ends in .png, but --to says svg"),
        (["--steps", "10"], "step 10 is not in this run, which has steps 1 to 5"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(run, capsys, words, answer):
    assert plot(run, *words) == 2
    assert answer in capsys.readouterr().err


def test_missing_matplotlib_names_the_package(run, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("perfield.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert plot(run) == 2
    assert "install the Debian package python3-matplotlib" in capsys.readouterr().err
