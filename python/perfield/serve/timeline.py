# SPDX-License-Identifier: BSD-3-Clause
"""A logged step as it went, rank by rank: `perfield.derived.step_timeline` as arrays for the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfield.analysis.waits import KINDS
from perfield.analysis.waits.words import KIND_WORDS
from perfield.derived.step_timeline import StepTimeline, ends_wait, logged_positions, mpi_name
from perfield.run.snapshot import Snapshot
from perfield.serve.followed import View
from perfield.serve.packed import packed
from perfield.text import counted, in_list

MOST_LANES = 256  # ranks
MOST_ROWS = 60_000  # of calls, of waits and of messages
TICKS = 1 << 24  # of a step: its times as whole numbers, which pack well


def logged(view: View) -> list[int]:
    """Positions of the frames that have a timeline."""
    return logged_positions(view.run).tolist()


def timeline(view: View, frame: int) -> bytes:
    """What `parts` gives, as the page reads it. Raises ValueError for a frame that was not logged."""
    key = "timeline", frame, int(view.run.frame_states[frame])

    def made() -> bytes:
        arrays, header = parts(view, frame)
        return packed(arrays, **header)

    return view.answers.get(key, made)


def parts(view: View, frame: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and header of a frame.

    Of each lane: rank, begin, end of its step. Of calls: call_rank, call_begin, call_end, call_name, whose
    index in `calls` is given; call_completes where the call completed what that one began. Of waits, the
    longest first: wait_rank, wait_cause (-1: not known), wait_kind (in `kinds`), wait_is_sure, wait_begin,
    wait_end, wait_late (when the cause did at last what wait_does says, in `does`; -1: not known). Of
    messages: message_source, message_target, message_sent, message_received, message_bytes.

    Times are ticks of `tick_s` since the first rank began. Header: frame, tick_s, seconds, calls, kinds,
    does; who: the rank that costs most, as the begin of a sentence; left_out: a sentence, "" for nothing.
    """
    run = Snapshot(view.run).run
    if frame not in logged_positions(run):
        raise ValueError(f"frame {frame} has no log of one step, so nobody knows when calls were made.")
    shown = StepTimeline.of(run, np.array([frame]), MOST_LANES)
    tick_s = max(shown.seconds, 1e-9) / TICKS

    def ticks(times_s: np.ndarray) -> np.ndarray:
        far = np.clip(np.nan_to_num(times_s) / tick_s, -(1 << 30), 1 << 30)
        return np.round(far).astype("<i4")

    found = {"call": shown.calls, "wait": shown.waits, "message": shown.messages}
    left = {name: len(rows) - MOST_ROWS for name, rows in found.items() if len(rows) > MOST_ROWS}
    calls = _longest(shown.calls, "begin_s", "end_s")
    waits = shown.waits[:MOST_ROWS]
    messages = _longest(shown.messages, "sent_s", "received_s")
    names, call_name = np.unique(calls["call"], return_inverse=True)
    does, wait_does = _what_ends(waits)
    ranks, begin, end = shown.steps()
    arrays = {
        **{"rank": ranks.astype("<i4"), "begin": ticks(begin), "end": ticks(end)},
        **{"call_rank": calls["rank"], "call_name": call_name.astype("<i4")},
        **{"call_begin": ticks(calls["begin_s"]), "call_end": ticks(calls["end_s"])},
        **{"call_completes": calls["completes"].astype("u1")},
        **{"wait_rank": waits["rank"], "wait_cause": waits["cause"], "wait_kind": waits["kind"]},
        **{"wait_is_sure": waits["is_sure"].astype("u1"), "wait_does": wait_does},
        **{"wait_begin": ticks(waits["begin_s"]), "wait_end": ticks(waits["end_s"])},
        **{"wait_late": ticks(waits["late_s"])},
        **{"message_source": messages["source"], "message_target": messages["target"]},
        **{"message_sent": ticks(messages["sent_s"]), "message_received": ticks(messages["received_s"])},
        **{"message_bytes": messages["bytes"].astype("<f4")},
    }
    return arrays, {
        "frame": frame,
        "tick_s": tick_s,
        "seconds": shown.seconds,
        "calls": [mpi_name(number) for number in names.tolist()],
        "kinds": [KIND_WORDS[kind] for kind in KINDS],
        "does": does,
        "who": shown.who_costs_most(),
        "left_out": _left_out(len(shown.lanes), view.run.n_ranks, left),
    }


def _longest(rows: np.ndarray, begin: str, end: str) -> np.ndarray:
    """At most MOST_ROWS of the rows, those that last longest, in their order."""
    if len(rows) <= MOST_ROWS:
        return rows
    longest = np.argsort(rows[begin] - rows[end], kind="stable")[:MOST_ROWS]
    return rows[np.sort(longest)]


def _what_ends(waits: np.ndarray) -> tuple[list[str], np.ndarray]:
    """What late ranks do at last, each once, and of each wait which of these; -1 where that is not known."""
    known = np.isfinite(waits["late_s"])
    keys, number = np.unique(waits[known][["kind", "late_call"]], return_inverse=True)
    does = np.full(len(waits), -1, "<i4")
    does[known] = number
    return [ends_wait(kind, call) for kind, call in keys.tolist()], does


def _left_out(n_lanes: int, n_ranks: int, left: dict[str, int]) -> str:
    words = []
    if n_lanes < n_ranks:
        words.append(f"{n_lanes} of {counted(n_ranks, 'rank')}: those that wait longest, and for whom.")
    if left:
        shorter = [counted(number, name) for name, number in left.items()]
        words.append(f"The shortest are left out: {in_list(shorter, len(shorter))}.")
    return " ".join(words)
