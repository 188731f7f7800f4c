# SPDX-License-Identifier: BSD-3-Clause
"""perfield info --waits of runs whose ranks keep stamps of their messages."""

import dataclasses
import json
import re

import pytest
from known_runs.simulated_waits import collective, compute, irecv, isend, recv, send, simulate, step, wait
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield import commands
from perfield.analysis.waits.words import sentences
from perfield.derived.waits import wait_sums

MS = 1_000_000


def star(n_steps=10):
    """Ranks 0, 1 and 3 receive from rank 2, which comes 20 ms later."""
    programs = [[] for _ in range(4)]
    for _ in range(n_steps):
        for rank, program in enumerate(programs):
            program += [compute(21 * MS if rank == 2 else MS)]
            if rank == 2:
                program += [isend(0, "a"), isend(1, "b"), isend(3, "c"), wait("a", "b", "c")]
            else:
                program += [irecv(2, "r"), wait("r")]
            program += [step()]
    return simulate(programs)


@pytest.fixture
def printed(capsys):
    def call(path, *words):
        assert commands.main(["info", str(path), *map(str, words)]) == 0
        return capsys.readouterr().out

    return call


def test_waits_say_how_much_is_explained_then_who_costs_whom_how_much(tmp_path, printed):
    lines = printed(write_waiting_run(tmp_path / "run", star()), "--waits").splitlines()
    assert lines[0] == "wait_causes"
    assert lines[1] == "Ranks spend 600 ms in MPI calls that may wait, 71 % of their steps."
    assert lines[2].startswith("Of the time in blocking MPI calls, ") and "explained exactly" in lines[2]
    assert lines[3] == "Ranks wait 600 ms: 600 ms for messages that were not sent yet."
    assert lines[4].startswith(
        "Rank 2 costs the others 600 ms of waiting, 71 % of the time of all ranks, 560 ms of it by its time "
        "in region solve; rank "  # of the first step nobody sees when ranks began to compute
    )
    assert lines[4].endswith("waits 200 ms for it (late sender, in 10 steps).")
    assert lines[5].startswith("Of the time in MPI calls that may wait, 100 % is waiting")
    header, row = lines[9].split(), lines[10].split()
    assert header == ["rank", "caused_s", "share", "waits_s", "through", "kind", "time_s", "steps"]
    assert row[0] == "2" and float(row[1]) == pytest.approx(0.6, rel=1e-3)


@pytest.mark.parametrize("missing", [0, 1, 3])
def test_waits_are_reported_without_a_lost_rank(tmp_path, printed, missing):
    """The file of a node is lost, with the rank that ran there."""

    def on_one_clock(rank, values):
        values["boot_id"] = "12345678-1"

    hosts = ("a", "b", "c", "d")
    path = write_waiting_run(tmp_path / "run", star(), hosts=hosts, change_rank=on_one_clock)
    next((path / "stream").glob(f"{hosts[missing]}-*.pf")).unlink()
    reported = printed(path, "--waits")
    assert "Rank 2 costs the others 400 ms of waiting" in reported
    assert commands.main(["report", str(path), "--text"]) == 0


def test_regions_say_in_which_of_them_waiting_begins(tmp_path, printed):
    programs = [[collective("barrier")] for _ in range(2)]
    for _ in range(10):
        programs[0] += [compute(2 * MS, "flux"), compute(MS, "solve"), recv(1), step()]
        programs[1] += [compute(2 * MS, "flux"), compute(6 * MS, "solve"), send(0), step()]
    path = write_waiting_run(tmp_path / "run", simulate(programs))
    reported = json.loads(printed(path, "--waits", "--json"))
    first = reported["wait_regions"][0]
    assert (first["rank"], first["region"]) == (1, "solve") and first["caused_s"] == pytest.approx(
        0.05, rel=0.03
    )
    assert first["share"] > 0.95
    sentences = " ".join(reported["wait_sentences"])
    assert (
        "of the time of all ranks, 50 ms of it by its time in region solve; rank 0 waits 50 ms" in sentences
    )
    text = printed(path, "--waits")
    assert "wait_regions\nrank  region" in text and "it is not known when in a step a region ran" in text


