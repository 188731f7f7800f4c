# SPDX-License-Identifier: BSD-3-Clause
"""Which PUs the ranks of one node would be bound to, by the rules of Open MPI's mpirun (version 4)."""

from __future__ import annotations

from collections.abc import Sequence

from .machine import Machine, MachineError

MAP_BY = ("slot", "hwthread", "core", "l1", "l2", "l3", "numa", "package")
BIND_TO = ("none", "hwthread", "core", "l1", "l2", "l3", "numa", "package")
OTHER_NAMES = {"socket": "package", "l1cache": "l1", "l2cache": "l2", "l3cache": "l3"}
_FEW = 2  # up to so many ranks, Open MPI maps and binds to cores; else to packages


def mpirun_cpusets(
    machine: Machine, n_ranks: int, map_by: str | None = None, bind_to: str | None = None
) -> list[str]:
    """The CPU set of each rank, such as "0-3,8".

    Ranks go round the objects that they are mapped by. Each is bound to the object of the kind `bind_to`
    that has the fewest ranks so far, inside the object that it was mapped to, or else around it.

    map_by, bind_to : one of MAP_BY, BIND_TO, or Open MPI's names of these. None as in Open MPI: by core for
    up to two ranks, by package for more; bound to what they are mapped by.
    Raises MachineError for other words, or if the machine has no such objects.
    """
    default = "core" if n_ranks <= _FEW else "package"
    at_first = "hwthread" if bind_to == "hwthread" and default == "core" else default
    map_by = _known("map by", map_by or at_first, MAP_BY)
    bind_to = _known("bind to", bind_to or (default if map_by == "slot" else map_by), BIND_TO)
    whole = (0, len(machine.pus))
    homes = [whole] if map_by == "slot" else _spans(machine, map_by)
    targets = [whole] if bind_to == "none" else _spans(machine, bind_to)
    load = [0] * len(targets)
    found = []
    for rank in range(n_ranks):
        low, high = homes[rank % len(homes)]
        inside = [i for i, (first, last) in enumerate(targets) if low <= first and last <= high]
        around = [i for i, (first, last) in enumerate(targets) if first <= low and high <= last]
        chosen = min(inside or around, key=load.__getitem__)
        load[chosen] += 1
        first, last = targets[chosen]
        found.append(ranges(machine.pus[first:last]))
    return found


def ranges(numbers: Sequence[int]) -> str:
    """Numbers as text: "0-3,8", ascending and each once; the inverse of `parse_cpuset`."""
    pieces: list[list[int]] = []
    for number in sorted({int(number) for number in numbers}):
        if pieces and number == pieces[-1][1] + 1:
            pieces[-1][1] = number
        else:
            pieces.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in pieces)


def _known(option: str, word: str, words: tuple[str, ...]) -> str:
    word = OTHER_NAMES.get(word, word)
    if word not in words:
        raise MachineError(f"cannot {option} {word!r}; expected one of {', '.join(words)}.")
    return word


def _spans(machine: Machine, kind: str) -> list[tuple[int, int]]:
    level = "pu" if kind == "hwthread" else kind
    spans = list(machine.spans(level))
    if not spans:
        raise MachineError(f"this machine has no {kind}; choose a kind of object that it has.")
    return spans
