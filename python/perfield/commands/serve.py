# SPDX-License-Identifier: BSD-3-Clause
"""perfield serve: shows a run in a browser, also while it runs."""

from __future__ import annotations

import argparse
import os
import shlex
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.commands import CommandError
from perfield.commands._browser import add_page_options, check_port, opener
from perfield.commands._mesh import add_mesh_options, agrees, check_path
from perfield.commands._newest import add_run, run_path
from perfield.commands._reporter import RunReporter
from perfield.serve import PORT

if TYPE_CHECKING:
    from perfield.serve.followed import Followed
    from perfield.serve.server import Server

HELP = "look at a run in a browser, also while it runs"
DESCRIPTION = """\
Shows a run in a browser: the mesh in 3-D and the machine, at any step and coloured
by any field, with a heat map and a matrix of messages. A click on a piece of the
mesh or on a core shows its rank, where it sits, its partners and its regions. A
run that still runs is followed.

  perfield serve                      the newest run
  perfield serve perfield-run --port 9000 --no-browser
  perfield serve after --with before  two runs side by side, and what changed

The printed address holds a token, as other users of this machine can connect,
too. On a cluster, start it where the run directory is, and forward its port by ssh:
ssh -L 8017:localhost:8017 HOST, then open the printed address at home. Or use a
socket that nobody else can open: perfield serve RUN --socket page.sock there, and
ssh -L 8017:/home/me/page.sock HOST at home. Ctrl-C ends it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, where the page is, and who may see it."""
    add_run(parser)
    add_page_options(parser, PORT)
    add = parser.add_argument
    add("--with", metavar="RUN", dest="other", help="another run to compare with, shown beside this one")
    add_mesh_options(parser)
    add("--address", default="localhost", metavar="ADDRESS", help="to listen on; 0.0.0.0 for all (localhost)")
    add(
        "--token",
        metavar="FILE",
        help="a file with the token that browsers need; 'new' makes one (default), 'none' needs none, on "
        "localhost only: all users of this machine can look",
    )
    add(
        "--socket",
        metavar="PATH",
        help="listen on a new Unix socket that only you can open, in place of a port and a token",
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
    at = Path(arguments.socket) if arguments.socket else None
    if at is not None and arguments.address != "localhost":
        raise CommandError("--socket and --address exclude each other; give one of them.")
    if arguments.token == "none" and not is_local_address(arguments.address):
        raise CommandError(f"--token none: {arguments.address} can be reached by others; it needs a token.")
    if arguments.token in (None, "new"):
        token = new_token() if at is None or arguments.token else ""
    else:
        token = read_token(Path(arguments.token)) if arguments.token != "none" else ""
    path = run_path(arguments.run)
    other = _other(path, arguments) if arguments.other else None
    followed = Followed(path, mesh, arguments.rank_array, agrees, RunReporter(), other=other)
    followed.view()  # a question about the mesh comes before the page
    try:
        server = Server(followed, arguments.address, arguments.port, token, socket_path=at)
    except PortError as error:
        raise CommandError(str(error)) from error
    if LIBRARY not in server.page:
        print(WITHOUT_LIBRARY, flush=True)
    with opener(arguments) as ready:
        serve(server, ready if at is None else lambda _: _print_way(server, arguments.port or PORT))
    sys.stdout.flush()
    os._exit(0)  # Python's own end stops threads that still answer, which aborts them inside C++


def _other(run: Path, arguments: argparse.Namespace) -> Followed:
    """The run that --with names. Raises RunError if it is none, or the same one."""
    import perfield
    from perfield.derived.matching import check
    from perfield.serve.followed import Followed

    path = Path(arguments.other)
    runs = [perfield.open(one) for one in (path, run)]
    check(runs[0], runs[1], [str(path), str(run)], anyway=True)
    mesh = Path(arguments.mesh) if arguments.mesh else None
    return Followed(path, mesh, arguments.rank_array, agrees)


def _print_way(server: Server, port: int) -> None:
    """Prints how a browser reaches a Unix socket."""
    address = f"http://localhost:{port}/" + (f"?token={server.gate.token}" if server.gate.token else "")
    way = f"ssh -L {port}:{shlex.quote(server.url)} {socket.gethostname()}"
    print(f"the page is at {address} after {way} where your browser is; Ctrl-C ends it", flush=True)
