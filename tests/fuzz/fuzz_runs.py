# SPDX-License-Identifier: BSD-3-Clause
"""Every command that reads runs, on runs that say something absurd (meaning.py).

A command ends with what it shows, or with a sentence of perfield's own, within 2 GB.
    python tests/fuzz/fuzz_runs.py --cases 1000 --only info
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import random
import secrets
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[1:1] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "faults")]
import meaning  # noqa: E402
from mutations import Findings, read_mutated  # noqa: E402
from verdicts import told  # noqa: E402

import twin  # noqa: E402
from perfield import commands  # noqa: E402

MEMORY = 2 << 30  # bytes beyond what the libraries take
OTHER = "other"
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
    "rhythm": ("rhythm", "RUN"),
    "regimes": ("regimes", "RUN"),
    "oscillate": ("oscillate", "--from-run", "RUN", "--steps", "2"),
    "scaling": ("scaling", "RUN", OTHER),
    "compare": ("compare", OTHER, "RUN"),
    "collect": ("collect", "RUN"),
    "render": ("render", "RUN", "--steps", "all", "-o", "OUT/pictures"),
    "plot": ("plot", "RUN", "-o", "OUT/plots"),
    "report": ("report", "RUN", "--no-pictures", "-o", "OUT/page.html"),
    "export": ("export", "RUN", "--to", "perfetto", "-o", "OUT/steps.pftrace"),
    "serve": ("serve", "RUN"),
}


def read(words: tuple[str, ...], folder: Path) -> None:
    """Runs a command in this process; its own sentences pass, other exceptions are raised."""
    out = folder / "out"
    out.mkdir()
    os.chdir(folder)
    words = tuple(word.replace("RUN", "run").replace("OUT", "out") for word in words)
    words = tuple(str(_other()) if word == OTHER else word for word in words)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            if words[0] == "serve":
                _serve(Path(words[1]))
            else:
                arguments = commands.parser([words[0]]).parse_args(words)
                arguments.words = None
                arguments.execute(arguments)
        except (commands.CommandError, OSError, SystemExit) as error:
            if isinstance(error, SystemExit) and error.code == 2:
                raise RuntimeError(f"the fuzzer calls {words} wrongly") from error
        except Exception as error:
            if not type(error).__module__.startswith("perfield."):
                raise


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
        twin.write_run(path, ranks=2, steps=4)
    return path


def fuzz(name: str, cases: int, seed: int) -> Findings:
    """Tries a command of COMMANDS on so many runs."""
    words = COMMANDS[name]

    def make(rng: random.Random, folder: Path) -> None:
        (folder / "run").mkdir()
        meaning.write(folder / "run", rng)

    return read_mutated(make, lambda folder: read(words, folder), cases, seed, (), MEMORY)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="of each command (default 1000)")
    parser.add_argument("--only", choices=COMMANDS, action="append", help="this command; may be repeated")
    parser.add_argument("--quick", action="store_true", help="leave the commands out that draw for seconds")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of an earlier run")
    given = parser.parse_args()
    print(f"fuzz_runs.py: --seed {given.seed}", flush=True)
    for module in LOADED:  # before the limit on memory, so that it counts what a run takes
        importlib.import_module(module)
    good = True
    with tempfile.TemporaryDirectory() as place:
        os.environ["PERFIELD_FUZZ_OTHER"] = str(Path(place) / OTHER)
        os.environ["MPLBACKEND"] = "Agg"
        _other()
        for name in given.only or [name for name in COMMANDS if not (given.quick and name in DRAWING)]:
            began = time.monotonic()
            found = fuzz(name, given.cases, given.seed)
            good &= told(name, "runs", given.cases, found, time.monotonic() - began)
    return not good


if __name__ == "__main__":
    sys.exit(main())
