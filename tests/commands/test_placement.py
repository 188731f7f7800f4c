# SPDX-License-Identifier: BSD-3-Clause
"""perfield placement: the table, warnings and proposal of a run, and the preview without one."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest
from compiled.c_programs import mpi_program

import perfield
from perfield.commands import main

# In each of four steps, each rank exchanges 100 bytes per rank with the one half the world away.
PARTNERS = mpi_program(
    """
  perfield_initialize();
  static char out[4096], in[4096];
  for (int step = 0; step < 4; ++step) {
    const int peer = (rank + size / 2) % size;
    MPI_Sendrecv(out, 100, MPI_CHAR, peer, 0, in, 100, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    perfield_step(step, step);
  }
"""
)


@pytest.fixture(scope="module")
def run_path(build_c, mpirun, bin_dir, tmp_path_factory):
    """A run of four unbound ranks on this machine."""
    folder = tmp_path_factory.mktemp("placement")
    result = mpirun(4, "--bind-to", "none", bin_dir / "perfield-exec", build_c(PARTNERS), cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / "perfield-run"


def test_table_shows_where_ranks_may_run_and_ran(perfield_cli, run_path):
    result = perfield_cli("placement", run_path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["ranks", "host"]
    assert [line.split()[0] for line in lines[1:5]] == ["0", "1", "2", "3"]
    assert os.uname().nodename.split(".")[0] in lines[1]
    assert "proposal   keep the present order" in result.stdout


def test_json_has_a_row_for_each_rank_warnings_and_the_proposal(perfield_cli, run_path):
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    found = json.loads(perfield_cli("placement", run_path, "--json").stdout)
    assert [row["ranks"] for row in found["ranks"]] == ["0", "1", "2", "3"]
    assert found["proposal"]["better"] is False
    assert found["proposal"]["place_of_rank"] == [0, 1, 2, 3]
    assert found["proposal"]["before"]["total"] == 4 * 4 * 100
    if os.cpu_count() < 4:
        assert "shared cores" in [warning["kind"] for warning in found["warnings"]]


def test_files_hold_the_present_order_if_none_is_better(perfield_cli, run_path, tmp_path):
    pytest.importorskip("kahip", reason="KaHIP is not installed")
    files = {option: tmp_path / option for option in ("--rankfile", "--hostfile", "--reorder-file")}
    result = perfield_cli("placement", run_path, *[word for pair in files.items() for word in pair])
    assert result.returncode == 0, result.stderr
    rows = files["--rankfile"].read_text().splitlines()
    assert [re.match(r"rank (\d)=\S+ slot=", row)[1] for row in rows] == ["0", "1", "2", "3"]
    assert len(files["--hostfile"].read_text().splitlines()) == 4
    assert files["--reorder-file"].read_text() == "0,1,2,3\n"


def test_preview_shows_this_machine_without_a_run(perfield_cli):
    if not shutil.which("lstopo-no-graphics") and not shutil.which("lstopo"):
        pytest.skip("lstopo (package hwloc) is not installed")
    found = json.loads(perfield_cli("placement", "--here", "-n", 2, "--bind-to", "none", "--json").stdout)
    assert [row["ranks"] for row in found["ranks"]] == ["0", "1"]
    assert found["proposal"] is None
    text = perfield_cli("placement", "--here", "-n", 100, "--bind-to", "none").stdout
    assert "0-99" in text and "(100 ranks, those of a package in one row" in text
    assert "They lost their PU" not in text, "a preview has measured nothing"
    assert "mpirun refuses" not in text
    assert (
        "mpirun refuses to bind more"
        in perfield_cli("placement", "--here", "-n", 999, "--bind-to", "core").stdout
    )
    every = perfield_cli("placement", "--here", "-n", 100, "--bind-to", "none", "--all").stdout
    assert "99" in [line.split()[0] for line in every.splitlines()]


def test_preview_says_which_bindings_it_knows(perfield_cli):
    result = perfield_cli("placement", "--here", "--bind-to", "board")
    assert result.returncode == 2
    assert "cannot bind to 'board'; expected one of none, hwthread, core" in result.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--here", "perfield-run"), "--here looks at no run; leave RUN out"),
        (("--here", "--rankfile", "a"), "--here looks at no run; leave --rankfile out"),
        (
            ("--bind-to", "core"),
            "--bind-to chooses a preview; add --here, or leave --bind-to out to see a run",
        ),
        (("--here", "-n", "0"), "-n is 0, expected 1 to 100,000 ranks"),
    ],
)
def test_options_that_do_not_fit_are_reported(perfield_cli, words, sentence):
    result = perfield_cli("placement", *words)
    assert (result.returncode, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_run_without_messages_has_no_proposal(perfield_cli, build_c, mpirun, bin_dir, tmp_path):
    silent = mpi_program("perfield_initialize(); perfield_step(0, 0);")
    mpirun(2, bin_dir / "perfield-exec", build_c(silent), cwd=tmp_path)
    run = tmp_path / "perfield-run"
    sentence = "the run has no messages whose two ranks are known"
    assert f"proposal   none: {sentence}" in perfield_cli("placement", run).stdout
    result = perfield_cli("placement", run, "--rankfile", tmp_path / "order")
    assert result.returncode == 2
    assert f"since no order is proposed: {sentence}" in result.stderr
    assert not (tmp_path / "order").exists()


def test_devices_of_a_rank_are_in_its_row(run_path, monkeypatch, capsys):
    run = perfield.open(run_path)
    run.ends[1]["devices"] = [{"file": "/dev/nvidia0", "pci": "0000:3b:00.0"}, {"file": "/dev/cxi1"}]
    run.ends[2] |= {"devices": "damaged", "device_choice": {"CUDA_VISIBLE_DEVICES": "0,1"}}
    run.ends[3]["devices"] = [{"pci": "0000:3b:00.0"}, 7]
    monkeypatch.setattr(perfield, "open", lambda path: run)
    assert main(["placement", str(run_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["ranks"]
    assert [row["devices"] for row in rows] == ["", "nvidia0 cxi1", "CUDA_VISIBLE_DEVICES=0,1", ""]
