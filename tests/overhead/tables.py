# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the thesis, made of runs: mean and deviation, and what each way adds to the bare program."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.report import table
from overhead import thesis
from overhead.runs import Run
from overhead.ways import BARE

QUANTITIES = {
    "wall": ("running time", "s"),
    "cpu": ("CPU time per rank", "s"),
    "memory": ("peak memory", "MB"),
}
FEATURES = ("regions", "communication")
MODES = ("topology", "geometry")
# In the order of the thesis: Tables 6.1 to 6.4, and with the number of ranks 6.5 to 6.8.
BY_PROGRAM = {"6.1": (0, 0), "6.2": (1, 0), "6.3": (0, 1), "6.4": (1, 1)}
BY_RANKS = {"6.5": (0, 1), "6.6": (1, 1), "6.7": (0, 0), "6.8": (1, 0)}
TITLES = {
    "regions": "measuring regions",
    "communication": "measuring communication",
    "topology": "in topology mode",
    "geometry": "in geometry mode",
}


@dataclass(frozen=True)
class Cost:
    """A quantity of a program in one way, over all rounds.

    mean, deviation : of the runs, deviation with n - 1 in the denominator; NaN for a single run.
    added_percent : the mean beyond the bare program's. ratio : the median over rounds of this run over the
    bare run of the same round. All None if no run counts. failure : why.
    """

    program: str
    ranks: int
    way: str
    quantity: str
    n: int
    mean: float | None
    deviation: float | None
    added_percent: float | None
    ratio: float | None
    failure: str = ""

    @property
    def deviation_percent(self) -> float | None:
        """The relative standard deviation."""
        return None if self.mean is None else 100 * self.deviation / self.mean


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; NaN for a single value."""
    return statistics.stdev(values) if len(values) > 1 else float("nan")


def costs(runs: Iterable[Run]) -> dict[tuple[str, int, str, str], Cost]:
    """All costs, by program, ranks, way and quantity."""
    groups: dict[tuple[str, int, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.program, run.ranks, run.way), []).append(run)
    found = {}
    for (program, ranks, way), group in groups.items():
        well = [run for run in group if not run.failure]
        failure = next((run.failure for run in group if run.failure), "")
        bare = {run.number: run for run in groups.get((program, ranks, BARE.name), ()) if not run.failure}
        for quantity in QUANTITIES:
            values = [run.cost(quantity) for run in well]
            against = [run.cost(quantity) for run in bare.values()]
            ratios = [
                run.cost(quantity) / bare[run.number].cost(quantity) for run in well if run.number in bare
            ]
            mean = statistics.fmean(values) if values else None
            found[program, ranks, way, quantity] = Cost(
                program,
                ranks,
                way,
                quantity,
                len(values),
                mean,
                deviation(values) if values else None,
                100 * (mean / statistics.fmean(against) - 1) if values and against else None,
                statistics.median(ratios) if ratios else None,
                failure,
            )
    return found


def columns(feature: str, mode: str) -> dict[str, str]:
    """The columns of a table of the thesis: heading -> way."""
    return {
        "bare": BARE.name,
        "+ Score-P": f"Score-P, {feature}",
        "++ perfield": f"plug-in, {feature}, {mode}",
        "perfield alone": f"{feature}, {mode}",
        "perfield, pictures inside": f"{feature}, {mode}, inside",
    }


@dataclass(frozen=True)
class Table:
    """One table of the thesis: a row per program and number of ranks, a way per column."""

    number: str
    title: str
    columns: dict[str, str]
    rows: tuple[tuple[str, int], ...]

    @property
    def reported(self) -> tuple[thesis.Reported, ...]:
        """The thesis' rows of this table."""
        return thesis.TABLES[self.number]


def tables(
    found: dict, programs: Sequence[tuple[str, int]], series: Sequence[tuple[str, int]]
) -> list[Table]:
    """The thesis' tables.

    found : the result of costs. programs : rows (program, ranks) of Tables 6.1 to 6.4. series : rows of
    Tables 6.5 to 6.8, one program on several numbers of ranks. A table without runs is left out.
    """
    ways = {way for _, _, way, _ in found}
    result = []
    for numbers, rows in ((BY_PROGRAM, programs), (BY_RANKS, series)):
        for number, (feature, mode) in numbers.items():
            shown = columns(FEATURES[feature], MODES[mode])
            shown = {heading: way for heading, way in shown.items() if way in ways}
            measured = [way for way in shown.values() if way != BARE.name]
            kept = tuple(row for row in rows if any((*row, way, "wall") in found for way in measured))
            title = f"{TITLES[FEATURES[feature]]} {TITLES[MODES[mode]]}"
            title += ", by number of ranks" if numbers is BY_RANKS else ""
            if kept and any(not way.startswith("Score-P") for way in measured):
                result.append(Table(number, title, shown, kept))
    return result


def signed(value: float | None) -> str:
    """A percentage with its sign: "+1.2 %"; "-" for None."""
    return "-" if value is None else f"{value:+.1f} %"


def cell(cost: Cost | None) -> str:
    """A cost as text: mean, deviation, what it adds, and the median of the ratios within rounds.

    "-" where the way does not exist for the program, "failed" where no run counts.
    """
    if cost is None:
        return "-"
    if cost.mean is None:
        return "failed"
    spread = "" if cost.n < 2 else f" ± {cost.deviation_percent:.1f} %"
    text = f"{cost.mean:.4g} {QUANTITIES[cost.quantity][1]}{spread}"
    if cost.way != BARE.name:
        in_rounds = None if cost.ratio is None else 100 * (cost.ratio - 1)
        text += f" ({signed(cost.added_percent)}; in rounds {signed(in_rounds)})"
    return text


