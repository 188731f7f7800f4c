# SPDX-License-Identifier: BSD-3-Clause
"""Cost of pictures inside the program per rank, compared with the same program without pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path

import programs
from report import figure

REPEATS = 3
WAYS = {
    "extracts of each step": {},
    "no extracts": {"PERFIELD_CATALYST_EXTRACTS": "false"},
    "no extracts, ParaView on one of two ranks": {
        "PERFIELD_CATALYST_RANKS": "1",
        "PERFIELD_CATALYST_EXTRACTS": "false",
    },
}
FIGURES = (
    ("resident memory of a rank", "MB"),
    ("its share of what ranks have in common", "MB"),
    ("private memory of a rank", "MB"),
    ("the first step shown, with ParaView's start", "s"),
    ("a later step, 1,000,000 points per rank", "ms"),
    ("resident memory of the rank that has least", "MB"),
)


def numbers(program: Path, **changes: str) -> list[list[float]]:
    """The program's figures on two ranks, one list per repetition."""
    texts = [programs.run(2, program, measured=True, **changes) for _ in range(REPEATS)]
    return [[float(word) for word in text.split()] for text in texts]


def main() -> None:
    """Prints all figures: what pictures add to the program."""
    with tempfile.TemporaryDirectory() as name:
        program = programs.build("in_process.c", Path(name))
        without = [sorted(column)[REPEATS // 2] for column in zip(*numbers(program))]
        for way, changes in WAYS.items():
            found = numbers(program, PERFIELD_CATALYST_IN_PROCESS="true", **changes)
            for (what, unit), bare, column in zip(FIGURES, without, zip(*found)):
                figure(f"{what}, added ({way})", [value - bare for value in column], unit, target=None)


if __name__ == "__main__":
    main()
