# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx's settings for `make docs`: the pages of this folder, the README, and an API reference.

The pages are written for readers of the repository. So links that leave docs/ become plain text here, the
README becomes the first page, and docstrings, which are plain text, become reStructuredText.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"

project = "perfield"
author = "the authors of perfield"
version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
html_title = f"perfield {version}"
html_theme = "furo"
html_show_copyright = False
html_show_sourcelink = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
highlight_language = "none"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_mock_imports = ["vtkmodules", "vtk", "paraview", "mpi4py"]
add_module_names = False

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```)", re.M | re.S)


def links_of_site(text: str, folder: Path) -> str:
    """A page's text with its relative links as the site needs them.

    folder : where the page lies in the repository. A link to the README leads to the first page, a link to
        another file outside of docs/ becomes its text, and a link named for its page gets the page's title.
    """

    def link(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        if re.match(r"\w+:|#", target):
            return match[0]
        file, _, anchor = target.partition("#")
        path = (folder / file).resolve()
        if path == REPOSITORY / "README.md":
            path = DOCS / "index.md"
        if path != DOCS and DOCS in path.parents:
            home = DOCS if folder == REPOSITORY else folder
            words = words if path.name not in words else ""  # the page's title
            return f"{mark}[{words}]({os.path.relpath(path, home)}{'#' * bool(anchor)}{anchor})"
        return f"`{words}`"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def change_page(app: object, page: str, source: list[str]) -> None:
    """Gives the first page the README's text above its own, and every page the links of the site."""
    folder = (DOCS / page).parent
    source[0] = links_of_site(source[0], folder)
    if page == "index":
        readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
        below = re.sub(r"^#", "##", source[0], flags=re.M)
        source[0] = links_of_site(readme, REPOSITORY) + "\n" + below
    if page == "commands":
        source[0] += "\n" + help_of_commands()


def help_of_commands() -> str:
    """What `perfield NAME --help` prints of each command."""
    from perfield.commands import COMMANDS, parsers

    helps = {name: found.format_help() for name, found in parsers().items() if name in COMMANDS}
    return "\n".join(f"## perfield {name}\n```\n{text}```\n" for name, text in helps.items())


def as_literal(text: str) -> str:
    """Plain text as reStructuredText: `names` as code, all other marks as they are."""
    parts = re.split(r"`([^`]+)`", text)
    for number, part in enumerate(parts):
        parts[number] = f"``{part}``" if number % 2 else re.sub(r"([\\*|`]|_(?!\w))", r"\\\1", part)
    return "".join(parts)


def change_docstring(
    app: object, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Turns the lines of a docstring into reStructuredText.

    `name : meaning` becomes an item of a list, with the lines below it that are indented or continue in lower
    case. Other indented lines become a block of code.
    """
    text = re.sub(r",\n(?=\w+ : )", ", ", "\n".join(lines))
    text = re.sub(r"(?<=[.;]) (?=\w+(?:, \w+)* : )", "\n", text)
    changed: list[str] = []
    in_item = in_code = False
    for line in text.split("\n"):
        if item := re.match(r"(\w[\w, *]*) : (.*)", line):
            changed += ["", f"``{item[1]}``", f"    {as_literal(item[2])}"]
            in_item, in_code = True, False
        elif not line.strip():
            changed.append("")
            in_item = in_item and in_code
        elif in_item and (line.startswith(" ") or line[0].islower() or line[0] == "("):
            changed.append(f"    {as_literal(line.strip())}")
        elif line.startswith(" "):
            changed += [line] if in_code else ["", "::", "", line]
            in_code = True
        else:
            changed += ([""] if in_item or in_code else []) + [as_literal(line)]
            in_item = in_code = False
    lines[:] = changed


def setup(app: object) -> None:
    """Tells Sphinx of the functions above."""
    app.connect("source-read", change_page)
    app.connect("autodoc-process-docstring", change_docstring)
