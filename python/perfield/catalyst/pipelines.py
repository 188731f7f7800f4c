# SPDX-License-Identifier: BSD-3-Clause
"""Starts ParaView in this process and runs pipelines on the channels of each step.

A pipeline is the user's Python code and may fail on one rank. Guards around its functions let the other
ranks about the failure, so they do not wait in ParaView for that rank.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Collection
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from perfield.catalyst.alone import Alone
from perfield.catalyst.conditions import needs_display
from perfield.catalyst.errors import PicturesEnded, UnfitError
from perfield.catalyst.extracts import ExtractLists
from perfield.catalyst_scripts.pipeline_options import PIPELINES, from_settings, nearest
from perfield.catalyst_scripts.x_display import has_display

if TYPE_CHECKING:
    from mpi4py import MPI

    from perfield.catalyst.world import World

SCRIPTS = Path(__file__).parents[1] / "catalyst_scripts"
FOLDER = "catalyst"  # in the run directory
MODULES = "perfield_pipeline_"  # prefix of the pipelines' module names
_NO_IMAGES = (
    "some rank has no X display, so the program makes no images; set DISPLAY, or start the ranks under "
    "xvfb-run -a"
)
_NO_IMAGES_HERE = "no X display answers, so no images are made; set DISPLAY, or install Debian's package xvfb"

# For perfield's own pipelines (catalyst_scripts/in_program.py): what `Pipelines` was given, the `folder` for
# files, whether any of them needs (`describes`) the `description` of the newest step, whether any rank has a
# mesh in it (`has_mesh`), and `warn`.
settings: dict[str, Any] = {}


class Pipelines:
    """The pipelines of a program, on one of the ranks that run ParaView. All methods are collective on these.

    given : the settings of `perfield.catalyst.start`; `folder` is where extracts go, by default in the run
    directory. world : all processes that make pictures. comm : communicator of those that run ParaView.
    """

    def __init__(
        self,
        given: dict[str, Any],
        world: World | Alone,
        comm: MPI.Comm | Alone,
        warn: Callable[[str, str], None],
    ):
        self._world, self._comm = world, comm
        self._failed: list[str] = []
        self._scripts = [script_of(name) for name in given["scripts"] or ["both"]]
        self._together("reading a pipeline", self._check_scripts)
        options = self._together("reading the options of pipelines", lambda: from_settings(given))
        folder = Path(given.get("folder") or Path(given["run"], FOLDER))
        self._controller = self._start_paraview()
        images = draws([script.stem for script in self._scripts], bool(given["images"]))
        self._display = self._world.agree(int(not needs_display() or has_display()), comm=comm) == [1]
        if not self._display:
            self._refuse_views()
            if images:
                warn("catalyst-display", _NO_IMAGES_HERE if isinstance(world, Alone) else _NO_IMAGES)
        images = images and self._display
        describes = images or bool(options.fields)
        settings.update(given, folder=str(folder), images=images, describes=describes, warn=warn)
        is_beside = isinstance(world, Alone)
        self._extracts = self._together(
            "making the folder of extracts",
            lambda: ExtractLists(folder, is_beside) if comm.rank == 0 else None,
        )
        self._guard()
        for script in self._scripts:
            self._bridge.add_pipeline(str(script), 2)

    def run(self, index: int, time: float, datasets: dict[str, Any]) -> None:
        """Runs all pipelines on a step. Raises PicturesEnded, on all ranks, if one failed."""
        from paraview.modules.vtkPVCatalyst import vtkCPDataDescription

        description = vtkCPDataDescription()
        for name in datasets:
            description.AddInput(name)
        description.SetTimeData(time, index)
        if not self._bridge.coprocessor.RequestDataDescription(description):
            return
        for name, dataset in datasets.items():
            description.GetInputDescriptionByName(name).SetGrid(dataset)
        self._bridge.coprocessor.CoProcess(description)
        if self._failed:
            raise PicturesEnded(self._failed[0])
        if self._extracts is not None:
            self._extracts.add(index, time)

    def list_extracts(self) -> None:
        """Lists all extracts now: no step is expected soon."""
        if self._extracts is not None:
            self._extracts.write()

    def finish(self) -> None:
        """Lets extractors finish and closes a live connection."""
        self.list_extracts()
        self._bridge.finalize()

    def _together(self, what: str, action: Callable[[], Any]) -> Any:
        return self._world.together(what, action, self._comm)

    def _check_scripts(self) -> None:
        for script in self._scripts:
            if not script.exists():
                advice = nearest(script.stem, PIPELINES) or "give a path."
                own = f"perfield's own pipelines are {', '.join(PIPELINES)}"
                raise UnfitError(f"catalyst_scripts: there is no file {script}; {advice} {own}")
            if script.is_dir() or script.suffix == ".zip":
                continue
            try:
                compile(script.read_text(encoding="utf-8"), str(script), "exec", dont_inherit=True)
            except SyntaxError as error:
                raise UnfitError(f"{script}, line {error.lineno}: {error.msg}; correct that line") from error

    def _start_paraview(self) -> Any:
        """Starts ParaView on `comm`; returns an object that the caller must keep alive."""
        controller = None
        if self._comm.size < self._world.size:
            controller = self._controller_on(self._comm)
        from paraview.catalyst import bridge
        from vtkmodules.vtkCommonCore import vtkLogger

        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
        brought = {
            name for name in ("libmpi.so.40", "libmpich.so.12") if name in Path("/proc/self/maps").read_text()
        }
        self._together("loading ParaView", lambda: _check_one_mpi(brought))
        if isinstance(self._world, Alone):
            _initialize_without_mpi(bridge)
        else:
            bridge.initialize()
        self._bridge = bridge
        return controller

    @staticmethod
    def _controller_on(comm: MPI.Comm) -> Any:
        # This import must come first, or the communicator gets the wrong type.
        from vtkmodules.vtkParallelMPI import vtkMPIController  # isort: skip
        from vtkmodules.vtkParallelCore import vtkMultiProcessController
        from vtkmodules.vtkParallelMPI4Py import vtkMPI4PyCommunicator

        controller = vtkMPIController()
        controller.SetCommunicator(vtkMPI4PyCommunicator.ConvertToVTK(comm))
        vtkMultiProcessController.SetGlobalController(controller)
        return controller

    # --- guards ---------------------------------------------------------------------------------

    def _guard(self) -> None:
        """Puts guards around the functions of a pipeline's module that ParaView calls."""
        from paraview.catalyst import importers, v2_internals

        numbers = iter(range(len(self._scripts)))
        register = v2_internals.register_module

        def register_module(path: str) -> str:
            """Gives modules names of our own: `geometry` may be a module of the simulation."""
            if Path(path).is_dir() or path.endswith(".zip"):
                return register(path)
            importers.install_pathfinder()
            return importers.add_file(path, f"{MODULES}{next(numbers)}_{Path(path).stem}")

        v2_internals.register_module = register_module
        importing = self._guarded(v2_internals.import_and_validate, ModuleType("nothing"))

        def import_and_validate(name: str) -> ModuleType:
            before = list(sys.path)
            module = importing(name)
            sys.path[:] = before  # the program's modules may share names with files beside a pipeline
            return module

        v2_internals.import_and_validate = import_and_validate
        for name in ("do_catalyst_initialize", "do_catalyst_execute", "do_catalyst_finalize"):
            setattr(v2_internals, name, self._guarded(getattr(v2_internals, name), True))

    def _guarded(self, function: Callable[..., Any], otherwise: Any) -> Callable[..., Any]:
        """Wraps a function for ParaView: it runs on all ranks, or on none after one has failed."""

        def guarded(*arguments: Any) -> Any:
            if self._failed:
                return otherwise
            try:
                return self._together("a pipeline", lambda: _with_trace(function, *arguments))
            except PicturesEnded as error:
                self._failed.append(str(error))
                return otherwise

        return guarded

    def _refuse_views(self) -> None:
        """Makes creating a view an error: without a display, ParaView would end the program."""
        from paraview import servermanager

        def create_view(*_: Any, **__: Any) -> None:
            raise UnfitError(
                "the pipeline makes a view, but this process has no X display; set DISPLAY, or start it "
                "under xvfb-run -a"
            )

        servermanager._create_view = create_view


