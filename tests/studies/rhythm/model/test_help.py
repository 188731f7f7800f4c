# SPDX-License-Identifier: BSD-3-Clause
"""Each metric that is drawn says its use and its limit."""

from __future__ import annotations

from perfield.studies.rhythm import model as rhythm


def test_every_plot_of_the_papers_table_has_help_and_is_a_metric():
    eight = {
        "phase_circle",
        "order_parameter",
        "entropy",
        "phase_gradient",
        "phase_differences",
        "difference_histogram",
        "difference_matrix",
        "potential",
    }
    assert eight <= rhythm.HELP.keys() <= set(rhythm.__all__)


def test_help_says_what_for_and_what_not_in_sentences():
    for name, text in rhythm.HELP.items():
        for part in (text.shows, text.use, text.limit, text.scale):
            assert part[0].isupper(), name
            assert part.endswith("."), name
        assert text.use.startswith("Use it"), name


def test_metrics_that_are_blind_to_whole_steps_say_so():
    for name in ("phase_circle", "order_parameter", "entropy"):
        assert "cannot see whole steps" in rhythm.HELP[name].limit
