# SPDX-License-Identifier: BSD-3-Clause
"""Replays traces of other tools as if perfield had measured: `import_trace(path)` makes a run directory.

Reads OTF2, which Score-P writes. Streams events rank by rank; docs/import.md says how each one counts.
"""

from perfield.traces.errors import TraceError
from perfield.traces.importing import Imported, import_trace

__all__ = ["Imported", "TraceError", "import_trace"]
