# SPDX-License-Identifier: BSD-3-Clause
"""Programs ready to simulate: settings that gain, settings that lose, and controls that must gain nothing.

The paper measured on 7,168 cores and gives no latencies. These settings were chosen so that the hidden
shares and the gains have the size of its figures: 64 ranks in a torus, C = 1.65 ms, M = 0.25 ms and eps =
0.1 ms, latencies spread by 7 %, and a congestion that triples them, with a heavy tail, for 2.5 MatVecs.
"""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from perfield.studies.hiding.model.errors import HidingError
from perfield.studies.hiding.model.latencies import Congestion, Drawn, Latency
from perfield.studies.hiding.model.model import Program, simulate
from perfield.studies.hiding.model.splitting import Splitting

SPREAD = 0.066  # sigma of the logarithm of a latency
NOISE = 0.005  # of C; without it, hidden MatVecs would all take the same time to the last digit


@dataclass(frozen=True)
class Preset:
    """A program to simulate. about : a sentence on what it shows."""

    title: str
    about: str
    program: Program

    def run(self, n_matvecs: int = 8192, *, seed: int = 0) -> xr.Dataset:
        """The times of all methods; see `simulate`. The title is among the attributes."""
        found = simulate(self.program, n_matvecs, seed=seed)
        found.attrs["title"] = self.title
        return found


def _program(
    *,
    into_ms: float = 0.25,
    out_ms: float = 0.85,
    onset: float = 0.12,
    theta: float = 0.05,
    cap: float | None = 2.0,
) -> Program:
    congestion = Congestion(onset, 0.4, factor=3.0, sigma=0.8)
    return Program(
        Drawn(Latency(1e-3 * into_ms, SPREAD), Latency(1e-3 * out_ms, SPREAD), congestion),
        compute_s=1.65e-3,
        splitting=Splitting(eps=0.1e-3, theta=theta, cap=cap),
        mirror_s=0.25e-3,
        noise=NOISE,
        periodic=True,
    )


PRESETS = {
    "often-congested": Preset(
        "Congestion begins in 12 % of the MatVecs",
        "Small steps of alpha gain on the fast half; congestion hides most of that in the sum.",
        _program(),
    ),
    "seldom-congested": Preset(
        "Congestion begins in 6 % of the MatVecs",
        "As above with half the congestion.",
        _program(onset=0.06),
    ),
    "shorter-output": Preset(
        "Output comes after 0.80 ms",
        "Half of C nearly hides the output, so fixed alpha loses less.",
        _program(out_ms=0.80),
    ),
    "theta-30-no-cap": Preset(
        "theta = 0.3 without a cap",
        "The printed update overreacts to congestion and loses on the fast half.",
        _program(theta=0.3, cap=None),
    ),
    "theta-30": Preset(
        "theta = 0.3 with a cap of 2",
        "The cap takes that loss away.",
        _program(theta=0.3),
    ),
    "theta-100-no-cap": Preset(
        "theta = 1 without a cap",
        "The printed update at its fastest loses most.",
        _program(theta=1.0, cap=None),
    ),
    "all-hidden": Preset(
        "Control: fixed alpha hides all",
        "Input and output come after 0.30 ms, far below C / 2: nothing is left to gain.",
        _program(into_ms=0.30, out_ms=0.30),
    ),
    "none-hideable": Preset(
        "Control: nothing can be hidden",
        "Input and output come after 1.2 ms each, together far above C: every alpha waits alike.",
        _program(into_ms=1.2, out_ms=1.2),
    ),
    "no-latency": Preset(
        "Control: nothing to hide",
        "Messages take no time.",
        _program(into_ms=0.0, out_ms=0.0),
    ),
}
DEFAULT = next(iter(PRESETS))


def preset(name: str) -> Preset:
    """The preset of that name, a key of PRESETS; HidingError names the known ones."""
    if name not in PRESETS:
        raise HidingError(f"the preset {name!r} is unknown; choose one of {', '.join(PRESETS)}.")
    return PRESETS[name]
