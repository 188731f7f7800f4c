# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a function that is compiled with -finstrument-functions but is not a region."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path

import instructions
import programs
from report import figure

HOOK = 12  # instructions
HOOK_NS = 5  # on top of the C library's empty hooks
HERE = Path(__file__).resolve().parent
SOURCE = HERE / "programs/functions.c"
MANY = HERE.parent / "bridge/sources/programs/many_functions.c"


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "functions"
        subprocess.run(["gcc", "-O2", "-finstrument-functions", SOURCE, "-o", program], check=True)

        def hooks(measured: bool, regions: str = "chosen") -> list[float]:
            printed = programs.run(1, program, measured=measured, PERFIELD_REGIONS=regions)
            return [float(line) / 2 for line in printed.split()]

        empty = hooks(measured=False)
        bare = statistics.median(empty)
        figure("an empty hook of a function", empty, "ns", target=None)
        for regions, label in (("chosen", "another function is a region"), ("*", "no function is a region")):
            added = [value - bare for value in hooks(measured=True, regions=regions)]
            what = f"a hook of a function that is not chosen, added ({label})"
            figure(what, added, "ns", target=HOOK_NS)
            if instructions.can_count():
                both = instructions.added(program, "hooks", PERFIELD_REGIONS=regions)
                figure(what, [both / 2], "instructions", target=HOOK)
        many_functions(Path(name) / "many")


def many_functions(program: Path) -> None:
    """Measures hooks of 90,000 functions that are not regions, one after another, out of cache."""
    subprocess.run(["gcc", "-O2", MANY, "-o", program], check=True)

    def hooks(measured: bool) -> list[float]:
        printed = programs.run(1, program, 41, 7, measured=measured, PERFIELD_REGIONS="f*7")
        return [float(line) for line in printed.split()]

    bare = statistics.median(hooks(measured=False))
    added = [value - bare for value in hooks(measured=True)]
    what = "a hook of one of 90,000 functions that are not chosen, added (10,000 others are regions)"
    figure(what, added, "ns", target=HOOK_NS)


if __name__ == "__main__":
    main()
