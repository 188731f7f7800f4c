# SPDX-License-Identifier: BSD-3-Clause
"""Plots of a whole run with matplotlib, without ParaView: in a notebook, or as files by `perfield plot`.

>>> run = perfield.open("perfield-run")
>>> perfield.plots.heat_map(run, "compute_time_s")

`scaling` takes several open runs and makes a Figure. Each other function takes an open run, reads the steps
that it needs chunk by chunk, and draws into the Axes that it is given (by default new ones of pyplot, which
notebooks show); it returns them. `steps` is a step index, a list of them, or a slice that includes both ends,
as for `run.messages`; None takes all. `source` gives the numbers where they were read before; by default they
are read from the run.
"""

from importlib.util import find_spec

from perfield.plots.compared_messages import compared_messages
from perfield.plots.flame import flame
from perfield.plots.idle_waves import idle_wave
from perfield.plots.messages import message_matrix
from perfield.plots.over_steps import imbalance
from perfield.plots.rank_by_step import heat_map
from perfield.plots.regions import region_bars
from perfield.plots.sizes import message_sizes, tiny_senders
from perfield.plots.speedup import scaling
from perfield.plots.timeline import wait_timeline
from perfield.studies import given, loaded

if find_spec("matplotlib") is None:
    raise ImportError(
        "plots need matplotlib 3.6 or newer, which this Python does not have; install the Debian package "
        "python3-matplotlib, or call pip install 'perfield[report]'."
    )

__all__ = [
    "compared_messages",
    "flame",
    "heat_map",
    "idle_wave",
    "imbalance",
    "message_matrix",
    "message_sizes",
    "region_bars",
    "scaling",
    "tiny_senders",
    "wait_timeline",
    *given("PLOTS"),
]


def __getattr__(name: str) -> object:
    """Loads a plot of a study at its first use."""
    if name not in given("PLOTS"):
        raise AttributeError(f"module 'perfield.plots' has no attribute {name!r}")
    return loaded(given("PLOTS")[name])
