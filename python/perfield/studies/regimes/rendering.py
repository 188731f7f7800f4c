# SPDX-License-Identifier: BSD-3-Clause
"""`perfield render --regimes`: the regime of each rank in each step as fields of the pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfield.studies.regimes.fields import REGIMES, Regimes

if TYPE_CHECKING:
    from perfield.derived.providers import Provider
    from perfield.run.run_directory import RunDirectory

HELP = """\
also show, in each step, the regime of each rank, pale where it is uncertain (regime_shade), and
the share of its steps in the slow regime (slow_share); see `perfield lab regimes`"""
OF_HELP = "what is timed for --regimes: a field in seconds, or a region (step_time_s)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --regimes and --regimes-of."""
    parser.add_argument("--regimes", action="store_true", help=HELP)
    parser.add_argument("--regimes-of", metavar="FIELD", help=OF_HELP)


def chosen(run: RunDirectory, arguments: argparse.Namespace, fields: Sequence[str]) -> Provider | None:
    """The regimes, where an option or one of `fields` chooses them."""
    wanted = arguments.regimes or arguments.regimes_of is not None or set(REGIMES).intersection(fields)
    return Regimes(run, arguments.regimes_of) if wanted else None
