# SPDX-License-Identifier: BSD-3-Clause
"""Studies of a run that the rest of perfield does not know by name: each folder beside this file is one.

The `__init__.py` of a study says what it gives, as tables from names to places in the study ("module" or
"module:name"). Beyond these tables, nothing of a study is loaded before it is used.

NAMES : of `perfield`, as `perfield.phases_of_run`. PLOTS : of `perfield.plots`.
COMMANDS : subcommands; each place is a module as in `perfield.commands`.
PROVIDERS : of fields; modules as in `perfield.derived.providers`.
FINDINGS : modules as in `perfield.analysis.findings`.
FIGURES, MORE_FIGURES : of `perfield plot`, by default and with --only; functions as in `plots/figures.py`
whose first sentence says what they show; each takes what it needs of field, rank and order.
FILMS : of `perfield plot --phases`; functions of run and steps that return one of path, frame, order, frames.
RENDERED : options of `perfield render` that show fields; modules with add_arguments(parser) and
chosen(run, arguments, fields), the provider to show or None.
REPORT : parts of the report, by name in its JSON; modules with read(run), None where a run has none, and, of
what was read, section(), images(), facts(), and remark(), which is added where the report has no findings;
facts.schema.json beside it describes what facts() returns.
COMPARISONS : options of `perfield compare`; modules with add_arguments(parser) and execute(arguments).
FINDING_IMAGES : of the report, by kind of a finding's picture; functions of a Report that return an Image.
RHYTHM_MODELS : of `perfield lab rhythm --oscillators`; a module as `oscillators/beside.py`.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any


@cache
def studies() -> tuple[ModuleType, ...]:
    """The studies that are there. pkgutil would find them, too, but loads a dozen modules."""
    found = (entry for path in __path__ for entry in os.scandir(path))
    names = sorted(entry.name for entry in found if entry.is_dir() and entry.name != "__pycache__")
    return tuple(import_module(f"{__name__}.{name}") for name in names)


@cache
def given(what: str) -> dict[str, str]:
    """What the studies give of one kind, such as COMMANDS: by its name, the place that `loaded` takes."""
    return {
        name: f"{study.__name__}.{place}"
        for study in studies()
        for name, place in getattr(study, what, {}).items()
    }


def loaded(place: str) -> Any:
    """The module "perfield.studies.rhythm.fields", or what "perfield.studies.rhythm.of_run:phases_of_run"
    names in one."""
    module, _, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found
