# SPDX-License-Identifier: BSD-3-Clause
"""The exercises of docs/teaching: their commands work as printed, and what their answers say is true.

Asked are counts, bytes, and times that were planted several times as large as a busy machine adds.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from compiled.fenced_blocks import fenced_blocks
from conftest import run_command

import perfield
from perfield.analysis.findings import Finding
from perfield.report import report

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = REPOSITORY / "docs/teaching"
PROGRAMS = sorted((REPOSITORY / "testcase/teaching").glob("*.c"))
EXERCISES = ("imbalance", "placement", "empty-messages", "io-on-rank-0", "idle-wave")


@dataclass(frozen=True)
class Done:
    """An exercise after all its commands: what they printed, and the folder that holds the runs."""

    folder: Path
    printed: str

    def run(self, name: str) -> perfield.Run:
        """The run of that name; it has finished."""
        run = perfield.open(self.folder / name)
        assert run.state == "finished"
        return run

    def findings(self, name: str, kind: str) -> list[Finding]:
        """The findings of one kind that the report of that run says."""
        return [finding for finding in report(self.run(name)).findings if finding.kind == kind]


@pytest.fixture
def done(request, tmp_path) -> Done:
    """The exercise of the test's parameter, done as a student does it: in a copy of the programs."""
    for program in PROGRAMS:
        shutil.copy(program, tmp_path)
    page = PAGES / f"{request.param}.md"
    script = "".join(text for language, text in fenced_blocks(page) if language == "sh")
    # A student has none of the variables that other tests set for Open MPI.
    env = dict.fromkeys(("OMPI_MCA_mpi_yield_when_idle", "OMPI_MCA_rmaps_base_oversubscribe"))
    result = run_command(["bash", "-exc", script], env, tmp_path, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    for printed in re.findall(r"`([\w/]+\.(?:png|html))`", page.read_text()):
        assert (tmp_path / printed).stat().st_size > 0
    return Done(tmp_path, result.stdout + result.stderr)


def exercise(name: str):
    """Marks the test of one exercise: it gets the exercise, done."""

    def mark(test):
        return pytest.mark.long(pytest.mark.parametrize("done", [name], indirect=True)(test))

    return mark


def per_step(run: perfield.Run, field: str) -> np.ndarray:
    """A field of each rank and step, (n_steps, n_ranks)."""
    return run.steps[field].transpose("step", "rank").values


@exercise("imbalance")
def test_the_rank_with_most_columns_computes_and_the_others_wait(done):
    (finding,) = done.findings("uneven", "imbalance by cells")
    assert finding.ranks.tolist() == [1]
    assert "it has 440, the mean is 200" in finding.words
    uneven = done.run("uneven")
    computing = np.median(per_step(uneven, "compute_time_s"), axis=0)
    assert computing[1] > 1.5 * computing.mean()
    assert np.median(per_step(uneven, "waiting_time_s"), axis=0).argmin() == 1
    waits = uneven.waits().compute().groupby(["rank", "peer"]).time_s.sum()
    assert [int(waits[rank].idxmax()) for rank in (0, 2, 3)] == [1, 1, 2]  # passed on by rank 2
    assert not done.findings("even", "imbalance by cells")
    assert np.median(per_step(done.run("even"), "step_time_s")) < 0.8 * np.median(
        per_step(uneven, "step_time_s")
    )


@pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs two cores, the first one among them")
@exercise("placement")
def test_ranks_packed_on_one_core_have_it_half_of_the_time(done):
    (finding,) = done.findings("packed", "shared cores")
    assert finding.ranks.tolist() == [0, 1]
    assert finding.saved_s > 0
    packed = done.run("packed")
    working = sum(per_step(packed, f"cpu_{mode}_time_s") for mode in ("user", "system"))
    assert (working.sum(axis=0) < 0.7 * per_step(packed, "compute_time_s").sum(axis=0)).all()
    assert packed.ranks.cpuset.tolist() == ["0", "0"]
    assert "Ranks 0-1 share core 0" in done.printed
    assert not done.findings("spread", "shared cores")
    assert len(set(done.run("spread").ranks.cpuset)) == 2


@exercise("empty-messages")
def test_empty_messages_are_counted_and_grow_with_the_square_of_ranks(done):
    for name, messages, empty in (("everybody", 2800, 2100), ("sixteen", 12000, 10500), ("skip", 700, 0)):
        counted = done.run(name).messages().compute()[["count", "empty"]].sum()
        assert counted.tolist() == [messages, empty], name
    (finding,) = done.findings("everybody", "empty messages")
    assert finding.words.startswith("42 messages per step carry no bytes, 75 % of them.")
    (finding,) = done.findings("sixteen", "empty messages")
    assert finding.words.startswith("210 messages per step carry no bytes, 88 % of them.")
    assert not done.findings("skip", "empty messages")
    (line,) = [line for line in done.printed.splitlines() if line.startswith("messages   2,800 ")]
    assert line in (PAGES / "empty-messages.md").read_text()


@exercise("io-on-rank-0")
def test_rank_0_writes_for_all_until_all_write(done):
    (finding,) = done.findings("alone", "I/O through few ranks")
    assert finding.ranks.tolist() == [0]
    written = per_step(done.run("alone"), "io_write_bytes")
    assert np.flatnonzero(written[:, 0]).tolist() == list(range(4, 50, 5))
    assert written.sum(axis=0).tolist() == [167_772_160, 0, 0, 0]
    assert not done.findings("together", "I/O through few ranks")
    assert per_step(done.run("together"), "io_write_bytes").sum(axis=0).tolist() == [41_943_040] * 4


@exercise("idle-wave")
def test_a_delay_travels_one_rank_per_step_in_both_directions(done):
    (finding,) = done.findings("wave", "idle wave")
    assert finding.ranks[0] == 4
    assert "A delay began on rank 4 in step 20" in finding.words
    waiting = per_step(done.run("wave"), "waiting_time_s")
    for rank in (0, 1, 2, 3, 5, 6, 7, 8, 9):
        assert waiting[:, rank].argmax() == 20 + abs(rank - 4) - 1
        assert waiting[:, rank].max() > 0.2
    assert all("on rank 4 in step 20" not in wave.words for wave in done.findings("shared", "idle wave"))


def test_each_page_asks_as_many_questions_as_it_answers_and_shows_a_picture():
    for name in EXERCISES:
        page = (PAGES / f"{name}.md").read_text()
        questions, answers = page.split("## Questions")[1].split("<summary>Answers</summary>")
        numbered = [re.findall(r"^\d\. ", text.split("</details>")[0], re.M) for text in (questions, answers)]
        assert numbered[0] == numbered[1] and len(numbered[0]) in (3, 4), name
        assert len(re.findall(r"!\[.+\]\(\.\./images/teaching-[\w-]+\.png\)", page)) == 1, name
        assert f"({name}.md)" in (PAGES / "index.md").read_text()


def test_a_student_can_read_each_program_at_one_go():
    assert len(PROGRAMS) == len(EXERCISES)
    for program in PROGRAMS:
        assert len(program.read_text().splitlines()) <= 70, program.name
