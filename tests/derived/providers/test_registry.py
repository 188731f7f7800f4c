# SPDX-License-Identifier: BSD-3-Clause
"""Fields are found by name whoever computes them, and cost nothing until they are read."""

from __future__ import annotations

import pickle
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import perfield
from perfield.derived import providers
from perfield.derived.providers import Provider, provided
from perfield.fields.table import Field
from twins import twin

BYTES_EACH = "sent_bytes_each"


@provided(unit="B", meaning="bytes of a message", needs=("sent_bytes", "sent_count"), over_steps="none")
def sent_bytes_each(run, positions):
    size, count = run.values(["sent_bytes", "sent_count"], positions).swapaxes(0, 1)
    return size / count


@provided(unit="1", meaning="never there", needs=("nothing",))
def without_what_it_needs(run, positions):
    raise AssertionError


class Counting(Provider):
    """Says how often it was asked."""

    gives = (Field("counted", "1", "how often it was computed"),)
    computed = 0

    def compute(self, names, positions):
        Counting.computed += 1
        return {"counted": np.full((len(positions), self.run.n_ranks), float(Counting.computed))}


class Clashing(Provider):
    """Gives a field that the kernel has."""

    gives = (Field("step_time_s", "s", "never seen"),)


@pytest.fixture
def installed(monkeypatch):
    """Installs attributes of this module as entry points for a test."""

    def install(*names):
        points = [EntryPoint(name, f"{__name__}:{name}", providers.GROUP) for name in names]
        monkeypatch.setattr(EntryPoint, "load", lambda point: globals()[point.attr])
        monkeypatch.setattr(providers, "entry_points", lambda: points)
        providers.provider_classes.cache_clear()

    yield install
    monkeypatch.undo()
    providers.provider_classes.cache_clear()


@pytest.fixture
def path(tmp_path):
    return twin.write_run(tmp_path / "run", ranks=2, steps=4)


def test_function_of_the_user_is_a_field_like_any_other(path, installed):
    installed("sent_bytes_each", "without_what_it_needs")
    run = perfield.open(path)
    assert BYTES_EACH in run.all_fields.names and "without_what_it_needs" not in run.all_fields
    assert run.all_fields[BYTES_EACH].unit == "B" and not run.all_fields[BYTES_EACH].adds_up
    size, count = run.values(["sent_bytes", "sent_count"], [0, 3]).swapaxes(0, 1)
    each = run.values([BYTES_EACH], [0, 3])[:, 0]
    np.testing.assert_array_equal(each, size / count)
    np.testing.assert_array_equal(run.steps[BYTES_EACH][[0, 3]], each)
    np.testing.assert_array_equal(run.with_fields([BYTES_EACH]).frame(3).values[BYTES_EACH], each[1])


def test_field_that_nobody_reads_is_not_computed(path, installed):
    installed("Counting")
    Counting.computed = 0
    run = perfield.open(path)
    steps = run.steps
    assert steps["counted"].shape == (4, 2) and steps["counted"].attrs["units"] == "1"
    steps["step_time_s"].load()
    run.frame(1)
    list(run.with_fields([]).frames())
    assert run.values(["step_time_s"], [0]).shape == (1, 1, 2)
    assert Counting.computed == 0
    steps["counted"].load()
    assert Counting.computed == 1


def test_kernel_wins_where_two_have_a_name(path, installed):
    installed("Clashing")
    run = perfield.open(path)
    assert run.all_fields["step_time_s"].meaning != "never seen"
    assert run.all_fields.names.count("step_time_s") == 1


def test_provider_that_cannot_be_loaded_is_a_warning(path, monkeypatch):
    point = EntryPoint("broken", "no_such_module:field", providers.GROUP)
    monkeypatch.setattr(providers, "entry_points", lambda: [point])
    providers.provider_classes.cache_clear()
    with pytest.warns(UserWarning, match="the fields of no_such_module:field are missing"):
        assert "step_time_s" in perfield.open(path).all_fields
    providers.provider_classes.cache_clear()


def test_unknown_field_is_refused_with_the_nearest_names(path):
    run = perfield.open(path)
    for ask in (lambda: run.values(["step_tme_s"], [0]), lambda: run.with_fields(["step_tme_s"])):
        with pytest.raises(KeyError, match="step_time_s"):
            ask()


def test_fields_of_a_run_that_grew_are_new(tmp_path):
    live = {"ranks": 1, "ended": False, "change_rank": twin.live_rank}
    run = perfield.open(twin.write_run(tmp_path / "run", steps=2, **live))
    before = run.all_fields
    assert run.all_fields is before is run.snapshot().all_fields
    grown = next((twin.write_run(tmp_path / "grown", steps=3, **live) / "stream").iterdir())
    (run.path / "stream" / grown.name).write_bytes(grown.read_bytes())
    run.refresh()
    assert len(run) == 3 and run.all_fields is not before
    assert before.read(["step_time_s"], [1]).shape == (1, 1, 1), "it is the run of before"


def test_dataset_with_computed_fields_survives_pickling(path, installed):
    installed("sent_bytes_each")
    run = perfield.open(path)
    again = pickle.loads(pickle.dumps(run.steps))
    np.testing.assert_array_equal(again[BYTES_EACH], run.steps[BYTES_EACH])
