# SPDX-License-Identifier: BSD-3-Clause
"""A ParaView sees a followed program's steps, pauses and goes on; the program never waits for it."""

from __future__ import annotations

import pytest
from drivers import live_client
from follow.conftest import n_frames, until


def are_right(ranges) -> bool:
    """Whether these are ranges of `heat`: 100 times the step, plus the rank, of later and later steps."""
    return ranges == sorted(ranges) and all(low % 100 == 0 and high == low + 1 for low, high in ranges)


def test_client_sees_steps_pauses_and_goes_on_while_the_program_ends(program, follow, tmp_path):
    run = tmp_path / "perfield-run"
    with live_client.Client(tmp_path) as client:
        until(lambda: client.has_said("waiting"))  # the client is first
        following = follow(run, "--live", client.address, "--no-extracts")
        running = program(PERFIELD_FOCUS_RANKS="0")
        running.steps(1)
        until(lambda: following.shown() == 1)
        for n in range(3):
            running.steps(1)
            until(lambda n=n: len(client.seen()) > n)
        assert are_right(client.seen())
        client.say("pause")
        until(lambda: client.has_said("pause"))
        running.steps(20)
        assert running.finish() == 0  # while its ParaView is paused
        assert n_frames(run) == 24 and following.process.poll() is None
        before = client.seen()
        client.say("go")
        until(lambda: len(client.seen()) > len(before))  # the last step may come too late to be read
        assert following.finish() == 0, following.err
        assert "shown 24 of 24 frames" in following.err
        assert are_right(client.seen()) and client.seen()[: len(before)] == before
        assert all(
            answer["sent_to_0"][1] == answer["heat"][0] / 100 + 1
            for answer in client.answers()
            if "heat" in answer
        )


def test_client_may_come_later_and_vanish_even_if_it_has_paused(program, follow, tmp_path):
    run, running = tmp_path / "perfield-run", program()
    port = live_client.free_port()
    following = follow(run, "--live", f"localhost:{port}", "--newest")
    running.steps(2)
    until(lambda: following.shown() > 0)  # nobody listens, and it goes on
    with live_client.Client(tmp_path, port) as client:

        def sees_one() -> bool:
            running.steps(1)
            return bool(client.seen())

        until(sees_one)
        assert are_right(client.seen())
        client.say("pause")
        until(lambda: client.has_said("pause"))
        running.steps(3)
        client.vanish()
    assert running.finish() == 0
    assert following.finish() == 0, following.err
    assert "the run has finished" in following.err


@pytest.mark.long
def test_ctrl_c_ends_it_even_while_the_client_has_paused(program, follow, tmp_path):
    run, running = tmp_path / "perfield-run", program()
    with live_client.Client(tmp_path) as client:
        following = follow(run, "--live", client.address)

        def sees_one() -> bool:
            running.steps(1)
            return bool(client.seen())

        until(sees_one)
        client.say("pause")
        until(lambda: client.has_said("pause"))
        running.steps(3)
        following.interrupt()
        assert following.finish() == 0
    assert "ended on request" in following.err or "paused by its client, and was ended" in following.err
    assert running.finish() == 0
