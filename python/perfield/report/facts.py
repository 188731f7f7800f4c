# SPDX-License-Identifier: BSD-3-Clause
"""A report as JSON, and its numbers by name, on which conditions are put. `schema` describes it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from perfield import _bridge
from perfield.analysis.findings import QUESTIONS, Answer
from perfield.derived.comparing import mean_by_rank
from perfield.report.conditions import LARGEST
from perfield.report.contents import Report
from perfield.report.view import view_of
from perfield.studies import given, loaded
from perfield.text.as_json import plain

VERSION = 2  # of the layout; larger where a name vanishes or changes its meaning
SCHEMA = "facts.schema.json"  # beside this file; each study has one for its part
REGION_NUMBERS = {  # of tables.regions -> name after the region's
    "imbalance": "imbalance",
    "mean_time_s": "time_s",
    "compute_time_s": "compute_time_s",
    "largest_compute_time_s": "largest_compute_time_s",
    "balancing_saves_s": "balancing_saves_s",
    "mpi_share": "mpi_share",
    "step_share": "step_share",
}
SHARES = {  # of Report.shares -> name
    "computing": "computing_share",
    "waiting for a PU": "waiting_for_pu_share",
    "waiting": "waiting_share",
    "other MPI": "other_mpi_share",
    "files": "files_share",
}


LOGGED = {  # factors of Efficiency -> name after "logged_"
    "parallel": "parallel_efficiency",
    "load_balance": "load_balance",
    "communication": "communication_efficiency",
    "serialisation": "serialisation_efficiency",
    "transfer": "transfer_efficiency",
}


def facts(report: Report) -> dict[str, Any]:
    """All that the report says, as values of JSON: numbers as numbers, None for what is unknown."""
    run = report.run
    return plain(
        {
            "version": VERSION,
            "perfield": _bridge.version,
            "run": {
                "path": str(run.path),
                "program": report.program,
                "command": report.command,
                "state": report.state,
                "start": report.start,
                "ranks": run.n_ranks,
                "steps": report.observed.n_steps,
                "steps_left_out": report.n_left_out,
                "hosts": report.hosts,
            },
            "notes": report.notes,
            "numbers": numbers(report),
            "parts": report.parts,
            "findings": [{**plain(each), "view": view_of(each, report)} for each in report.findings],
            "questions": [
                {
                    "question": a.question,
                    "asked": a.is_asked,
                    "missing": (a.package,) if a.package else a.missing,
                    "answer": _answer(a),
                    "would_have_found": a.sight.words if a.sight else "",
                    "findings": len(a.findings),
                }
                for a in report.answers
            ],
            "lines": [{"name": name, "text": text} for name, text in report.lines],
            "regions": report.regions,
            **{
                name: [] if report.studied[place] is None else loaded(place).facts(report.studied[place])
                for name, place in given("REPORT").items()
            },
            "slowest_steps": report.slowest_steps,
            "traffic": report.traffic,
            "heaviest_pairs": report.heaviest_pairs,
            "files": report.files,
            "places": report.places,
            "settings": report.run.info.get("configuration") or {},
        }
    )


def schema() -> dict[str, Any]:
    """The JSON Schema of what `facts` returns, with the parts of the studies."""
    whole = json.loads(Path(__file__).with_name(SCHEMA).read_text(encoding="utf-8"))
    for name, place in given("REPORT").items():
        part = Path(loaded(place).__file__).with_name(SCHEMA)
        whole["properties"][name] = json.loads(part.read_text(encoding="utf-8"))
        whole["required"].append(name)
    return whole


def as_json(report: Report) -> str:
    """The report as a JSON text: a line for each item of a list, and for each other value."""
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {_lines(v)}" for k, v in facts(report).items()) + "\n}\n"


def numbers(report: Report) -> dict[str, float]:
    """The report's numbers by name; NaN for what is unknown. docs/report.md explains them.

    A finding of a kind that was looked for in vain has the number 0; it is NaN if nobody could look.
    """
    found = {**_of_run(report), **{name: report.shares.get(key, math.nan) for key, name in SHARES.items()}}
    for row in report.regions:
        for column, name in REGION_NUMBERS.items():
            value = math.nan if row[column] is None else float(row[column])
            for region in dict.fromkeys((row["field"], row["name"])):
                found[f"{region}.{name}"] = value
    found.update(_of_findings(report))
    return found


def field_numbers(report: Report, names: Iterable[str]) -> dict[str, float]:
    """Numbers of fields that some of these names ask for: FIELD, its mean per step and rank, and FIELD.max,
    that of the rank with the largest. NaN where the field is absent in all steps of the report."""
    run, found = report.run, {}
    positions = np.flatnonzero(np.isin(run.step_indexes, report.observed.index))
    for name in dict.fromkeys(name.removesuffix(LARGEST) for name in names):
        if name in run.all_fields:
            of_ranks = mean_by_rank(run, name, positions)
            seen = of_ranks[np.isfinite(of_ranks)]
            found[name] = float(seen.mean()) if len(seen) else math.nan
            found[f"{name}{LARGEST}"] = float(seen.max()) if len(seen) else math.nan
    return found


def _of_run(report: Report) -> dict[str, float]:
    observed, efficiency, traffic = report.observed, report.efficiency, report.traffic
    logged = report.path.efficiency
    longest = observed.largest.get("step_time_s", np.zeros(0))
    step_s = float(observed.totals["step_time_s"].sum()) if observed.n_steps else 0.0
    parts = {part.name: part.time_s for part in report.parts}
    saved = [finding.saved_s for finding in report.findings if finding.saved_s is not None]

    def total(name: str) -> float:
        return float(observed.totals[name].sum()) if observed.has(name) else math.nan

    return {
        "ranks": observed.n_ranks,
        "steps": observed.n_steps,
        "elapsed_s": report.elapsed_s,
        **{f"{name}_s": parts.get(name, math.nan) for name in ("setup", "teardown")},
        "outside_steps_share": 1 - report.parts[1].share if report.parts else math.nan,
        "step_time_s": float(np.median(longest)) if len(longest) else math.nan,
        "longest_step_s": float(longest.max()) if len(longest) else math.nan,
        "imbalance": report.imbalance,
        "parallel_efficiency": efficiency.parallel,
        "load_balance": efficiency.load_balance,
        "communication_efficiency": efficiency.communication,
        "logged_steps": report.path.n_steps,
        **{
            f"logged_{name}": math.nan if logged is None else getattr(logged, factor)
            for factor, name in LOGGED.items()
        },
        "findings": len(report.findings),
        "savings_s": max(saved, default=0.0),
        "messages": traffic.n_messages,
        "empty_messages": traffic.n_empty,
        "message_bytes": traffic.inside_bytes + traffic.between_bytes + traffic.unknown_bytes,
        "between_nodes_bytes": traffic.between_bytes,
        "read_bytes": total("io_read_bytes"),
        "written_bytes": total("io_write_bytes"),
        "resident_bytes": float(observed.largest["resident_bytes"].max())
        if observed.has("resident_bytes")
        else math.nan,
        "perfield_share": total("perfield_time_s") / step_s if step_s > 0 else math.nan,
    }


def not_proven(report: Report) -> dict[str, str]:
    """Numbers of findings that the run cannot prove: there is no such finding, but a question that may yield
    it is answered by "not proven". By name, what would have been found."""
    found = {finding.kind for answer in report.answers for finding in answer.findings}
    kinds_of = {module.QUESTION: module.KINDS for module in QUESTIONS}
    open_answers = [answer for answer in report.answers if answer.sight is not None and not answer.is_no]
    return {
        f"finding:'{kind}'.{number}": answer.sight.words
        for answer in open_answers
        for kind in kinds_of.get(answer.question, ())
        if kind not in found
        for number in ("count", "saved_s")
    }


def _of_findings(report: Report) -> Iterator[tuple[str, float]]:
    kinds_of = {module.QUESTION: module.KINDS for module in QUESTIONS}
    asked = {answer.question for answer in report.answers if answer.is_asked}
    unknown = not_proven(report)
    for kind in dict.fromkeys(kind for kinds in kinds_of.values() for kind in kinds):
        found = [finding for finding in report.findings if finding.kind == kind]
        saved = max((finding.saved_s or 0.0 for finding in found), default=0.0)
        known = any(kind in kinds for question, kinds in kinds_of.items() if question in asked)
        for number, value in (("count", float(len(found))), ("saved_s", saved)):
            name = f"finding:'{kind}'.{number}"
            yield name, value if known and name not in unknown else math.nan


def _answer(answer: Answer) -> str | None:
    """ "yes", "no" or "not proven"; None where nobody could look."""
    if not answer.is_asked:
        return None
    return "yes" if answer.findings or answer.elsewhere else "no" if answer.is_no else "not proven"


def _lines(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(json.dumps(each, allow_nan=False) for each in value) + "\n]"
    if isinstance(value, dict) and value:
        each = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in value.items())
        return "{\n  " + ",\n  ".join(each) + "\n}"
    return json.dumps(value, allow_nan=False)
