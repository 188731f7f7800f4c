# SPDX-License-Identifier: BSD-3-Clause
"""The ranks and steps that --ranks and --steps choose, for commands that need whole series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfield.commands import CommandError, words

if TYPE_CHECKING:
    from perfield.run import RunDirectory


def chosen_ranks(text: str | None) -> list[int] | None:
    """The ranks of --ranks, ascending; None where it is not given. Raises CommandError."""
    if text is None:
        return None
    ranks: set[int] = set()
    for word in words(text):
        first, dash, last = word.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise CommandError(f"--ranks {text}: '{word}' is no rank; expected ranks such as 0-7,12.")
        ranks.update(range(int(first), int(last or first) + 1))
    return sorted(ranks)


def first_to_last(run: RunDirectory, text: str | None) -> slice | None:
    """The step indexes from the first to the last of --steps; None where it is not given. Raises
    StepsError."""
    if text is None:
        return None
    from perfield.output.steps import choose_steps

    chosen = run.step_indexes[choose_steps(run, text)]
    return slice(int(chosen[0]), int(chosen[-1]))
