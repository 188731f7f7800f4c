# SPDX-License-Identifier: BSD-3-Clause
"""The options of ParaView pipelines, as options of commands, and whether pictures may be written."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from perfield.catalyst_scripts.owned_folder import OwnedFolder, check_own
from perfield.catalyst_scripts.pipeline_options import TABLE, OptionError


def checked(name: str) -> Callable[[str], str]:
    """Checks the text of a pipeline's option, for argparse, and returns it.

    What it returns raises ArgumentTypeError, with what to give.
    """
    read = next(option.read for option in TABLE if option.name == name)

    def text_of(text: str) -> str:
        try:
            read(text)
        except OptionError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return text

    return text_of


def check_places(directory: Path, run: Path | str | None) -> None:
    """Raises NotOursError, before anything is read or written, if pictures must not be written to a
    directory, or images to images/ in it. run : where perfield chose a directory in this run; None: the user
    named it."""
    if run is not None:
        check_own(run)
    OwnedFolder(directory, below=run)
    OwnedFolder(directory / "images", below=directory)


def add_looks(parser: argparse.ArgumentParser, *names: str) -> None:
    """Adds options of pipelines to a command."""
    for option in TABLE:
        if option.name in names:
            parser.add_argument(
                f"--{option.name}", metavar=option.value, type=checked(option.name), help=option.help
            )
