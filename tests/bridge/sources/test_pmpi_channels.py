# SPDX-License-Identifier: BSD-3-Clause
"""The table that numbers messages, at both ends of a million of them; no MPI runs.

A message that both ends know by one number is matched. That a number is another message's is wrong; that it
is unknown, or known to one end alone, is allowed where the order of messages is.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compiled.built import built, compiler_state, state_of

BRIDGE = Path(__file__).resolve().parents[3] / "bridge"
# In place of the list of MPI's functions that the build writes.
NEXT = '#pragma once\n#include "mpi_header.hpp"\nnamespace perfield::pmpi { struct NextFunctions {}; }\n'


@pytest.fixture(scope="module")
def both_ends(programs):
    """both_ends(case, n, seed): of n messages, how many ends match, match wrongly, and number by history."""
    program = programs / "channel_table.cpp"

    def compile_in(folder: Path) -> None:
        (folder / "next.hpp").write_text(NEXT)
        sources = [program, BRIDGE / "sources/pmpi/channels.cpp"]
        where = [f"-I{part}" for part in (folder, BRIDGE, BRIDGE / "sources/pmpi", BRIDGE / "include")]
        subprocess.run(["mpicxx", "-std=c++17", "-O2", *where, *sources, "-o", folder / "table"], check=True)

    key = NEXT, state_of(programs, program.name), state_of(BRIDGE), compiler_state("mpicxx")
    made = built("channel_table", key, compile_in)

    def run(case: str, n: int, seed: int = 1) -> tuple[int, int, int]:
        command = [made / "table", case, str(n), str(seed)]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert int(found[0]) == n
        return int(found[1]), int(found[2]), int(found[3])

    return run


def test_a_million_fresh_tags_are_matched(both_ends):
    matched, wrong, of_history = both_ends("tags", 1_000_000)
    assert (matched, wrong) == (1_000_000, 0)
    assert of_history > 999_000


def test_few_tags_are_counted_one_by_one_in_any_order(both_ends):
    assert both_ends("few", 100_000) == (100_000, 0, 0)


def test_messages_of_fresh_communicators_are_counted_one_by_one(both_ends):
    assert both_ends("communicators", 100_000) == (100_000, 0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_no_disorder_matches_two_messages_wrongly(both_ends, seed):
    # Receives in another order, wildcards, cancelled ones, and communicators that are freed.
    matched, wrong, of_history = both_ends("mixed", 50_000, seed)
    assert wrong == 0
    assert matched > 45_000
    assert of_history > 45_000
