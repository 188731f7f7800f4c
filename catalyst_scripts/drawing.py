# SPDX-License-Identifier: BSD-3-Clause
"""What draws: `pv` is `paraview.simple` in a process that has loaded ParaView, else `vtk_drawing`.

The GUI, pvbatch, Catalyst and a live connection need ParaView's proxies: users change them there, and several
processes hold the data. Image files need VTK alone, pip's or Debian's, which loads in a tenth of the time and
draws without proxies. All pictures are drawn by one code: `vtk_drawing` has those names of `paraview.simple`
that it uses. The two never mix in a process: pip's VTK and ParaView's are different builds of one library.
"""

from __future__ import annotations

import sys

IN_PARAVIEW = "paraview" in sys.modules

if IN_PARAVIEW:
    import paraview.simple as pv
else:
    import vtk_drawing as pv

__all__ = ["IN_PARAVIEW", "pv"]
