# SPDX-License-Identifier: BSD-3-Clause
"""perfield demo: unpacks a recorded run, so that all that looks at runs can be tried without MPI."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import tarfile
from pathlib import Path

import perfield
from perfield.catalyst_scripts.owned_folder import NotOursError, check_new_file, new_file
from perfield.commands import CommandError
from perfield.commands.paths import own_command
from perfield.run.directory import read_info
from perfield.run.errors import RunError

HELP = "unpack a recorded run to try reports and the browser with"
DESCRIPTION = """\
Unpacks a run that comes with perfield: a dam breaks around an obstacle (OpenFOAM's
interFoam on 4 ranks), and the mesh is refined where the water is. You need no MPI to
look at it.

  perfield demo                 into perfield-demo
  perfield demo FOLDER"""

ARCHIVE = Path(perfield.__file__).parent / "demo/run.tar.xz"
INFO, CASE = "run.json", "case"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the place of the run."""
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", default="perfield-demo", help="a new folder (perfield-demo)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Unpacks the run, unless it is there, and prints what to call next."""
    folder = Path(arguments.folder)
    if not _is_there(folder):
        try:
            check_new_file(folder, replaces=False)
            with new_file(folder, replaces=False) as place:
                _unpack(place)
        except NotOursError:
            raise
        except OSError as error:
            raise CommandError(
                f"{folder} could not be written: {error.strerror}; name another place."
            ) from error
    run = perfield.open(folder)
    command, words = own_command(), shlex.quote(str(folder))
    print(f"{folder}: {shlex.join(run.info['command'])}, {len(run)} steps on {run.n_ranks} ranks")
    print(f"what costs time, where and why:  {command} report {words} --text")
    print(f"the browser view as one file:    {command} export {words} --to html")
    print(f"mesh and machine in a browser:   {command} serve {words}")
    return 0


def _unpack(place: Path) -> None:
    """Unpacks the archive of the package, which holds regular files alone."""
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is None:
                continue
            target = place / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with file, target.open("wb") as copy:
                shutil.copyfileobj(file, copy)
            os.utime(target, (member.mtime, member.mtime))  # meshes are as old as the run


def _is_there(folder: Path) -> bool:
    """Whether the folder holds the run already."""
    try:
        found = read_info(folder)[0].get("run_id")
    except (OSError, RunError):
        return False
    with tarfile.open(ARCHIVE) as archive:
        own = archive.extractfile(INFO)
        return own is not None and json.load(own)["run_id"] == found
