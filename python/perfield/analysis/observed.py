# SPDX-License-Identifier: BSD-3-Clause
"""What a run measured, as arrays in memory: all that findings ask. `perfield.derived.observe` reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from perfield.topology import Placement, UsedDevices

if TYPE_CHECKING:
    from perfield.analysis.waits.sums import WaitSums

# small: messages of at most 511 B, the empty ones among them.
PAIRS = np.dtype(
    [("source", "i4"), ("target", "i4"), *((name, "u8") for name in ("count", "bytes", "empty", "small"))]
)
WAITS = np.dtype([("rank", "i4"), ("peer", "i4"), ("count", "u8"), ("time_s", "f8")])
STAMPS = ("begin_s", "end_s")
COMPUTING = ("compute_time_s", "delayed_compute_time_s")  # of `outside_calls_s`
DELAYED = 0.01  # of the time outside of calls, waiting for a PU
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class SampledFunctions:
    """How long ranks were in the functions that matter, as samples show it, in all steps together.

    names : without MPI's. time_s, variance : float64 (n_functions, n_columns), s of CPU time, and s^2 by
    which the number of samples leaves it unsure.
    """

    names: tuple[str, ...]
    time_s: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True)
class Observed:
    """What a run measured in the steps that all ranks of its largest group closed.

    n_ranks : of the world. ranks : int64 (n_columns,), those of the tables, ascending.
    index, label : int64 (n_steps,), the steps' indexes and the program's own numbers, in their order.
    row : int64 (n_steps,), the row of the tables that holds a step. Rows are single steps, or several
    consecutive ones where a run is too large.
    tables : by name of a field, float32 (n_rows, n_columns), NaN where absent. Values of several steps are
    joined as the field says (sum, max, last).
    totals, largest : by name of a field, float64 (n_steps,): sum and maximum over the ranks, of each single
    step; 0 where all are absent. Not of regions' fields.
    regions : by stem, the region's name in the program.
    messages : structured (PAIRS), sums over all steps by pair of ranks; source or target is negative where
    unknown. waits : structured (WAITS), likewise: rank waited for peer.
    empty : float64 (n_steps,), messages without bytes.
    placement : where the ranks sat; None if unknown. devices : those that the ranks used; None if unknown.
    neighbours : int64 (n, 2), pairs of ranks whose pieces of the mesh touch, both directions; None without
    a mesh. boxes : float64 (n_ranks, 2, 3), the lowest and the highest corner of each rank's piece of the
    mesh in the program's unit, NaN for a rank without one; None without a mesh.
    attributes : what the user says that ranks have in common, by name, str (n_ranks,), "" for a rank without.
    span : int64 (n_steps,), how many steps of the program each of these steps adds up; empty if one each.
    begin_s, end_s : float64 (n_rows, n_columns), when each rank began its first step of a row, and ended its
    last one, s on the run's common clock; NaN where unknown, (0, 0) where nobody asked.
    waiting : why ranks waited, in all frames; None where nobody asked. functions : None where nobody asked,
    or nothing was sampled.
    steps_by_clock : whether steps are windows of the clock. has_windows : the same, since nothing closed a
    step.
    n_uneven : frames left out since ranks of a group may have done different steps in them. n_left_out :
    frames left out since some of these ranks have no readable entry of them.
    """

    n_ranks: int
    ranks: np.ndarray
    index: np.ndarray
    label: np.ndarray
    row: np.ndarray
    tables: Mapping[str, np.ndarray]
    totals: Mapping[str, np.ndarray] = field(default_factory=dict)
    largest: Mapping[str, np.ndarray] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)
    messages: np.ndarray = field(default_factory=lambda: np.zeros(0, PAIRS))
    waits: np.ndarray = field(default_factory=lambda: np.zeros(0, WAITS))
    empty: np.ndarray = field(default_factory=lambda: np.zeros(0))
    placement: Placement | None = None
    devices: UsedDevices | None = None
    neighbours: np.ndarray | None = None
    boxes: np.ndarray | None = None
    attributes: Mapping[str, np.ndarray] = field(default_factory=dict)
    span: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    begin_s: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    end_s: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    waiting: WaitSums | None = None
    functions: SampledFunctions | None = None
    steps_by_clock: bool = False
    has_windows: bool = False
    n_uneven: int = 0
    n_left_out: int = 0
    _answers: dict = field(init=False, repr=False, compare=False, default_factory=dict)  # of `once`

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.index)

    @property
    def n_program_steps(self) -> int:
        """Number of the program's own steps, where a step here may add up several."""
        return int(self.span.sum()) if len(self.span) else self.n_steps

    @property
    def steps_in_row(self) -> np.ndarray:
        """How many of the program's steps each row of the tables holds, float64 (n_rows,)."""
        return np.bincount(self.row, self.span if len(self.span) else None).astype(float)

    def written_per_step(self) -> np.ndarray | None:
        """Bytes that all ranks wrote to files in one of the program's steps, (n_steps,); None if unknown."""
        written = self.totals.get("io_write_bytes")
        return written if written is None or not len(self.span) else written / self.span

    @property
    def elapsed_s(self) -> float:
        """How long the steps took: s of the rank that measured longest."""
        return float(np.nansum(self.of("step_time_s"), axis=0, dtype=float).max(initial=0.0))

    @property
    def known_messages(self) -> np.ndarray:
        """The messages between ranks of the world: those whose source and target are known."""
        ends = self.messages["source"], self.messages["target"]
        known = [(end >= 0) & (end < self.n_ranks) for end in ends]
        return self.messages[known[0] & known[1]]

    def has(self, name: str) -> bool:
        """Whether any rank has a value of a field; `<region>_...`: of this field of any region.

        "neighbours": whether it is known which pieces of the mesh touch. "steps": whether there are several,
        which can be compared. "time steps": the same, of the program's own. "messages": whether ranks of the
        world exchanged any. "wait_states": whether ranks kept stamps of them, so that it is known why they
        waited. "functions": whether any were sampled.
        """
        if name == "steps":
            return self.n_steps > 1
        if name == "time steps":
            return self.n_steps > 1 and not self.steps_by_clock
        if name == "neighbours":
            return self.neighbours is not None
        if name == "messages":
            return len(self.known_messages) > 0
        if name == "wait_states":
            return self.waiting is not None and self.waiting.is_known
        if name == "functions":
            return self.functions is not None
        if name in STAMPS:
            return bool(np.isfinite(getattr(self, name)).any())
        return (
            bool(np.isfinite(self.of(name)).any()) if "<region>" not in name else bool(self.of_regions(name))
        )

    def of(self, name: str) -> np.ndarray:
        """A field's table, float32 (n_rows, n_columns); NaN where the run has no such field."""
        table = self.tables.get(name)
        shape = (int(self.row[-1]) + 1 if len(self.row) else 0, len(self.ranks))
        return np.full(shape, np.nan, np.float32) if table is None else table

    @property
    def outside_calls_s(self) -> np.ndarray:
        """Time outside of MPI and files, what ranks waited for a PU there included: float64
        (n_rows, n_columns), s; NaN where compute time is absent."""
        return self.of("compute_time_s").astype(float) + np.nan_to_num(self.of("delayed_compute_time_s"))

    @property
    def ready_s(self) -> np.ndarray:
        """How long ranks were ready to run without a PU, in MPI, too: float64 (n_rows, n_columns), s; NaN
        where the kernel does not count it. The kernel books a wait when it ends, so part of it may belong to
        earlier steps: at most the whole step counts."""
        delay_s, step_s = (self.of(name).astype(float) for name in ("run_delay_time_s", "step_time_s"))
        return np.minimum(delay_s, step_s)

    @property
    def has_delays(self) -> bool:
        """Whether ranks waited for a PU for 1 % of their time outside of calls, or more."""
        delayed = np.nansum(self.of("delayed_compute_time_s"), dtype=float)
        return bool(delayed > 0 and delayed >= DELAYED * np.nansum(self.outside_calls_s))

    def of_regions(self, kind: str) -> dict[str, np.ndarray]:
        """Tables of a kind of field such as `<region>_time_s`, by stem; only regions that have values."""
        tables = {stem: self.tables.get(kind.replace("<region>", stem)) for stem in self.regions}
        return {stem: t for stem, t in tables.items() if t is not None and np.isfinite(t).any()}

    def by_rank(self, name: str) -> np.ndarray:
        """A field's table with a column for each rank of the world, float32 (n_rows, n_ranks)."""
        table = self.of(name)
        whole = np.full((len(table), self.n_ranks), np.nan, np.float32)
        whole[:, self.ranks] = table
        return whole


def unmeasured(placement: Placement) -> Observed:
    """Placed ranks without measurements."""
    none = np.zeros(0, np.int64)
    return Observed(
        n_ranks=placement.n_ranks,
        ranks=np.arange(placement.n_ranks),
        index=none,
        label=none,
        row=none,
        tables={},
        placement=placement,
    )


def once(ask: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Makes a function of an `Observed` answer it once; several findings ask the same of large tables."""

    @wraps(ask)
    def answer(observed: Observed, *more: Any) -> _Answer:
        key = ask, *more
        if key not in observed._answers:
            observed._answers[key] = ask(observed, *more)
        return observed._answers[key]

    return answer
