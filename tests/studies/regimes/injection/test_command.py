# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab inject: draws latencies from a model, runs the program with them, and says so everywhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

import perfield
from perfield import commands
from perfield.derived.injected import is_injected
from perfield.studies.regimes.injection.latencies import read_trace
from perfield.studies.regimes.model import Model

MODEL = Model(
    emission="log-gaussian",
    location=np.log([200e-6, 3000e-6]),
    scale=[0.05, 0.05],
    dof=None,
    start=[0.5, 0.5],
    transition=[[0.9, 0.1], [0.1, 0.9]],
    regime=[0, 1],
    field="waits of a halo exchange",
)
EXCHANGE = """
#include "perfield.h"
#include <mpi.h>
int main(int argc, char** argv) {
  int rank;
  double in, out = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  perfield_initialize();
  for (int s = 0; s < 40; ++s) {
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, 1 - rank, 0, &in, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    perfield_step(s, s);
  }
  MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def program(build_c, perfield_flags):
    """40 steps of two ranks, each with one message each way."""
    return build_c(EXCHANGE, *perfield_flags("--libs"))


@pytest.fixture(scope="module")
def injected(program, perfield_cli, tmp_path_factory):
    """The folder in which `perfield lab inject` ran, and what it said."""
    folder = tmp_path_factory.mktemp("inject")
    (folder / "model.json").write_text(MODEL.to_json())
    result = perfield_cli(
        "lab",
        "inject",
        "--model",
        "model.json",
        "--seed",
        "7",
        "--series",
        "2",
        "-n",
        "2",
        program,
        cwd=folder,
    )
    assert result.returncode == 0, result.stderr
    return folder, result


def test_latency_of_each_rank_and_step_is_that_of_the_trace(injected):
    folder, _ = injected
    latency_s, _ = read_trace(folder / "perfield-latencies")
    run = perfield.open(folder / "perfield-run")
    injected_s = np.array([run.frame(k).values["injected_latency_s"] for k in range(len(run))])
    np.testing.assert_allclose(injected_s.T, latency_s[:, :40])
    step_s = np.array([run.frame(k).values["step_time_s"] for k in range(len(run))])
    slow = latency_s[:, :40] > 1e-3
    assert 5 < slow.sum() < 75
    # A rank may begin a step after the other has sent; the quickest of many slow steps is slow all the same.
    assert np.median(step_s.T[slow]) > 1.5e-3


def test_same_seed_draws_the_same_trace(program, injected, tmp_path, monkeypatch):
    folder, _ = injected
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text(MODEL.to_json())
    options = ["--model", "model.json", "--series", "2", "--trace", "t"]
    for seed, same in (("7", True), ("8", False)):
        dry = ["--seed", seed, "--dry-run", "-n", "2"]
        assert commands.main(["lab", "inject", *options, *dry, str(program)]) == 0
        assert ((tmp_path / "t").read_bytes() == (folder / "perfield-latencies").read_bytes()) is same


def test_trace_holds_latencies_of_the_model(injected):
    folder, _ = injected
    latency_s, out = read_trace(folder / "perfield-latencies")
    assert latency_s.shape == (2, 16384)
    assert out["seed"] == 7
    assert Model.from_json(json.dumps(out["model"])).to_json() == MODEL.to_json()
    np.testing.assert_allclose(out["share_of_messages_in_regime"], [0.5, 0.5], atol=0.03)
    for low, high, middle in ((0, 1e-3, 200e-6), (1e-3, 1, 3000e-6)):
        of_regime = latency_s[(latency_s > low) & (latency_s < high)]
        np.testing.assert_allclose(np.median(of_regime), middle, rtol=0.01)


def test_run_info_report_and_pictures_say_that_latencies_were_injected(injected, perfield_cli):
    folder, result = injected
    sentence = "injected   latencies of "
    assert sentence in result.stderr
    assert sentence in perfield_cli("info", folder / "perfield-run").stdout
    run = perfield.open(folder / "perfield-run")
    assert is_injected(run)
    assert run.info["injected"]["seed"] == 7
    assert "latencies injected" in repr(run)
    assert "drawn from a model of 2 regimes of waits of a halo exchange, seed 7" in run._repr_html_()
    report = perfield_cli("report", folder / "perfield-run", "--text").stdout
    assert "40 steps, latencies injected" in report.splitlines()[0]
    assert "All times contain them; they are not the machine's own." in " ".join(report.split())
    pictures = folder / "pictures"
    written = perfield_cli("render", folder / "perfield-run", "--output", pictures, "--steps", "3")
    assert written.returncode == 0, written.stderr
    titles = [step["title"] for step in json.loads((pictures / "pictures.json").read_text())["steps"]]
    assert all(title.endswith("latencies injected") for title in titles)


def test_given_trace_is_used_as_it_is(program, injected, perfield_cli, tmp_path):
    folder, _ = injected
    result = perfield_cli(
        "lab", "inject", "--trace", folder / "perfield-latencies", "-n", "2", program, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert perfield.open(tmp_path / "perfield-run").info["injected"]["seed"] == 7


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "needs --model FILE, which `perfield lab regimes RUN --save FILE` writes, or --trace FILE"),
        (
            ["--trace", "absent"],
            "--trace absent does not exist; name the trace of an earlier `perfield lab inject",
        ),
        (
            ["--model", "absent.json"],
            "absent.json does not exist; `perfield lab regimes RUN --save FILE` writes",
        ),
        (["--trace", "other.txt"], "other.txt is not a trace of latencies of version 1"),
        (["--model", "other.txt"], "this is not a model of regimes"),
        (["--model", "old.json"], "this model of regimes has version 0, but this perfield reads version 1"),
        (["--model", "model.json", "--trace", "other.txt"], "other.txt exists and is not a trace"),
        (["--model", "model.json", "--trace", "no/trace"], "--trace no/trace: no is not a directory"),
        (
            ["--model", "model.json", "--draws", "9999999"],
            "are more than 100,000,000 latencies; draw fewer",
        ),
        (["--trace", "cut"], "cut holds 15 latencies, but its first line says 1 times 16"),
        (["--trace", "amid"], "amid holds 15 latencies, but its first line says 1 times 16"),
    ],
)
def test_bad_input_starts_nothing_and_says_what_to_do(
    program, tmp_path, monkeypatch, capsys, options, sentence
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text(MODEL.to_json())
    (tmp_path / "old.json").write_text(
        MODEL.to_json().replace('"perfield_regimes": 1', '"perfield_regimes": 0')
    )
    (tmp_path / "other.txt").write_text("something else\n")
    for name, n_bytes in (("cut", 60), ("amid", 63)):
        head = b"perfield-latencies 1 100 1 16 1\n{}\n".ljust(100)
        (tmp_path / name).write_bytes(head + n_bytes * b"\0")
    assert commands.main(["lab", "inject", *options, "-n", "2", str(program)]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "perfield-run").exists()


def test_drawn_latencies_are_reported_and_doubted(perfield_cli, program, tmp_path):
    heavy = json.loads(MODEL.to_json())
    heavy.update(emission="student-t", dof=2.0, scale=[1.0, 1.0], field="time of a step")
    heavy["machine"] = {
        **{"hosts": ["a"], "measured": "", "command": "", "field": "step_time_s", "reduced": ""},
        **{"n_ranks": 2, "n_steps": 100, "sd_s": [1e-5, 1e-4], "dwell_steps": [10, 10]},
        **{"mean_s": [200e-6, 3000e-6], "share": [0.5, 0.5]},
    }
    (tmp_path / "steps.json").write_text(json.dumps(heavy))
    draw = ("lab", "inject", "--draws", "300", "--series", "2", "-n", "2", "--trace", "t", "--model")
    out = perfield_cli(*draw, "steps.json", "true", cwd=tmp_path).stderr
    assert "drew 600 latencies into t: median " in out
    assert "1.6 ms were measured on average. Student's t has longer outliers" in out
    assert "this model is of the time of whole steps" in out


@pytest.mark.parametrize(
    ("option", "sentence"),
    [("--draws", "0 is not a number from 1 on"), ("--seed", "x is not a number from 0 on")],
)
def test_numbers_that_cannot_be_are_refused(capsys, option, sentence):
    with pytest.raises(SystemExit, match="2"):
        commands.main(["lab", "inject", "--model", "model.json", option, sentence.split()[0], "./a.out"])
    assert f"argument {option}: {sentence}" in capsys.readouterr().err
