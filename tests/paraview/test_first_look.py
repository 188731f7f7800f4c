# SPDX-License-Identifier: BSD-3-Clause
"""How what the plugin makes is coloured when it shows first."""

from __future__ import annotations

import pytest

from perfield.paraview import difference, messages_of_ranks, rank, reader, statistics, top_messages
from perfield.paraview.first_look import main_array, scale
from twins import twin


@pytest.mark.parametrize("picture, association", [(0, "POINTS"), (1, "CELLS")])
def test_each_filter_says_what_to_colour_by(tmp_path, picture, association):
    def read(name, run_id):
        path = twin.write_run(tmp_path / name, ranks=4, steps=3, run_id=run_id)
        return reader.make(str(path / "run.json"), 1.0, picture=picture)

    old, new = read("before", 7), read("after", 8)
    assert main_array(new) == (association, "compute_time_s")
    assert main_array(messages_of_ranks.make([new])) == (association, "to_chosen_count")
    assert main_array(messages_of_ranks.make([new], show=2)) == ("CELLS", "sent_bytes")
    assert main_array(statistics.make([new])) == (association, "compute_time_s_mean")
    assert main_array(difference.make([old, new])) == ("CELLS", "compute_time_s_difference")
    assert main_array(top_messages.make([new])) == ("CELLS", "sent_bytes")
    assert main_array(rank.make([new])) == (association, "compute_time_s")


@pytest.mark.parametrize(
    "name, ends, shown",
    [
        ("sent_count", (12, 13), (0, 13)),
        ("solve_time_s_difference", (-3, 1), (-3, 3)),
        ("solve_time_s_difference", (0, 0), (-1, 1)),
        ("heat", (-3, 1), None),
        ("sent_count", (0, 0), None),
    ],
)
def test_scale_begins_at_0_or_lies_around_it(name, ends, shown):
    assert scale(name, *ends) == shown