def as_rows(shown: Table, found: dict) -> list[tuple[str, ...]]:
    """A table as rows of text, the first one the heading."""
    rows = [("program", "ranks", "quantity", *shown.columns)]
    for program, ranks in shown.rows:
        for quantity, (words, _) in QUANTITIES.items():
            cells = [cell(found.get((program, ranks, way, quantity))) for way in shown.columns.values()]
            rows.append((program, str(ranks), words, *cells))
    return rows


def thesis_rows(reported: Sequence[thesis.Reported]) -> list[tuple[str, ...]]:
    """What the thesis reports, as rows of text."""
    rows = [("thesis", "ranks", "quantity", "bare", "+ Score-P", "++ plug-in")]
    for row in reported:
        for at, (quantity, bare) in enumerate(
            (("running time", f"{row.bare_s:,} s"), ("peak memory", f"{row.bare_mb:,} MB"))
        ):
            rows.append(
                (
                    row.program,
                    str(row.ranks),
                    quantity,
                    f"{bare} ± {row.deviation_percent[at]} %",
                    f"{row.scorep_percent[at]:+d} %",
                    f"{row.plugin_percent[at]:+d} %",
                )
            )
    return rows


def feature_rows(found: dict, programs: Sequence[tuple[str, int]]) -> list[tuple[str, ...]]:
    """All ways of all programs as rows of text, the first one the heading."""
    rows = [("program", "ranks", "way", *(words for words, _ in QUANTITIES.values()))]
    for program, ranks in programs:
        for way in dict.fromkeys(key[2] for key in found if key[:2] == (program, ranks)):
            rows.append(
                (program, str(ranks), way, *(cell(found[program, ranks, way, name]) for name in QUANTITIES))
            )
    return rows


HEADING = (
    *("program", "ranks", "way", "quantity", "unit", "runs"),
    *("mean", "deviation", "added_percent", "ratio_in_rounds", "failure"),
)


def numbers(cost: Cost) -> tuple[object, ...]:
    """A cost under HEADING; None where a number is missing."""
    return (
        *(cost.program, cost.ranks, cost.way, cost.quantity, QUANTITIES[cost.quantity][1], cost.n),
        *(cost.mean, cost.deviation, cost.added_percent, cost.ratio, cost.failure),
    )


def cost_rows(found: dict) -> list[tuple[object, ...]]:
    """All costs as rows of numbers, the first one the heading."""
    return [HEADING, *(numbers(cost) for cost in found.values())]


def table_rows(shown: Table, found: dict) -> list[tuple[object, ...]]:
    """A table as rows of numbers, one for each cell that exists; the first one is the heading."""
    keys = [
        (heading, (program, ranks, way, quantity))
        for program, ranks in shown.rows
        for quantity in QUANTITIES
        for heading, way in shown.columns.items()
    ]
    return [("column", *HEADING), *((head, *numbers(found[key])) for head, key in keys if key in found)]


def _range(values: Sequence[float | None], unit: str = "%") -> str:
    """The smallest and the largest value as text; "-" if there is none. Whole numbers stay whole."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = (
        f"{end:+,.0f}" if isinstance(end, int) or abs(end) >= 9.95 else f"{end:+.1f}"
        for end in (min(known), max(known))
    )
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def _added_mb(cost: Cost | None, bare: Cost | None) -> float | None:
    return cost.mean - bare.mean if cost and bare and None not in (cost.mean, bare.mean) else None


def summary_rows(found: dict, programs: Sequence[tuple[str, int]]) -> list[tuple[str, ...]]:
    """What is added over all programs, from the least to the most, beside the thesis' Tables 6.1 to 6.4."""
    headings = list(columns(FEATURES[0], MODES[0]))[1:]
    rows = [("added to the bare program", "thesis: + Score-P", "thesis: ++ plug-in", *headings)]
    for number, (feature, mode) in BY_PROGRAM.items():
        shown = columns(FEATURES[feature], MODES[mode])
        title = f"{TITLES[FEATURES[feature]]} {TITLES[MODES[mode]]}"
        for quantity, (words, _) in QUANTITIES.items():
            part = {"wall": 0, "memory": 1}.get(quantity)
            reported = thesis.TABLES[number] if part is not None else ()
            cells = [_range([row.scorep_percent[part] for row in reported])]
            cells.append(_range([row.plugin_percent[part] for row in reported]))
            for heading in headings:
                group = [found.get((*row, shown[heading], quantity)) for row in programs]
                cells.append(_range([cost and cost.added_percent for cost in group]))
                if quantity == "memory" and cells[-1] != "-":
                    bare = [found.get((*row, BARE.name, quantity)) for row in programs]
                    cells[-1] += f" ({_range(list(map(_added_mb, group, bare)), 'MB')})"
            rows.append((f"{title}: {words}", *cells))
    return rows


def text(found: dict, shown: Sequence[Table], programs: Sequence[tuple[str, int]]) -> str:
    """All tables as Markdown. programs : rows (program, ranks) of the last table, which has all ways."""
    parts = []
    for one in shown:
        parts.append(f"Table {one.number}: {one.title}\n\n{table(as_rows(one, found))}")
        parts.append(f"The thesis' Table {one.number}:\n\n{table(thesis_rows(one.reported))}")
    parts.append(f"One feature and one mode at a time:\n\n{table(feature_rows(found, programs))}")
    return "\n\n".join(parts)
