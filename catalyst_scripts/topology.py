# SPDX-License-Identifier: BSD-3-Clause
"""Shows the machine: each rank's values below its core, and messages between ranks.

In the program:
  PERFIELD_CATALYST_IN_PROCESS=true PERFIELD_CATALYST_SCRIPTS=topology perfield run -n 8 -- ./solver
Beside the program:
  perfield follow RUN --script topology
Of written pictures, in pvbatch:
  xvfb-run -a pvbatch topology.py RUN/pictures --fields waiting_time_s
In ParaView's GUI:
  perfield open RUN --topology, or in this directory:
  PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=topology.py
docs/pipelines.md lists the options.
"""

from __future__ import annotations

import sys
from pathlib import Path

if "__file__" in globals():  # else this is the GUI, where a script does not know its path
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from pipeline_hosts import run

options, catalyst_execute = run(globals(), ("topology",))
