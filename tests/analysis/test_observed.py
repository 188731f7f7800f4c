# SPDX-License-Identifier: BSD-3-Clause
"""What a run measured: known messages, and questions that are answered once."""

from dataclasses import replace

from known_runs.observed_runs import observed_run

from perfield.analysis.observed import once


def test_messages_with_ranks_outside_of_the_world_are_not_known():
    rows = [(0, 1, 5, 50, 0), (-1, 1, 5, 50, 0), (2, -1, 5, 50, 0), (3, 8, 5, 50, 0), (2, 2, 5, 50, 0)]
    observed = observed_run(4, messages=rows)
    assert [(row["source"], row["target"]) for row in observed.known_messages] == [(0, 1), (2, 2)]


def test_question_asked_twice_is_answered_once_for_each_run():
    asked = []

    @once
    def n_steps(observed, more=0):
        asked.append(more)
        return observed.n_steps + more

    observed = observed_run()
    assert [n_steps(observed), n_steps(observed), n_steps(observed, 1)] == [60, 60, 61]
    assert asked == [0, 1]
    assert n_steps(replace(observed, n_ranks=9)) == 60 and len(asked) == 3
