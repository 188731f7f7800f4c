# SPDX-License-Identifier: BSD-3-Clause
"""Reads all frames of a run once, and keeps what pictures of single steps must know of the others.

These are the kinds of steps, the order of regions, and mean, 95th percentile, maximum and imbalance over all
steps, which become arrays beside those of the step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.steps import StepKinds, kinds_of_steps, savings_s
from perfield.fields.waits import CAUSED
from perfield.output.scales import NAMES

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame, Region

COMPUTING = "compute_time_s"
WAITING = ("waiting_time_s", "mpi_time_s")  # the first that the run has
PAIRED_REGIONS = 2  # regions that are shown by default
MOST_VALUES = 20_000_000  # kept at once; of longer runs every n-th step enters the values over steps


@dataclass(frozen=True)
class OverSteps:
    """An array that holds one value per rank over all steps.

    base : the field. kind : "mean", "p95", "maximum" or "imbalance". words : for its title, behind the
    field's. values : (n_ranks,).
    """

    base: str
    kind: str
    words: str
    values: np.ndarray


@dataclass(frozen=True)
class Survey:
    """What all frames of a run say together.

    kinds : of the frames. regions : the regions' field names, the one with most to save first. over_steps :
    by name of the array. indexes, labels : (n_frames,) of the steps, and the program's own numbers.
    mesh_since : (n_frames,) position of the frame in which the mesh became what it is; all 0 if it never
    changed.
    """

    kinds: StepKinds
    regions: list[str] = field(default_factory=list)
    over_steps: dict[str, OverSteps] = field(default_factory=dict)
    indexes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    mesh_since: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def survey(
    run: AnyRun, wanted: Collection[str] = (), progress: Callable[[int], None] = lambda number: None
) -> Survey:
    """Reads all frames. wanted : fields to give over steps, beside the default ones. progress : is called
    with the number of each frame that was read."""
    n_frames = len(run)
    cost = {region.field: "" for region in run.known_regions}
    columns: dict[str, list[np.ndarray]] = {}
    indexes, labels, mesh_since = np.zeros((3, n_frames), dtype=np.int64)
    kinds: dict[str, list[np.ndarray]] = {name: [] for name in (COMPUTING, "io_write_bytes", "io_time_s")}
    savings = UnevenRegions(run.known_regions)
    meshes = Meshes()
    absent = np.full(run.n_ranks, np.nan)
    stride, is_mean = 1, False
    for number, frame in enumerate(run.frames()):
        if not number:
            cost = {stem: cost_field(frame.values, stem) for stem in cost}
            kept = _kept(frame.values, [COMPUTING, CAUSED, *WAITING, *cost.values(), *wanted])
            columns = {name: [] for name in kept}
            stride = max(1, -(-n_frames * run.n_ranks * len(kept) // MOST_VALUES))
        indexes[number], labels[number] = frame.index, frame.label
        before = meshes.current
        is_new = meshes.number(frame.mesh_version) != before
        mesh_since[number] = number if is_new or not number else mesh_since[number - 1]
        savings.note(frame)
        is_mean |= _n_steps(frame) > 1
        for name, rows in kinds.items():
            rows.append(_step_times(frame) if name == COMPUTING else frame.values.get(name, absent))
        if number % stride == 0:
            for name, rows in columns.items():
                rows.append(frame.values.get(name, absent))
        progress(number)
    of_steps = {name: np.array(rows).reshape(len(rows), run.n_ranks) for name, rows in kinds.items()}
    regions = savings.names()
    shown = dict.fromkeys(
        [
            *(COMPUTING, beside_computing(columns), waiting_of(columns)),
            *(cost[stem] for stem in regions[:PAIRED_REGIONS]),
            *wanted,
        ]
    )
    each = "steps" if not is_mean else "frames"
    words = f"{n_frames} {each}" if stride == 1 else f"{-(-n_frames // stride)} of {n_frames} {each}"
    return Survey(
        kinds_of_steps(of_steps[COMPUTING], of_steps["io_write_bytes"], of_steps["io_time_s"]),
        regions,
        over_steps({name: np.array(columns[name]) for name in shown if columns.get(name)}, words),
        indexes,
        labels,
        mesh_since,
    )


def over_steps(columns: Mapping[str, np.ndarray], steps: str) -> dict[str, OverSteps]:
    """Arrays over all steps: mean, 95th percentile and maximum of each field, and the imbalance of times.

    columns : field -> (n_steps, n_ranks), NaN where absent. steps : what they cover, for titles: "60 steps";
    of a field that is absent in some of them, the title says in how many it is known.
    The imbalance of a rank is its value divided by the mean of all ranks, averaged over steps; 1 is balanced.
    Nothing comes from fewer than 2 steps, and no imbalance from 1 rank.
    """
    made = {}
    for name, values in columns.items():
        if len(values) < 2:
            continue
        n_known = int(np.isfinite(values).any(axis=1).sum())
        over = steps if n_known in (0, len(values)) else f"{n_known} of {steps}"
        is_seen = ~np.isnan(values).all(axis=0)  # NumPy takes as long for a rank without values
        p95 = np.full(values.shape[1], np.nan)
        p95[is_seen] = np.nanpercentile(values[:, is_seen], 95, axis=0)
        with warnings.catch_warnings():  # a rank that is absent in all steps stays NaN
            warnings.simplefilter("ignore", RuntimeWarning)
            of_kind = {
                "mean": (f"mean of {over}", np.nanmean(values, axis=0)),
                "p95": (f"95th percentile of {over}", p95),
                "maximum": (f"maximum of {over}", np.nanmax(values, axis=0)),
            }
            if name.endswith("compute_time_s") and values.shape[1] > 1:
                means = np.nanmean(values, axis=1, keepdims=True)
                shares = values / np.where(means > 0, means, np.nan)
                of_kind["imbalance"] = (f"rank over mean of ranks, {over}", np.nanmean(shares, axis=0))
        for kind, (words, result) in of_kind.items():
            array = f"{name.removesuffix('_s')}_imbalance" if kind == "imbalance" else f"{name}_{kind}"
            made[array] = OverSteps(name, kind, words, result)
    return made


def cost_field(known: Collection[str], stem: str) -> str:
    """The field that holds a region's cost: its compute time, or its time where no calls were seen inside."""
    computing = f"{stem}_compute_time_s"
    return computing if computing in known else f"{stem}_time_s"


