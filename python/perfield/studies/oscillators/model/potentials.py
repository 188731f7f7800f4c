# SPDX-License-Identifier: BSD-3-Clause
"""Interaction potentials V(x) of the phase difference x = theta_j - theta_i, in radians, unwrapped.

The paper calls V a potential although it acts as a force: a sender that is ahead (x > 0) pulls its receiver
forward where V > 0 and holds it back where V < 0. A zero of V with V' > 0 is a difference at which a pair
can stay; one with V' < 0 repels it. `potential("tanh", steepness=18)` makes one by name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from perfield.studies.rhythm.model.errors import ModelError


class Potential(Protocol):
    """How strongly a sender pulls a receiver; all but a user's own function are odd."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """V(x), without unit, of the shape of x."""

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx, 1/rad."""

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The integral of V from 0 to x, rad: what the Lyapunov function adds up."""


def _positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ModelError(f"{name} = {value:g} makes no potential; give a finite number above 0.")


@dataclass(frozen=True)
class Sine:
    """V(x) = sin x, of the classical Kuramoto model (eq. 1). It does not see whole periods."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.sin(x)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx = cos x."""
        return np.cos(x)

    def integral(self, x: np.ndarray) -> np.ndarray:
        """1 - cos x."""
        return 1.0 - np.cos(x)


@dataclass(frozen=True)
class Tanh:
    """V(x) = tanh(s x) (eq. 3), for programs that scale; s > 0 is the `steepness` in 1/rad.

    The paper gives no s. s = 1 is its plain tanh. With s = P and the coupling divided by P the head of a
    delay moves at v_p (section 3.3.1).
    """

    steepness: float = 1.0

    def __post_init__(self) -> None:
        _positive("steepness", self.steepness)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.tanh(x if self.steepness == 1 else self.steepness * x)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx = s (1 - tanh(s x)^2)."""
        return self.steepness * (1.0 - np.tanh(self.steepness * x) ** 2)

    def integral(self, x: np.ndarray) -> np.ndarray:
        """ln(cosh(s x)) / s, in a form that large |x| do not overflow."""
        far = np.abs(self.steepness * x)
        return (far + np.log1p(np.exp(-2 * far)) - np.log(2.0)) / self.steepness


@dataclass(frozen=True)
class PiecewiseSine:
    """V(x) = -sin(3 pi x / (2 sigma)) for |x| < sigma, else the sign of x (eq. 4), for bottlenecked programs.

    `sigma` > 0 in rad is the width of the repulsion. Neighbours settle 2 sigma / 3 apart. V is continuous
    at sigma, where it is 1; its slope jumps neither there (it is 0 on both sides).
    """

    sigma: float = np.pi

    def __post_init__(self) -> None:
        _positive("sigma", self.sigma)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.abs(x) >= self.sigma, np.sign(x), -np.sin(1.5 * np.pi / self.sigma * x))

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx, 0 beyond sigma."""
        rate = 1.5 * np.pi / self.sigma
        return np.where(np.abs(x) >= self.sigma, 0.0, -rate * np.cos(rate * x))

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The integral of V from 0; least, -4 sigma / (3 pi), at 2 sigma / 3."""
        rate, far = 1.5 * np.pi / self.sigma, np.abs(x)
        inside = (np.cos(rate * far) - 1.0) / rate
        return np.where(far >= self.sigma, -1.0 / rate + far - self.sigma, inside)


@dataclass(frozen=True)
class Fourier:
    """V(x) = sin x - a sin(N x) + b sin(2 N x) (eq. 5); `harmonic` is N, which the paper sets to P.

    Neighbours repel one another where a N - 2 b N > 1. The paper gives no a and b; several differences are
    stable at once.
    """

    a: float = 0.5
    b: float = 0.1
    harmonic: int = 18

    def __post_init__(self) -> None:
        _positive("harmonic", self.harmonic)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        n = self.harmonic
        return np.sin(x) - self.a * np.sin(n * x) + self.b * np.sin(2 * n * x)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx; 1 - a N + 2 b N at 0."""
        n = self.harmonic
        return np.cos(x) - self.a * n * np.cos(n * x) + 2 * self.b * n * np.cos(2 * n * x)

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The integral of V from 0."""
        n = self.harmonic
        first = self.a / n * (1.0 - np.cos(n * x))
        return 1.0 - np.cos(x) - first + self.b / (2 * n) * (1.0 - np.cos(2 * n * x))


@dataclass(frozen=True)
class MexicanHat:
    """V(x) = (4 depth / radius) (y^3 - y) with y = x / radius: the slope of the hat of Figure 1.

    Its energy, depth (y^4 - 2 y^2), has a hill at 0 and minima of -`depth` at |x| = `radius` (rad): a pair
    keeps a distance of one radius. The paper draws the hat and gives no formula; this is the common one.
    """

    radius: float = 2 * np.pi / 3
    depth: float = 0.25

    def __post_init__(self) -> None:
        _positive("radius", self.radius)
        _positive("depth", self.depth)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        y = np.asarray(x) / self.radius
        return 4 * self.depth / self.radius * (y * y - 1.0) * y

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx."""
        y = np.asarray(x) / self.radius
        return 4 * self.depth / self.radius**2 * (3 * y * y - 1.0)

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The energy depth (y^4 - 2 y^2): the cross-section of Figure 1b."""
        y2 = (np.asarray(x) / self.radius) ** 2
        return self.depth * (y2 - 2.0) * y2


@dataclass(frozen=True)
class Custom:
    """A user's own V: `function` takes and returns float64 arrays of one shape.

    `derivative` and `antiderivative` (0 at 0) are found numerically unless given: by a central difference,
    and by Gauss-Legendre quadrature with 64 nodes between 0 and x.
    """

    function: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray] | None = None
    antiderivative: Callable[[np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        probe = np.array([[-1.0, 0.0, 1.0]])
        shape = np.shape(self.function(probe))
        if shape != probe.shape:
            raise ModelError(
                f"the potential's function turns an array of shape {probe.shape} into one of shape {shape}; "
                "it must work element by element and keep the shape (NumPy functions do)."
            )

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.function(x), float)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx."""
        if self.derivative is not None:
            return np.asarray(self.derivative(x), float)
        x = np.asarray(x, float)
        step = 1e-5 * np.maximum(1.0, np.abs(x))
        return (self(x + step) - self(x - step)) / (2 * step)

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The integral of V from 0 to x."""
        if self.antiderivative is not None:
            return np.asarray(self.antiderivative(x), float)
        half = 0.5 * np.asarray(x, float)
        total = np.zeros_like(half)
        for node, weight in zip(*np.polynomial.legendre.leggauss(64)):
            total += weight * self(half * (1.0 + node))
        return total * half


@dataclass(frozen=True)
class PerEdge:
    """A potential for each edge (V_ij of eq. 2): edge e has choices[which[e]].

    which : integers (n_edges,), in the order of the edges of the Topology. x has the edges along its first
    axis.
    """

    choices: tuple[Potential, ...]
    which: np.ndarray

    def __post_init__(self) -> None:
        which = np.asarray(self.which)
        object.__setattr__(self, "choices", tuple(self.choices))
        object.__setattr__(self, "which", which)
        if which.ndim != 1 or (len(which) and not 0 <= which.min() <= which.max() < len(self.choices)):
            raise ModelError(
                f"a choice per edge must be a list of integers from 0 to {len(self.choices) - 1}, one for "
                f"each edge; got an array of shape {which.shape} with the values {np.unique(which)[:10]}."
            )

    def _each(self, method: str, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, float)
        if x.shape[:1] != self.which.shape:
            raise ModelError(
                f"the potential has a choice for {len(self.which)} edges, but got x of shape "
                f"{x.shape}; make the choices in the order of the topology's edges."
            )
        found = np.empty_like(x)
        for number, choice in enumerate(self.choices):
            mine = self.which == number
            found[mine] = getattr(choice, method)(x[mine])
        return found

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self._each("__call__", x)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """dV/dx of each edge's potential."""
        return self._each("slope", x)

    def integral(self, x: np.ndarray) -> np.ndarray:
        """The integral from 0 of each edge's potential."""
        return self._each("integral", x)


