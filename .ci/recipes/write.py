# SPDX-License-Identifier: BSD-3-Clause
"""Writes recipes for package managers and containers, for `make recipes`: write.py SDIST FOLDER

Each file NAME.in here becomes NAME, with what pyproject.toml says in place of @name@.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTRAS = "analysis,report,terminal"  # of the containers


def bounds(requirements: list[str]) -> list[tuple[str, str]]:
    """Name and lowest version of requirements such as "numpy>=1.23"; others are an error."""
    found = [re.fullmatch(r"([\w-]+)>=([\d.]+)", text) for text in requirements]
    if not all(found):
        raise SystemExit(
            f"perfield: {HERE / 'write.py'} cannot read all of {requirements}; it reads NAME>=VERSION"
        )
    return [match.groups() for match in found]


def values(stated: dict, sha256: str) -> dict[str, str]:
    """What each @name@ stands for, by a parsed pyproject.toml and the source archive's hash."""
    project, build = stated["project"], stated["build-system"]["requires"]
    unknown = set(EXTRAS.split(",")) - set(project["optional-dependencies"])
    if unknown:
        raise SystemExit(f"perfield: pyproject.toml has no extra {', '.join(sorted(unknown))}")
    spack = '    depends_on("py-{}@{}:", type={})'.format
    return {
        "version": project["version"],
        "description": project["description"],
        "python": project["requires-python"].removeprefix(">="),
        "cmake": stated["tool"]["scikit-build"]["cmake"]["version"].removeprefix(">="),
        "sha256": sha256,
        "extras": EXTRAS,
        "spack_build": "\n".join(spack(*bound, '"build"') for bound in bounds(build)),
        "spack_run": "\n".join(
            spack(*bound, '("build", "run")') for bound in bounds(project["dependencies"])
        ),
        "conda_build": "\n".join(f"    - {name} >={lowest}" for name, lowest in bounds(build)),
        "conda_run": "\n".join(
            f"    - {name} >={lowest}" for name, lowest in bounds(project["dependencies"])
        ),
    }


def write(sdist: Path, folder: Path) -> list[Path]:
    """Writes all recipes into a folder; returns their paths."""
    stated = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text())
    words = values(stated, hashlib.sha256(sdist.read_bytes()).hexdigest())
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for template in sorted(HERE.glob("*.in")):
        written.append(folder / template.stem)
        written[-1].write_text(re.sub(r"@(\w+)@", lambda match: words[match[1]], template.read_text()))
    return written


if __name__ == "__main__":
    for path in write(Path(sys.argv[1]), Path(sys.argv[2])):
        print(path)
