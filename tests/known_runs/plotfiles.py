# SPDX-License-Identifier: BSD-3-Clause
"""AMReX plotfiles of two ranks, as AMReX_PlotFileUtil.cpp and AMReX_VisMF.cpp write them."""

from __future__ import annotations

from pathlib import Path

# 16 x 8 cells of size 1/16 in two boxes; a finer level with half of the size covers the middle of both.
HEADER = """HyperCLaw-V1.1
2
density
x velocity
2
0.25
1
0 0 
1 0.5 
2 
((0,0) (15,7) (0,0)) ((0,0) (31,15) (0,0)) 
10 20 
0.0625 0.0625 
0.03125 0.03125 
0
0
0 2 0.25
10
0 0.5
0 0.5
0.5 1
0 0.5
Level_0/Cell
1 1 0.25
20
0.25 0.75
0.125 0.375
Level_1/Cell
"""
CELLS = {
    0: """1
1
2
0
(2 0
((0,0) (7,7) (0,0))
((8,0) (15,7) (0,0))
)
2
FabOnDisk: Cell_D_00000 0
FabOnDisk: Cell_D_00001 0

2,2
""",
    1: """1
1
2
0
(1 0
((8,4) (23,11) (0,0))
)
1
FabOnDisk: Cell_D_00001 0

1,2
""",
}


def write_plotfile(path: Path, time: float = 0.25, levels: int = 2) -> Path:
    """Writes a plotfile with one level or two."""
    path.mkdir(parents=True)
    header = HEADER.replace("0.25\n1\n", f"{time}\n{levels - 1}\n", 1)
    if levels == 1:
        header = header.replace(" ((0,0) (31,15) (0,0)) ", "").replace("0.03125 0.03125 \n", "")
    (path / "Header").write_text(header)
    for level, text in list(CELLS.items())[:levels]:
        (path / f"Level_{level}").mkdir()
        (path / f"Level_{level}" / "Cell_H").write_text(text)
    return path
