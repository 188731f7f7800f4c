# SPDX-License-Identifier: BSD-3-Clause
"""Studies of a run that the rest of perfield does not know by name: each folder beside this file is one.

The `__init__.py` of a study says what it gives, as tables from names to places in the study:

COMMANDS : subcommands of `perfield`; each place is a module as in `perfield.commands`.

Nothing of a study is loaded before it is used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


@cache
def studies() -> tuple[ModuleType, ...]:
    """The studies that are there."""
    return tuple(import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))


def given(what: str) -> dict[str, str]:
    """What the studies give of one kind, such as COMMANDS: by its name, the full name of its module."""
    return {
        name: f"{study.__name__}.{place}"
        for study in studies()
        for name, place in getattr(study, what, {}).items()
    }
