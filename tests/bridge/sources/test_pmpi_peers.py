# SPDX-License-Identifier: BSD-3-Clause
"""World ranks of peers in communicators of any origin and size, and what finding them takes."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import installed_mpi, run_command

FAKE = Path(__file__).resolve().parents[2] / "scale/fake_mpi.c"
SIZE = 4096


def test_peers_in_derived_communicators_are_world_ranks(measure):
    counted, result = measure("peers")
    expected: Counter = Counter()
    for line in result.stdout.splitlines():
        rank, peer, n_bytes = map(int, line.split())
        expected[rank, peer] += n_bytes
    sent: Counter = Counter()
    for (rank, call, peer), n_bytes in counted.bytes.items():
        if call == "sendrecv":
            sent[rank, peer] += n_bytes
    assert sent == expected
    assert {(peer, rank): n for (rank, peer), n in counted.received_bytes.items()} == expected


@pytest.fixture(scope="module")
def large_world(build_c, bin_dir, programs, counted_in, tmp_path_factory):
    """What a rank of a large world counted, and how many ranks MPI compared for each communicator."""
    folder = tmp_path_factory.mktemp("large_world")
    library = folder / "libmpich.so.12"
    mpich = installed_mpi("mpich", tmp_path_factory)
    words = subprocess.run([mpich.cc, "-show"], capture_output=True, text=True, check=True).stdout.split()
    includes = [word for word in words if word.startswith("-I")]
    link = [f"-Wl,-soname,{library.name}", "-o", str(library)]
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", *includes, str(FAKE), *link], check=True)
    links = [*includes, str(library), f"-Wl,-rpath,{folder}"]
    program = build_c(programs / "large_world.c", *links, mpi=False)
    world = {"FAKE_MPI_RANK": "0", "FAKE_MPI_SIZE": str(SIZE)}
    result = run_command([bin_dir / "perfield-exec", program], world, folder, 60)
    assert result.returncode == 0, result.stderr
    compared = dict(line.rsplit(" ", 1) for line in result.stdout.splitlines())
    return counted_in(folder / "perfield-run"), {name: float(n) for name, n in compared.items()}


def test_hundreds_of_partners_count_by_world_rank(large_world):
    counted, _ = large_world
    expected: Counter = Counter()
    for peer in range(10):
        expected[peer] += 2 * 3
        expected[SIZE - 1 - peer] += 3
    for peer in range(300):
        expected[(peer * peer * 8 + 5 * peer + 3) % SIZE] += 2 * 3
    assert {peer: n for (_, call, peer), n in counted.messages.items() if call == "send"} == expected


def test_communicators_in_line_take_time_in_proportion_to_their_size(large_world):
    _, compared = large_world
    assert compared["duplicate"] == 0
    assert compared["same order"] < 20
    assert compared["reversed"] < 20


def test_ranks_out_of_line_are_translated_once(large_world):
    _, compared = large_world
    assert compared["mixed"] < 200  # each is found after half of the ranks
    assert compared["duplicate of mixed"] == 0