def draws(names: Collection[str], wanted: bool) -> bool:
    """Whether pipelines of these names draw images. wanted : the key catalyst_images."""
    return "images_only" in names or (wanted and not {"extracts_only", "live"}.issuperset(names))


def script_of(name: str) -> Path:
    """The file of a pipeline: perfield's own, if `name` is one of PIPELINES, else the path itself."""
    return SCRIPTS / f"{name}.py" if name in PIPELINES else Path(name)


def _initialize_without_mpi(bridge: Any) -> None:
    """Does what `bridge.initialize` does, but leaves MPI alone, which not every login node can start."""
    import paraview
    from paraview.modules.vtkPVVTKExtensionsCore import vtkStringList
    from paraview.modules.vtkRemotingApplication import vtkInitializationHelper
    from paraview.modules.vtkRemotingCore import vtkProcessModule

    words = vtkStringList()
    for word in (sys.executable, "--symmetric", "--no-mpi"):
        words.AddString(word)
    vtkInitializationHelper.Initialize(words, vtkProcessModule.PROCESS_BATCH)
    paraview.options.batch = paraview.options.symmetric = True
    bridge.coprocessor = bridge.vtkCPProcessor()
    if not bridge.coprocessor.Initialize():
        raise UnfitError("ParaView's Catalyst does not start")


def _with_trace(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of the user; prints its traceback and raises its error."""
    try:
        return function(*arguments)
    except UnfitError:
        raise
    except BaseException as error:
        traceback.print_exc()
        raise UnfitError(f"{type(error).__name__}: {error}") from error


def _check_one_mpi(names: set[str]) -> None:
    if len(names) > 1:
        raise UnfitError(
            f"ParaView and the program use different MPIs ({' and '.join(sorted(names))}); build the "
            "program with ParaView's MPI, or make its pictures afterwards"
        )
