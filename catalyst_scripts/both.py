# SPDX-License-Identifier: BSD-3-Clause
"""Both pictures side by side in ParaView: the mesh at the left, the machine at the right, at the same step.

In the GUI: `perfield open RUN`, or, in this directory, since the GUI does not tell a script where it lies:
PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=both.py
"""

from __future__ import annotations

import sys
from pathlib import Path

if "__file__" in globals():
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import geometry
import paraview.simple as pv
from scene import Pictures, at_first_step, new_view

import topology


def main() -> None:
    """Opens both pictures in the GUI, coloured by the same field."""
    pictures = Pictures.from_environment()
    left = new_view()
    right = new_view(beside=left)
    pv.RenderAllViews()  # from here on they know their sizes
    mesh = geometry.open_in(left, pictures)
    topology.open_in(right, pictures)
    at_first_step([left, right], mesh)


if __name__ == "__main__":
    main()
