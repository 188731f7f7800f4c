# SPDX-License-Identifier: BSD-3-Clause
"""The first rank of a node claims the run directory; the others wait for it, and make nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MAKING = ("mkdir(", "mkdirat(", "rename(", "renameat(", "renameat2(", "rmdir(", "unlink", "O_CREAT")
WAITED_OUT = 10  # sleeps; a rank sleeps more often before it gives the first one up

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def flux(rank: int, size: int = 4) -> dict[str, str]:
    """What Flux says to rank `rank` of a job on one node."""
    return {
        "FLUX_JOB_ID": "f1",
        "FLUX_TASK_RANK": str(rank),
        "FLUX_TASK_LOCAL_ID": str(rank),
        "FLUX_JOB_SIZE": str(size),
        "FLUX_JOB_NNODES": "1",
    }


class Traced:
    """A rank under strace that prints its run directory; `made`: its calls that make or remove."""

    def __init__(self, environment: dict[str, str], folder: Path, name: str):
        self.log = folder / f"{name}.strace"
        words = ["strace", "-f", "-o", self.log, "-e", "trace=file,nanosleep,clock_nanosleep"]
        self.process = subprocess.Popen(
            [*words, "perfield-exec", "sh", "-c", "echo $PERFIELD_RUN"],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> str:
        out, self.printed = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, self.printed
        return out.strip()

    @property
    def made(self) -> list[str]:
        return [line for line in self.lines() if any(word in line for word in MAKING)]

    @property
    def slept(self) -> int:
        """How often it slept before it made something; lstopo is waited for later."""
        lines = self.lines()
        first = lines.index(self.made[0]) if self.made else len(lines)
        return sum("nanosleep(" in line for line in lines[:first])

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def rank(plain_environment, tmp_path):
    """rank(name, **environment): starts perfield-exec as that rank."""
    allowed = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    if allowed.returncode:
        pytest.skip(f"strace is not allowed here: {allowed.stderr.decode()}")

    def start(name: str, **environment: str) -> Traced:
        return Traced({**plain_environment, **environment}, tmp_path, name)

    return start


def test_only_the_first_rank_makes_files(rank, tmp_path):
    others = [rank(f"rank{n}", **flux(n)) for n in (1, 2, 3)]
    first = rank("rank0", **flux(0))
    assert {traced.end() for traced in (first, *others)} == {str(tmp_path / "perfield-run")}
    assert first.made
    for other in others:  # one that has waited in vain claims; on a busy machine the first may be that late
        assert not other.made or other.slept > WAITED_OUT


def test_late_ranks_join_at_once(rank, tmp_path):
    rank("rank0", **flux(0)).end()
    late = rank("rank1", **flux(1))
    assert late.end() == str(tmp_path / "perfield-run")
    assert (late.made, late.slept) == ([], 0)


def test_first_rank_that_never_comes_is_waited_for_with_a_limit(rank, tmp_path):
    ranks = [rank(f"rank{n}", **flux(n)) for n in (1, 2)]
    assert {traced.end() for traced in ranks} == {str(tmp_path / "perfield-run")}
    assert all(traced.slept > WAITED_OUT for traced in ranks)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["perfield-run"]


def test_first_ranks_of_several_programs_claim_without_waiting(rank):
    program = {"OMPI_FIRST_RANKS": "0 1", "OMPI_COMM_WORLD_SIZE": "3", "PMIX_NAMESPACE": "7"}
    ranks = {
        n: program | {"OMPI_COMM_WORLD_RANK": str(n), "OMPI_COMM_WORLD_LOCAL_RANK": str(n)} for n in (1, 2)
    }
    second_program = rank("rank1", **ranks[1])  # rank 0 runs without perfield-exec
    assert second_program.end()
    assert second_program.slept == 0
    last = rank("rank2", **ranks[2])
    assert last.end()
    assert last.made == []


def test_rank_without_a_known_place_claims_itself(rank):
    alone = rank("rank", PERFIELD_RUN_ID="mine")
    alone.end()
    assert alone.made
    assert alone.slept == 0
