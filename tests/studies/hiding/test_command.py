# SPDX-License-Identifier: BSD-3-Clause
"""`perfield lab hide`: the model's study, studies of records, pages, and answers to mistakes."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import xarray as xr

from perfield import commands
from perfield.studies.hiding.matvecs import FIELDS, SECONDS
from perfield.studies.hiding.model.presets import PRESETS
from perfield.studies.hiding.model.scaled import nearly_a_cube

SMALL = ("--matvecs", 300, "--repeats", 2, "--combine", 2, "-n", 8)
ONCE = ("--launcher", "", "--matvecs", 30, "--repeats", 1, "--combine", 1)
KINDS = [(name, "f8" if name in (*SECONDS, "alpha") else "i4") for name in FIELDS]
# Stands in for the solver: writes a record whose times say which method and repeat it is of.
FAKE = """#!{python}
import json, pathlib, sys
import numpy as np
words = sys.argv[1:]
given = {{words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}}
if given["--method"] == "broken":
    sys.exit("poisson: --method is fixed, not 'broken'.")
folder = pathlib.Path(given["--output"])
folder.mkdir(parents=True)
method, n = given["--method"], int(given["--matvecs"])
order = pathlib.Path("order.txt")
order.write_text((order.read_text() if order.exists() else "") + method + " ")
for rank in range(2):
    rows = np.zeros(n, {kinds})
    rows["t_in"] = rows["t_out"] = {{"fixed": 2e-3, "dynamic": 1e-3, "test": 5e-4}}[method]
    rows["w_out"] = {{"fixed": 1e-3, "dynamic": 0, "test": 0}}[method]
    rows["alpha"], rows["n_inner1"], rows["n_inner2"] = 0.5, 40, 60
    np.save(folder / f"matvec.{{rank}}.npy", rows)
