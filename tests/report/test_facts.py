# SPDX-License-Identifier: BSD-3-Clause
"""A report as JSON: it is what its schema says, it has the report's numbers, and unknown ones are null."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from known_runs.simulated_waits import collective, compute, simulate, step
from known_runs.uneven_runs import uneven_run
from known_runs.waiting_runs import write_waiting_run

import perfield
from perfield.analysis.findings import Answer, Finding, Picture, memory_growth
from perfield.report import report
from perfield.report.facts import VERSION, as_json, facts, numbers
from perfield.report.facts import schema as facts_schema
from perfield.report.sections import sections
from twins import twin

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

FOUND = Finding(
    kind="growing memory",
    words="The memory of rank 3 grows.",
    saved_s=0.25,
    remedy="Look for what is allocated and kept.",
    picture=Picture("heat_map", "resident_bytes", 7),
    ranks=np.array([3]),
    steps=np.arange(2),
    regions=("solve",),
    hosts=("n1",),
    pairs=np.array([[0, 3]]),
    chance=1e-9,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The report of a run of 4 ranks on 2 hosts."""
    run = twin.write_run(tmp_path_factory.mktemp("facts") / "run", ranks=4, steps=5, hosts=("n1", "n2"))
    return report(perfield.open(run))


@pytest.fixture(scope="module")
def schema():
    """The schema that the package holds, in which no name may be missing."""
    return strict(facts_schema())


def strict(schema):
    """The schema, but it refuses names that it does not say: none of perfield's own may be missing."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if "properties" in schema else {}
    return {**{key: strict(value) for key, value in schema.items()}, **closed}


def parsed(text: str):
    """A JSON text that holds nothing but JSON: no NaN."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def answered(made, *findings: Finding, missing: tuple[str, ...] = ()):
    """The report with another answer about memory."""
    answer = Answer(memory_growth.QUESTION, findings, missing)
    others = [other for other in made.answers if other.question != answer.question]
    return replace(made, findings=findings, answers=(*others, answer))


