# SPDX-License-Identifier: BSD-3-Clause
"""What the metrics of rhythm, topologies and models of ranks refuse."""


class RhythmError(ValueError):
    """Phases that a metric cannot take; the text says what was given, what is expected and what to do."""


class ModelError(ValueError):
    """A model that makes no sense; the text says what was given, what is expected and what to do."""