def test_path_says_ranks_and_regions_and_what_that_is_of_the_run(tmp_path, printed):
    path = write_waiting_run(tmp_path / "run", star(), lambda number: number % 2 == 0)
    reported = json.loads(printed(path, "--waits", "--json"))
    (row, *_), sums = reported["path"], reported["critical_path"]
    assert (row["rank"], row["region"]) == (2, "solve") and row["share"] > 0.99
    assert (sums["steps"], sums["of_steps"]) == (5, 10)
    assert row["of_run_s"] == pytest.approx(2 * row["path_s"], rel=0.01)
    text = " ".join(printed(path, "--waits").split())
    assert "If all 10 steps are like these, rank 2 is on the run's critical path for about 210 ms of" in text


def alternating(n_steps=12):
    """Rank 1 computes 40 ms in even steps, when the other computes 10 ms; 2 ms are enough in the others."""
    programs = [[], []]
    for number in range(n_steps):
        for rank, program in enumerate(programs):
            program += [
                compute((2 if number % 2 else 40 if rank else 10) * MS),
                collective("allreduce"),
                step(),
            ]
    return simulate(programs)


def test_logged_steps_that_are_unlike_all_steps_stand_for_themselves_alone(tmp_path, printed):
    for name, logged, is_like in (
        ("even", lambda number: number % 2 == 0, False),
        ("odd", lambda number: number % 2 == 1, False),
        ("both", lambda number: number in (2, 5, 6, 9), True),
    ):
        path = write_waiting_run(tmp_path / name, alternating(), logged)
        text = " ".join(printed(path, "--waits").split())
        assert ("logged steps, which do not represent all 12 steps: on average they take" in text) != is_like
        assert ("If all 12 steps are like these" in text) == is_like
        reported = json.loads(printed(path, "--waits", "--json"))
        assert reported["critical_path"]["is_like_run"] == is_like
        assert all((row["of_run_s"] is not None) == is_like for row in reported["path"])


def test_shares_of_waiting_and_of_what_is_not_known_are_the_same_in_both_sentences(tmp_path, printed):
    """Rank 1 is late in one message of each step and early in the next, so sums hide most of the waiting."""
    programs = [[collective("barrier")] for _ in range(2)]
    for _ in range(8):
        programs[0] += [recv(1), compute(10 * MS), recv(1), step()]
        programs[1] += [compute(12 * MS), send(0), send(0), compute(8 * MS), step()]
    path = write_waiting_run(tmp_path / "run", simulate(programs), lambda number: number == 3)
    text = printed(path, "--waits")
    known, transfer = (line for line in text.splitlines() if line.startswith("Of the time in"))
    share = {what: int(re.search(rf"(\d+) % (?:is )?{what}", line)[1]) for what, line in (
        ("explained exactly", known), ("waiting by lower bounds", known), ("unexplained", known),
        ("waiting", transfer), ("not known", transfer),
    )}  # fmt: skip
    assert share["unexplained"] > 50
    assert share["not known"] == pytest.approx(share["unexplained"], abs=1)
    assert share["waiting"] <= share["explained exactly"] + share["waiting by lower bounds"] + 1


def test_transfers_have_a_row_for_each_size(tmp_path, printed):
    programs = [[collective("barrier")] for _ in range(2)]
    for _ in range(30):
        programs[0] += [recv(1), recv(1), step()]
        programs[1] += [compute(MS), send(0, 100), compute(MS), send(0, 1000), step()]
    path = write_waiting_run(tmp_path / "run", simulate(programs))
    rows = json.loads(printed(path, "--waits", "--json"))["transfers"]
    of_messages = [row for row in rows if row["of"] == "messages"]
    assert [(row["way"], row["size"], row["count"]) for row in of_messages] == [
        ("within a node", "to 511 B", 30),
        ("within a node", "to 4 kB", 30),
    ]
    assert "once nobody is late; count: messages that came while" in printed(path, "--waits")


