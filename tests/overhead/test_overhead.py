# SPDX-License-Identifier: BSD-3-Clause
"""make overhead: its tables hold all rows, and say what is missing or failed. No figure is asserted."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import clean_environment
from overhead import tables, thesis
from overhead.runs import Case, Run, alternate, measurer, run_once
from overhead.subjects import BlockTridiagonal, Heat3d, MissingError, divided
from overhead.ways import BARE, Way, ways_of

TESTS = Path(__file__).resolve().parents[1]


def a_run(
    way: str, number: int, wall_s: float, cpu_s=(1.0, 3.0), peak_mb=(10.0, 12.0), ranks: int = 2
) -> Run:
    """A run of a program `p` that went well."""
    return Run("p", way, ranks, number, wall_s, (wall_s,) * ranks, cpu_s, peak_mb)


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_mean_deviation_and_ratio_of_known_numbers():
    walls = {"bare": (2.0, 4.0, 6.0), "regions, topology": (3.0, 4.0, 6.6)}
    found = tables.costs(
        a_run(way, at, wall) for way, times in walls.items() for at, wall in enumerate(times)
    )
    bare, cost = (found["p", 2, way, "wall"] for way in walls)
    assert (bare.mean, bare.deviation, bare.deviation_percent) == (4.0, 2.0, 50.0)
    assert bare.added_percent == 0
    assert cost.added_percent == pytest.approx(100 * (13.6 / 12 - 1))
    assert cost.ratio == pytest.approx(1.1)  # the median of 1.5, 1 and 1.1


def test_cpu_time_is_that_of_the_mean_rank_and_memory_that_of_the_largest():
    run = a_run("bare", 0, 5.0)
    assert (run.cost("wall"), run.cost("cpu"), run.cost("memory")) == (5.0, 2.0, 12.0)


def test_a_single_run_has_no_deviation():
    found = tables.costs([a_run("bare", 0, 2.0)])
    assert tables.cell(found["p", 2, "bare", "wall"]) == "2 s"


def test_a_failed_way_leaves_a_gap_and_is_reported_once():
    reported, started = [], []

    def once(case: Case, way: Way, number: int) -> Run:
        started.append((way.name, number))
        if way.name == "broken":
            return Run(case.label, way.name, case.ranks, number, failure="ended with 3: no such file")
        return a_run(way.name, number, 1.0)

    case = Case(Heat3d(), 2, 1, [BARE, Way("broken"), Way("io")], "p")
    runs = alternate([case], 3, once, reported.append)
    assert started == [
        *(("bare", 0), ("broken", 0), ("io", 0)),
        *(("bare", 1), ("io", 1), ("bare", 2), ("io", 2)),
    ]
    assert [line for line in reported if "no such file" in line] == [
        "p on 2 ranks, broken: ended with 3: no such file"
    ]
    cost = tables.costs(runs)["p", 2, "broken", "wall"]
    assert (cost.mean, cost.added_percent, cost.ratio) == (None, None, None)
    assert tables.cell(cost) == "failed"
    assert tables.cell(None) == "-"


def test_an_interrupt_keeps_the_complete_rounds():
    def once(case: Case, way: Way, number: int) -> Run:
        if (way.name, number) == ("io", 2):
            raise KeyboardInterrupt
        return a_run(way.name, number, 1.0)

    reported = []
    runs = alternate([Case(Heat3d(), 2, 1, [BARE, Way("io")], "p")], 5, once, reported.append)
    assert [(run.way, run.number) for run in runs] == [("bare", 0), ("io", 0), ("bare", 1), ("io", 1)]
    assert reported[-1] == "stopped in round 3; the 2 before it count"


def test_tables_have_a_row_per_program_and_number_of_ranks():
    ways = ["bare", *(f"{feature}, {mode}" for feature in tables.FEATURES for mode in tables.MODES)]
    runs = [a_run(way, at, 1.0 + at, ranks=n) for way in ways for at in range(2) for n in (2, 1, 4)]
    shown = tables.tables(tables.costs(runs), [("p", 2)], [("p", 1), ("p", 2), ("p", 4)])
    assert [one.number for one in shown] == list(thesis.TABLES)
    assert [one.rows for one in shown[:4]] == [(("p", 2),)] * 4
    assert [one.rows for one in shown[4:]] == [(("p", 1), ("p", 2), ("p", 4))] * 4
    assert "+ Score-P" not in shown[0].columns


def test_the_summary_spans_all_programs_beside_the_thesis():
    runs = [Run(name, "bare", 2, 0, 10.0, (), (1.0,), (100.0,)) for name in ("p", "q")]
    runs.append(Run("p", "regions, topology", 2, 0, 11.0, (), (1.0,), (102.0,)))
    runs.append(Run("q", "regions, topology", 2, 0, 9.5, (), (1.0,), (110.0,)))
    rows = {row[0]: row[1:] for row in tables.summary_rows(tables.costs(runs), [("p", 2), ("q", 2)])}
    time = rows["measuring regions in topology mode: running time"]
    assert time == ("-1 to +11 %", "+0 to +19 %", "-", "-", "-5.0 to +10 %", "-")
    memory = rows["measuring regions in topology mode: peak memory"]
    assert memory == ("-2 to +5 %", "+2 to +42 %", "-", "-", "+2.0 to +10 % (+2.0 to +10 MB)", "-")
    assert set(rows["measuring communication in geometry mode: CPU time per rank"]) == {"-"}


def test_ranks_divide_the_box_into_pieces_with_the_least_surface():
    assert divided(8, (32, 32, 32)) == (2, 2, 2)
    assert divided(2, (32, 32, 64)) == (1, 1, 2)
    with pytest.raises(MissingError, match="3 ranks do not divide"):
        divided(3, (16, 16, 16))


def test_bt_takes_a_square_of_ranks():
    assert [BlockTridiagonal().ranks(n) for n in (1, 2, 8, 16)] == [4, 4, 4, 16]


def test_each_way_turns_on_one_feature():
    ways = {
        way.name: way.settings for way in ways_of(Heat3d(), 100, ["regions", "communication", "io"], True)
    }
    assert ways["regions, topology"]["PERFIELD_MESSAGES"] == "false"
    assert ways["communication, topology"]["PERFIELD_REGIONS"] == ""
    assert ways["communication, geometry"]["PERFIELD_FIELDS_EVERY"] == "10"
    assert ways["io"]["PERFIELD_IO"] == "true"
    assert ways["Score-P, regions"]["SCOREP_ENABLE_PROFILING"] == "false"


@dataclass
class Ending(Heat3d):
    """A program that ends at once with a code."""

    code: int = 0

    def command(self, build: str, ranks: int, steps: int) -> list[str]:
        """A shell that ends."""
        return ["sh", "-c", f"echo it is broken >&2; exit {self.code}"]


@pytest.mark.parametrize(
    ("code", "way", "expected"),
    [
        (3, BARE, "ended with 3: it is broken"),
        (0, Way("io"), "perfield measured nothing: it is broken"),
        (0, BARE, ""),
    ],
)
def test_a_run_counts_only_if_the_program_ended_well_and_was_measured(tmp_path, code, way, expected):
    case = Case(Ending(code=code), 2, 1, [way], "p", tmp_path / "case")
    case.folder.mkdir()
    run = run_once(case, way, 0, measurer())
    assert run.failure == expected
    assert len(run.peak_mb) == (0 if expected else 2)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """(folder, standard error) of a short run of all tables, without Score-P and NPB."""
    folder = tmp_path_factory.mktemp("overhead")
    environment = clean_environment()
    environment["PATH"] = os.pathsep.join(
        place for place in environment["PATH"].split(os.pathsep) if not (Path(place) / "scorep").exists()
    )
    words = ["--short", "--programs", "MG", "heat3d", "--features", "regions", "communication"]
    ended = subprocess.run(
        [sys.executable, "-m", "overhead", *words, "--output", folder],
        cwd=TESTS,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    return folder, ended.stderr


def test_a_run_without_score_p_and_npb_says_so(results):
    _, reported = results
    assert "Score-P is left out: scorep is not on PATH." in reported
    assert "MG and BT are left out: no path to the NAS Parallel Benchmarks was given" in reported


def test_all_tables_and_charts_come_out_with_all_rows(results):
    folder, _ = results
    for number in thesis.TABLES:
        rows = rows_of(folder / f"table-{number}.csv")
        ranks = {"2"} if number < "6.5" else {"1", "2"}
        assert {(row["column"], row["ranks"], row["quantity"]) for row in rows} == {
            (column, n, quantity)
            for column in ("bare", "perfield alone")
            for n in ranks
            for quantity in ("wall", "cpu", "memory")
        }
        assert (folder / f"table-{number}.png").stat().st_size > 10_000
    assert (folder / "features.png").stat().st_size > 10_000


def test_tables_agree_with_the_runs(results):
    folder, _ = results
    walls: dict[tuple[str, ...], list[float]] = {}
    for run in rows_of(folder / "runs.csv"):
        assert not run["failure"]
        assert len(run["peak_mb"].split()) == int(run["ranks"])
        walls.setdefault((run["program"], run["ranks"], run["way"]), []).append(float(run["wall_s"]))
    costs = [row for row in rows_of(folder / "costs.csv") if row["quantity"] == "wall"]
    assert {(row["program"], row["ranks"], row["way"]) for row in costs} == walls.keys()
    for row in costs:
        values = walls[row["program"], row["ranks"], row["way"]]
        bare = walls[row["program"], row["ranks"], "bare"]
        assert float(row["mean"]) == pytest.approx(sum(values) / 2)
        assert float(row["deviation"]) == pytest.approx(abs(values[0] - values[1]) / 2**0.5)
        assert float(row["added_percent"]) == pytest.approx(100 * (sum(values) / sum(bare) - 1), abs=1e-9)


def test_the_text_names_machine_load_and_sizes(results):
    folder, _ = results
    text = (folder / "tables.md").read_text()
    for words in (
        "processor: ",
        "load: ",
        "load_at_end: ",
        "heat3d on 2 ranks: 16 x 16 x 16 points, 20 steps",
    ):
        assert words in text
    assert "Table 6.4: measuring communication in geometry mode" in text
    assert "Table 6.5: measuring regions in geometry mode, by number of ranks" in text
    assert "| measuring regions in topology mode: running time " in text
    assert "| CODA   | 768   | peak memory  | 958 MB ± 6 %" in text
