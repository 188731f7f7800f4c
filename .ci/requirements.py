# SPDX-License-Identifier: BSD-3-Clause
"""Prints the Python packages that pyproject.toml requires, one per line, for pip.

Usage: requirements.py build|run|EXTRA ... ("build": to build the wheel, "run": to use it, else the
name of an extra). So each list of packages has one place.
"""

import sys
import tomllib
from pathlib import Path


def requirements(groups: list[str]) -> list[str]:
    """Requirement lines of the groups, in their order; raises KeyError for an unknown extra."""
    stated = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())
    project = stated["project"]
    tables = {
        "build": stated["build-system"]["requires"],
        "run": project["dependencies"],
        **project["optional-dependencies"],
    }
    return [line for group in groups for line in tables[group]]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