def test_pairs_say_rank_cause_kind_and_how_surely(tmp_path, printed):
    path = write_waiting_run(tmp_path / "run", star(), lambda number: False)
    reported = json.loads(printed(path, "--waits", "--rows", 2, "--json"))
    assert [(row["waits_for"], row["kind"], row["steps"], row["how"]) for row in reported["waits"]] == [
        (2, "late sender", 10, "exact")
    ] * 2
    assert reported["wait_kinds"] == pytest.approx({"late_sender": 0.6}, rel=1e-3)
    coverage = reported["wait_coverage"]
    assert coverage["exact"] > 0.99 and coverage["n_logged"] == 0 and coverage["n_steps"] == 10
    assert any("No step" in sentence for sentence in reported["wait_sentences"])


def test_a_run_without_steps_is_not_reported_to_log_all(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", star(), lambda number: False))
    sums = dataclasses.replace(wait_sums(run), is_whole=True)
    words = " ".join(sentences(sums))
    assert "No step was closed" in words and "PERFIELD_ARRIVALS_EVERY" not in words


def test_pairs_without_a_known_cause_are_dashes_and_bounds_say_so(tmp_path, printed):
    path = write_waiting_run(tmp_path / "run", star(), span=5)
    rows = json.loads(printed(path, "--waits", "--json"))["waits"]
    assert rows and {row["how"] for row in rows} == {"at least"}


def test_uncertain_clocks_are_reported_where_they_hide_waiting(tmp_path, printed):
    def unsynchronised(rank, values):
        values["realtime_error_ns"] = 50 * MS

    hosts = ("a", "b", "c", "d")
    path = write_waiting_run(tmp_path / "run", star(), hosts=hosts, change_rank=unsynchronised)
    lines = printed(path, "--waits").splitlines()
    assert any(
        "too short to name who is late: the clocks of the ranks agree within 100 ms only" in s for s in lines
    )
    assert not any(line.startswith("Rank 2 costs") for line in lines)


def test_runs_without_stamps_show_whom_calls_name(tmp_path, printed):
    path = write_waiting_run(tmp_path / "run", star(), without=range(4))
    assert printed(path, "--waits").startswith("(none)")
    assert "wait_causes" not in json.loads(printed(path, "--waits", "--json"))


def test_help_says_what_the_option_shows(capsys):
    with pytest.raises(SystemExit):
        commands.main(["info", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "why ranks wait: how much of the time in MPI is explained" in text


def test_fields_of_a_run_list_those_of_waiting_only_where_they_are_known(tmp_path, capsys):
    for name, without in (("new", ()), ("old", range(4))):
        path = write_waiting_run(tmp_path / name, star(2), without=without)
        assert commands.main(["fields", str(path)]) == 0
        assert ("caused_wait_time_s" in capsys.readouterr().out) == (name == "new")


def test_logged_steps_say_whose_work_decides_and_what_balance_gains(tmp_path, printed):
    path = write_waiting_run(tmp_path / "run", star())
    text = " ".join(printed(path, "--waits").split())
    assert "Rank 2 is on the critical path for 100 % of 10 logged steps; if all ranks computed" in text
    assert "Region solve is " in text and " of that path; balanced alone, it would save at most " in text
    assert (
        "Their parallel efficiency is 29 %: load balance 29 %, serialisation 100 %, transfer 100 %." in text
    )
    reported = json.loads(printed(path, "--waits", "--json"))["critical_path"]
    assert reported["steps"] == 10 and reported["rank_s"][2] == pytest.approx(reported["length_s"], rel=0.01)
    assert reported["efficiency"]["load_balance"] == pytest.approx(6 / 21, abs=0.01)


def test_runs_without_a_log_say_nothing_of_a_critical_path(tmp_path, printed):
    path = write_waiting_run(tmp_path / "run", star(), lambda number: False)
    assert "critical path" not in printed(path, "--waits")
    assert json.loads(printed(path, "--waits", "--json"))["critical_path"] is None
