# SPDX-License-Identifier: BSD-3-Clause
"""Whether latencies were injected into a run, and which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfield.text import in_seconds

if TYPE_CHECKING:
    from perfield.run.protocol import AnyRun


def is_injected(run: AnyRun) -> bool:
    """Whether latencies were injected into a run, so that its times are not the machine's own."""
    return bool(run.info.get("injected"))


def sentence(injected: Mapping[str, Any] | None) -> str:
    """One line on what was injected into a run, for people; "" if nothing was. injected : of its run.json."""
    if not injected:
        return ""
    model = injected.get("model")
    source = "given ones"
    if model:
        n = max(model["regime"]) + 1
        source = f"drawn from a model of {n} regime{'s' * (n != 1)} of {model['field']}"
    if "seed" in injected:
        source += f", seed {injected['seed']}"
    mean = f"; {in_seconds(injected['mean_s'])} on average" if "mean_s" in injected else ""
    return f"latencies injected into received messages: {source}{mean}"
