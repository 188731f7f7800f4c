# SPDX-License-Identifier: BSD-3-Clause
"""Names of the fields of functions: their CPU time, by samples (docs/functions.md)."""

from __future__ import annotations

PREFIX, UNIT = "sampled_", "_time_s"


def is_of_function(name: str) -> bool:
    """Whether a field is the sampled time of a function."""
    return name.startswith(PREFIX) and name.endswith(UNIT)


def words_of_function(name: str) -> str:
    """What the field of a function shows: CPU time in flow::advance."""
    return f"CPU time in {name.removeprefix(PREFIX).removesuffix(UNIT).replace('__', '::')}"
