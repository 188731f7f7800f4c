# SPDX-License-Identifier: BSD-3-Clause
"""What the metrics of rhythm refuse."""


class RhythmError(ValueError):
    """Phases that a metric cannot judge; the text says what was given, what is expected and what to do."""
