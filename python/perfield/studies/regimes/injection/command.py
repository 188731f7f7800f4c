# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab inject: runs a program on a network that is slower than the machine's own, and measures it."""

from __future__ import annotations

import argparse
import contextlib
import glob
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.catalyst_scripts.owned_folder import check_new_file
from perfield.commands import CommandError, _launcher, run
from perfield.studies.regimes.chosen import read_saved
from perfield.studies.regimes.injection.words import sentences

if TYPE_CHECKING:
    from perfield.studies.regimes.model import Model

HELP = "run a program with latencies injected into its messages, and measure it"
DESCRIPTION = """\
Runs a program as `perfield run` does, and delays each message that it receives
from another rank of the same node: the message counts as arrived when the
latency drawn for it has passed since it was sent. All options of `perfield run`
hold, too.

  perfield lab regimes perfield-run --field waiting_time_s \\
      --emission log-gaussian --save network.json
  perfield lab inject --model network.json -n 8 ./a.out
  perfield lab inject --trace perfield-latencies -n 8 ./a.out

The k-th message that a rank gets from another takes the k-th latency of its
series. The run says everywhere that latencies were injected."""

# Our options and the number of values each takes, besides those of `perfield run`.
OWN = {"--model": 1, "--trace": 1, "--seed": 1, "--draws": 1, "--series": 1, "--once": 0}
TRACE = "perfield-latencies"
MOST_LATENCIES = 10**8  # of a trace: 400 MB, which every node maps


def separate(words: list[str]) -> tuple[list[str], tuple[list[str], list[str], list[str]]]:
    """Splits the words of `perfield lab inject`: our options, and (all, the launcher's, the program's)."""
    ours, launcher, program = _launcher.separate(words, run.OWN | OWN)
    return ours, (words, launcher, program)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds our own options and those of `perfield run`."""
    run.add_arguments(parser)
    parser.usage = (
        "perfield lab inject (--model FILE | --trace FILE) [OPTIONS] [LAUNCHER OPTIONS] [--] PROGRAM "
        "[ARGS ...]"
    )
    add = parser.add_argument
    add("--model", metavar="FILE", help="draw latencies from this model of regimes")
    add(
        "--trace",
        metavar="FILE",
        help=f"the trace: written if there is a --model ({TRACE}), else read",
    )
    add("--seed", metavar="N", type=_seed, default=0, help="the same seed draws the same latencies (0)")
    add(
        "--draws",
        metavar="N",
        type=_number,
        default=16384,
        help="latencies to draw for each rank; one for each message of a pair of ranks (16384)",
    )
    add(
        "--series",
        metavar="N",
        type=_number,
        default=64,
        help="independent series to draw; rank r takes series r modulo N (64)",
    )
    add(
        "--once",
        action="store_true",
        help="delay no message beyond the last latency, in place of starting again at the first",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Draws the trace where a model is given, and runs the program with it; returns its exit code."""
    words, _, program = arguments.words
    _launcher.find_program(words, program)
    trace = trace_of(arguments)
    os.environ["PERFIELD_INJECT"] = str(trace.absolute())
    try:
        return run.execute(arguments)
    finally:
        # Rings of shared memory that ranks of this node left behind because they were killed.
        run_id = glob.escape(os.environ.get("PERFIELD_RUN_ID", "-"))
        for left in Path("/dev/shm").glob(f"perfield-inject-{run_id}-*"):
            with contextlib.suppress(OSError):
                if left.lstat().st_uid == os.getuid():
                    left.unlink()


def trace_of(arguments: argparse.Namespace) -> Path:
    """The trace that the options name, drawn if they name a model. Raises CommandError, RegimeError."""
    from perfield.studies.regimes.injection.latencies import START, drawn, read_trace, write_trace

    if arguments.model is None and arguments.trace is None:
        raise CommandError(
            "needs --model FILE, which `perfield lab regimes RUN --save FILE` writes, or --trace FILE with "
            "latencies that were drawn before"
        )
    path = Path(arguments.trace or TRACE)
    if arguments.model is None:
        if not path.is_file():
            raise CommandError(
                f"--trace {path} {'is not a file' if path.exists() else 'does not exist'}; name the trace of "
                "an earlier `perfield lab inject --model FILE`."
            )
        read_trace(path)
        return path
    if not path.absolute().parent.is_dir():
        raise CommandError(f"--trace {path}: {path.parent} is not a directory; make it first.")
    if arguments.series * arguments.draws > MOST_LATENCIES:
        raise CommandError(
            f"--series {arguments.series} times --draws {arguments.draws} are more than "
            f"{MOST_LATENCIES:,} latencies; draw fewer: a trace that ends starts again."
        )
    check_new_file(path)
    if path.exists():
        with path.open("rb") as file:
            if not file.read(len(START)).startswith(START.encode()):
                raise CommandError(f"{path} exists and is not a trace of latencies; name another --trace")
    model, measured_s = latency_model(Path(arguments.model))
    latency_s, about = drawn(model, arguments.series, arguments.draws, arguments.seed)
    write_trace(path, latency_s, repeats=not arguments.once, about=about)
    for line in sentences(latency_s, model, measured_s, path):
        print(f"perfield lab inject: {line}", file=sys.stderr, flush=True)
    return path


def _seed(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 on")
    return int(text)


def latency_model(path: Path) -> tuple[Model, float]:
    """A model of regimes, and the mean of the times that it was fitted to, s; NaN if that is unknown."""
    from perfield.studies.regimes.model import Model, RegimeError
    from perfield.studies.regimes.model.machine import Machine

    model = read_saved(path, Model.from_json)
    try:
        saved = Machine.from_json(path.read_text(encoding="utf-8", errors="replace"))
    except RegimeError:
        return model, float("nan")
    return model, float(saved.share @ saved.mean_s)


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 on")
    return int(text)
