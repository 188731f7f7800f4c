# SPDX-License-Identifier: BSD-3-Clause
"""A discrete-event model of Algorithm 2: when each rank computes, waits and ends, MatVec by MatVec.

All ranks start each MatVec together, as after the Allreduce of CG. A rank sends its input, computes the first
part of its inner elements, waits for the input of its neighbours, computes its mirror elements, sends its
output, computes the other inner elements, and waits for the output of its neighbours. A message comes at its
sender's stamp plus its latency. Nothing else takes time: what a real MPI adds is not in the model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import xarray as xr

from perfield.studies.hiding.model.errors import HidingError
from perfield.studies.hiding.model.latencies import NO_MESSAGE, Drawn, Trace
from perfield.studies.hiding.model.splitting import Splitting

FIXED, DYNAMIC, TEST = "fixed", "dynamic", "test"
METHODS = {
    FIXED: "alpha stays what it is (1/2 by default)",
    DYNAMIC: "alpha follows the last waits of its rank (Algorithm 3)",
    TEST: "the first part ends when MPI_Testall says that the input is there",
}
BOTH, LOWER, UPPER = "both", "lower", "upper"
OWNERS = {
    BOTH: "each rank owns some nodes on every border, so input and output go both ways",
    LOWER: "the lower rank owns all nodes of a border: input goes up, output goes down",
    UPPER: "the upper rank owns all nodes of a border, as in testcase/poisson",
}
SECONDS = ("t_in", "t_out", "w_in", "w_out")
SOURCE = "model"
_NOISE = 1  # stream of the seed


@dataclass(frozen=True)
class Program:
    """A program that multiplies, and the network under it.

    shape : ranks along x, y and z. compute_s : C, s for all inner elements of a rank. mirror_s : M, s for
    its mirror elements; both are one number, or (n_ranks). latencies : of its messages. splitting : of the
    dynamic method; its `start` is alpha of the fixed one, too. n_elements : inner ones of a rank; a part has
    whole elements. n_polls : how often the method "test" asks in all elements; poll_s : s for one. noise :
    sigma of the logarithm by which C varies from rank to rank and MatVec to MatVec. owner : a key of OWNERS.
    periodic : whether the grid closes upon itself.
    """

    latencies: Drawn | Trace
    compute_s: float | np.ndarray
    splitting: Splitting
    mirror_s: float | np.ndarray = 0.0
    shape: tuple[int, int, int] = (4, 4, 4)
    n_elements: int = 18_720
    n_polls: int = 64
    poll_s: float = 0.3e-6
    noise: float = 0.0
    owner: str = BOTH
    periodic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if len(self.shape) != 3 or min(self.shape) < 1:
            raise HidingError(f"a grid of {self.shape} ranks is none; give three counts of 1 or more.")
        if self.n_ranks < 2:
            raise HidingError("one rank has no neighbour, so nothing can be hidden; give 2 ranks or more.")
        for name in ("compute_s", "mirror_s", "poll_s", "noise"):
            value = np.asarray(getattr(self, name), float)
            if not (np.isfinite(value) & (value >= 0)).all():
                raise HidingError(f"{name} = {value} makes no sense; give 0 or more.")
            if value.shape not in ((), (self.n_ranks,)):
                raise HidingError(f"{name} has the shape {value.shape}; give one number, or one per rank.")
        if not 1 <= self.n_polls <= self.n_elements:
            raise HidingError(
                f"{self.n_polls:,} polls in {self.n_elements:,} elements make no sense; give at least 1 "
                "poll, and no more polls than elements."
            )
        if self.owner not in OWNERS:
            raise HidingError(f"owner {self.owner!r} is unknown; choose {' or '.join(OWNERS)}.")

    @property
    def n_ranks(self) -> int:
        """How many ranks there are."""
        return int(np.prod(self.shape))

    def neighbours(self) -> np.ndarray:
        """(n_ranks, 6) the ranks across each face, -1 where there is none."""
        numbers = np.arange(self.n_ranks).reshape(self.shape)
        columns = []
        for axis, n in enumerate(self.shape):
            for way in (1, -1):
                other = np.roll(numbers, -way, axis)
                if not self.periodic or n < 3:  # with two, both sides would be one neighbour
                    edge = [slice(None)] * 3
                    edge[axis] = -1 if way == 1 else 0
                    other[tuple(edge)] = -1
                columns.append(other.ravel())
        return np.stack(columns, axis=1)

    def messages(self) -> tuple[np.ndarray, np.ndarray]:
        """Which neighbours send input and output to each rank, (n_ranks, 6) bool each."""
        other = self.neighbours()
        here = np.arange(self.n_ranks)[:, np.newaxis]
        if self.owner == BOTH:
            return other >= 0, other >= 0
        lower, upper = (other >= 0) & (other < here), other > here
        return (lower, upper) if self.owner == LOWER else (upper, lower)

    def described(self) -> dict[str, object]:
        """All parameters as JSON can hold them; of a trace only its length."""
        found = asdict(self)
        for name in ("compute_s", "mirror_s"):
            found[name] = np.asarray(found[name]).tolist()
        if isinstance(self.latencies, Trace):
            found["latencies"] = {"given": len(self.latencies.into)}
        return found


def simulate(
    program: Program, n_matvecs: int = 8192, *, methods: Sequence[str] = tuple(METHODS), seed: int = 0
) -> xr.Dataset:
    """Lets the program multiply `n_matvecs` times by each method, all under the same latencies.

    Returns (splitting, rank, step): `time_s`, T = T_in + T_out of a MatVec, without its mirror elements;
    `t_in`, from the start of the first part to the end of the wait for input; `t_out`, from the start of the
    second part to the end of the wait for output; the waits `w_in` and `w_out` alone, all in s; and `alpha`,
    the share of the inner elements in the first part. `congested` (step) is what the network was. `sel` of a
    method gives timings as `perfield.studies.regimes.model` takes them. Attributes: `source` ("model"),
    `parameters` (JSON), `seed`, `eps_s`.
    """
    if n_matvecs < 1:
        raise HidingError(f"{n_matvecs} MatVecs are nothing to look at; give 1 or more.")
    unknown = [name for name in methods if name not in METHODS]
    if unknown or not methods:
        raise HidingError(f"the methods {list(methods)} are not all known; choose of {', '.join(METHODS)}.")
    runs = [_KINDS[name](program) for name in methods]
    congested, found = [], [[] for _ in runs]
    present = program.messages()
    random = np.random.default_rng([seed, _NOISE])
    for into, out, state in program.latencies.blocks(n_matvecs, present, seed):
        congested.append(state)
        arrived = into.max(axis=-1)
        compute = program.compute_s * np.exp(program.noise * random.standard_normal(arrived.shape))
        for run, parts in zip(runs, found):
            parts.append(run.block(compute, arrived, out))
    # (splitting, value, step, rank) -> per value (splitting, rank, step)
    whole = np.stack([np.concatenate(parts, axis=1) for parts in found]).transpose(1, 0, 3, 2)
    *times, alpha = whole
    dims, seconds = ("splitting", "rank", "step"), {"units": "s"}
    data = {
        "time_s": (dims, times[0] + times[1], {"units": "s", "long_name": "MatVec"}),
        **{name: (dims, values, seconds) for name, values in zip(SECONDS, times)},
        "alpha": (dims, alpha, {"units": "1"}),
        "congested": ("step", np.concatenate(congested)),
    }
    coordinates = {
        "splitting": list(methods),
        "rank": np.arange(program.n_ranks),
        "step": np.arange(n_matvecs),
    }
    attributes = {
        "source": SOURCE,
        "parameters": json.dumps(program.described()),
        "seed": seed,
        "eps_s": program.splitting.eps,
    }
    return xr.Dataset(data, coordinates, attributes)


class _Fixed:
    """Alpha that stays: the MatVecs of a block do not depend on one another."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.neighbours = program.neighbours()
        self.alpha = np.full(program.n_ranks, program.splitting.start)

    def block(self, compute: np.ndarray, arrived: np.ndarray, out: np.ndarray) -> np.ndarray:
        """(5, n, n_ranks) t_in, t_out, w_in, w_out, alpha.

        compute : s of all inner elements, (n, n_ranks). arrived : s, when the last input comes, likewise.
        out : s, latencies of output, (n, n_ranks, 6).
        """
        return self.with_alpha(np.broadcast_to(self.alpha, arrived.shape), compute, arrived, out)

    def with_alpha(
        self, alpha: np.ndarray, compute: np.ndarray, arrived: np.ndarray, out: np.ndarray
    ) -> np.ndarray:
        """The same for one MatVec or many, where alpha is known before."""
        part = np.floor(alpha * self.program.n_elements + 1e-9) / self.program.n_elements
        return self.divided(part, part * compute, (1 - part) * compute, arrived, out)

    def divided(
        self, part: np.ndarray, first: np.ndarray, second: np.ndarray, arrived: np.ndarray, out: np.ndarray
    ) -> np.ndarray:
        """The same; part : of the elements in the first part. first, second : s that both parts take."""
        t_in = np.maximum(first, arrived)
        sent = t_in + self.program.mirror_s
        came = (sent[..., self.neighbours] + out).max(axis=-1)
        t_out = np.maximum(second, came - sent)
        return np.stack([t_in, t_out, t_in - first, t_out - second, part])


