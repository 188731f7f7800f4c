# SPDX-License-Identifier: BSD-3-Clause
"""The hunt: what its seeds plant, how it checks, and that the report names what is planted."""

from __future__ import annotations

import importlib
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfield.analysis.findings import Finding, Picture
from twins import twin

FOLDER = Path(__file__).resolve().parents[2] / "testcase/hunt"
MODULES = ("plant", "verdict", "hunt")
CELLS_IN_STENCIL, OUTPUT_IN_PLATE, SERIAL_IN_PARTICLES, NOTHING = 10, 0, 31, 20  # seeds


@pytest.fixture(scope="module")
def hunt():
    """The modules of testcase/hunt by name, which are forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        for name in MODULES:
            patch.delitem(importlib.sys.modules, name, raising=False)
        yield {name: importlib.import_module(name) for name in MODULES}


@pytest.fixture(scope="module")
def programs(hunt, tmp_path_factory):
    """The folder of the built programs."""
    return hunt["hunt"].built(tmp_path_factory.mktemp("hunt") / "programs")


def a_finding(kind: str, **place) -> Finding:
    """A finding of some kind at some place."""
    return Finding(kind, f"It is {kind}.", 1.0, "Mend it.", Picture("machine"), **place)


def test_a_seed_always_plants_the_same(hunt):
    drawn = hunt["plant"].drawn
    assert drawn(CELLS_IN_STENCIL) == drawn(CELLS_IN_STENCIL)
    assert len({drawn(seed).words[0] for seed in range(20)}) > 5
    reported = drawn(CELLS_IN_STENCIL)
    assert (reported.program, reported.problem, reported.n_ranks, reported.steps) == (
        "stencil",
        "cells",
        10,
        101,
    )


def test_seeds_plant_all_problems_in_all_programs_within_their_limits(hunt):
    plant = hunt["plant"]
    plants = [plant.drawn(seed) for seed in range(400)]
    seen = {(each.program, each.problem) for each in plants}
    possible = {(program, p) for program in plant.REGIONS for p in [*plant.PROBLEMS, "none"]}
    assert seen == possible - {("plate", "inlet")}
    for each in plants:
        assert each.n_ranks == 24 if each.problem == "inlet" else 4 <= each.n_ranks <= 12
        assert 40 <= each.steps <= 150
        assert each.rank < each.n_ranks
        limits = plant.PROBLEMS.get(each.problem, plant.NONE)
        assert limits.strength[0] <= each.strength <= limits.strength[1]
        assert limits.every[0] <= each.every <= limits.every[1]


def test_verdict_wants_kind_and_place_of_the_first_finding(hunt):
    verdict_of = hunt["verdict"].verdict_of
    cells = hunt["plant"].drawn(CELLS_IN_STENCIL)
    right = a_finding("imbalance by cells", ranks=np.array([cells.rank]))
    assert verdict_of(cells, [right, a_finding("noise")]).is_right
    assert verdict_of(cells, [a_finding("shared cores"), right]).is_right
    assert verdict_of(cells, [a_finding("noise"), right]).why == "says noise, not imbalance by cells"
    elsewhere = replace(right, ranks=np.array([cells.rank + 1]))
    assert verdict_of(cells, [elsewhere]).why == f"says ranks [{cells.rank + 1}], not {cells.rank}"
    assert verdict_of(cells, []).why == "finds nothing"


def test_verdict_wants_the_region_and_the_steps(hunt):
    verdict_of, drawn = hunt["verdict"].verdict_of, hunt["plant"].drawn
    cost = drawn(1, "cost", "stencil")
    kind = "imbalance by cost per cell"
    there = {"ranks": np.array([cost.rank]), "regions": (cost.region,)}
    assert verdict_of(cost, [a_finding(kind, **there)]).is_right
    assert (
        "says regions ['exchange']"
        in verdict_of(cost, [a_finding(kind, **{**there, "regions": ("exchange",)})]).why
    )
    output = drawn(1, "output", "stencil")
    written = np.arange(output.every - 1, output.steps, output.every)
    assert verdict_of(output, [a_finding("output steps", steps=written)]).is_right
    assert not verdict_of(output, [a_finding("output steps", steps=written - 1)]).is_right


def test_verdict_wants_both_ranks_of_a_change_and_the_group_at_an_inlet(hunt):
    verdict_of, drawn = hunt["verdict"].verdict_of, hunt["plant"].drawn
    changes = drawn(1, "changes", "stencil")
    there = {"regions": (changes.region,)}
    ranks = np.array([changes.rank, changes.rank + 1]) % changes.n_ranks
    assert verdict_of(changes, [a_finding("imbalance that moves", ranks=ranks, **there)]).is_right
    one = a_finding("imbalance that moves", ranks=ranks[:1], **there)
    assert verdict_of(changes, [one]).why.endswith(f"not {changes.rank} and the next")
    inlet = drawn(1, "inlet", "stencil")
    kind = "imbalance follows the mesh"
    assert verdict_of(inlet, [a_finding(kind, ranks=np.arange(6))]).is_right
    assert not verdict_of(inlet, [a_finding(kind, ranks=np.arange(1))]).is_right


def test_verdict_wants_nothing_where_nothing_is_planted(hunt):
    verdict_of = hunt["verdict"].verdict_of
    nothing = hunt["plant"].drawn(NOTHING)
    assert verdict_of(nothing, []).is_right
    assert verdict_of(nothing, [a_finding("shared cores")]).is_right
    assert verdict_of(nothing, [a_finding("noise")]).why == "noise, but nothing is planted"


def test_kept_run_is_evaluated_without_running_it_again(hunt, tmp_path):
    plant = hunt["plant"].drawn(CELLS_IN_STENCIL)
    twin.write_run(tmp_path / "perfield-run", ranks=4, steps=1)
    (tmp_path / "printed.txt").write_text("hello\nlate 0.125\n")
    found = hunt["hunt"].hunted(plant, tmp_path / "no-programs", tmp_path, tries=0)
    assert found.late == 0.125
    assert not found.verdict.is_right


def test_seeds_of_the_command_line(hunt):
    seeds = hunt["hunt"].seeds_of
    assert seeds("3") == [3]
    assert seeds("1-3,7") == [1, 2, 3, 7]
    with pytest.raises(ValueError, match="invalid literal"):
        seeds("all")


@pytest.mark.alone
@pytest.mark.parametrize("seed", [CELLS_IN_STENCIL, OUTPUT_IN_PLATE, SERIAL_IN_PARTICLES])
def test_report_names_what_is_planted(seed, hunt, programs, tmp_path):
    found = hunt["hunt"].hunted(hunt["plant"].drawn(seed), programs, tmp_path, tries=2)
    if found.late > hunt["hunt"].LATE:
        pytest.skip(f"this machine is too busy: it woke the ranks {found.late:.0%} late")
    assert found.verdict.is_right, f"{found.plant.text}: {found.verdict}"


def test_table_says_plant_finding_and_verdict(hunt):
    from rich.console import Console

    plant = hunt["plant"].drawn(CELLS_IN_STENCIL)
    wrong = hunt["hunt"].Hunted(plant, hunt["verdict"].verdict_of(plant, []), 0.1)
    console = Console(width=250, record=True, file=io.StringIO())
    console.print(hunt["hunt"].table([wrong]))
    reported = " ".join(console.export_text().replace("│", " ").split())
    for words in (
        "stencil, 10 ranks, 101 steps",
        f"rank {plant.rank} has {plant.strength:.2f} times as many cells",
        "wrong: finds nothing",
    ):
        assert words in reported


@pytest.mark.long
@pytest.mark.parametrize(
    ("problem", "seeds", "most_wrong"), [("", range(1, 61), 3), ("none", range(1, 21), 1)]
)
def test_hunt_is_nearly_always_right(problem, seeds, most_wrong, hunt, programs, tmp_path):
    drawn = [hunt["plant"].drawn(seed, problem) for seed in seeds]
    found = [hunt["hunt"].hunted(plant, programs, tmp_path / str(plant.seed)) for plant in drawn]
    wrong = [
        f"{one.plant.seed}: {one.plant.text}: {one.verdict}" for one in found if not one.verdict.is_right
    ]
    assert len(wrong) <= most_wrong, "\n".join(wrong)
