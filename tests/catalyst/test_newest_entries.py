# SPDX-License-Identifier: BSD-3-Clause
"""Which entries pictures inside the program show where ranks share entries between more or fewer steps."""

from __future__ import annotations

import threading

from perfield.catalyst.newest_entries import KEPT, NewestEntries
from twins import twin


class FakeWorld:
    """A fake of `perfield.catalyst.world.World`: two threads stand for two ranks."""

    def __init__(self):
        self._reported, self._barrier = [], threading.Barrier(2)

    def agree(self, *numbers):
        self._reported.append(numbers)
        self._barrier.wait(timeout=120)
        least = [min(column) for column in zip(*self._reported)]
        if self._barrier.wait(timeout=120) == 0:
            self._reported.clear()
        self._barrier.wait(timeout=120)
        return least


def entry(first, last):
    return last, twin.step_body(label=last, span=last - first + 1)


def chosen(*ranks):
    """For each rank's (first, last) of entries, the labels of those that are shown."""
    world, found = FakeWorld(), {}

    def run(rank, entries):
        newest = NewestEntries()
        newest.add(entry(*steps) for steps in entries)
        bodies = newest.of_all(world)
        found[rank] = [twin.decode_body("step", body)["label"] for body in bodies]

    threads = [threading.Thread(target=run, args=each) for each in enumerate(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[rank] for rank in range(len(ranks))]


def test_ranks_with_an_entry_for_each_step_show_the_newest():
    assert chosen([(0, 0), (1, 1)], [(1, 1)]) == [[1], [1]]


def test_all_ranks_show_the_steps_of_the_longest_entry():
    short = [(4 * n, 4 * n + 3) for n in range(8)]
    assert chosen(short, [(0, 15)]) == [[3, 7, 11, 15], [15]]


def test_of_steps_measured_by_some_ranks_alone_none_is_shown():
    assert chosen([(0, 0), (4, 4), (8, 8), (12, 12)], [(0, 0), (8, 8)]) == [[8], [8]]


def test_nothing_is_shown_where_a_rank_no_longer_has_the_steps():
    assert chosen([(n, n) for n in range(KEPT + 9)], [(0, 127)]) == [[], []]
