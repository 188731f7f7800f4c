# SPDX-License-Identifier: BSD-3-Clause
"""All kinds of runs satisfy the protocol `perfield.run.Run`."""

from __future__ import annotations

import inspect
from pathlib import Path

import fake_run
import numpy as np
import pytest

import perfield
import twin
from perfield.catalyst.gathered_run import GatheredRun, News, Piece
from perfield.run import Frame, Region, Run, RunDirectory


def gathered(path: Path) -> GatheredRun:
    """The first step of the rank 0 of a run of two ranks, as in the program itself."""
    run = GatheredRun(path, [["pmpi"], ["pmpi"]])
    definitions = [(0, {"id": number, "name": name}) for number, name in enumerate(("solve", "exchange"), 1)]
    run.learn([News(definitions, calls={twin.ISEND})])
    body = twin.step_body(**twin.step_values(0, 2, 0, mesh_version=0))
    run.take(0, [Piece(0, 0, [body], [], [])], np.zeros(2))
    return run


def make(kind: str, path: Path):
    if kind == "fake":
        return fake_run.FakeRun(path, ranks=2, steps=1)
    live = {"ended": False, "change_rank": twin.live_rank} if kind == "live" else {}
    live |= {"ended": False} if kind == "killed" else {}
    twin.write_run(path, ranks=2, steps=1, mesh=False, **live)
    return gathered(path) if kind == "gathered" else perfield.open(path)


@pytest.mark.parametrize("kind", ["finished", "killed", "live", "gathered", "fake"])
def test_run_answers_all_questions_of_the_protocol(tmp_path, kind):
    run = make(kind, tmp_path / "run")
    assert isinstance(run, Run)
    assert run.state == {"finished": "finished", "killed": "killed"}.get(kind, "running")
    assert run.path == tmp_path / "run" and isinstance(run.info, dict)
    assert run.n_ranks == len(run.rank_entries) == 2 and len(run) == 1
    assert {region.name for region in run.known_regions} >= {"solve"}
    (frame,) = run.frames()
    assert frame.index == run.frame(-1).index == 0 and "solve_time_s" in frame.values
    if kind != "fake":
        assert isinstance(frame, Frame) and isinstance(run.known_regions[0], Region)
        assert run.mesh(0, 1) == [] and run.fields(0, 0) == {}
        with pytest.raises(IndexError):
            run.frame(1)


@pytest.mark.parametrize("kind", [RunDirectory, GatheredRun, fake_run.FakeRun])
def test_methods_take_the_arguments_of_the_protocol(kind):
    for name in ("frame", "frames", "mesh", "fields"):
        asked, answered = (list(inspect.signature(getattr(one, name)).parameters) for one in (Run, kind))
        assert len(answered) == len(asked), name


def test_object_without_an_answer_is_no_run(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, steps=1)
    del run.state
    assert not isinstance(run, Run)


def test_no_run_is_of_any_type():
    package = Path(perfield.__file__).parent
    assert not [path for path in package.rglob("*.py") if "run: Any" in path.read_text()]
