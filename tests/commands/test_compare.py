# SPDX-License-Identifier: BSD-3-Clause
"""`perfield compare`: its sentence, tables and JSON, and its answers to mistakes."""

from __future__ import annotations

import json

import pytest

from perfield import commands
from twins import twin


def slower(rank: int, step: int, values: dict) -> None:
    """For `change_step`: rank 2 solves for 61 ms, the others wait."""
    twin.one_hot_rank(2)(rank, step, values)


@pytest.fixture
def runs(tmp_path):
    """Two runs of four ranks and ten steps; in the second one rank is slow."""
    twin.write_run(tmp_path / "before", steps=10)
    twin.write_run(tmp_path / "after", steps=10, change_step=slower, run_id=7)
    return tmp_path / "before", tmp_path / "after"


def compare(*words: object) -> int:
    return commands.main(["compare", *map(str, words)])


def test_the_first_line_says_what_changed_and_where(runs, capsys):
    assert compare(*runs) == 0
    out = capsys.readouterr().out
    assert out.startswith("after takes ") and "times as long per step as before" in out.splitlines()[0]
    assert "before: before, 4 ranks, 10 steps" in out
    for words in ("whole step:", "efficiency:", "regions:", "  imbalance of compute", "  solve "):
        assert words in out


def test_many_regions_are_cut_short_and_reported(tmp_path, capsys):
    names = tuple(f"part{number}" for number in range(25))

    def in_all(rank, step, values):
        values["regions"] = [twin.region_row(number, 1_000_000) for number in range(1, 26)]

    for name, run_id in (("A", 1), ("B", 2)):
        twin.write_run(tmp_path / name, regions=names, change_step=in_all, run_id=run_id)
    assert compare(tmp_path / "A", tmp_path / "B") == 0
    out = capsys.readouterr().out
    assert out.count("\n  part") == 20 and "5 more regions changed less; --json lists all" in out


def test_json_holds_all_rows_with_interval_and_chance(runs, capsys):
    assert compare(*runs, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"].startswith("after takes ")
    assert found["after"] == {"name": "after", "n_ranks": 4, "n_steps": 10, "output_steps_left_out": 0}
    step = next(row for row in found["rows"] if row["key"] == "step_time_s")
    assert step["after"] == pytest.approx(0.062) and step["beyond_chance"] is True
    assert step["interval"][0] <= step["difference"] <= step["interval"][1]
    assert {row["unit"] for row in found["rows"]} == {"s", "1", "B"}


def test_steps_choose_the_same_steps_of_both_runs(runs, capsys):
    assert compare(*runs, "--steps", "3:7", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["before"]["n_steps"] == found["after"]["n_steps"] == 4


def test_two_steps_of_one_run_are_compared(runs, capsys):
    assert compare(runs[0], "--steps", "4", "5") == 0
    assert "before: step " in capsys.readouterr().out
    assert compare(runs[0], "--steps", "1:6", "6:11", "--json") == 0
    assert json.loads(capsys.readouterr().out)["after"]["n_steps"] == 5


def test_a_run_without_steps_is_compared_only_with_another_such_run(runs, tmp_path, capsys):
    for name, run_id in (("one", 5), ("two", 6)):
        twin.write_run(tmp_path / name, steps=0, run_id=run_id)
    for pair in ((tmp_path / "one", runs[0]), (runs[0], tmp_path / "one")):
        assert compare(*pair) == 2
        error = capsys.readouterr().err
        assert "one closed no steps and before did, so they have no time in common" in error
    assert compare(tmp_path / "one", tmp_path / "two") == 0
    out = capsys.readouterr().out
    assert "per step" not in out and "one step" not in out and "whole run:\n  elapsed" in out
    assert "before: one, 4 ranks, no steps" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["A"], "alone can be compared only with itself; name a second run, or two steps"),
        (["A", "--steps", "4"], "alone can be compared only with itself"),
        (["A", "A"], "are the same run"),
        (["A", "B", "A"], "expected one run or two, but found 3"),
        (["A", "--steps", "4", "4"], "names the same steps twice"),
        (["A", "--steps", "4", "100"], "step 100 is not in this run, which has steps 1 to 10"),
        (["A", "B", "--steps", "2", "3"], "two runs are compared over the same steps; give one expression"),
    ],
)
def test_mistakes_are_answered_with_what_to_do(runs, capsys, words, sentence):
    paths = {"A": runs[0], "B": runs[1]}
    assert compare(*(paths.get(word, word) for word in words)) == 2
    error = capsys.readouterr().err
    assert error.startswith("perfield compare: ") and sentence in error


def test_runs_of_one_name_are_distinguished_by_their_paths(tmp_path, capsys):
    twin.write_run(tmp_path / "one" / "run")
    twin.write_run(tmp_path / "two" / "run", run_id=7)
    assert compare(tmp_path / "one" / "run", tmp_path / "two" / "run") == 0
    assert f"before: {tmp_path / 'one' / 'run'}," in capsys.readouterr().out


def test_unknown_field_of_pictures_is_refused_with_the_nearest_name(runs, capsys):
    assert compare(*runs, "--images", "--field", "compute_tim_s") == 2
    assert "has no field 'compute_tim_s'; did you mean compute_time_s" in capsys.readouterr().err


def test_pictures_that_cannot_be_made_are_reported_and_the_tables_stay(tmp_path, capsys):
    twin.write_run(tmp_path / "two", ranks=2, mesh=False)
    twin.write_run(tmp_path / "four", ranks=4, mesh=False, run_id=7)
    assert compare(tmp_path / "two", tmp_path / "four", "--images") == 0
    out = capsys.readouterr().out
    assert "regions:" in out and "note: no picture of the mesh: " in out
    assert "note: no picture of the machine: 2 ranks before, and 4 after" in out
    assert "note: no picture of messages: two has 2 ranks, and four has 4" in out


def test_images_go_to_the_run_after_or_to_the_place_named(runs, tmp_path, capsys, monkeypatch):
    from perfield.output import images

    monkeypatch.setattr(images, "draw_images", lambda directory, planned: [])
    assert compare(*runs, "--images") == 0
    folder = runs[1] / "pictures" / "compared-with-before"
    assert (folder / "geometry.pvd").exists() and (folder / "images" / "messages.png").exists()
    assert str(folder / "topology.pvd") in capsys.readouterr().out
    assert compare(runs[0], "--steps", "2", "3", "--images", "-o", tmp_path / "new", "--json") == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert str(tmp_path / "new" / "geometry.pvd") in files


def test_tables_are_printed_even_if_images_cannot_be_drawn(runs, capsys, monkeypatch):
    from perfield.output import images

    def fail(directory, planned):
        raise images.ImagesError("no display")

    monkeypatch.setattr(images, "draw_images", fail)
    assert compare(*runs, "--images") == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("after takes ") and "regions:" in printed.out
    assert printed.err == "perfield compare: no display\n"
