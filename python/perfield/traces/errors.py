# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a trace, as a sentence."""


class TraceError(ValueError):
    """A trace that cannot be read, or not as asked; the text says what, where, and what to do."""
