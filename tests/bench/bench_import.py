# SPDX-License-Identifier: BSD-3-Clause
"""How fast `perfield import` reads a trace: events per second, with and without a step region."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from report import figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from known_runs import small_traces

from perfield.traces import import_trace

RANKS, STEPS, RUNS = 4, 5000, 3
EVENTS_PER_S = 1_000_000


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        anchor = small_traces.write_ring(folder / "trace", RANKS, STEPS)
        for step_region, label in (("time_step", f"{STEPS} steps of 12 events"), ("", "one frame")):
            speeds = []
            for run in range(RUNS):
                done = import_trace(anchor, folder / f"run-{step_region}-{run}", step_region=step_region)
                speeds.append(done.n_events / done.seconds)
            figure(f"import, {label}", speeds, "events/s", target=EVENTS_PER_S, most=False)


if __name__ == "__main__":
    main()
