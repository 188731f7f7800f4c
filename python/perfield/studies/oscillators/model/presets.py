# SPDX-License-Identifier: BSD-3-Clause
"""Models ready to run: those of the paper's figures, the classical Kuramoto model, and a Mexican hat.

The paper leaves out some numbers (s, sigma, c) and contradicts itself in others. The values here are
said in each preset's `about`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from perfield.studies.oscillators.model import initial
from perfield.studies.oscillators.model.integrate import oscillate
from perfield.studies.oscillators.model.model import Model, protocol_factor
from perfield.studies.oscillators.model.noise import Noise
from perfield.studies.oscillators.model.potentials import MexicanHat, PiecewiseSine, Potential, Sine, Tanh
from perfield.studies.oscillators.model.topologies import all_to_all, by_send
from perfield.studies.rhythm.model.errors import ModelError

UNI, BOTH = (1,), (1, -1)
N_RANKS = 18  # of the paper's figures


@dataclass(frozen=True)
class Preset:
    """A model with its start and times: `run` integrates it. about : a sentence on what was chosen here."""

    title: str
    about: str
    model: Model
    initial: np.ndarray
    times: np.ndarray

    def run(self, *, seed: int = 0) -> xr.Dataset:
        """The phases; see `oscillate`. Title and seed are among the attributes."""
        found = oscillate(self.model, self.initial, self.times, seed=seed)
        found.attrs["title"] = self.title
        return found


def figure_5() -> Preset:
    """Delay on a one-directional chain, scalable program."""
    return Preset(
        "Figure 5: resynchronisation, one-directional",
        "tanh(18 x), v_p = 1: the paper gives no s; with s = P the delay moves at v_p.",
        _chain(UNI, Tanh(N_RANKS)),
        initial.perturbed(N_RANKS),
        np.linspace(0, 150, 601),
    )


def figure_6() -> Preset:
    """The same delay on a bidirectional chain with rendezvous messages."""
    return Preset(
        "Figure 6: resynchronisation, bidirectional, rendezvous",
        "As Figure 5 with beta = 2. The paper's half time needs this beta; equal beta does not give it.",
        _chain(BOTH, Tanh(N_RANKS), coupling=protocol_factor(rendezvous=True, bidirectional=True)),
        initial.perturbed(N_RANKS),
        np.linspace(0, 150, 601),
    )


def figure_7(size: float = 0.05) -> Preset:
    """Figure 5 with noise of that size (a fraction of the rate; the caption's would be 5)."""
    return Preset(
        "Figure 7: resynchronisation with noise",
        f"As Figure 5 with noise of {100 * size:g} %; the caption's 5 theta' r would be 500 %.",
        _chain(UNI, Tanh(N_RANKS), noise=Noise("paper_uniform", size)),
        initial.perturbed(N_RANKS),
        np.linspace(0, 200, 801),
    )


FIGURE_8_SIZES = (0.02, 0.05, 0.10, 0.20)


def figure_8(size: float = 0.02) -> Preset:
    """One curve of the noise sweep, in the units of the MATLAB tool; sizes as in FIGURE_8_SIZES."""
    return Preset(
        f"Figure 8: noise of {100 * size:g} %",
        "omega = 1, c = 1 / 18, s = 5: only here does noise hasten it, by its mean, 1 + p / 2.",
        matlab_units(_chain(UNI, Tanh(5.0), noise=Noise("paper_uniform", size))),
        initial.perturbed(N_RANKS),
        np.linspace(0, 200, 801),
    )


def figure_9() -> Preset:
    """Desynchronisation of a bottlenecked program."""
    return Preset(
        "Figure 9: desynchronisation, bottlenecked",
        "Piecewise sine, sigma = pi. Neighbours end 2 sigma / 3 apart, as a zigzag and locked, not drifting.",
        _chain(UNI, PiecewiseSine(np.pi)),
        initial.perturbed(N_RANKS),
        np.linspace(0, 1000, 1001),
    )


def wavefront() -> Preset:
    """A computational wavefront, which the start of Figure 9 does not reach."""
    return Preset(
        "Computational wavefront",
        "Piecewise sine, sigma = 1, from a linear start, gaps above sigma / 3: all end at 2 sigma / 3.",
        _chain(BOTH, PiecewiseSine(1.0)),
        initial.spaced(N_RANKS),
        np.linspace(0, 1500, 601),
    )


def mexican_hat() -> Preset:
    """Symmetry breaking: neighbours leave the hill of Figure 1 for its ring of minima."""
    start = 0.01 * (initial.disordered(N_RANKS) - np.pi)
    return Preset(
        "Mexican hat",
        "The hat of Figure 1, minima at 2 pi / 3, from a small random start.",
        _chain(BOTH, MexicanHat(), coupling=N_RANKS),
        start,
        np.linspace(0, 300, 601),
    )


def kuramoto(strength: float = 3.0, *, n: int = 500, width: float = 1.0) -> Preset:
    """The classical model (eq. 1): frequencies of a Lorentz distribution, K_c = 2 `width`.

    strength : K, rad/s. Above K_c, R tends to sqrt(1 - K_c / K) for many oscillators.
    """
    return Preset(
        f"Kuramoto, K = {strength:g}",
        f"Lorentzian frequencies of half width {width:g} rad/s: order begins at K_c = {2 * width:g}.",
        Model(all_to_all(n), Sine(), lorentzian(n, width), strength),
        initial.disordered(n),
        np.linspace(0, 40 / width, 401),
    )


def lorentzian(n: int, width: float, middle: float = 0.0) -> np.ndarray:
    """Quantiles of a Lorentz distribution, rad/s (n,). width : half width at half height."""
    return middle + width * np.tan(np.pi * ((np.arange(n) + 0.5) / n - 0.5))


def matlab_units(of: Model) -> Model:
    """The same model with omega = 1 rad/s and c = v_p / P as it is: the units of the MATLAB tool.

    Its period is 2 pi s, so coupling acts 2 pi times longer in each period than with omega = 2 pi.
    """
    return replace(of, frequency=1.0)


PRESETS: dict[str, Callable[[], Preset]] = {
    "figure_5": figure_5,
    "figure_6": figure_6,
    "figure_7": figure_7,
    "figure_8": figure_8,
    "figure_9": figure_9,
    "wavefront": wavefront,
    "mexican_hat": mexican_hat,
    "kuramoto": kuramoto,
}


def preset(name: str) -> Preset:
    """The preset of that name, a key of PRESETS; ModelError names the known ones."""
    if name not in PRESETS:
        raise ModelError(f"the preset {name!r} is unknown; choose one of {', '.join(PRESETS)}.")
    return PRESETS[name]()


def _chain(offsets: tuple[int, ...], potential: Potential, coupling: float = 1.0, **more: object) -> Model:
    return Model(by_send(N_RANKS, offsets), potential, coupling=coupling, **more)
