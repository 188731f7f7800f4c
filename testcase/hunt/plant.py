# SPDX-License-Identifier: BSD-3-Clause
"""What a seed plants: program, problem, strength and place; always the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

REGIONS = {  # of each program, those that compute
    "stencil": ("assemble", "solve"),
    "particles": ("push", "deposit", "field"),
    "plate": ("sweep", "source"),
}
FEWEST_TIMES = 4  # that a run writes output; two are too few to know whether these steps are longer
MOST_RANKS = {"stencil": 12, "particles": 12, "plate": 8}  # Python takes long to start
RANKS_OF_INLET = 24  # fewer ranks make no group that can be told from chance, so not in plate


@dataclass(frozen=True)
class Problem:
    """Something to plant.

    text : what it is, with the plant's own values. kind : that a finding about it has. strength : lowest
    and highest; the lowest is what perfield should just find. every : lowest and highest; see `Plant`.
    """

    text: str
    kind: str
    strength: tuple[float, float] = (1.0, 1.0)
    every: tuple[int, int] = (1, 1)


PROBLEMS = {
    "cells": Problem("rank {rank} has {strength:.2f} times as many cells", "imbalance by cells", (1.25, 3.0)),
    "cost": Problem(
        "the same cells cost rank {rank} {strength:.2f} times as much, in {region}",
        "imbalance by cost per cell",
        (1.25, 3.0),
    ),
    "moves": Problem(
        "one rank after the other computes {strength:.2f} times as long, in {region}, each for {every} steps",
        "imbalance that moves",
        (1.5, 3.0),
        (2, 8),
    ),
    "changes": Problem(
        "rank {rank}, and after half of the steps the next one, computes {strength:.2f} times as long, in "
        "{region}",
        "imbalance that moves",
        (1.5, 3.0),
    ),
    "inlet": Problem(
        "ranks at one end of the mesh compute {strength:.2f} times as long, in {region}",
        "imbalance follows the mesh",
        (1.25, 3.0),
    ),
    "serial": Problem(
        "rank {rank} alone works for {more:.2f} steps in control, and all wait for what it sends",
        "rank that all wait for",
        (1.2, 3.0),
    ),
    "empty": Problem(
        "rank {rank} sends {every} empty messages to each neighbour in each step",
        "empty messages",
        every=(4, 40),
    ),
    "writer": Problem(
        "rank {rank} writes for all, every {every} steps, which takes {more:.2f} of their time",
        "I/O through few ranks",
        (1.2, 2.0),
        (1, 5),
    ),
    "output": Problem(
        "all ranks write files every {every} steps, which takes {strength:.1f} steps",
        "output steps",
        (2.0, 8.0),
        (8, 20),
    ),
    "slower": Problem(
        "steps take ever longer, at the end {strength:.2f} times as long, in {region}",
        "steps get slower",
        (1.3, 3.0),
    ),
}
NONE = Problem("nothing", "")


@dataclass(frozen=True)
class Plant:
    """What one seed plants.

    noise : of each region's work, the standard deviation of its logarithm. step_s : work of a rank in a
    step, in s. rank : where, if the problem is in one. strength : a factor on the work of a step. region :
    where the problem is, if it is in a region that computes. every : steps between outputs, steps that one
    rank is the slow one, or messages.
    """

    seed: int
    program: str
    problem: str
    n_ranks: int
    steps: int
    noise: float
    step_s: float
    rank: int
    strength: float
    region: str
    every: int

    @property
    def words(self) -> list[str]:
        """The program's arguments."""
        number = REGIONS[self.program].index(self.region)
        values = (self.steps, self.seed, self.noise, self.step_s, self.problem, self.rank, self.strength)
        return [str(value) for value in (*values, number, self.every)]

    @property
    def text(self) -> str:
        """What is planted, in words."""
        problem = PROBLEMS.get(self.problem, NONE)
        return problem.text.format(**vars(self), more=self.strength - 1)


def drawn(seed: int, problem: str = "", program: str = "") -> Plant:
    """What a seed plants. problem, program : instead of the drawn ones; "none" plants nothing."""
    draw = random.Random(seed)
    drawn_program = draw.choice(sorted(REGIONS))
    drawn_problem = draw.choice([*sorted(PROBLEMS), "none"])
    program, problem = program or drawn_program, problem or drawn_problem
    limits = PROBLEMS.get(problem, NONE)
    if problem == "inlet" and program == "plate":
        program = "stencil"
    n_ranks, steps = draw.randint(4, MOST_RANKS[program]), draw.randint(40, 150)
    if problem == "inlet":
        n_ranks = RANKS_OF_INLET
    return Plant(
        seed=seed,
        program=program,
        problem=problem,
        n_ranks=n_ranks,
        steps=steps,
        noise=round(draw.uniform(0.02, 0.1), 3),
        step_s=round(draw.uniform(0.01, 0.025), 4),
        rank=draw.randrange(n_ranks),
        strength=round(draw.uniform(*limits.strength), 3),
        region=draw.choice(REGIONS[program]),
        every=min(draw.randint(*limits.every), steps // FEWEST_TIMES if problem == "output" else steps),
    )
