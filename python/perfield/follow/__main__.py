# SPDX-License-Identifier: BSD-3-Clause
"""The process that `perfield follow` starts: python -m perfield.follow SETTINGS, which are JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from perfield.text import printable


def main() -> int:
    """Follows the run; errors become a sentence and exit code 2."""
    from perfield.follow.host import follow

    try:
        requested = json.loads(sys.argv[1])
        return follow(Path(requested.pop("run")), requested.pop("wait"), requested.pop("newest"), requested)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        print(f"perfield follow: {printable(str(error))}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
