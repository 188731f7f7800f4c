# SPDX-License-Identifier: BSD-3-Clause
"""What can be wrong with a run directory."""


class RunError(ValueError):
    """A directory that cannot be read as a run; the text says what was found and what to do."""
