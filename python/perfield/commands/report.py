# SPDX-License-Identifier: BSD-3-Clause
"""perfield report: what a run says, in sentences, as a page, as text and as JSON."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.catalyst_scripts.owned_folder import OwnedFolder, check_new_file, check_own, new_file
from perfield.commands import CommandError
from perfield.commands._chosen import add_span, opened
from perfield.commands._mesh import add_mesh_options, check_path
from perfield.commands._newest import add_run, run_path

if TYPE_CHECKING:
    from perfield.report import Report

HELP = "what costs time, where and why, and what helps"

DESCRIPTION = """\
Writes one page about a run, RUN/analysis/report.html: what costs time, where, why,
and what is usually done about it; then the tables and plots that show it. The page
is one file, needs no network, and can be mailed.

  perfield report perfield-run
  perfield report perfield-run --text
  perfield report perfield-run -o heat.html --no-pictures
  perfield report perfield-run --json > report.json
  perfield report perfield-run --attributes ranks.csv
  perfield report perfield-run --fail-if 'imbalance > 1.3' --fail-if 'step_time_s > 15ms'

Exit code with --fail-if: 1 if a condition holds, 2 if one cannot be checked, 3 if none
holds, but one asks for a finding that the run can neither prove nor deny."""

ROOM, PAGE = "analysis", "report.html"
ATTRIBUTES_HELP = """\
what ranks have in common by your own words: a table (.csv) with the column rank and any others, as
rank,material; the report names the value whose ranks compute longer than the others, beyond chance"""
NOT_PROVEN = 3  # exit code
MOST_FINDINGS = 3  # that are printed beside the page's path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, the page's file and what to print instead."""
    add_run(parser)
    add = parser.add_argument
    add("-o", "--output", metavar="FILE", help="the page (RUN/analysis/report.html)")
    instead = parser.add_mutually_exclusive_group().add_argument
    instead("--text", action="store_true", help="print the report as text and write no page")
    instead("--json", action="store_true", help="print the report as JSON and write no page")
    add(
        "--fail-if",
        metavar="CONDITION",
        action="append",
        default=[],
        help="exit with 1 if a number of the report or a field is so: 'imbalance > 1.3'; any number of times",
    )
    add_span(parser)
    add_mesh_options(parser)
    add("--attributes", metavar="FILE", help=ATTRIBUTES_HELP)
    add("--no-pictures", action="store_true", help="leave out the mesh and the machine, which need VTK")


def execute(arguments: argparse.Namespace) -> int:
    """Writes or prints the report; prints which conditions hold."""
    from perfield.report import report
    from perfield.report.attributes import read_attributes
    from perfield.report.conditions import failed, parsed
    from perfield.report.facts import field_numbers, not_proven, numbers

    if arguments.output and (arguments.text or arguments.json):
        raise CommandError(
            "-o names the page, but --text and --json write none; send their output to a file: >"
        )
    check_path(arguments)
    conditions = [parsed(text) for text in arguments.fail_if]
    path = run_path(arguments.run)
    place = _place(path, arguments)
    run = opened(path, arguments.span)
    attributes = read_attributes(arguments.attributes, run.n_ranks) if arguments.attributes else {}
    made = report(run, arguments.mesh, arguments.rank_array, attributes)
    known = numbers(made) if conditions else {}
    known = {**field_numbers(made, [each.name for each in conditions if each.name not in known]), **known}
    unknown = not_proven(made) if conditions else {}
    reasons = failed(conditions, known, unknown)
    _print_summary(made, place, Path(arguments.output or path / ROOM / PAGE), arguments)
    sys.stdout.flush()
    for reason in reasons:
        print(f"perfield report: fails: {reason}", file=sys.stderr)
    open_ones = [condition for condition in conditions if condition.name in unknown]
    for condition in open_ones:
        words = f"'{condition.text.strip()}' is not proven: {unknown[condition.name]}"
        print(f"perfield report: {words}", file=sys.stderr)
    return 1 if reasons else NOT_PROVEN if open_ones else 0


def _place(run: Path, arguments: argparse.Namespace) -> AbstractContextManager[Path]:
    """What yields where to write the page. Raises NotOursError at once if there is another file."""
    if arguments.output:
        if Path(arguments.output).parent.is_dir():
            check_new_file(arguments.output)
        return new_file(arguments.output)
    writes = not (arguments.text or arguments.json)
    if writes:
        check_own(run)
    folder = OwnedFolder(run / ROOM, below=run, is_shared=True)
    if writes:
        folder.check(PAGE)
    return folder.writing(PAGE)


def _print_summary(
    made: Report, place: AbstractContextManager[Path], file: Path, arguments: argparse.Namespace
) -> None:
    if arguments.json:
        from perfield.report.facts import as_json

        print(as_json(made), end="")
        return
    from perfield.report.text import as_text, findings_as_text

    if arguments.text:
        print(as_text(made))
        return
    from perfield.report.charts import plots
    from perfield.report.page import page, write
    from perfield.report.pictures import LEFT_OUT, pictures

    images, missing = plots(made)
    drawn, notes = ([], [LEFT_OUT]) if arguments.no_pictures else pictures(made)
    text = page(made, [*images, *drawn], [*missing, *notes])
    file.parent.mkdir(parents=True, exist_ok=True)
    with place as written:
        write(written, text)
    print(f"report     {file}")
    print(findings_as_text(made, MOST_FINDINGS))
