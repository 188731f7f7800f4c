# SPDX-License-Identifier: BSD-3-Clause
"""A report as text for the terminal: findings first, then the same sections and tables as the page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from perfield.report.contents import Report
from perfield.report.page import title, when
from perfield.report.sections import Section, asked, chance, cost, not_asked, nothing_found, sections
from perfield.report.view import command, view_of
from perfield.text import printable

WIDTH = 100  # characters of a line of words


def findings_as_text(report: Report, most: int | None = None) -> str:
    """The findings, numbered, the one that costs most first; or that there are none.

    most : how many are printed; None: all.
    """
    lines = []
    for number, finding in enumerate(report.findings[:most], 1):
        costs = cost(finding, report)
        lines += _wrapped(f"{number}. ", (f"({costs}) " if costs else "") + printable(finding.words))
        lines += _wrapped("   ", f"What helps: {printable(finding.remedy)}")
        lines += _wrapped("   ", chance(finding)) if chance(finding) else []
    if not report.findings:
        lines += _wrapped("", nothing_found(report))
    left = len(report.findings) - len(report.findings[:most])
    if left:
        lines.append(f"   and {left} more")
    return "\n".join(lines)


def as_text(report: Report) -> str:
    """The whole report."""
    lines = [title(report), "=" * len(title(report))]
    lines += [f"{report.run.path}: {report.state}" + (f", {when(report)}" if when(report) else "")]
    for note in report.notes:
        lines += _wrapped("note: ", printable(note))
    lines += ["", "Findings", "--------", findings_as_text(report)]
    if any(view_of(finding, report) for finding in report.findings):
        lines += [f"See them in the browser: {command(report)}"]
    answers = [*asked(report), *not_asked(report)]
    lines += ["", "Looked for, without a finding:"] if answers else []
    for words in answers:
        lines += _wrapped("- ", words)
    for section in sections(report):
        if section.words or section.tables:
            lines += ["", *_section(section)]
    return "\n".join(lines)


def _section(section: Section) -> Iterator[str]:
    yield section.title
    yield "-" * len(section.title)
    for words in section.words:
        yield from _wrapped("", printable(words))
    for number, table in enumerate(section.tables):
        if number or section.words:
            yield ""
        if table.folded:
            yield f"{table.folded}: on the page that perfield report writes."
            continue
        yield from table.lines
        if table.note:
            yield from _wrapped("", f"({table.note})")


def _wrapped(begin: str, text: str) -> list[str]:
    indent = " " * len(begin)
    return textwrap.wrap(text, WIDTH, initial_indent=begin, subsequent_indent=indent) or [begin.rstrip()]