POTENTIALS: dict[str, type] = {
    "sine": Sine,
    "tanh": Tanh,
    "piecewise_sine": PiecewiseSine,
    "fourier": Fourier,
    "mexican_hat": MexicanHat,
}


def potential(name: str, **parameters: float) -> Potential:
    """The potential of that name (a key of POTENTIALS) with its parameters; the others have defaults.

    Raises ModelError for an unknown name or parameter; the text names the known ones.
    """
    if name not in POTENTIALS:
        known = ", ".join(POTENTIALS)
        raise ModelError(f"the potential {name!r} is unknown; choose one of {known}, or give a function.")
    takes = [field.name for field in dataclasses.fields(POTENTIALS[name])]
    for parameter in parameters:
        if parameter not in takes:
            known = ", ".join(takes) or "no parameter"
            raise ModelError(f"the potential {name!r} has no parameter {parameter!r}; it takes {known}.")
    return POTENTIALS[name](**parameters)


def name_of(function: object) -> str:
    """The name of a function, NumPy's among them; of another callable that of its type."""
    return getattr(function, "__qualname__", getattr(function, "__name__", type(function).__name__))


def described(of: Potential) -> dict[str, object]:
    """Name and parameters of a potential, as JSON can hold them: what a saved result carries."""
    if isinstance(of, PerEdge):
        each = [described(choice) for choice in of.choices]
        return {"name": "per_edge", "choices": each, "which": of.which.tolist()}
    for name, kind in POTENTIALS.items():
        if isinstance(of, kind):
            return {"name": name, **dataclasses.asdict(of)}
    function = of.function if isinstance(of, Custom) else of
    return {"name": "custom", "function": name_of(function)}
