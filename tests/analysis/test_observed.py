# SPDX-License-Identifier: BSD-3-Clause
from observed_runs import observed_run


def test_messages_with_ranks_outside_of_the_world_are_not_known():
    rows = [(0, 1, 5, 50, 0), (-1, 1, 5, 50, 0), (2, -1, 5, 50, 0), (3, 8, 5, 50, 0), (2, 2, 5, 50, 0)]
    observed = observed_run(4, messages=rows)
    assert [(row["source"], row["target"]) for row in observed.known_messages] == [(0, 1), (2, 2)]
