# SPDX-License-Identifier: BSD-3-Clause
"""perfield serve: shows a run in a browser, also while it runs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from perfield.commands import CommandError
from perfield.commands._browser import add_page_options, check_port, opener
from perfield.commands._mesh import add_mesh_options, check_path
from perfield.commands._newest import add_run, run_path
from perfield.serve import PORT

HELP = "look at a run in a browser, also while it runs"
DESCRIPTION = """\
Shows a run in a browser: the mesh and the machine in 3-D, at any step and coloured
by any field, with a heat map and a matrix of messages. A click on a piece of the
mesh or on a core tells its rank, where it sits, its partners and its regions. A
run that still runs is followed.

  perfield serve                      the newest run
  perfield serve perfield-run --port 9000 --no-browser

On a cluster, start it where the run directory is, and let ssh hand it on:
ssh -L 8017:localhost:8017 HOST, then open http://localhost:8017/ at home.
By default only this machine can open the page. Another --address needs a token,
which the printed address holds. Ctrl-C ends it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, where the page is, and who may see it."""
    add_run(parser)
    add_page_options(parser, PORT)
    add = parser.add_argument
    add_mesh_options(parser)
    add("--address", default="localhost", metavar="ADDRESS", help="to listen on; 0.0.0.0 for all (localhost)")
    add(
        "--token",
        metavar="FILE",
        help="a file with the token that browsers need; 'new' makes one, also on localhost",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Serves the page until it is interrupted."""
    from perfield.serve.followed import Followed
    from perfield.serve.page_files import LIBRARY, WITHOUT_LIBRARY
    from perfield.serve.security import is_local_address, new_token, read_token
    from perfield.serve.server import PortError, Server, serve

    check_port(arguments)
    check_path(arguments)
    mesh = Path(arguments.mesh) if arguments.mesh else None
    if arguments.token not in (None, "new"):
        token = read_token(Path(arguments.token))
    else:
        token = new_token() if arguments.token or not is_local_address(arguments.address) else ""
    followed = Followed(run_path(arguments.run), mesh, arguments.rank_array)
    try:
        server = Server(followed, arguments.address, arguments.port, token)
    except PortError as error:
        raise CommandError(str(error)) from error
    if LIBRARY not in server.page:
        print(WITHOUT_LIBRARY, flush=True)
    serve(server, opener(arguments))
    sys.stdout.flush()
    os._exit(0)  # Python's own end stops threads that still answer, which aborts them inside C++
