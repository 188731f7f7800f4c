# SPDX-License-Identifier: BSD-3-Clause
"""Every command that reads runs, on runs that say something absurd (meaning.py).

All commands read each run, one after another, each run from another command on: the first opens it, the
others take the opened run. A command ends with what it shows, or with a sentence of perfield's own, within
2 GB and 10 s. It writes only to the place that is named, to the run's analysis/ and pictures/.
    python tests/fuzz/fuzz_runs.py --cases 1000 --only info
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import math
import os
import random
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from unittest import mock

FOLDER = Path(__file__).resolve().parent
sys.path[1:1] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "faults")]
import meaning  # noqa: E402
from mutations import read_by_all  # noqa: E402
from verdicts import reported  # noqa: E402

import perfield.report  # noqa: E402
from perfield import commands  # noqa: E402
from perfield.derived.run import Run  # noqa: E402
from perfield.report import Report, report  # noqa: E402
from perfield.run.frame import Frame  # noqa: E402
from twins import twin  # noqa: E402

MEMORY = 2 << 30  # bytes beyond what the libraries take
OTHER = "other"
HERE = "a/b/c"  # the working directory of a command: a path of a run that leads up ends in the case's folder
OWN = tuple(f"{HERE}/{name}" for name in ("out", "run/analysis", "run/pictures"))
FOREIGN = ("notes", "a/x", f"{HERE}/x", f"{HERE}/run/x", f"{HERE}/run/geometry/x", "home/.config/x")
DRAWN = 0.05  # share of the runs whose plots are drawn
DRAWING = ("plot", "report", "render")
LOADED = (
    *("xarray", "dask.array", "dask.dataframe", "pandas", "matplotlib.pyplot", "scipy.sparse", "jinja2"),
    *("perfield.pictures.mesh_files", "perfield.output.picture_series", "perfield.serve.routes"),
)
COMMANDS = {
    "info": ("info", "RUN"),
    "info of all": ("info", "RUN", "--ranks", "--regions", "--steps", "--messages", "--waits"),
    "info as JSON": ("info", "RUN", "--json", "--functions"),
    "steps": ("steps", "RUN"),
    "fields": ("fields", "RUN"),
    "placement": ("placement", "RUN"),
    "balance": ("balance", "RUN", "--force", "--metis", "OUT/mesh.graph"),
    "rhythm": ("lab", "rhythm", "RUN"),
    "regimes": ("lab", "regimes", "RUN"),
    "oscillate": ("lab", "oscillate", "--from-run", "RUN", "--steps", "1:3"),
    "scaling": ("scaling", "RUN", OTHER, "--strong"),
    "compare": ("compare", OTHER, "RUN"),
    "collect": ("setup", "collect", "RUN"),
    "render": ("render", "RUN", "--steps", "all", "-o", "OUT/pictures"),
    "plot": ("plot", "RUN", "-o", "OUT/plots"),
    "report": ("report", "RUN", "--no-pictures", "-o", "OUT/page.html"),
    "report as text": ("report", "RUN", "--text"),
    "report as JSON": ("report", "RUN", "--json"),
    "export": ("export", "RUN", "--to", "perfetto", "-o", "OUT/steps.pftrace"),
    "serve": ("serve", "RUN"),
}


@cache
def _parser(command: str) -> argparse.ArgumentParser:
    return commands.parsers([command])[""]


def read(words: tuple[str, ...], folder: Path) -> bool:
    """Runs a command in this process; returns whether it ended with a sentence of its own. Other errors and
    foreign files are raised."""
    is_refused = False
    here = folder / HERE
    shutil.rmtree(here / "out", ignore_errors=True)  # of a command that failed
    (here / "out").mkdir()
    before = _stamps(folder)
    os.chdir(here)
    os.environ["HOME"], tempfile.tempdir = str(folder / "home"), str(folder / "temporary")
    words = tuple(word.replace("RUN", "run").replace("OUT", "out") for word in words)
    words = tuple(str(_other()) if word == OTHER else word for word in words)
    drawn = contextlib.nullcontext() if (folder / "drawn").exists() else _undrawn()
    opened = mock.patch.object(
        perfield, "open", lambda path: _other_run() if Path(path) == _other() else _opened(folder, str(path))
    )
    read_once = mock.patch.object(perfield.report, "report", _report)
    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silent[0], silent[1], drawn, opened, read_once:
        try:
            if words[0] == "serve":
                _serve(Path(words[1]))
            else:
                arguments = _parser(commands.name_of(words)).parse_args(words)
                arguments.words = None
                arguments.execute(arguments)
        except (commands.CommandError, OSError, SystemExit) as error:
            is_refused = True
            if isinstance(error, SystemExit) and error.code == 2:
                raise RuntimeError(f"the fuzzer calls {words} wrongly") from error
        except Exception as error:
            is_refused = True
            if not type(error).__module__.startswith("perfield."):
                raise
        finally:
            tempfile.tempdir = None
    foreign = {path for path, _ in before ^ _stamps(folder) if not path.startswith(OWN)}
    if foreign:
        raise AssertionError(f"made, changed or removed {sorted(foreign)}")
    shutil.rmtree(here / "out")
    return is_refused


class _Shared(Run):
    """A run that builds each frame once for all commands."""

    def frame(self, number: int) -> Frame:
        return self.kept(("frame", number), partial(super().frame, number))

    @property
    def setup(self) -> Frame:
        return self.kept("setup", lambda: Run.setup.fget(self))

    @property
    def teardown(self) -> Frame:
        return self.kept("teardown", lambda: Run.teardown.fget(self))

    def kept(self, key: object, build: Callable[[], Frame]) -> Frame:
        if key not in self.derived:
            self.derived[key] = build()
        return self.derived[key]


@lru_cache(maxsize=1)
def _opened(folder: Path, path: str) -> Run:
    """The changed run, opened once for all commands. folder : of the case."""
    return _Shared(path)


@cache
def _other_run() -> Run:
    """The other run, opened once for all cases: nothing changes it."""
    return _Shared(_other())


def _report(run: Run, *mesh: str | None) -> Report:
    """The report of a run, read once for its page, text and JSON."""
    if "report" not in run.derived:
        run.derived["report"] = report(run, *mesh)
    return run.derived["report"]


def _undrawn() -> contextlib.AbstractContextManager:
    """Figures are made but not drawn, which is most of the time of `plot` and `report`."""
    from matplotlib.figure import Figure

    def save(_figure: Figure, place: Path | io.BytesIO, **_options: object) -> None:
        if isinstance(place, Path):
            place.touch()

    return mock.patch.object(Figure, "savefig", save)


def _stamps(folder: Path) -> set[tuple[str, tuple[int, int, int]]]:
    """Each path below a folder but those that a command may write, with what changes with the file."""
    found, left = set(), [str(folder)]
    while left:
        for one in os.scandir(left.pop()):
            path = one.path[len(str(folder)) + 1 :]
            if one.is_dir(follow_symlinks=False):
                found.add((path, ()))
                left += [one.path] if path not in OWN else []
            else:
                status = one.stat(follow_symlinks=False)
                found.add((path, (status.st_ino, status.st_size, status.st_mtime_ns)))
    return found


def _serve(path: Path) -> None:
    """Asks what the page asks, without a server."""
    from perfield.serve.followed import Followed
    from perfield.serve.routes import answer

    followed = Followed(path, None)
    for request in (
        *(
            "run",
            "values?field=step_time_s",
            "values?field=compute_time_s",
            "heat?field=step_time_s",
            "mesh",
            "machine",
        ),
        *("machine?overview=1", "messages?frame=0", "matrix", "rank?rank=0", "rank?rank=1"),
        "own?field=temperature&frame=0",
    ):
        name, _, query = request.partition("?")
        answer(followed, name, query)


def _other() -> Path:
    """A whole run beside the changed one."""
    path = Path(os.environ["PERFIELD_FUZZ_OTHER"])
    if not path.exists():
        twin.write_run(path, ranks=2, steps=4, run_id=twin.RUN_ID + 1)
    return path


def make(rng: random.Random, folder: Path) -> None:
    """Writes a changed run, among files of the user's."""
    for name in (f"{HERE}/run/analysis", "home", "temporary"):
        (folder / name).mkdir(parents=True)
    for name in FOREIGN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("the user's")
    meaning.write(folder / HERE / "run", rng)
    if rng.random() < DRAWN:
        (folder / "drawn").touch()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="of each command (default 1000)")
    parser.add_argument("--only", choices=COMMANDS, action="append", help="this command; may be repeated")
    parser.add_argument("--quick", action="store_true", help="leave the commands out that draw for seconds")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no case later")
    parser.add_argument("--processes", type=int, help="that share the cases (default: one for each CPU)")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of an earlier run")
    given = parser.parse_args()
    print(f"fuzz_runs.py: --seed {given.seed}", flush=True)
    for module in LOADED:  # before the limit on memory, so that it counts what a run takes
        importlib.import_module(module)
    chosen = given.only or [name for name in COMMANDS if not (given.quick and name in DRAWING)]
    readers = {name: partial(read, COMMANDS[name]) for name in chosen}
    with tempfile.TemporaryDirectory() as place:
        os.environ["PERFIELD_FUZZ_OTHER"] = str(Path(place) / OTHER)
        os.environ["MPLBACKEND"] = "Agg"
        _other()
        meaning.packed_base()  # once for all processes
        limits = {"memory": MEMORY, "seconds": given.seconds, "processes": given.processes}
        found = read_by_all(make, readers, given.cases, given.seed, **limits)
    return not all([reported(name, "runs", of) for name, of in found.items()])


if __name__ == "__main__":
    sys.exit(main())
