# SPDX-License-Identifier: BSD-3-Clause
"""perfield: the performance of running MPI programs as fields, on their mesh and on their machine.

Read a run:

run = perfield.open("perfield-run")
frame = run.frame(0)
frame.values["step_time_s"]  # one number per rank

Measure a simulation written in Python (see perfield.measure):

perfield.mesh_image(extent=(0, 10, 0, 10, 0, 10))
perfield.initialize()  # just before the time loop
for number in range(100):
    with perfield.region("solve"):
        ...
    perfield.step(number, number * 0.01)  # closes the step
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from perfield.studies import given, loaded

if TYPE_CHECKING:
    from os import PathLike

    from perfield.derived.observe import observe
    from perfield.derived.providers import Provider, provided
    from perfield.derived.run import Run
    from perfield.measure import (
        field,
        finalize,
        initialize,
        measuring,
        mesh_changed,
        mesh_ghosts,
        mesh_image,
        mesh_rectilinear,
        mesh_size,
        mesh_structured,
        mesh_unstructured,
        pause,
        paused,
        pipeline_next,
        region,
        resume,
        step,
        values,
    )
    from perfield.measure.attach import attach
    from perfield.run import RunError

__all__ = [
    "Provider",
    "Run",
    "RunError",
    "attach",
    "field",
    "finalize",
    "initialize",
    "measuring",
    "mesh_changed",
    "mesh_ghosts",
    "mesh_image",
    "mesh_rectilinear",
    "mesh_size",
    "mesh_structured",
    "mesh_unstructured",
    "observe",
    "open",
    "pause",
    "paused",
    "pipeline_next",
    "provided",
    "region",
    "resume",
    "step",
    "values",
    *given("NAMES"),
]


def open(path: str | PathLike[str]) -> Run:
    """Opens a run directory. The run may be finished, killed or still running.

    path : the directory that holds run.json.
    Raises RunError if this is not a run; its text says what was found instead.
    """
    from perfield.derived.run import Run  # loads NumPy, which a simulation may not need

    return Run(path)


def __getattr__(name: str) -> object:
    """Loads a name at its first use: a program that reads runs needs nothing that measures, and the other way
    round."""
    if name == "plots":
        return import_module("perfield.plots")
    if name not in __all__:
        raise AttributeError(f"module 'perfield' has no attribute {name!r}")
    if name in given("NAMES"):
        globals()[name] = loaded(given("NAMES")[name])
    else:
        globals()[name] = getattr(import_module(_HOMES.get(name, "perfield.measure")), name)
    return globals()[name]


_HOMES = {
    "Provider": "perfield.derived.providers",
    "Run": "perfield.derived.run",
    "RunError": "perfield.run.errors",
    "attach": "perfield.measure.attach",
    "observe": "perfield.derived.observe",
    "provided": "perfield.derived.providers",
}


def __dir__() -> list[str]:
    """All names, including those not loaded yet."""
    return sorted({*globals(), *__all__})
