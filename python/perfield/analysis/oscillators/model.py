# SPDX-License-Identifier: BSD-3-Clause
"""The oscillator model of a program: topology, frequencies, coupling, noise and delays (eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.analysis.oscillators.errors import ModelError
from perfield.analysis.oscillators.potentials import Potential
from perfield.analysis.oscillators.topology import Topology

NORMALISATIONS = ("ranks", "degree", "none")  # the sum over j is divided by P (eq. 2), by the in-degree, by 1


@dataclass(frozen=True)
class Model:
    """theta_i' = omega_i + zeta_i + (v_p / norm) sum_j T_ij V(theta_j - theta_i)   (eq. 2)

    frequency : rad/s, a number or one per rank (omega = 2 pi / (t_comp + t_comm)). coupling : v_p in rad/s.
    normalisation : one of NORMALISATIONS.
    """

    topology: Topology
    potential: Potential
    frequency: float | np.ndarray = 2 * np.pi
    coupling: float = 1.0
    normalisation: str = "ranks"

    @property
    def edge_strength(self) -> np.ndarray:
        """What V of each edge is multiplied by, rad/s, float64 (n_edges,)."""
        of = self.topology
        if self.normalisation == "ranks":
            divisor = np.full(of.n, float(of.n))
        elif self.normalisation == "degree":
            divisor = np.maximum(of.degree, 1).astype(float)
        elif self.normalisation == "none":
            divisor = np.ones(of.n)
        else:
            known = ", ".join(NORMALISATIONS)
            raise ModelError(f"normalisation = {self.normalisation!r} is unknown; expected one of {known}.")
        return self.coupling * of.weight / divisor[of.receiver]