def waiting_of(known: Collection[str]) -> str:
    """The field that holds waiting."""
    return next((name for name in WAITING if name in known), WAITING[-1])


def beside_computing(known: Collection[str]) -> str:
    """The field that is looked at beside computing: what ranks cost the others, else how long they wait."""
    return CAUSED if CAUSED in known else waiting_of(known)


class UnevenRegions:
    """Orders a run's regions by the seconds that balancing each would save, over the noted frames."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self._saved = {region.field: 0.0 for region in regions}

    def note(self, frame: Frame) -> None:
        """Takes in a frame."""
        for stem in self._saved:
            times = frame.values.get(f"{stem}_compute_time_s")
            if times is None or not np.isfinite(times).any():  # MPI was not seen
                times = frame.values.get(f"{stem}_time_s")
            if times is not None:
                self._saved[stem] += savings_s(times[None, :]) * _n_steps(frame)

    def names(self) -> list[str]:
        """The regions' field names, the one with most to save first."""
        return sorted(self._saved, key=lambda stem: -self._saved[stem])


class Meshes:
    """Numbers the meshes of the frames: the first is 0, and a change on any rank starts the next."""

    def __init__(self) -> None:
        self.current = 0
        self._versions: np.ndarray | None = None

    def number(self, versions: np.ndarray) -> int:
        """The number of a frame's mesh. versions : (n_ranks,); 0 means that the rank's mesh is unchanged."""
        before = versions if self._versions is None else self._versions
        self._versions = np.where(versions > 0, versions, before)
        self.current += int((self._versions != before).any())
        return self.current


def _n_steps(frame: Frame) -> int:
    """How many steps a frame shows the mean of."""
    return frame.span if frame.is_mean else 1


def _kept(known: Collection[str], names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name in known and name not in NAMES]


def _step_times(frame: Frame) -> np.ndarray:
    """What says how long the ranks computed: without MPI, the time of the step."""
    compute = frame.values.get(COMPUTING)
    if compute is None or not np.isfinite(compute).any():
        return frame.values["step_time_s"]
    return compute
