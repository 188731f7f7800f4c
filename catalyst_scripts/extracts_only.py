# SPDX-License-Identifier: BSD-3-Clause
"""Writes the mesh and the machine as data for ParaView, and draws no images.

In the program:
  PERFIELD_CATALYST_IN_PROCESS=true PERFIELD_CATALYST_SCRIPTS=extracts_only perfield run -n 8 -- ./solver
Beside the program:
  perfield follow RUN --script extracts_only
Of written pictures, in pvbatch:
  pvbatch extracts_only.py RUN/pictures --fields solve_time_s --every 5
In ParaView's GUI:
  PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=extracts_only.py
There, File > Save Extracts writes the data of all steps.
docs/pipelines.md lists the options.
"""

from __future__ import annotations

import sys
from pathlib import Path

if "__file__" in globals():  # else this is the GUI, where a script does not know its path
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from pipeline_hosts import run

options, catalyst_execute = run(globals(), ("geometry", "topology"), makes="extracts")
