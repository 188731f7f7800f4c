# SPDX-License-Identifier: BSD-3-Clause
"""What ranks told of their communicators: names that are the same on all ranks, sizes and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Communicators:
    """What the ranks told of their communicators.

    sizes : int by name, how many ranks each has. labels : the program's own names, where it gave some.
    clashing : names that two communicators share, so that their operations cannot be told apart.
    """

    sizes: dict[int, int]
    labels: dict[int, str]
    clashing: frozenset[int]


def told_communicators(told: Sequence[tuple[int, dict]]) -> Communicators:
    """Joins what ranks told. told : (rank, body) of each `communicator` entry."""
    sizes: dict[int, int] = {}
    labels: dict[int, str] = {}
    places: dict[int, set[int]] = {}
    clashing = set()
    seen = set()
    for rank, body in told:
        name, size, place = (body.get(key) for key in ("name", "size", "rank"))
        if not all(isinstance(number, int) for number in (name, size, place)) or not 0 <= place < size:
            continue
        if size == 1:  # MPI_COMM_SELF has one name on all ranks, and nobody waits in it
            continue
        if (rank, name) in seen or sizes.setdefault(name, size) != size:
            clashing.add(name)
        if place in places.setdefault(name, set()):
            clashing.add(name)
        seen.add((rank, name))
        places[name].add(place)
        if isinstance(body.get("label"), str) and body["label"]:
            labels.setdefault(name, body["label"])
    return Communicators(sizes, labels, frozenset(clashing))
