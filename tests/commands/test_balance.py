# SPDX-License-Identifier: BSD-3-Clause
"""`perfield balance`: what it says and writes, and its answers to mistakes."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest
from known_runs.foam_cases import write_case, write_foam, write_mesh

from perfield import commands
from twins import twin


@pytest.fixture
def run(tmp_path):
    """Four ranks with 64 cells each, five steps; rank r computes r + 1.1 ms in each."""
    return twin.write_run(tmp_path / "run", ranks=4, steps=5)


@pytest.fixture
def case(tmp_path):
    """A row of four cells, one per rank, in the opposite order of the ranks."""
    case = tmp_path / "case"
    write_case(case, ranks=4)
    write_mesh(case / "constant/polyMesh", 0, cells=4)
    (case / "0").mkdir()
    for rank in range(4):
        mesh = case / f"processor{rank}/constant/polyMesh"
        write_foam(mesh / "cellProcAddressing", "labelList", f"1({3 - rank})\n")
    return case


def balance(*words: object) -> int:
    return commands.main(["balance", *map(str, words)])


def test_costs_are_printed_with_the_imbalance(run, capsys):
    assert balance(run) == 0
    printed = capsys.readouterr().out
    assert ["3", "64", "4.1", "ms", "64.1", "µs", "1.58"] in [line.split() for line in printed.splitlines()]
    assert "measured   all compute time in 5 steps, 256 cells on 4 ranks" in printed
    assert "imbalance  1.58, from the ranks' mean compute times per step" in printed
    assert "--case CASE, --metis FILE" in printed


def test_all_kinds_of_weights_are_written_and_reported(run, tmp_path, capsys):
    words = ["--metis", tmp_path / "m.graph", "--parmetis", tmp_path / "p", "--zoltan", tmp_path / "z"]
    assert balance(run, *words) == 0
    printed = capsys.readouterr().out
    assert "m.graph: 256 cells, 624 sides, a weight per cell; 1 is 40.7 ns per step" in printed
    assert f"gpmetis {tmp_path / 'm.graph'} 4" in printed
    if importlib.util.find_spec("kahip"):
        predicted = float(re.search(r"predicted  ([\d.]+), if KaHIP divides by these weights", printed)[1])
        assert 1 <= predicted < 1.06
    assert (tmp_path / "m.graph").read_text().startswith("256 624 010\n424 ")
    assert len(list((tmp_path / "p").iterdir())) == 5 and len(list((tmp_path / "z").iterdir())) == 4


def test_field_of_a_case_is_written_with_the_line_to_use(run, case, tmp_path, capsys):
    run = twin.write_run(tmp_path / "foam", ranks=4, steps=5, mesh=False)
    assert balance(run, "--mesh", case, "--case", case) == 0
    assert "weightField cellCost;" in capsys.readouterr().out
    values = (case / "0/cellCost").read_text().partition("List<scalar> 4\n(")[2].partition("\n)")[0]
    costs = np.array(values.split(), float)
    assert costs == pytest.approx([4.1e-3, 3.1e-3, 2.1e-3, 2.6e-6], abs=1e-5)  # the last: see the file


def test_changed_mesh_gets_costs_of_the_steps_until_it_was_written(case, tmp_path, capsys):
    cells = ("cells", "1", "rank", "sum", "last")

    def change(rank, step, values):  # rank 0 is refined in each step; its mesh was written at time 1
        number = 2 + step if rank == 0 else 1
        values["quantities"] = [{"region": twin.OF_RANK, "quantity": 0, "value": number}]

    write_mesh(case / "processor0/1/polyMesh", 0, cells=3)
    run = twin.write_run(
        tmp_path / "run", ranks=4, steps=5, mesh=False, quantities=(cells,), change_step=change
    )
    assert balance(run, "--case", case, "--redistribute") == 0
    printed = capsys.readouterr().out
    assert "the mesh changes; costs are of the steps until it was written last, at time 1" in printed
    assert "all compute time in 2 steps, 6 cells" in printed  # at 0.5 and 1
    assert "List<scalar> 3\n" in (case / "processor0/1/cellCost").read_text()
    assert balance(run, "--case", case) == 2
    assert "rank 0 began with 1 cells and has 3" in capsys.readouterr().err


def test_balance_of_another_division_is_predicted(run, tmp_path, capsys):
    parts = tmp_path / "parts"
    np.savetxt(parts, np.arange(256) % 2, fmt="%d")
    assert balance(run, "--predict", parts) == 0
    assert "predicted  1 with the 2 parts" in capsys.readouterr().out


def test_balance_of_open_foam_s_division_is_predicted(case, tmp_path, capsys):
    run = twin.write_run(tmp_path / "foam", ranks=4, steps=5, mesh=False)
    parts = case / "constant/cellDecomposition"
    write_foam(parts, "labelList", "4(0 1 1 1)\n")
    assert balance(run, "--mesh", case, "--case", case, "--predict", parts) == 0
    assert "predicted  1.21 with the 2 parts" in capsys.readouterr().out  # 6.3 ms of 10.4 ms


def test_existing_files_are_kept_unless_forced(run, tmp_path, capsys):
    graph, folder = tmp_path / "m.graph", tmp_path / "z"
    graph.write_text("mine")
    assert balance(run, "--metis", graph, "--zoltan", folder) == 2
    assert "m.graph exists already and was left as it is; nothing was written" in capsys.readouterr().err
    assert graph.read_text() == "mine" and not folder.exists()
    assert balance(run, "--metis", graph, "--force") == 0
    assert graph.read_text() != "mine"


def test_unmeasured_cells_are_reported(case, tmp_path, capsys):
    run = twin.write_run(
        tmp_path / "run", ranks=4, steps=5, mesh=False, change_step=lambda rank, step, values: rank != 2
    )
    assert balance(run, "--mesh", case) == 0
    assert (
        "1 cells of 1 ranks were not measured (first: rank 2); they get the mean" in capsys.readouterr().out
    )


def test_ranks_without_cells_are_reported(tmp_path, capsys):
    cells = ("cells", "1", "rank", "sum", "last")

    def change(rank, step, values):
        values["quantities"] = [{"region": twin.OF_RANK, "quantity": 0, "value": 10 * rank}]

    run = twin.write_run(tmp_path / "run", quantities=(cells,), change_step=change)
    assert balance(run) == 0
    assert "1 ranks have no cells (first: rank 0); the table omits them" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--case", "{case}"], "rank 0 has 1 cells in {case}/processor0 at time 1, but 64"),
        (["--case", "{case}/nowhere"], "nowhere is not a directory; expected an OpenFOAM case"),
        (["--redistribute"], "--redistribute and --time are about the field of a case; add --case CASE"),
        (["--region", "solv"], "has no region 'solv'; did you mean solve?"),
        (["--steps", "10"], "step 10 is not in this run, which has steps 1 to 5"),
        (["--predict", "{case}/system/controlDict"], "numbers the cells of a case; say which: --case CASE"),
        (["--predict", "{run}/run.json"], "is not a division of a mesh"),
        (["--predict", "{few}"], "divides 3 cells, but the run has 256"),
        (["--mesh", "{case}/no.pvtu"], "no.pvtu does not exist"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(run, case, tmp_path, capsys, words, answer):
    (tmp_path / "few").write_text("0 1 1\n")
    names = {"case": case, "run": run, "few": tmp_path / "few"}
    assert balance(run, *(word.format(**names) for word in words)) == 2
    assert answer.format(**names) in capsys.readouterr().err


def test_run_without_mesh_is_answered_in_a_sentence(tmp_path, capsys):
    assert balance(twin.write_run(tmp_path / "run", mesh=False), "--metis", tmp_path / "m") == 2
    assert "described a mesh, and no pieces are on disk beside it" in capsys.readouterr().err
