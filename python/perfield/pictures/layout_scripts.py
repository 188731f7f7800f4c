# SPDX-License-Identifier: BSD-3-Clause
"""ParaView's scripts that arrange the machine, for whoever does so without ParaView.

These scripts import one another by bare names, as ParaView runs them from their folder.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from perfield.catalyst_scripts import layouts


def layout_filter() -> ModuleType:
    """The module `layout_filter`, which moves the layers of a picture of the machine."""
    folder = str(Path(layouts.__file__).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("layout_filter")
