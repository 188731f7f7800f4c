# SPDX-License-Identifier: BSD-3-Clause
"""Draws images of the mesh and the machine, and writes no data.

In the program:
  PERFIELD_CATALYST_IN_PROCESS=true PERFIELD_CATALYST_SCRIPTS=images_only perfield run -n 8 -- ./solver
Beside the program:
  perfield follow RUN --script images_only
Of written pictures, in pvbatch:
  xvfb-run -a pvbatch images_only.py RUN/pictures --fields solve_time_s --every 5
In ParaView's GUI:
  PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=images_only.py
There, File > Save Extracts writes the images of all steps.
docs/pipelines.md lists the options.
"""

from __future__ import annotations

import sys
from pathlib import Path

if "__file__" in globals():  # else this is the GUI, where a script does not know its path
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from pipeline_hosts import run

options, catalyst_execute = run(globals(), ("geometry", "topology"), makes="images")
