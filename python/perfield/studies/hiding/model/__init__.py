# SPDX-License-Identifier: BSD-3-Clause
"""Communication hiding: what splitting a matrix-free product into two halves gains, by model and by record.

Heldman, Rudi, Bessac, "Statistical Treatment of Variable MPI Latencies and MPI-Communication Hiding for
Matrix-Free Finite Element Operators", ICS '25, sections 2.3 and 2.4. `simulate` is a discrete-event model of
its Algorithm 2 under latencies that one states; `perfield.studies.hiding.matvecs` reads what the solver of
`testcase/poisson` recorded. Both give the same Dataset, so all that takes one takes the other.

A *hidden* MatVec is one whose two waits stay within eps. The *share of steps in the fast regime* comes from a
hidden Markov model of its times (`perfield.studies.regimes.model`). These are two quantities.
"""

from perfield.studies.hiding.model.errors import HidingError
from perfield.studies.hiding.model.gains import gain, hidden_share
from perfield.studies.hiding.model.latencies import Congestion, Drawn, Latency, Trace
from perfield.studies.hiding.model.model import DYNAMIC, FIXED, METHODS, TEST, Program, simulate
from perfield.studies.hiding.model.splitting import Splitting

__all__ = [
    "DYNAMIC",
    "FIXED",
    "METHODS",
    "TEST",
    "Congestion",
    "Drawn",
    "HidingError",
    "Latency",
    "Program",
    "Splitting",
    "Trace",
    "gain",
    "hidden_share",
    "simulate",
]
