# SPDX-License-Identifier: BSD-3-Clause
"""What analyses of regimes raise."""

from __future__ import annotations


class RegimeError(ValueError):
    """Timings or a model that cannot be used; says what, where, what was expected and what to do."""
