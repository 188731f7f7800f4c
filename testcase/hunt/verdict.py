# SPDX-License-Identifier: BSD-3-Clause
"""Whether the findings of a run name what was planted: the first one its kind and place, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plant import PROBLEMS, Plant

from perfield.analysis.findings import Finding

OF_THE_MACHINE = {"shared cores", "taken PUs"}  # true of these runs, where ranks outnumber cores
IN_ONE_REGION = {
    "changes",
    "cost",
    "moves",
    "slower",
}  # the 24 ranks of an inlet may wait for PUs, which hides it
AT_INLET = 6  # of 24 ranks, in both programs
ON_ONE_RANK = {"cells", "cost", "serial", "writer"}


@dataclass(frozen=True)
class Verdict:
    """first : words of the first finding, "" without one. why : what is wrong; "" if it is right."""

    first: str
    why: str

    @property
    def is_right(self) -> bool:
        """Whether the report says what was planted."""
        return not self.why


def verdict_of(plant: Plant, findings: Sequence[Finding]) -> Verdict:
    """Compares the findings, the costliest first, with what was planted, without those that are true of the
    machine."""
    others = [finding for finding in findings if finding.kind not in OF_THE_MACHINE]
    first = others[0].words if others else ""
    if plant.problem not in PROBLEMS:
        return Verdict(first, f"{others[0].kind}, but nothing is planted" if others else "")
    if not others:
        return Verdict(first, "finds nothing")
    return Verdict(first, _what_is_wrong(plant, others[0]))


def _what_is_wrong(plant: Plant, finding: Finding) -> str:
    kind = PROBLEMS[plant.problem].kind
    if finding.kind != kind:
        return f"says {finding.kind}, not {kind}"
    ranks = sorted(finding.ranks.tolist())
    if plant.problem in ON_ONE_RANK and ranks != [plant.rank]:
        return f"says ranks {ranks}, not {plant.rank}"
    if plant.problem == "changes" and ranks != sorted({plant.rank, (plant.rank + 1) % plant.n_ranks}):
        return f"says ranks {ranks}, not {plant.rank} and the next"
    if plant.problem == "inlet" and len(ranks) != AT_INLET:
        return f"says ranks {ranks}, not the {AT_INLET} at the inlet"
    if plant.problem in IN_ONE_REGION and plant.region not in finding.regions:
        return f"says regions {list(finding.regions)}, not {plant.region}"
    if plant.problem == "serial" and "control" not in finding.regions:
        return f"says regions {list(finding.regions)}, not control"
    if plant.problem == "empty" and {int(source) for source, _ in finding.pairs} != {plant.rank}:
        return f"says pairs {finding.pairs.tolist()}, not those from {plant.rank}"
    if plant.problem == "output":
        written = [number - 1 for number in range(1, plant.steps + 1) if number % plant.every == 0]
        if sorted(finding.steps.tolist()) != written:
            return f"says steps {finding.steps.tolist()}, not {written}"
    return ""
