# SPDX-License-Identifier: BSD-3-Clause
"""The error of everything that reads a run directory."""


class RunError(ValueError):
    """The directory cannot be read as a run; the text says what was found and what to do."""
