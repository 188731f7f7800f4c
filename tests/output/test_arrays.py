# SPDX-License-Identifier: BSD-3-Clause
"""The description of arrays for the pipelines: points or cells, ranges over all steps, the box around all."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import fake_run

from perfield.output.arrays import Arrays
from perfield.pictures.blocks import attach, dataset_of


def noted(*values, name="wait", association="point"):
    """Arrays of one step per value: a cube of 64 points and 27 cells with the same value everywhere."""
    arrays = Arrays()
    for step, value in enumerate(values):
        dataset = dataset_of(fake_run.cube(0, "image"))
        number = 64 if association == "point" else 27
        attach(dataset, name, np.full((number, *np.shape(value)), value), association)
        arrays.note(step, dataset)
    return arrays


def test_ranges_span_finite_values_of_all_steps():
    about = noted(2.0, np.nan, -1.0).description()["wait"]
    assert (about["range"], about["absent"]) == ((-1.0, 2.0), True)
    assert noted(2.0, 1.0).description()["wait"]["absent"] is False


def test_never_measured_arrays_are_left_out():
    assert noted(np.nan, np.nan).description() == {}


def test_values_beyond_what_pictures_describe_are_left_out():
    assert noted(1e308).description() == noted(-1e305).description() == {}
    assert noted(2.0, 1e308).description()["wait"]["range"] == (2.0, 2.0)


def test_cell_fields_are_described_as_cells():
    assert noted(1.0, name="pressure", association="cell").description()["pressure"]["association"] == "CELLS"
    assert noted(1.0).description()["wait"]["association"] == "POINTS"


def test_integers_are_described_as_whole():
    assert noted(1, 3, name="level").description()["level"]["whole"] is True
    assert "whole" not in noted(1.0, 3.0).description()["wait"]


def test_a_category_lists_the_numbers_that_occur():
    assert noted(3.0, np.nan, 0.0, 3.0, name="hops").description()["hops"]["values"] == [0.0, 3.0]
    assert "values" not in noted(3.0, 0.0).description()["wait"]
    assert "values" not in noted(*range(40), name="hops").description()["hops"]


def test_vector_range_is_of_its_magnitude():
    about = noted([3.0, 0.0, 4.0], [0.0, 0.0, -2.0], name="U").description()["U"]
    assert about["components"] == 3
    assert about["range"] == pytest.approx((2.0, 5.0))


def test_common_peak_ignores_outlier_steps():
    assert noted(9.0, 1.0, 1.5, 1.2).description()["wait"]["scale_end"] == 1.5
    assert "scale_end" not in noted(2.0, 1.0, 1.5, 1.2).description()["wait"]


def test_few_values_of_all_ranks_and_steps_do_not_stretch_the_scale():
    few = noted(*(9.0 if step == 40 else 1.0 + step / 200 for step in range(60)))
    assert few.description()["wait"]["scale_end"] < 1.3


def test_variation_is_the_spread_over_places_and_steps():
    assert noted(2.0, 2.0).variation("wait") == 0.0
    assert noted(0.0, 1.0).variation("wait") == pytest.approx(0.5)
    assert noted(100.0, 101.0).variation("wait") < 0.01
    assert noted([3.0, 0.0, 4.0]).variation("wait") == 0.0 == noted().variation("absent")


def test_bounds_span_datasets_of_all_steps():
    arrays = Arrays()
    assert arrays.bounds is None
    for step, rank in enumerate((0, 2)):
        arrays.note(step, dataset_of(fake_run.cube(rank, "image")))
    assert arrays.bounds == pytest.approx((0, 3, 0, 1, 0, 1))
