# SPDX-License-Identifier: BSD-3-Clause
"""`perfield info`: closing lines, tables and JSON of finished, live and damaged runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from known_runs import uneven_runs

import perfield
from perfield import commands
from perfield.commands import info
from twins import twin


@pytest.fixture
def run(tmp_path):
    """Four ranks on two hosts, five steps."""
    return twin.write_run(tmp_path / "run", ranks=4, steps=5, hosts=("a", "b"))


@pytest.fixture
def printed(capsys):
    """printed(*words): the output of `perfield info` with these words."""

    def execute(*words):
        assert commands.main(["info", *map(str, words)]) == 0
        return capsys.readouterr().out

    return execute


def test_info_repeats_the_closing_lines(run, printed):
    lines = printed(run).splitlines()
    assert lines[0] == f"{run}: finished (./heat heat.input)"
    assert lines[1:] == [*info.summary_of(run), "mesh       as the program described it"]


def test_cells_prints_the_topology_picture_as_a_table(tmp_path, printed):
    machines = Path(__file__).resolve().parents[1] / "fixtures/machines"

    def bound(rank, values):
        values["cpuset"] = str(rank)

    run = twin.write_run(tmp_path / "run", ranks=2, steps=1, hosts=("n1",), change_rank=bound)
    (run / "machine").mkdir(exist_ok=True)
    shutil.copy(machines / "two-packages-4-cores.xml", run / "machine" / "n1.xml")
    assert printed(run, "--topology").splitlines() == [
        "level        id               x    y  z  parent",
        "node         n1              12    6  0",
        "package      n1 package 0     6    5  0  n1",
        "core         n1 core 0      1.5    4  0  n1 package 0",
        "core         n1 core 1      4.5    4  0  n1 package 0",
        "pu           n1 pu 0        1.5    3  0  n1 core 0",
        "pu           n1 pu 1        4.5    3  0  n1 core 1",
        "rank         rank 0         1.5  1.5  0  n1 pu 0",
        "rank         rank 1         4.5  1.5  0  n1 pu 1",
        "measurement  measurement 0  1.5  0.5  0  rank 0",
        "measurement  measurement 1  4.5  0.5  0  rank 1",
    ]


def test_by_node_shows_statistics_with_the_largest_mean_first(run, printed):
    assert printed(run, "--by", "node", "--fields", "solve_time_s").splitlines() == [
        "node  ranks   min (s)  mean (s)  std (s)   max (s)  imbalance",
        "b         2  0.003002  0.003502   0.0005  0.004002      1.143",
        "a         2  0.001002  0.001502   0.0005  0.002002      1.333",
        "(solve_time_s: min, mean, std, max over the group's ranks, as the mean over 5 frames; "
        "imbalance: max over mean)",
    ]


def test_by_step_shows_statistics_of_all_ranks(run, printed):
    rows = json.loads(printed(run, "--by", "step", "--json"))["compute_time_s by step"]
    steps = perfield.open(run).steps
    expected = (steps.compute_time_s.max("rank") / steps.compute_time_s.mean("rank")).values
    np.testing.assert_allclose([row["imbalance"] for row in rows], expected)
    assert [(row["frame"], row["step"], row["ranks"]) for row in rows] == [(n, n + 1, 4) for n in range(5)]


def test_by_switch_counts_ranks_without_a_known_switch(run, printed):
    line = printed(run, "--by", "switch").splitlines()[1]
    assert line.startswith("no known switch      4")


def test_by_leaves_out_uneven_steps_and_says_so(tmp_path, printed):
    run = uneven_runs.uneven_run(tmp_path / "run", closed=[2, 4])
    text = printed(run, "--by", "step")
    n_uneven = int(perfield.open(run).steps["uneven"].sum())
    assert n_uneven and f"are left out: {n_uneven})" in text


def test_by_prints_at_most_twenty_groups_and_says_where_the_others_are(tmp_path, printed):
    run = twin.write_run(tmp_path / "run", ranks=22, steps=1, hosts=[f"n{i}" for i in range(22)], mesh=False)
    text = printed(run, "--by", "node")
    assert "the 20 groups with the largest means, of 22; --rows N and --json list more)" in text
    assert len(text.splitlines()) == 1 + 20 + 2
    assert len(json.loads(printed(run, "--by", "node", "--json"))["compute_time_s by node"]) == 22


def test_by_of_an_unknown_field_names_the_nearest(run, capsys):
    assert commands.main(["info", str(run), "--by", "node", "--fields", "slove_time_s"]) == 2
    assert "has no field 'slove_time_s'; did you mean solve_time_s" in capsys.readouterr().err


def test_last_line_names_the_perfield_in_use(run, printed, monkeypatch):
    monkeypatch.setattr("perfield.commands.paths.own_command", lambda: ".venv/bin/perfield")
    assert f"next       .venv/bin/perfield report {run} " in printed(run)


def test_info_says_that_a_live_run_is_running(tmp_path, printed):
    path = twin.write_run(tmp_path / "run", ended=False, change_rank=twin.live_rank)
    assert printed(path).startswith(f"{path}: running")
    assert "running" in printed(path, "--ranks")


def test_ranks_show_host_and_end_state(run, printed):
    lines = printed(run, "--ranks").splitlines()
    assert lines[0].split() == ["rank", "host", "cpuset", "pid", "steps", "state"]
    assert lines[4].split() == ["3", "b", "3", str(2**22 + 4), "5", "ended", "(finalize)"]


def test_regions_show_where_they_were_slowest(run, printed):
    rows = json.loads(printed(run, "--regions", "--json"))["regions"]
    solve = next(row for row in rows if row["field"] == "solve")
    assert (solve["of_rank"], solve["in_frame"], solve["in_step"], solve["ranks"]) == (3, 4, 5, 4)
    assert solve["largest_compute_time_s"] == pytest.approx(twin.solve_ns(3, 4) / 1e9)
    mean = sum(twin.solve_ns(rank, step) for rank in range(4) for step in range(5)) / 20
    assert solve["mean_time_s"] == pytest.approx(mean / 1e9)


def test_regions_say_what_balancing_them_would_save(run, printed):
    solve, exchange = json.loads(printed(run, "--regions", "--json"))["regions"]
    times = np.array([[twin.solve_ns(rank, step) for rank in range(4)] for step in range(5)]) / 1e9
    assert solve["field"] == "solve" and solve["mpi_share"] == 0
    assert solve["compute_time_s"] == pytest.approx(times.mean())
    assert solve["balancing_saves_s"] == pytest.approx((times.max(1) - times.mean(1)).sum())
    assert solve["imbalance"] == pytest.approx(times.max(1).sum() / times.mean(1).sum())
    step_s = times.max(1) + 200e-6
    assert solve["step_share"] == pytest.approx(times.sum() / (4 * step_s.sum()))
    # 50 us of isend and 40 us of waitall of the 200 us in exchange; the rest is the same on all ranks.
    assert (exchange["mpi_share"], exchange["imbalance"]) == pytest.approx((0.45, 1.0))
    assert exchange["compute_time_s"] == pytest.approx(110e-6)


def test_region_that_balancing_would_help_most_comes_first(tmp_path, printed):
    def slow_exchange(rank, step, values):
        if rank == 1:
            values["regions"][1] = twin.region_row(2, 50_000_000)

    path = twin.write_run(tmp_path / "run", ranks=4, steps=5, change_step=slow_exchange)
    rows = json.loads(printed(path, "--regions", "--json"))["regions"]
    assert [row["field"] for row in rows] == ["exchange", "solve"]


def test_waiting_inside_a_region_is_no_cost_of_it(tmp_path, printed):
    """All ranks are equally long in `solve`, but all except the last wait there for most of it."""

    def waits_in_solve(rank, step, values):
        slowest = twin.solve_ns(3, step)
        values["regions"][0] = twin.region_row(1, slowest)
        waited = slowest - twin.solve_ns(rank, step)
        values["quantities"].append({"region": 1, "quantity": twin.WAIT, "value": waited})

    path = twin.write_run(tmp_path / "run", ranks=4, steps=5, change_step=waits_in_solve)
    solve = json.loads(printed(path, "--regions", "--json"))["regions"][0]
    times = np.array([[twin.solve_ns(rank, step) for rank in range(4)] for step in range(5)]) / 1e9
    assert solve["compute_time_s"] == pytest.approx(times.mean())
    assert solve["mpi_share"] == pytest.approx(1 - times.mean() / times[:, 3].mean())
    assert solve["balancing_saves_s"] == pytest.approx((times.max(1) - times.mean(1)).sum())


def test_steps_are_the_last_ones(run, printed):
    rows = json.loads(printed(run, "--steps", "--rows", 2, "--json"))["steps"]
    assert [(row["frame"], row["step"]) for row in rows] == [(3, 4), (4, 5)]
    assert rows[-1]["slowest_rank"] == 3
    assert rows[-1]["longest_s"] == pytest.approx((twin.solve_ns(3, 4) + 200_000) / 1e9)


def test_steps_without_mpi_have_times_and_no_imbalance(tmp_path, printed):
    path = twin.write_run(
        tmp_path / "run", ranks=2, steps=1, change_rank=twin.without_mpi, change_step=twin.without_calls
    )
    (row,) = json.loads(printed(path, "--steps", "--json"))["steps"]
    assert row["longest_s"] > 0 and row["imbalance"] is None and row["slowest_rank"] is None


def test_messages_are_the_heaviest_pairs(run, printed):
    rows = json.loads(printed(run, "--messages", "--rows", 2, "--json"))["messages"]
    assert rows == [
        {"source": 3, "target": 0, "count": 15, "bytes": 40_000, "empty": 5},
        {"source": 2, "target": 3, "count": 15, "bytes": 30_000, "empty": 5},
    ]


@pytest.mark.parametrize(("peer", "word"), [(-1, "others"), (-2, "outside"), (-3, "unknown")])
def test_messages_to_peers_without_rank_name_their_kind(tmp_path, printed, peer, word):
    def elsewhere(rank, step, values):
        values["messages"] = [{"peer": peer, "call": twin.ISEND, "count": 1, "bytes": 8}]

    path = twin.write_run(tmp_path / "run", ranks=1, steps=2, change_step=elsewhere)
    assert printed(path, "--messages").splitlines()[1].split() == ["0", word, "2", "16", "B", "0"]
    assert json.loads(printed(path, "--messages", "--json"))["messages"][0]["target"] == peer
    assert ("(peer unknown: 2 with 16 bytes)" in printed(path)) == (peer == -3)


def test_notes_below_tables_explain_them(run, printed):
    lines = printed(run, "--messages", "--rows", 2).splitlines()
    assert lines[1].split() == ["3", "0", "15", "40", "kB", "5"]
    assert lines[-1] == "(2 of 4 pairs, by bytes; added up over 5 frames)"
    assert printed(run, "--steps").splitlines()[-1] == (
        "(longest, mean: of the step; imbalance, slowest_rank: of compute time)"
    )
    below = printed(run, "--regions").splitlines()[-3:]
    assert below[0] == "(compute_time_s, mean_time_s: per frame and rank that entered it, over 5 frames;"
    assert below[-1].endswith("added up over 5 frames)")


def test_ended_run_without_steps_is_one_frame_in_every_table(tmp_path, printed):
    path = twin.write_run(tmp_path / "run", ranks=2, steps=0)
    text = printed(path, "--regions", "--steps")
    assert text.count("no step was closed: the one frame covers the whole run, from start to end") == 2
    (row,) = json.loads(printed(path, "--steps", "--json"))["steps"]
    assert (row["frame"], row["step"], row["longest_s"]) == (0, None, pytest.approx(0.012))


def test_absent_values_are_dashes_and_null(tmp_path, printed):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=1, regions=("never entered", "b", "c"))
    rows = json.loads(printed(path, "--regions", "--json"))["regions"]
    assert next(row for row in rows if row["name"] == "c")["mean_time_s"] is None
    assert " -  " in printed(path, "--regions")


def test_damage_is_below_the_closing_lines(run, printed):
    stream = next((run / "stream").iterdir())
    stream.write_bytes(stream.read_bytes() + b"rubbish!")
    assert "damage     stream/a-a-0000-0.pf: 8 bytes at " in printed(run)


def test_run_without_a_step_yet_has_empty_tables(tmp_path, printed):
    path = twin.write_run(tmp_path / "run", steps=0, regions=(), ended=False, change_rank=twin.live_rank)
    text = printed(path, "--regions", "--steps", "--messages")
    assert text.count("(none)") == 3


def test_empty_table_of_waits_explains_itself(tmp_path, printed):
    def none(rank, step, values):
        values["waits"] = []

    lines = printed(twin.write_run(tmp_path / "run", change_step=none), "--waits").splitlines()
    assert lines[0] == "(none)" and "MPI_Waitall and collective calls do not;" in lines[1]


def test_missing_run_gives_a_sentence(tmp_path, capsys):
    assert commands.main(["info", str(tmp_path / "nothing")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("perfield info: ") and "does not exist; give the directory" in error


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_number_of_rows_must_be_positive(run, number, capsys):
    with pytest.raises(SystemExit):
        commands.main(["info", str(run), "--waits", f"--rows={number}"])
    assert f"{number} is not a number of rows; expected 1 or more" in capsys.readouterr().err


def test_number_behind_a_table_leads_to_rows(run, capsys):
    assert commands.main(["info", str(run), "--messages", "5"]) == 2
    assert "unexpected argument 5; --rows 5 sets a number of rows." in capsys.readouterr().err


def test_ranks_and_steps_of_tables_are_chosen_by_number(run, printed):
    ranks = json.loads(printed(run, "--ranks", "1-2", "--json"))["ranks"]
    steps = json.loads(printed(run, "--steps", "2,4:", "--json"))["steps"]
    assert [row["rank"] for row in ranks] == [1, 2]
    assert [row["step"] for row in steps] == [2, 4, 5]
    lines = printed(run, "--steps", "--rows", 2).splitlines()
    assert lines[0].split()[0] == "step" and [line.split()[0] for line in lines[1:3]] == ["4", "5"]
    assert lines[3] == "(the newest 2 of 5 steps; --rows N shows more;"


def test_step_or_rank_that_a_run_lacks_gives_a_sentence(run, capsys):
    assert commands.main(["info", str(run), "--steps", "50"]) == 2
    assert "step 50 is not in this run, which has steps 1 to 5" in capsys.readouterr().err
    assert commands.main(["info", str(run), "--ranks", "many"]) == 2
    assert "expected ranks such as 0-7,12" in capsys.readouterr().err


def test_waits_are_the_longest_pairs(run, printed):
    rows = json.loads(printed(run, "--waits", "--rows", 2, "--json"))["waits"]
    assert [(row["rank"], row["waits_for"]) for row in rows] == [(0, 3), (1, 0)]
    n_steps = json.loads(printed(run, "--json"))["n_frames"]
    assert rows[0]["count"] == n_steps and rows[0]["time_s"] == pytest.approx(n_steps * 60e-6)
    heading, *text = printed(run, "--waits").splitlines()
    assert heading.startswith("these waits are ")
    assert text[0].split() == ["rank", "waits_for", "count", "time_s", "share"]
    assert text[-1].startswith("(4 of 4 pairs, by time; share: of the rank's time")


@pytest.mark.parametrize(
    "most, reported", [(2, "these waits are 20 % of all waiting; "), (1, "these waits are 10 % ")]
)
def test_waits_say_their_share_of_all_waiting(tmp_path, printed, most, reported):
    def tenth(rank, step, values):
        values["waits"] = [{"peer": 1 - rank, "count": 1, "ns": 100_000}]
        values["calls"] = [{"call": twin.WAITALL, "time_class": twin.WAIT, "count": 1, "ns": 500_000}]

    assert printed(
        twin.write_run(tmp_path / "run", ranks=2, change_step=tenth), "--waits", "--rows", most
    ).startswith(reported)


def test_rank_never_waits_for_itself(tmp_path, printed):
    def own(rank, step, values):
        values["waits"] = [{"peer": rank, "count": 1, "ns": 100_000}]

    path = twin.write_run(tmp_path / "run", ranks=2, change_step=own)
    assert printed(path, "--waits").startswith("(none)")
    assert perfield.open(path).waits(0).empty
