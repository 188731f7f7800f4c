# SPDX-License-Identifier: BSD-3-Clause
"""`perfield scaling`: its sentences, tables, JSON and plot, and its answers to mistakes."""

from __future__ import annotations

import json

import pytest

from perfield import commands
from twins import twin

# A tenth of the work on rank 0 alone, the rest divided among all ranks.
PROGRAM = """
#include <mpi.h>
#include <perfield.h>
#include <time.h>

static void sleep_for(double seconds) {
  struct timespec left = {0, (long)(seconds * 1e9)};
  while (nanosleep(&left, &left)) continue;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  perfield_mesh_size(NULL, 8000 / size, 0, 0);
  perfield_initialize();
  for (int step = 0; step < 8; ++step) {
    perfield_begin("serial");
    if (rank == 0) sleep_for(0.02);
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_end("serial");
    perfield_begin("parallel");
    sleep_for(0.18 / size);
    perfield_end("parallel");
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_step(step, step);
  }
  MPI_Finalize();
  return 0;
}
"""


def scaling(*words: object) -> int:
    return commands.main(["scaling", *map(str, words)])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of 1, 2 and 4 ranks; solve takes 1 ms on the first, 1 ms more on each other."""
    folder = tmp_path_factory.mktemp("scaling")
    return [twin.write_run(folder / f"run-{n}", ranks=n, steps=6, run_id=n) for n in (1, 2, 4)]


def test_planted_serial_share_of_a_program_is_found(build_c, perfield_cli, tmp_path, capsys):
    program, paths = build_c(PROGRAM), []
    for n in (1, 2, 4):
        paths.append(tmp_path / f"run-{n}")
        result = perfield_cli("run", "--run-directory", paths[-1], "-n", str(n), "--", program)
        assert result.returncode == 0, result.stderr
    assert scaling(*paths, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "strong" and "8,000 cells in each run" in found["because"]
    fit = found["steps"]["fit"]
    # 0.1 on idle cores. More ranks than cores, and other programs, add to what does not scale.
    assert 0.08 < fit["serial_share"] < 0.35
    assert fit["low"] < fit["serial_share"] < fit["high"]
    serial, parallel = (found["regions"][name]["efficiency"][-1] for name in ("serial", "parallel"))
    assert serial < 0.35 < 0.6 < parallel  # 0.25 and 1 on idle cores
    assert 0.5 < found["load_balance"][-1] < 0.9  # (0.02 / 4 + 0.045) / (0.02 + 0.045) = 0.77 there


def test_sentences_and_table_compare_the_runs(runs, capsys):
    assert scaling(*reversed(runs), "--weak") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Weak scaling: you said so.\nOn 4 ranks a step takes 4.2 ms, on 1 rank 1.2 ms:")
    assert "A rank takes 50 MB of memory on 1 rank" in printed
    assert [line.split()[0] for line in printed.splitlines()[-4:]] == ["ranks", "1", "2", "4"]


def test_regions_are_a_second_table_with_what_they_lose(runs, capsys):
    assert scaling(*runs, "--strong", "--regions") == 0
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.split("\n\n")[-1].splitlines()]
    assert rows[0][:4] == ["region", "s_on_1", "s_on_2", "s_on_4"]
    assert [row[0] for row in rows[1:]] == ["solve", "exchange"]
    values = dict(zip(rows[0], rows[1]))
    assert (values["speedup"], values["efficiency"]) == ("0.2505", "0.06262")
    assert "Region 'solve' loses most: of its 4 ms in a step on 4 ranks, 3.75 ms" in printed


def test_json_has_no_nan_and_names_the_runs(runs, capsys):
    assert scaling(*runs, "--strong", "--json") == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["runs"] == list(map(str, runs)) and found["n_ranks"] == [1, 2, 4]
    assert found["steps"]["time_low_s"] == [None] * 3 and found["n_steps"] == [6, 6, 6]


def test_output_is_a_picture(runs, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert scaling(*runs, "--strong", "-o", tmp_path / "scaling.png") == 0
    assert (tmp_path / "scaling.png").read_bytes()[1:4] == b"PNG"
    assert str(tmp_path / "scaling.png") in capsys.readouterr().out


def test_repeated_runs_give_a_confidence_interval(runs, tmp_path, capsys):
    again = twin.write_run(tmp_path / "again", ranks=2, steps=8, run_id=9)
    assert scaling(*runs, again, "--strong") == 0
    assert " low " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["RUN1"], "1 run was given; name at least two runs"),
        (["RUN1", "RUN1", "--strong"], "are the same run; name each run once"),
        (["RUN1", "OTHER1", "--strong"], "all 2 runs have 1 rank; add runs of other numbers"),
        (["RUN1", "RUN2"], "size of the problem of these runs is unknown"),
        (
            ["RUN1", "RUN2", "-o", "a.pdf"],
            "a.pdf is not a picture; expected a name that ends in .png or .svg",
        ),
        (["RUN1", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(runs, tmp_path, capsys, words, answer):
    other = twin.write_run(tmp_path / "other", ranks=1, steps=6, run_id=9)
    named = {"RUN1": runs[0], "RUN2": runs[1], "OTHER1": other}
    assert scaling(*(named.get(word, word) for word in words)) == 2
    assert answer in capsys.readouterr().err


def test_run_without_steps_and_other_program_are_refused(runs, tmp_path, capsys):
    empty = twin.write_run(tmp_path / "empty", ranks=2, steps=0, run_id=9)
    assert scaling(runs[0], empty, "--strong") == 2
    assert "has no finished step" in capsys.readouterr().err

    def cool(rank, values):
        values["program"] = "cool"

    other = twin.write_run(tmp_path / "other", ranks=2, steps=6, change_rank=cool, run_id=9)
    assert scaling(runs[0], other, "--strong") == 2
    assert "ran heat, but" in capsys.readouterr().err


def test_steps_by_the_clock_are_refused(runs, tmp_path, capsys):
    clock = twin.write_run(tmp_path / "clock", ranks=2, steps=6, config={"step_seconds": 1.0}, run_id=9)
    assert scaling(runs[0], clock, "--strong") == 2
    assert "ends its steps by the clock" in capsys.readouterr().err
