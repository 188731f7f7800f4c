# SPDX-License-Identifier: BSD-3-Clause
"""`perfield render --rhythm`: who is ahead of whom as fields of the pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfield.studies.rhythm.fields import RHYTHM, Rhythm

if TYPE_CHECKING:
    from perfield.derived.providers import Provider
    from perfield.run.run_directory import RunDirectory

HELP = """\
also show, in each step, how many steps each rank is ahead of the mean (phase_steps), how many it
is apart from those it receives from (phase_gradient_steps), and R (order_parameter)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --rhythm."""
    parser.add_argument("--rhythm", action="store_true", help=HELP)


def chosen(run: RunDirectory, arguments: argparse.Namespace, fields: Sequence[str]) -> Provider | None:
    """The rhythm, where the option or one of `fields` chooses it."""
    return Rhythm(run) if arguments.rhythm or set(RHYTHM).intersection(fields) else None
