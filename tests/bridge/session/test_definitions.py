# SPDX-License-Identifier: BSD-3-Clause
"""The ranks of a node share the texts of their definitions; each has ids of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from twins import twin

STEPS = """
      for (int step = 0; step < 6; ++step) {
        if (rank == 1 && step == 0) { perfield_begin("first"); perfield_end("first"); }
        perfield_begin("solve"); usleep(1000); perfield_end("solve");
        MPI_Barrier(MPI_COMM_WORLD);
        perfield_step(step, step);
      }
"""
UNWRITTEN = """
      struct rlimit none = {0, 0};
      signal(SIGXFSZ, SIG_IGN);
      if (rank < size - 1) setrlimit(RLIMIT_FSIZE, &none);
      else usleep(300000);
"""
HEADERS = "#include <signal.h>\n#include <sys/resource.h>\n"


def entries(run) -> list[dict]:
    """All entries of a run's streams."""
    return [e for file in (run.path / "stream").glob("*.pf") for e in twin.decode(file.read_bytes())[0]]


def test_few_ranks_write_a_text_and_all_have_its_names(measured):
    run, _ = measured(STEPS, mpi=True, n=4)
    copies = Counter(e["index"] for e in entries(run) if e["type"] == "definition")
    assert copies and max(copies.values()) == 2
    assert {e["type"] for e in entries(run)} & {"region", "quantity"} == set()
    ids = {e["rank"]: e["index"] for e in twin.resolved(entries(run)) if e["body"].get("name") == "solve"}
    assert len(ids) == 4 and ids[1] != ids[0]
    assert (run.frame(2).values["solve_time_s"] > 0).all()
    assert not run.damage
    assert not list(Path("/dev/shm").glob(f"perfield-*-{run.info['run_id']}-*")), "memory was left behind"


def test_texts_of_ranks_that_cannot_write_are_written_by_others(measured):
    run, _ = measured(UNWRITTEN + STEPS, before=HEADERS, mpi=True, n=3, env={"PERFIELD_FLUSH_SECONDS": "0"})
    writers = {e["rank"] for e in entries(run) if e["type"] == "definition"}
    assert writers == {2}
    assert run.frame(2).values["solve_time_s"][2] > 0
