# SPDX-License-Identifier: BSD-3-Clause
"""The error of this package."""


class TraceError(ValueError):
    """A trace cannot be read, or lacks what was requested; the text says what, where, and what to do."""
