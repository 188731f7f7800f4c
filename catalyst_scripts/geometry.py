# SPDX-License-Identifier: BSD-3-Clause
"""Shows the mesh: each rank's values on its piece.

In the program:
  PERFIELD_CATALYST_IN_PROCESS=true PERFIELD_CATALYST_SCRIPTS=geometry perfield run -n 8 -- ./solver
Beside the program:
  perfield follow RUN --script geometry
Of written pictures, in pvbatch:
  xvfb-run -a pvbatch geometry.py RUN/pictures --camera top --every 2
In ParaView's GUI:
  perfield open RUN --geometry, or in this directory:
  PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=geometry.py
docs/pipelines.md lists the options.
"""

from __future__ import annotations

import sys
from pathlib import Path

if "__file__" in globals():  # else this is the GUI, where a script does not know its path
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from pipeline_hosts import run

options, catalyst_execute = run(globals(), ("geometry",))
