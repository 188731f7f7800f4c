# SPDX-License-Identifier: BSD-3-Clause
"""Runs, ranks and steps as words of the command line name them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import perfield
from perfield.commands import CommandError, words

if TYPE_CHECKING:
    from perfield.derived.run import Run


LONGEST = "longest"
RANKS_HELP = "only these ranks: 0-7,12"
SPAN_HELP = f"steps that a frame adds up, or {LONGEST}: as many as any has (default: as few as possible)"


def chosen_ranks(text: str | None) -> list[int] | None:
    """The ranks of --ranks, ascending; None where it is not given. Raises CommandError."""
    if text is None:
        return None
    ranks: set[int] = set()
    for word in words(text):
        first, dash, last = word.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise CommandError(f"--ranks {text}: '{word}' is not a rank; expected ranks such as 0-7,12.")
        ranks.update(range(int(first), int(last or first) + 1))
    return sorted(ranks)


def row_number(text: str) -> int:
    """The number of --rows."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of rows; expected 1 or more")
    return int(text)


def add_span(parser: argparse.ArgumentParser) -> None:
    """Adds --span."""
    parser.add_argument("--span", metavar="N", help=SPAN_HELP)


def opened(path: Path, span: str | None) -> Run:
    """The run, with frames of --span. Raises CommandError."""
    run = perfield.open(path)
    if span is None:
        return run
    if span != LONGEST and not (span.isdigit() and int(span)):
        raise CommandError(f"--span {span}: expected a number of steps from 1, or {LONGEST}.")
    return run.at_span(None if span == LONGEST else int(span))


def first_to_last(run: Run, text: str | None) -> slice | None:
    """The step indexes from the first to the last of --steps; None where it is not given. Raises
    StepsError."""
    if text is None:
        return None
    from perfield.output.steps import choose_steps

    chosen = run.step_indexes[choose_steps(run, text)]
    return slice(int(chosen[0]), int(chosen[-1]))


def short_names(paths: Sequence[str]) -> list[str]:
    """Names of two runs for sentences: those of their directories, or the paths where these are the same."""
    resolved = [Path(path).resolve() for path in paths]
    names = [path.name for path in resolved]
    return names if names[0] != names[1] else [str(Path(path)) for path in paths]
