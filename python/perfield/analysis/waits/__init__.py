# SPDX-License-Identifier: BSD-3-Clause
"""Why ranks wait: wait states in Scalasca's terms, what they cost, and the critical path."""

from perfield.analysis.waits.states import EVENT, KINDS, STATE, UNKNOWN

__all__ = ["EVENT", "KINDS", "STATE", "UNKNOWN"]
