# SPDX-License-Identifier: BSD-3-Clause
"""fork, exec, dlclose, and longjmp out of nested regions in each step of a program."""

from __future__ import annotations

import tempfile
from pathlib import Path

from campaign import compiled, options, run, verdict

import perfield

STEPS = 10
# Way out -> how often each region is entered in each step.
WAYS = {
    "fork": {"solve": 1},
    "exec": {"solve": 1},
    "dlclose": {"solve": 1, "plugin": 1},
    "longjmp": {"solve": 1, "deep": 301},
}


def wrong_counts(found: perfield.Run, expected: dict[str, int]) -> int:
    """How many of the steps have other counts than expected."""
    counts = [
        {name: frame.values.get(f"{name}_count", [0])[0] for name in expected} for frame in found.frames()
    ]
    return sum(count != expected for count in counts) + abs(STEPS - len(counts))


def main() -> None:
    given = options(__doc__)
    times = 1 if given.short else 20
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        program = compiled("ways_out.cpp", folder, "-ldl", compiler="g++")
        hooks = ("-shared", "-fPIC", "-finstrument-functions")
        library = compiled("plugin.cpp", folder, *hooks, compiler="g++")
        for way, expected in WAYS.items():
            harmed = wrong = runs = 0
            for time in range(times):
                (inside := folder / f"{way}-{time}").mkdir()
                settings = {"PERFIELD_REGIONS": "*,plugin"}
                result = run(["perfield-exec", program, way, library], inside, settings)
                harmed += (result.returncode, result.stdout) != (7, "the answer is 42\n")
                found = list(inside.glob("perfield-run*"))
                runs += len(found)
                wrong += sum(wrong_counts(perfield.open(path), expected) for path in found)
            verdict(
                f"{way} in each step",
                f"{times} programs, {STEPS} steps",
                f"{harmed} harmed, {runs} runs, {wrong} steps with wrong counts",
                f"0, {times}, 0",
                (harmed, runs, wrong) == (0, times, 0),
            )


if __name__ == "__main__":
    main()
