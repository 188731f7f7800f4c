# SPDX-License-Identifier: BSD-3-Clause
"""Why ranks wait: wait states in Scalasca's terms, what they cost, and the critical path."""

from perfield.analysis.waits.coverage import GAPS, Coverage
from perfield.analysis.waits.states import (
    BOUND,
    EVENT,
    EXACT,
    KINDS,
    STATE,
    UNCERTAIN,
    UNKNOWN,
    Waits,
    find_wait_states,
)

__all__ = [
    "BOUND",
    "EVENT",
    "EXACT",
    "GAPS",
    "KINDS",
    "STATE",
    "UNCERTAIN",
    "UNKNOWN",
    "Coverage",
    "Waits",
    "find_wait_states",
]
