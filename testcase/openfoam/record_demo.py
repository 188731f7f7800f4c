# SPDX-License-Identifier: BSD-3-Clause
"""Records the run of `perfield demo`: damBreakWithObstacle on 4 ranks, refined where the water is.

`python record_demo.py FOLDER` runs it in FOLDER and packs `python/perfield/demo/run.tar.xz`: the run
directory, with the meshes and the water that the case wrote. The run names the libraries that were loaded, so
call this with the Python of a perfield in a folder that tells nothing, such as /opt/perfield.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import cases

ARCHIVE = cases.REPOSITORY / "python/perfield/demo/run.tar.xz"
DIVISION = "numberOfSubdomains {n};\nmethod hierarchical;\ncoeffs {{ n (2 1 2); delta 0.001; order xyz; }}\n"
CHANGES = {
    "constant/dynamicMeshDict": {"maxRefinement": "1"},
    "system/controlDict": {
        **{"endTime": "0.5", "writeControl": "adjustable", "writeInterval": "0.1", "writeFormat": "binary"},
        **{"writeCompression": "off", "maxCo": "0.8", "maxAlphaCo": "0.8"},
    },
}
KEPT = ("points", "faces", "owner", "neighbour", "boundary", "alpha.water", "controlDict")


def record(folder: Path) -> None:
    """Runs a coarse case in a folder."""
    cases.DECOMPOSITION = cases.DECOMPOSITION.partition("\n")[0] + "\n" + DIVISION
    case = cases.CASES["damBreakWithObstacle"]
    coarse = replace(case, changes=CHANGES, before=["sed -i s/32/16/g system/blockMeshDict", *case.before])
    cases.prepare(coarse, folder)
    perfield = Path(sys.executable).with_name("perfield")
    words = [perfield, "run", "-n", str(cases.N_RANKS), "--", coarse.solver, "-parallel"]
    with (folder / "log").open("w") as output:
        subprocess.run(words, cwd=folder, env=cases.environment(), stdout=output, check=True)


def pack(folder: Path) -> None:
    """Packs the run directory, and what KEPT names of the case, as `case` in it."""
    run, inside = folder / "perfield-run", folder / "demo"
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(run, inside, ignore=shutil.ignore_patterns("analysis", "pictures", ".*"))
    info = json.loads((inside / "run.json").read_text())
    (inside / "run.json").write_text(json.dumps({**info, "working_directory": "case"}))
    for path in (*folder.glob("processor*/**/*"), *folder.glob("system/*")):
        if path.name in KEPT and path.is_file():
            target = inside / "case" / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for path in sorted(inside.rglob("*")):
            if path.is_file():
                archive.add(path, path.relative_to(inside), filter=_anonymous)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    record(Path(sys.argv[1]))
    pack(Path(sys.argv[1]))
