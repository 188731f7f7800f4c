# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that step entries have for calls and for the classes of their time, by name; see docs/stream.md."""

from __future__ import annotations

from perfield import _bridge

_CLASSES = ("p2p", "wait", "collective", "onesided", "io", "other")
_CLASS_OF = {name: time_class for _, name, time_class, _ in _bridge.calls()}

CALL = {name: number for number, name, _, _ in _bridge.calls()}
TIME_CLASS = {name: number for number, name in enumerate(_CLASSES)}


def call_row(name: str, **values: int) -> dict[str, int]:
    """A row of a step entry's calls; values : its other columns."""
    return {"call": CALL[name], "time_class": TIME_CLASS[_CLASS_OF[name]], **values}
