# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab sliders: a page with sliders for a model of coupled oscillators, of the paper or of a run."""

from __future__ import annotations

import argparse

from perfield.commands import CommandError
from perfield.commands._browser import add_page_options, check_port, opener
from perfield.commands._newest import run_path

HELP = "try a model of coupled oscillators with sliders, in a browser"
DESCRIPTION = """\
Opens a page with sliders in a browser: communication topology, potential,
coupling, noise, delay and start of a model of coupled oscillators, and at once
its phase circle, order parameter R, spread and phases over time. It begins with
the figures of the paper or, where a run is named, with the topology, the
frequencies and the coupling of that run.

  perfield lab sliders
  perfield lab sliders perfield-run
  perfield lab sliders --port 8000 --no-browser

The printed address holds a token, as other users of this machine can connect,
too. On a cluster, let ssh hand it on: ssh -L 5006:localhost:5006 HOST, then open
the printed address at home.
Ctrl-C ends it. Needs the package bokeh: pip install 'perfield[lab]'."""

PORT = 5006


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and where the page is."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run to begin with (the paper's figures)")
    add_page_options(parser, PORT)


def execute(arguments: argparse.Namespace) -> int:
    """Serves the page until it is interrupted."""
    import perfield
    from perfield.studies.oscillators.sliders.experiment import bases
    from perfield.studies.oscillators.sliders.server import PortError, serve

    check_port(arguments)
    run = perfield.open(run_path(arguments.run)) if arguments.run else None
    try:
        with opener(arguments) as ready:
            serve(bases(run), arguments.port, ready)
    except PortError as error:
        raise CommandError(str(error)) from error
    return 0
