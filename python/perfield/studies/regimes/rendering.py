# SPDX-License-Identifier: BSD-3-Clause
"""`perfield render --regimes`: the regime of each rank in each step as fields of the pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfield.studies.regimes.chosen import AUTO, number_of_regimes
from perfield.studies.regimes.fields import REGIMES, Regimes

if TYPE_CHECKING:
    from perfield.derived.providers import Provider
    from perfield.run.run_directory import RunDirectory

HELP = """\
also show, in each step, the regime of each rank, pale where it is uncertain (regime_shade), and
the share of its steps in the slow regime (slow_share); how many regimes, or auto
(auto); see `perfield lab regimes`"""
OF_HELP = "what is timed for --regimes: a field in seconds, or a region (step_time_s)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --regimes and --regimes-of."""
    parser.add_argument("--regimes", metavar="N", nargs="?", const=AUTO, help=HELP)
    parser.add_argument("--regimes-of", metavar="FIELD", help=OF_HELP)


def chosen(run: RunDirectory, arguments: argparse.Namespace, fields: Sequence[str]) -> Provider | None:
    """The regimes, where an option or one of `fields` chooses them."""
    options = arguments.regimes, arguments.regimes_of
    wanted = any(option is not None for option in options) or set(REGIMES).intersection(fields)
    n_regimes = number_of_regimes(arguments.regimes or AUTO)
    return Regimes(run, arguments.regimes_of, n_regimes=n_regimes) if wanted else None