class _Dynamic(_Fixed):
    """Alpha that each rank moves after each MatVec."""

    def block(self, compute: np.ndarray, arrived: np.ndarray, out: np.ndarray) -> np.ndarray:
        program = self.program
        found = np.empty((5, *arrived.shape))
        for k in range(len(arrived)):
            found[:, k] = self.with_alpha(self.alpha, compute[k], arrived[k], out[k])
            found[4, k] = self.alpha
            self.alpha = program.splitting.update(self.alpha, found[2, k], found[3, k], program.n_elements)
        return found


class _Test(_Fixed):
    """The first part ends with the poll that finds the input complete."""

    def block(self, compute: np.ndarray, arrived: np.ndarray, out: np.ndarray) -> np.ndarray:
        program = self.program
        n = program.n_elements
        between = -(-n // program.n_polls)  # elements from one poll to the next
        step = compute * between / n + program.poll_s
        most = -(-n // between)
        polls = np.divide(arrived, step, np.ones(arrived.shape), where=(step > 0) & (arrived != NO_MESSAGE))
        polls = np.clip(np.ceil(polls), 1, most)
        part = np.minimum(polls * between, n) / n
        first = part * compute + polls * program.poll_s
        return self.divided(part, first, (1 - part) * compute, arrived, out)


_KINDS = {FIXED: _Fixed, DYNAMIC: _Dynamic, TEST: _Test}
