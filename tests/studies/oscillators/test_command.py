# SPDX-License-Identifier: BSD-3-Clause
"""`perfield lab oscillate`: its sentences, files, scans and answers to mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.io import mmwrite
from scipy.sparse import coo_matrix, eye, save_npz

from perfield import commands
from perfield.studies.oscillators.model.configured import KEYS
from perfield.studies.oscillators.model.presets import PRESETS

PAGE = Path(__file__).resolve().parents[3] / "python/perfield/studies/oscillators/README.md"
MODEL = """
[topology]
kind = "chain"
ranks = 5
[potential]
name = "tanh"
steepness = 5
[initial]
kind = "delayed"
periods = 0.5
[times]
end_s = 40
count = 81
[noise]
size = 0.1
until = 20
"""


@pytest.fixture
def model(tmp_path):
    """A TOML file of a small model with noise."""
    path = tmp_path / "model.toml"
    path.write_text(MODEL)
    return path


def oscillate(*words: object) -> int:
    return commands.main(["lab", "oscillate", *map(str, words)])


def numbers(capsys, *words: object) -> dict:
    assert oscillate(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_figure_5_settles_and_its_head_moves_at_one_oscillator_per_second(capsys):
    # Prototype (P = 18, s = 18, v_p = 1): R >= 0.99 from 109.5 s, spread <= 5 % from 114.0 s, R_min .806.
    found = numbers(capsys, "--preset", "figure-5", "--max-plus")
    assert found["state"] == "synchronised"
    assert found["settled_99_s"] == pytest.approx(109.5, abs=0.5)
    assert found["spread_below_5_percent_s"] == pytest.approx(114, abs=0.5)
    assert found["least_order_parameter"] == pytest.approx(0.806, abs=0.001)
    assert found["fronts"][1]["speed_per_s"] == pytest.approx(1.0, abs=0.1)
    assert found["fronts"][1]["predicted_per_s"] == pytest.approx(1.0)
    assert found["locked"] and found["zero_modes"] == 1
    assert found["max_plus"]["spread_periods"] == pytest.approx(0.75)


def test_figure_9_ends_in_clusters_that_are_locked(capsys):
    assert oscillate("--preset", "figure-9") == 0
    out = capsys.readouterr().out
    assert out.startswith("Figure 9: desynchronisation, bottlenecked.\n")
    assert (
        "They end in clusters: 0.667 periods lie between the last and the first (R = 0.419), in 3 groups."
        in out
    )
    assert "They are locked, and stably so: 1 shift of the phases is free" in out


def test_wavefront_says_its_slope(capsys):
    assert oscillate("--preset", "wavefront") == 0
    # Closed form: neighbours are 2 sigma / 3 apart, 1 / (3 pi) of a period for sigma = 1.
    assert "They end as a wavefront" in (out := capsys.readouterr().out)
    assert f"each is {1 / (3 * np.pi):+.4f} periods from the one before it, by rank" in out


def test_max_plus_hands_a_late_rank_on(capsys):
    words = ("--set", "initial.kind=delayed", "--set", "initial.periods=0.75", "--max-plus")
    found = numbers(capsys, "--preset", "figure-5", *words)
    assert found["title"].endswith("changed")
    assert found["max_plus"]["waiting_ranks"] == 17 and found["max_plus"]["last_hit_step"] == 16
    assert found["max_plus"]["spread_periods"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("ending", ["nc", "zarr"])
def test_a_saved_result_repeats_itself(ending, model, tmp_path, capsys):
    pytest.importorskip("zarr") if ending == "zarr" else None
    first, second = tmp_path / f"first.{ending}", tmp_path / f"second.{ending}"
    assert oscillate("--config", model, "--set", "seed=7", "--output", first) == 0
    assert f"again: perfield lab oscillate --config {first}" in capsys.readouterr().out
    assert oscillate("--config", first, "--output", second) == 0
    engine = {"engine": "scipy"} if ending == "nc" else {"engine": "zarr"}
    with xr.open_dataset(first, **engine) as one, xr.open_dataset(second, **engine) as two:
        np.testing.assert_array_equal(one.phase.values, two.phase.values)
        assert one.attrs["seed"] == two.attrs["seed"] == 7
        assert json.loads(one.attrs["parameters"])["noise"]["size"] == 0.1


def test_shown_config_gives_the_same_model(model, tmp_path, capsys):
    assert oscillate("--preset", "figure-7", "--set", "noise.kind=white", "--show-config") == 0
    shown = tmp_path / "shown.toml"
    shown.write_text(capsys.readouterr().out)
    words = ("--set", "times.end_s=5", "--set", "times.count=11")
    first = numbers(capsys, "--preset", "figure-7", "--set", "noise.kind=white", *words)
    assert numbers(capsys, "--config", shown, *words) == first


def test_stops_and_stages_survive_as_toml(model, tmp_path, capsys):
    model.write_text(
        f"{MODEL}[program]\nfrequency = {{starts = [0.0, 3.0], values = [6.0, 5.0]}}\n"
        "[coupling]\nv_p = 2\n[[stops]]\nrank = 3\nstart_s = 2\nsteps = 4\n"
    )
    assert oscillate("--config", model, "--show-config") == 0
    shown = tmp_path / "shown.toml"
    shown.write_text(capsys.readouterr().out)
    first = numbers(capsys, "--config", model)
    assert numbers(capsys, "--config", shown) == first
    assert first["largest_spread_periods"] > 2


def test_preset_in_the_file_is_changed_by_its_tables(tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text('preset = "wavefront"\n[potential]\nsigma = 0.9\n')
    found = numbers(capsys, "--config", path)
    assert found["slope_periods"] == pytest.approx(0.9 / (3 * np.pi), rel=1e-6)


@pytest.mark.parametrize("ending", ["mtx", "npz"])
def test_topology_comes_from_a_matrix_beside_the_file(ending, model, tmp_path, capsys):
    matrix = coo_matrix(np.eye(5, k=-1))
    mmwrite(tmp_path / "T.mtx", matrix) if ending == "mtx" else save_npz(tmp_path / "T.npz", matrix)
    first = numbers(capsys, "--config", model)
    model.write_text(MODEL.replace('kind = "chain"\nranks = 5', f'file = "T.{ending}"'))
    assert numbers(capsys, "--config", model) == first


def test_scan_shows_where_order_begins(tmp_path, capsys):
    # Kuramoto with Lorentzian frequencies: K_c = 2 width; R = sqrt(1 - K_c / K) above.
    path = tmp_path / "kuramoto.toml"
    path.write_text(
        '[topology]\nkind = "all_to_all"\nranks = 100\n[potential]\nname = "sine"\n'
        '[program]\nfrequency = 6.0\nwidth = 0.5\n[initial]\nkind = "disordered"\n'
        "[times]\nend_s = 40\ncount = 81\n[solver]\nrtol = 1e-5\n"
    )
    target = tmp_path / "scan.nc"
    assert oscillate("--config", path, "--scan", "coupling.v_p=0.4,2,4", "--output", target) == 0
    table = capsys.readouterr().out
    assert "coupling_v_p" in table and str(target) in table
    with xr.open_dataset(target, engine="scipy") as found:
        below, *above = found.order_parameter.values
        assert below < 0.25
        np.testing.assert_allclose(above, np.sqrt(1 - 1 / np.array([2.0, 4.0])), atol=0.04)


def test_scan_of_two_keys_is_a_grid(model, capsys):
    words = ("--scan", "topology.bidirectional=false,true", "--scan", "potential.steepness=1:5:3")
    rows = numbers(capsys, "--config", model, "--set", "times.end_s=2", *words)
    assert len(rows) == 6
    assert {row["topology_bidirectional"] for row in rows} == {False, True}


def test_model_of_a_run_takes_its_topology_and_times(delayed_run, capsys):
    assert oscillate("--from-run", delayed_run, "--max-plus") == 0
    out = capsys.readouterr().out
    assert "8 oscillators with 7 edges (one way)" in out and "t_comp = " in out and "v_p = " in out
    assert re.search(r"\d ranks would wait for the delay, the last one in step \d", out)
    found = numbers(capsys, "--from-run", delayed_run, "--preset", "figure-9")
    assert found["oscillators"] == 8 and found["title"].startswith("model of")


def test_model_of_a_run_follows_its_stages_and_weights(delayed_run, capsys):
    assert oscillate("--from-run", delayed_run, "--stages", "--eager-limit", 10, "--steps", "5:20") == 0
    out = capsys.readouterr().out
    assert "messages over 7 edges, no output" in out and "eager limit given as 10 B" in out
    places = "node=0.5,package=0.5"
    assert oscillate("--from-run", delayed_run, "--weight", "bytes", "--by-place", places) == 0
    assert "8 oscillators with 7 edges (one way)" in capsys.readouterr().out


def test_keys_in_the_docs_are_those_of_the_command(capsys):
    assert oscillate("--keys") == 0
    table = capsys.readouterr().out
    assert table in PAGE.read_text(), "copy the output of: perfield lab oscillate --keys"
    assert all(f"| `{key}` |" in table for keys in KEYS.values() for key in keys)


def test_help_names_all_presets(capsys):
    with pytest.raises(SystemExit):
        oscillate("--help")
    out = capsys.readouterr().out
    assert [name for name in PRESETS if name.replace("_", "-") not in out] == []


def test_page_is_drawn(model, tmp_path):
    pytest.importorskip("matplotlib")
    target = tmp_path / "page.png"
    assert oscillate("--config", model, "--plot", target) == 0
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no model is named; give --config model.toml, --preset figure-5 or --from-run perfield-run."),
        (["--preset", "figure-10"], "preset = 'figure-10' is unknown; did you mean figure_"),
        (["--preset", "figure-5", "--set", "noise.sized=1"], "'noise.sized' is unknown; did you mean size?"),
        (["--preset", "figure-5", "--set", "noise.size"], "--set noise.size lacks a value; write KEY=VALUE"),
        (["--preset", "figure-5", "--output", "x.csv"], "--output x.csv is not a Dataset; expected a name"),
        (["--preset", "figure-5", "--plot", "x.pdf"], "--plot x.pdf is not a picture; end it in .png or "),
        (["--preset", "figure-5", "--steps", "3"], "--steps chooses steps of a run; name the run with"),
        (["--preset", "figure-5", "--stages"], "--stages takes stages of a run; name the run with"),
        (["--from-run", "run", "--stages", "--weight", "bytes"], "--stages has weights of its own"),
        (["--preset", "figure-5", "--by-place", "node=1"], "--by-place weighs edges of a run; name the run"),
        (["--preset", "figure-5", "--scan", "seed"], "--scan seed lacks values; write KEY=1,2,5"),
        (["--preset", "figure-5", "--scan", "seed=1:x:2"], "--scan seed=1:x:2 has no numbers to scan"),
        (
            ["--config", "absent.toml"],
            "absent.toml does not exist; `perfield lab oscillate --preset figure-5",
        ),
    ],
)
def test_mistakes_are_reported_with_a_remedy(words, sentence, capsys):
    assert oscillate(*words) == 2
    assert sentence in capsys.readouterr().err


def test_a_scan_with_a_picture_is_refused_before_it_runs(model, tmp_path, capsys):
    assert oscillate("--config", model, "--scan", "seed=1,2", "--plot", tmp_path / "page.png") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--plot draws one result; leave out --scan." in captured.err


def test_a_file_that_is_no_toml_or_no_result_is_reported(model, tmp_path, capsys):
    model.write_text("[topology\n")
    assert oscillate("--config", model) == 2
    assert f"{model} is not TOML: " in capsys.readouterr().err
    broken = tmp_path / "broken.nc"
    broken.write_text("nothing")
    assert oscillate("--config", broken) == 2
    assert f"{broken} is not a saved result: " in capsys.readouterr().err


def test_a_matrix_with_a_diagonal_is_refused(model, tmp_path, capsys):
    save_npz(tmp_path / "T.npz", eye(3).tocsr())
    model.write_text(MODEL.replace('kind = "chain"\nranks = 5', 'file = "T.npz"'))
    assert oscillate("--config", model) == 2
    assert "rank 0 would receive from itself; leave such edges out." in capsys.readouterr().err
