# SPDX-License-Identifier: BSD-3-Clause
"""Small OpenFOAM cases for tests, in files as OpenFOAM writes them."""

from __future__ import annotations

import shutil

FOAM = 'FoamFile {{ version 2.0; format ascii; class {kind}; location "{place}"; object {name}; }}\n'


def write_foam(path, kind, text):
    """Writes one OpenFOAM file in ASCII."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FOAM.format(kind=kind, place=path.parent.name, name=path.name) + text)


def write_mesh(mesh, x, cells=1):
    """Writes the mesh of a row of hexahedra of length 1, which begins at x."""
    points = [f"({x + at} {y} {z})" for at in range(cells + 1) for z in (0, 1) for y in (0, 1)]
    across = [f"4({n} {n + 1} {n + 3} {n + 2})" for n in range(0, 4 * cells + 4, 4)]
    inner, first, last = across[1:-1], f"4({0} {2} {3} {1})", across[-1]
    around = [
        f"4({n + a} {n + a + 4} {n + b + 4} {n + b})"
        for n in range(0, 4 * cells, 4)
        for a, b in ((0, 2), (2, 3), (3, 1), (1, 0))
    ]
    faces = [*inner, first, last, *around]
    owners = [*range(cells - 1), 0, cells - 1, *(cell for cell in range(cells) for _ in range(4))]
    write_foam(mesh / "points", "vectorField", f"{len(points)}({' '.join(points)})\n")
    write_foam(mesh / "faces", "faceList", f"{len(faces)}({' '.join(faces)})\n")
    write_foam(mesh / "owner", "labelList", f"{len(owners)}({' '.join(map(str, owners))})\n")
    neighbours = " ".join(map(str, range(1, cells)))
    write_foam(mesh / "neighbour", "labelList", f"{cells - 1}({neighbours})\n")
    walls = f"1(walls {{ type wall; nFaces {len(faces) - cells + 1}; startFace {cells - 1}; }})\n"
    write_foam(mesh / "boundary", "polyBoundaryMesh", walls)


def write_case(case, ranks=2, times=("0", "0.5", "1"), regions=(".",)):
    """Writes a decomposed case.

    Processor r has one hexahedron per region at x = r, with the cell field p = 10 * r + time.
    """
    write_foam(
        case / "system/controlDict", "dictionary", "startTime 0; endTime 1; deltaT 0.5; writeInterval 1;\n"
    )
    for rank in range(ranks):
        for region in regions:
            write_mesh(case / f"processor{rank}/constant" / region / "polyMesh", rank)
            for time in times:
                value = 10 * rank + float(time)
                text = f"dimensions [0 0 0 0 0 0 0];\ninternalField nonuniform List<scalar> 1({value});\n"
                text += "boundaryField { walls { type zeroGradient; } }\n"
                write_foam(case / f"processor{rank}" / time / region / "p", "volScalarField", text)


def collate(case, ranks, groups=None):
    """Turns processor0, processor1, ... into collated files, as OpenFOAM writes them.

    groups : (first, last) ranks of each directory; None makes one directory of all.
    """
    for first, last in groups or [(0, ranks - 1)]:
        name = f"processors{ranks}_{first}-{last}" if groups else f"processors{ranks}"
        for file in [path for path in (case / f"processor{first}").rglob("*") if path.is_file()]:
            place = file.relative_to(case / f"processor{first}")
            data = FOAM.format(kind="decomposedBlockData", place=".", name=file.name).encode()
            for number, rank in enumerate(range(first, last + 1)):
                block = (case / f"processor{rank}" / place).read_bytes()
                if number:
                    block = block[block.index(b"}") + 1 :]  # only the first block has a header
                data += b"\n// Processor%d\n\n%d\n(%s)\n" % (rank, len(block), block)
            (case / name / place).parent.mkdir(parents=True, exist_ok=True)
            (case / name / place).write_bytes(data)
    for rank in range(ranks):
        shutil.rmtree(case / f"processor{rank}")
