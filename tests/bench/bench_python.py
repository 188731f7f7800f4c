# SPDX-License-Identifier: BSD-3-Clause
"""Cost of one event in a measured Python program: regions, functions selected by name, mpi4py's calls."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

import programs
from report import figure

EVENT_NS = 25  # on top of two clock reads
CALL_NS = 30
REPEATS = 15
PROGRAM = """
import json, sys, timeit
import numpy as np
from mpi4py import MPI
import perfield

class Empty:
    def __enter__(self): return self
    def __exit__(self, *raised): pass

perfield.initialize()
world, request = MPI.COMM_WORLD, MPI.REQUEST_NULL
out, back = np.zeros(1), np.zeros(1)
def plain(): pass
def chosen(): pass
names = dict(
    perfield=perfield, region=perfield.region("kept"), empty=Empty(), world=world, request=request,
    out=out, back=back, plain=plain, chosen=chosen, decorated=perfield.region("decorated")(plain),
)
statements = {
    "nothing": "pass",
    "empty": "with empty: pass",
    "kept": "with region: pass",
    "named": "with perfield.region('named'): pass",
    "decorated": "decorated()",
    "plain": "plain()",
    "chosen": "chosen()",
    "test": "request.Test()",
    "message": "world.Sendrecv(out, 0, 0, back, 0, 0)",
}
N = 20000
print(json.dumps({
    what: [seconds / N * 1e9 for seconds in timeit.repeat(text, globals=names, number=N, repeat=REPEATS)]
    for what, text in statements.items()
}))
"""


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "program.py"
        program.write_text(PROGRAM.replace("REPEATS", str(REPEATS)))
        events = programs.build("events.c", folder)

        def measure(measured: bool, **settings: str) -> dict[str, list[float]]:
            off = {} if measured else {"PERFIELD_ENABLED": "false"}
            return json.loads(
                programs.run(1, sys.executable, program, measured=measured, cwd=folder, **off, **settings)
            )

        clock = programs.run(1, events, "clock-tsc", measured=False).split()
        two_reads = statistics.median(map(float, clock))
        bare, seen = measure(False), measure(True)
        followed = measure(True, PERFIELD_REGIONS="chosen")
        empty = statistics.median(bare["empty"])
        figure("Python: `with` and an empty context manager", bare["empty"], "ns", target=None)
        nothing = statistics.median(bare["nothing"])
        for what, label in (
            ("kept", "Python: a region's enter and exit"),
            ("named", "Python: a region's, looked up by name"),
        ):
            own = [value - nothing for value in seen[what]]
            figure(f"{label}, of that", own, "ns", target=empty + two_reads + EVENT_NS)
        for what, label, target in (
            ("test", "Python: a counted MPI call (Request.Test), added", two_reads + CALL_NS),
            ("message", "Python: a call with two messages (Sendrecv to itself), added", None),
        ):
            ordinary = statistics.median(bare[what])
            figure(label, [value - ordinary for value in seen[what]], "ns", target=target)
        plain = statistics.median(bare["plain"])
        for label, values in (
            ("Python: a decorated function, added", seen["decorated"]),
            ("Python: a function selected by name, added", followed["chosen"]),
            ("Python: a function left out while others are selected, added", followed["plain"]),
        ):
            figure(label, [value - plain for value in values], "ns", target=None)


if __name__ == "__main__":
    main()
