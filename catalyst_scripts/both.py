# SPDX-License-Identifier: BSD-3-Clause
"""Shows both pictures side by side in ParaView: the mesh at the left, the machine at the right.

Both are at the same step. To start the GUI: `perfield open RUN`. Or in this directory, because the GUI does
not tell a script its path: PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=both.py
"""

from __future__ import annotations

import sys
from pathlib import Path

if "__file__" in globals():
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import geometry
import paraview.simple as pv
import picks
from follow import follow
from scene import Pictures, at_first_step, new_view, panels_at_rest

import topology


def main() -> None:
    """Opens both pictures in the GUI, coloured by the same field."""
    pictures = Pictures.from_environment()
    left = new_view()
    right = new_view(beside=left)
    pv.RenderAllViews()  # sets the sizes of the views
    with panels_at_rest():
        mesh = geometry.open_in(left, pictures)
        topology.open_in(right, pictures)
    at_first_step([left, right], mesh)
    follow([left, right], pictures)
    picks.link([left, right], pictures)


if __name__ == "__main__":
    main()