study = {{"method": method, "eps": 5e-5, "latencies_injected": {injected}, "injected_by": "m.json"}}
(folder / "study.json").write_text(json.dumps(study))
"""


def hide(*words: object) -> int:
    return commands.main(["lab", "hide", *map(str, words)])


def as_json(capsys, *words: object) -> dict:
    assert hide(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def solver(tmp_path, monkeypatch):
    """A fake solver, and the working directory in which it runs."""

    def make(injected: bool = False):
        path = tmp_path / "poisson"
        path.write_text(FAKE.format(python=sys.executable, kinds=KINDS, injected=injected))
        path.chmod(0o755)
        return path

    monkeypatch.chdir(tmp_path)
    return make


def test_model_keeps_hidden_share_and_share_of_the_fast_regime_apart(capsys):
    assert hide("--matvecs", 250, "--repeats", 1, "--combine", 1, "-n", 8) == 0
    text = capsys.readouterr().out
    assert text.startswith("Model, congestion begins in 12 % of the MatVecs: 8 ranks (2 x 2 x 2) with ")
    assert "Hidden share, of MatVecs whose two waits stayed within 100 µs: " in text
    assert "Share of steps in the fast regime, by a fit of each method: " in text
    assert "(Heldman, Rudi and Bessac, ICS '25), on 7,168 cores of Anvil, are 47 % (fixed)" in text
    assert "latencies drawn" in text
    assert "hidden_%" in text and "fast_pooled_%" in text and "gain: time saved against the first" in text


def test_json_holds_each_method_and_which_runs_were_combined(capsys):
    found = as_json(capsys, *SMALL, "--no-regimes")
    assert found["source"] == "model" and found["ranks"] == 8 and found["repeats"] == 2
    fixed, dynamic, test = (found["methods"][name] for name in ("fixed", "dynamic", "test"))
    assert fixed["hidden_share"] < test["hidden_share"]
    assert sorted(dynamic["chosen"]) == [0, 1]
    assert fixed["gain_half"] is None and test["gain_half"] > 3
    assert fixed["fast_share"] is None
    assert any("of 2 (fixed " in sentence for sentence in found["sentences"])


def test_sweep_is_a_row_for_each_setting_and_method(capsys):
    words = ("--matvecs", 50, "--repeats", 1, "--combine", 1, "--no-regimes")
    found = as_json(capsys, *words, "-n", "8,27", "--elements", "1000,18720")
    assert [(one["ranks"], one["parameters"]["n_elements"]) for one in found] == [
        (8, 1000),
        (8, 18720),
        (27, 1000),
        (27, 18720),
    ]
    assert found[1]["setting"] == "often-congested-8-ranks-18720-elements"  # of its row, page and plots
    assert found[0]["parameters"]["compute_s"] == pytest.approx(1.65e-3 * 1000 / 18720)
    assert hide(*words, "-n", "8,27") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * 3


def test_all_settings_are_a_table(capsys):
    assert hide("--setting", "all", "--matvecs", 20, "--repeats", 1, "--combine", 1, "--no-regimes") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 3 * len(PRESETS)
    assert hide("--settings") == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in PRESETS)


def test_blocks_are_nearly_cubes():
    assert nearly_a_cube(18720) == (24, 26, 30)
    assert nearly_a_cube(64) == (4, 4, 4)
    assert nearly_a_cube(7) == (1, 1, 7)


def test_methods_of_the_solver_run_in_turn_and_are_evaluated(capsys, solver, tmp_path):
    words = ("--solver", solver(), "--launcher", "", "--matvecs", 30, "--repeats", 2, "--combine", 1)
    found = as_json(capsys, *words, "--no-regimes", "--records", "study")
    assert (tmp_path / "order.txt").read_text().split() == [
        *("fixed", "dynamic", "test"),
        *("dynamic", "test", "fixed"),
    ]
    assert found["source"] == "measured" and not found["injected"]
    assert [found["methods"][m]["hidden_share"] for m in ("fixed", "dynamic", "test")] == [0, 1, 1]
    assert found["methods"]["dynamic"]["gain_half"] == pytest.approx(50)
    again = as_json(capsys, "--from", "study", "--no-regimes", "--combine", 1)
    assert again["methods"] == found["methods"]


def test_disturbed_work_gets_a_note(capsys, solver, tmp_path):
    assert hide("--solver", solver(), *ONCE, "--no-regimes", "--records", "study") == 0
    assert "note:" not in capsys.readouterr().out
    file = tmp_path / "study" / "2-ranks-18720-elements" / "fixed-0" / "matvec.0.npy"
    rows = np.load(file)
    rows["t_out"][:10] *= 3
    np.save(file, rows)
    assert hide("--from", "study", "--combine", 1, "--no-regimes") == 0
    assert (
        "note: 5.6 % of the MatVecs computed more than 1.2 times as long as the median"
        in capsys.readouterr().out
    )


def test_injected_latencies_are_always_named(capsys, solver):
    words = ("--solver", solver(injected=True), *ONCE)
    assert hide(*words, "--no-regimes", "--records", "study") == 0
    assert capsys.readouterr().out.startswith("Measured, with latencies injected: 2 ranks")
    assert as_json(capsys, "--from", "study", "--combine", 1, "--no-regimes")["injected"] == "m.json"


def test_page_holds_numbers_and_plots_and_says_model(capsys, tmp_path):
    page, data = tmp_path / "page.html", tmp_path / "study.nc"
    assert hide(*SMALL, "--no-regimes", "--html", page, "--output", data) == 0
    text = page.read_text()
    assert "A discrete-event model under drawn latencies. Nothing here was measured." in text
    assert text.count("<figure>") >= 4 and "gain, fastest half (%)" in text and "<style>" in text
    saved = xr.open_dataset(data, engine="scipy")
    assert list(saved["splitting"].values.astype(str)) == ["fixed", "dynamic", "test"]
    assert saved["time_s"].shape == (3, 8, 300)


def test_study_is_never_overwritten(capsys, solver):
    words = ("--solver", solver(), *ONCE, "--no-regimes")
    assert hide(*words) == 0
    assert hide(*words) == 2
    assert "exists already and was left as it is; name another --records" in capsys.readouterr().err


def test_model_to_inject_is_read_before_anything_runs(capsys, solver, tmp_path):
    (tmp_path / "old.json").write_text('{"perfield_regimes": 0}')
    assert hide("--solver", solver(), *ONCE, "--inject", tmp_path / "old.json", "--records", "none") == 2
    said = capsys.readouterr().err
    assert said.startswith("perfield lab hide: ") and "old.json: this model of regimes has version 0" in said


def test_solver_that_fails_is_quoted(capsys, solver):
    words = ("--solver", solver(), "--launcher", "", "--methods", "broken", "--repeats", 1, "--combine", 1)
    assert hide(*words) == 2
    assert "ended with exit code 1" in (said := capsys.readouterr().err)
    assert "poisson: --method is fixed, not 'broken'." in said


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--setting", "figure"), "the preset 'figure' is unknown; choose one of often-congested"),
        (("-n", "1"), "one rank has no neighbour, so nothing can be hidden; give 2 ranks or more"),
        (("-n", "two"), "-n two: 'two' is not a number of them"),
        (("--elements", "3x4"), "--elements 3x4: '3x4' is no block; expected 18720 or 26x24x30"),
        (("--repeats", "2"), "--combine 3 needs as many repeats, but --repeats is 2"),
        (("--matvecs", "0"), "--matvecs 0 is nothing to run"),
        (("--methods", ","), "--methods names none"),
        (("--theta", "2"), "theta = 2 is not a share of a step"),
        (("--eps", "0"), "--eps 0 is not a time; give one above 0, in s"),
        (("--from", ".", "--eps", "-0.1"), "--eps -0.1 is not a time"),
        (("--solver", "nowhere"), "--solver nowhere is not a program; build it: cmake -S testcase/poisson"),
        (("--from", "nowhere"), "--from nowhere holds no records"),
        (("--inject", "model.json"), "--inject needs a program; name the solver with --solver"),
        (("--output", "study.txt"), "--output study.txt is not a Dataset"),
    ],
)
def test_mistakes_are_answered_with_the_remedy(capsys, words, text):
    assert hide(*words) == 2
    assert text in capsys.readouterr().err
