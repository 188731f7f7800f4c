# SPDX-License-Identifier: BSD-3-Clause
"""What is loaded at the start of every Python under perfield-exec, by perfield.pth in site-packages.

It follows the functions that the configuration selects; where it selects none, nothing more happens.
"""

from __future__ import annotations

import sys


def follow() -> None:
    """Measures the functions that `regions` and `step_region` name; what fails is printed, not raised."""
    try:
        from perfield import _recorder

        _recorder.follow_functions()
    except Exception as error:
        print(f"perfield: no Python function is measured as a region: {error}", file=sys.stderr)


follow()
