# SPDX-License-Identifier: BSD-3-Clause
"""All kinds of runs satisfy the protocol `perfield.run.AnyRun`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from known_runs import fake_run

import perfield
from perfield.catalyst.gathered_run import GatheredRun, NewDefinitions, Piece
from perfield.derived.view import RunView
from perfield.run import AnyRun, Frame, Region, RunDirectory
from twins import twin


def gathered(path: Path) -> GatheredRun:
    """The first step of the rank 0 of a run of two ranks, as in the program itself."""
    run = GatheredRun(path, [["pmpi"], ["pmpi"]])
    definitions = [(0, {"id": number, "name": name}) for number, name in enumerate(("solve", "exchange"), 1)]
    run.learn([NewDefinitions(definitions, calls={twin.ISEND})])
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
    assert isinstance(run, AnyRun)
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
        asked, answered = (list(inspect.signature(getattr(one, name)).parameters) for one in (AnyRun, kind))
        assert len(answered) == len(asked), name


def test_object_without_an_answer_is_no_run(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, steps=1)
    del run.state
    assert not isinstance(run, AnyRun)


def test_no_run_is_of_any_type():
    package = Path(perfield.__file__).parent
    assert not [path for path in package.rglob("*.py") if re.search(r"run: Any\b", path.read_text())]


def set_on_self(kind: type) -> set[str]:
    """Names of the attributes that the methods of a class give to its instances."""
    written = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind))))
    stored = (node for node in written if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return {node.attr for node in stored if isinstance(node.value, ast.Name) and node.value.id == "self"}


def arguments_of(kind: type, name: str) -> list[str] | None:
    """The arguments of a method; None for a property or an attribute."""
    found = inspect.getattr_static(kind, name, None)
    return list(inspect.signature(found).parameters) if inspect.isfunction(found) else None


def hidden(kind: type) -> set[str]:
    """Public names of a run that a class of runs uses for something else."""
    of_run = {*dir(RunDirectory), *set_on_self(RunDirectory), *AnyRun.__annotations__}
    own = {name for each in kind.__mro__[:-1] for name in (*vars(each), *set_on_self(each))}
    return {
        name
        for name in own & of_run
        if not name.startswith("_") and arguments_of(kind, name) != arguments_of(RunDirectory, name)
    }


def test_views_and_gathered_runs_hide_nothing_of_the_run():
    for kind in (RunView, GatheredRun):
        assert not hidden(kind), kind


def test_hidden_names_of_a_run_are_seen():
    class Hiding(RunView):
        def __init__(self, run):
            super().__init__(run)
            self.fields = []

        def mesh(self, rank):
            return []

    assert hidden(Hiding) == {"fields", "mesh"}
