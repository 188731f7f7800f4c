# SPDX-License-Identifier: BSD-3-Clause
"""The pages of docs/ as a whole: an index that leads to each, links that resolve, a length one can read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfield.analysis.findings import QUESTIONS
from perfield.commands import COMMANDS, GROUPED, module_of, parsers

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
README = REPOSITORY / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
MOST_WORDS = 1500  # of a page, without its code
MOST_OF_ALL = 45_000  # of all pages but those that are generated or list a format
# References that other tests compare with what the program says.
GENERATED = ("configuration.md", "fields.md", "stream.md", "report-json.md", "files.md", "commands.md")
LONGER = {  # page -> (most words, why)
    "configuration.md": (2500, "generated from the settings"),
    "fields.md": (6000, "generated from the fields"),
    "findings.md": (1950, "reference: a row for each kind of finding"),
    "stream.md": (6000, "reference: the format"),
    "design.md": (2000, "for contributors: the tables of rooms and of what to add where"),
}


def beside() -> list[Path]:
    """The pages for contributors beside the code: those outside of docs/ that pages of it link to."""
    linked = {target for page in PAGES for target, _ in links(page)}
    return sorted(p for p in linked if p.suffix == ".md" and DOCS not in p.parents and p != README)


def prose(page: Path) -> str:
    """A page's text without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.M | re.S)


def links(page: Path) -> list[tuple[Path, str]]:
    """(file, anchor) of each link of a page to a file of the repository."""
    found = re.findall(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)", prose(page))
    inside = [(target, anchor) for target, anchor in found if not re.match(r"\w+:", target)]
    return [((page.parent / target).resolve() if target else page, anchor) for target, anchor in inside]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.M)
    plain = [re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def test_every_page_is_linked_from_an_index():
    indexes = [page for page in PAGES if page.name == "index.md"]
    linked = {target for page in indexes for target, _ in links(page)}
    assert [page.name for page in PAGES if page not in linked and page != DOCS / "index.md"] == []


def test_no_page_is_longer_than_one_reads():
    bound = {page: LONGER.get(page.name, (MOST_WORDS,))[0] for page in PAGES}
    words = {page: len(prose(page).split()) for page in PAGES}
    assert {page.name: words[page] for page in PAGES if words[page] > bound[page]} == {}


def test_all_pages_together_can_be_read():
    own = [page for page in PAGES if page.name not in GENERATED and page.parent.name != "api"]
    assert sum(len(prose(page).split()) for page in own) <= MOST_OF_ALL


def test_exceptions_of_length_are_needed():
    words = {page.name: len(prose(page).split()) for page in PAGES}
    assert [name for name in LONGER if words.get(name, 0) <= MOST_WORDS] == []


def test_links_lead_to_headings_that_exist():
    broken = [
        f"{page.relative_to(REPOSITORY)}: {target.name}#{anchor}"
        for page in [README, *PAGES, *beside()]
        for target, anchor in links(page)
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
    ]
    assert broken == []


def test_page_of_commands_has_a_row_for_each():
    text = (DOCS / "commands.md").read_text()
    rows = [f"| `perfield {name}` | {module_of(name).HELP} |" for name in COMMANDS]
    assert [row for row in rows if row not in text] == []


def test_page_of_findings_has_a_row_for_each_kind():
    rows = re.findall(r"^\| (.+?) \| ", (DOCS / "findings.md").read_text(), re.M)
    listed = {kind for row in rows for kind in re.split(r"[,;] ", row)}
    assert {kind for module in QUESTIONS for kind in module.KINDS} - listed == set()


def shown_commands(page: Path) -> list[tuple[str, list[str]]]:
    """(subcommand, options) of each command of perfield in a page's code, without the program started."""
    text = page.read_text()
    code = re.findall(r"^ *```\w*\n(.*?)^ *```$", text, re.M | re.S) + re.findall(r"`([^`]+)`", prose(page))
    lines = [re.sub(r"\\\n\s*", " ", block) for block in code]
    name = rf"(?:(?:{'|'.join(GROUPED)}) )?[a-z]+"
    found = [re.findall(rf"(?:^|[\s(])perfield ({name})\b([^\n#|;&>)]*)", line) for line in lines]
    options = r"(?<=\s)--?[a-zA-Z][\w-]*"
    return [(name, re.findall(options, rest.split(" -- ")[0])) for one in found for name, rest in one]


def test_commands_on_pages_have_the_options_that_they_show():
    shown = [(page, name, options) for page in [README, *PAGES] for name, options in shown_commands(page)]
    assert len(shown) > 100
    helps = {name: found.format_help() for name, found in parsers().items() if name in COMMANDS}
    launching = {"run", "lab inject"}  # which hand options of the launcher on
    assert [
        f"{page.name}: perfield {name} {option}"
        for page, name, options in shown
        if name in helps.keys() - launching
        for option in options
        if not re.search(rf"(?<![\w-]){option}(?![\w-])", helps[name])
    ] == []


@pytest.mark.parametrize(
    "folder", [".", "python", "bridge", "topology", "catalyst_scripts", "testcase", "tests"]
)
def test_commands_that_texts_name_exist(folder):
    """`perfield NAME` in backquotes or quotes, or $(perfield NAME ...)."""
    texts = [*REPOSITORY.glob("*.*"), *PAGES] if folder == "." else [*(REPOSITORY / folder).rglob("*.*")]
    kinds = {".md", ".py", ".cpp", ".hpp", ".h", ".def", ".c", ".txt", ".f90", ".js"}
    known = {*COMMANDS, *GROUPED, "help", "help all", "help run", "NAME"}
    wrong = {
        f"{path.name}: perfield {name}"
        for path in texts
        if path.suffix in kinds and path.name not in (Path(__file__).name, "test_completions.py")
        for name in re.findall(rf"[`(]perfield ((?:(?:{'|'.join(GROUPED)}) )?[a-z]+)\b", path.read_text())
        if name not in known
    }
    assert sorted(wrong) == []


def test_every_picture_is_shown_by_a_page():
    text = "".join(page.read_text() for page in [README, *PAGES, *beside()])
    pictures = [path.name for path in sorted((DOCS / "images").iterdir())]
    assert [name for name in pictures if f"images/{name}" not in text] == []


@pytest.mark.parametrize("folder", ["python", "bridge", "topology", "catalyst_scripts", "testcase", "tests"])
def test_pages_that_code_and_messages_name_exist(folder):
    files = [p for p in (REPOSITORY / folder).rglob("*") if p.suffix in {".py", ".cpp", ".hpp", ".h", ".def"}]
    named = {name for path in files for name in re.findall(r"docs/((?:\w+/)?[\w-]+\.md)", path.read_text())}
    assert sorted(name for name in named if not (DOCS / name).exists() and name != "page.md") == []