def test_schema_is_one(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


def test_json_is_what_the_schema_says(made, schema):
    for one in (made, answered(made, FOUND)):
        jsonschema.validate(parsed(as_json(one)), schema)


def test_json_of_a_measured_run_is_what_the_schema_says(planted_run, schema):
    reported = parsed(as_json(report(perfield.open(planted_run("cost").cwd / "perfield-run"))))
    jsonschema.validate(reported, schema)
    imbalance = [each for each in reported["findings"] if each["kind"] == "imbalance by cost per cell"]
    assert [each["ranks"] for each in imbalance] == [[2]], "others may take PUs, which then comes first"
    assert reported["numbers"]["imbalance"] > 1.3


def test_schema_refuses_what_it_does_not_know(made, schema):
    for change in ({"extra": 1}, {"version": VERSION + 1}, {"findings": [{"kind": "burst of messages"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**facts(made), **change}, schema)


def test_what_the_run_does_not_know_is_null(tmp_path, schema):
    changes = {"change_rank": twin.without_mpi, "change_step": twin.without_calls}
    without_mpi = report(perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=3, **changes)))
    reported = parsed(as_json(without_mpi))
    jsonschema.validate(reported, schema)
    assert reported["numbers"]["parallel_efficiency"] is None
    assert reported["numbers"]["steps"] == 3


@pytest.mark.parametrize("steps", [0, 1])
def test_run_without_steps_or_with_one_is_what_the_schema_says(steps, tmp_path, schema):
    short = report(perfield.open(twin.write_run(tmp_path / "run", ranks=2, steps=steps, mesh=False)))
    jsonschema.validate(parsed(as_json(short)), schema)


def test_finding_is_reported_with_kind_cost_and_place(made):
    (reported,) = parsed(as_json(answered(made, FOUND)))["findings"]
    assert reported == {
        "kind": "growing memory",
        "words": "The memory of rank 3 grows.",
        "saved_s": 0.25,
        "lost_s": 0.0,
        "in_cpu_time": False,
        "remedy": "Look for what is allocated and kept.",
        "picture": {"kind": "heat_map", "field": "resident_bytes", "step": 7},
        "ranks": [3],
        "steps": [0, 1],
        "regions": ["solve"],
        "hosts": ["n1"],
        "pairs": [[0, 3]],
        "chance": 1e-9,
        "unproven": "",
        "view": {"frame": None, "field": "resident_bytes", "rank": 3},
    }


def test_numbers_are_those_of_the_report(made):
    reported = parsed(as_json(made))["numbers"]
    solve = next(row for row in made.regions if row["name"] == "solve")
    assert reported["ranks"] == 4
    assert reported["steps"] == 5
    assert reported["imbalance"] == pytest.approx(made.imbalance)
    assert reported["parallel_efficiency"] == pytest.approx(made.efficiency.parallel)
    assert reported["solve.imbalance"] == pytest.approx(solve["imbalance"])
    assert reported["solve.time_s"] == pytest.approx(solve["mean_time_s"])
    assert reported["messages"] == made.traffic.n_messages


def test_savings_are_those_of_the_costliest_finding(made):
    assert numbers(answered(made))["savings_s"] == 0
    reported = numbers(answered(made, FOUND))
    assert (reported["savings_s"], reported["findings"]) == (0.25, 1)
    assert reported["finding:'growing memory'.saved_s"] == 0.25
    assert reported["finding:'growing memory'.count"] == 1


def test_number_of_a_question_that_could_not_be_asked_is_unknown(made):
    unasked = numbers(answered(made, missing=("resident_bytes",)))
    assert math.isnan(unasked["finding:'growing memory'.count"])
    assert numbers(answered(made))["finding:'growing memory'.count"] == 0


def test_page_explains_all_numbers_and_keys(made):
    text = (Path(__file__).resolve().parents[2] / "docs/report-json.md").read_text()
    kinds = {name.rpartition(".")[2] for name in numbers(made) if "." in name}
    plain = {name for name in numbers(made) if "." not in name} | set(facts(made))
    missing = {name for name in plain if f"`{name}`" not in text}
    missing |= {name for name in kinds if f".{name}`" not in text}
    assert not missing


def test_notes_say_why_steps_are_left_out(tmp_path):
    apart = uneven_run(
        tmp_path / "apart", [5, 5], label=lambda rank, step: step + rank * (step == 2), mesh=False
    )
    short = uneven_run(tmp_path / "short", [10, 10, 10, 6], groups=["a", "a", "a", "b"], mesh=False)
    said = [" ".join(report(perfield.open(path)).notes) for path in (apart, short)]
    left_out = "steps are left out of findings and tables, as"
    assert f"1 of 5 {left_out} ranks may have done different steps in them." in said[0]
    assert f"4 of 10 {left_out} some rank's entry of them is missing or damaged." in said[1]
    assert said[0].count(left_out) == said[1].count(left_out) == 1


def test_efficiencies_of_logged_steps_are_apart_and_multiply(tmp_path):
    """Of steps that alternate between balanced and unbalanced ones, the unbalanced are logged."""
    programs = [[], []]
    for number in range(12):
        for rank, program in enumerate(programs):
            program += [compute(40_000_000 if rank and number % 2 else 10_000_000), collective("allreduce")]
            program.append(step())
    path = write_waiting_run(tmp_path / "run", simulate(programs), lambda number: number % 2 == 1)
    made = report(perfield.open(path))
    reported = numbers(made)
    assert reported["logged_steps"] == 6
    factors = ("load_balance", "serialisation_efficiency", "transfer_efficiency")
    product = math.prod(reported[f"logged_{name}"] for name in factors)
    assert (
        reported["logged_parallel_efficiency"] == pytest.approx(product) == pytest.approx(25 / 40, rel=0.01)
    )
    assert reported["parallel_efficiency"] == pytest.approx(35 / 50, rel=0.01)  # of all steps
    (section,) = (each for each in sections(made) if each.name == "efficiency")
    (table,) = section.tables
    assert table.headings == ("", ">all steps", ">6 logged steps", "meaning")
    assert "do not represent all 12 steps" in section.words[0]
    assert [row[1] for row in table.rows[3:]] == ["", ""]  # serialisation and transfer
