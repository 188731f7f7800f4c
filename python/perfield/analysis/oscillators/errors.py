# SPDX-License-Identifier: BSD-3-Clause
"""What a model refuses."""


class ModelError(ValueError):
    """A model that makes no sense; the text says what was given, what is expected and what to do."""
