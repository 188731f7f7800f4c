# SPDX-License-Identifier: BSD-3-Clause
"""What the fuzzers print of the cases that they tried."""

from __future__ import annotations

from mutations import Findings


def reported(name: str, what: str, found: Findings) -> bool:
    """Prints one line, and one for each kind of strange exception; returns whether there was no failure.

    what : the cases are, for the line: "runs".
    """
    holds = not (found.crashes or found.hangs or found.strange)
    each_ms = 1e3 * found.seconds / max(found.cases, 1)
    print(
        f"{'holds' if holds else 'MISSES'}  {name}: {found.cases:,} {what} "
        f"({found.refused:,} ended with a sentence; {each_ms:.1f} ms each): "
        f"{found.in_words()}",
        flush=True,
    )
    for strange, count in sorted(found.strange.items(), key=lambda one: -one[1]):
        print(f"        {count} x {strange}", flush=True)
    return holds
