# SPDX-License-Identifier: BSD-3-Clause
"""What analyses of communication hiding raise."""

from __future__ import annotations


class HidingError(ValueError):
    """A model or a record that cannot be used; says what, where, what was expected and what to do."""
