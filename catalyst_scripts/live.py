# SPDX-License-Identifier: BSD-3-Clause
"""Sends the mesh and the machine to a waiting ParaView while the program runs, and writes no files.

In ParaView, start Catalyst > Connect; PERFIELD_CATALYST_LIVE names another place than localhost:22222.
In the program:
  PERFIELD_CATALYST_IN_PROCESS=true PERFIELD_CATALYST_SCRIPTS=live perfield run -n 8 -- ./solver
Beside the program:
  perfield follow RUN --script live
The other end, in place of Catalyst > Connect: an image of each step that comes, or a window:
  xvfb-run -a pvbatch live.py --live localhost:22222 --output images
  PYTHONPATH=. paraview --script=live.py
docs/pipelines.md lists the options.
"""

from __future__ import annotations

import sys
from pathlib import Path

if "__file__" in globals():  # else this is the GUI, where a script does not know its path
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from pipeline_hosts import run

options, catalyst_execute = run(globals(), ("geometry", "topology"), makes="live")
