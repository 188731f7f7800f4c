# SPDX-License-Identifier: BSD-3-Clause
"""Runs a pipeline where it was started: in the program or `perfield follow`, in pvbatch, or in the GUI.

A pipeline says which pictures it shows and what it makes of them; this module does that in each host.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from owned_folder import NotOursError
from pipeline_options import OptionError, ended, from_arguments, from_environment
from x_display import draws_by_x, has_display

PIPELINE = "perfield_pipeline_"  # prefix of the module names that perfield gives to Catalyst


def run(module: Mapping[str, Any], pictures: tuple[str, ...], makes: str = "") -> tuple[Any, Any]:
    """Runs a pipeline; returns what Catalyst looks for in its module: `options` and `catalyst_execute`.

    module : globals() of the script. pictures : "geometry", "topology" or both. makes : "images", "extracts"
    or "live" alone; "" makes in the program what perfield.toml says, in pvbatch images, and in the GUI shows.
    """
    is_in_catalyst = module["__name__"].startswith(PIPELINE)
    if is_in_catalyst or module["__name__"] == "__main__":
        import paraview  # noqa: F401  `drawing` then takes its proxies
    if is_in_catalyst:
        from in_program import Program

        program = Program(pictures, makes)
        return program.catalyst, program.step
    if module["__name__"] == "__main__":
        try:
            if "__file__" in module:
                _run_in_pvbatch(module, pictures, makes)
            else:  # in the GUI, a script does not know its path
                _run_in_gui(pictures, makes)
        except (NotOursError, OptionError) as error:
            sys.exit(f"{Path(module.get('__file__', 'pipeline')).name}: {ended(str(error))}")
    return None, None


def _run_in_pvbatch(module: Mapping[str, Any], pictures: tuple[str, ...], makes: str) -> None:
    options, arguments = from_arguments(sys.argv[1:], module["__doc__"])
    from processes import n_processes, runs_everywhere

    if runs_everywhere():
        raise OptionError("leave out --sym: the script runs in the first process, and all processes draw")
    if makes != "extracts" and draws_by_x() and not has_display():
        raise OptionError(
            "images need an X display, and there is none; start the script under xvfb-run -a (Debian package "
            "xvfb), or set DISPLAY"
        )
    if makes == "live":
        from live_client import receive

        if n_processes() > 1:
            raise OptionError("one process receives steps; start the script without mpirun")
        receive(options, arguments.output)
        return
    from in_pvbatch import make

    make(Path(arguments.pictures), pictures, makes, options, arguments.output)


def _run_in_gui(pictures: tuple[str, ...], makes: str) -> None:
    if makes == "live":
        from live_client import watch

        watch(from_environment())
        return
    from in_gui import show

    show(pictures, makes)
