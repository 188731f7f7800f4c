# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run as one file of HTML, which needs no server and no network.

Its modules become functions of one script, which alone the page may run: a content security policy names its
hash and forbids all requests. What the run says is in parts of base64, so that no name of it is ever HTML.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from perfield.serve.followed import View
from perfield.serve.page_files import INDEX, LIBRARY, WITHOUT_LIBRARY, page_files
from perfield.serve.stored import stored

MOST_BYTES = 20_000_000
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)  # styles: the report, which the page opens, has its own
_STATIC = re.compile(r"^import (\{[^}]*\}|\* as \w+) from '\./([\w.-]+)';$", re.MULTILINE)
_LATE = re.compile(r"\bimport\('\./([\w.-]+)'\)")
_EXPORTED = re.compile(r"^export ((?:async )?(?:class|function|const|let) (\w+))", re.MULTILINE)
_BUNDLED = re.compile(r"\bexport\s*\{([^{}]*)\};?\s*$")  # at the end of what esbuild made
_FETCHED = re.compile(r'^ *<link rel="modulepreload" .*>\n', re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_HTML = re.compile(r"</(?:script|style)|<!--", re.IGNORECASE)


class PageError(ValueError):
    """The page's own files cannot become one; the text says which."""


@dataclass(frozen=True)
class OneFile:
    """html : the page. notes : sentences on what it shows less of than the run has."""

    html: bytes
    notes: list[str]


def one_file(view: View, most_bytes: int = MOST_BYTES) -> OneFile:
    """The page of a run, of at most about so many bytes.

    Raises RunError if the run cannot be read, PageError if the page's files are not as this module expects.
    """
    files = {name: file.body.decode() for name, file in page_files().items()}
    script = joined({name: text for name, text in files.items() if name.endswith(".js")}, "main.js")
    page = _with_policy(files[INDEX], files["style.css"], script)
    parts, notes = stored(view, most_bytes - len(page.encode()))
    held = "\n".join(
        f'<script type="text/plain" id="part-{n}">{base64.b64encode(data).decode()}</script>'
        for n, data in enumerate(parts)
    )
    return OneFile(page.replace("<!-- parts -->", held).encode(), notes)


def joined(modules: Mapping[str, str], first: str) -> str:
    """Modules by name as one script, which begins with the module `first`.

    Each becomes a function that returns what it exports. Raises PageError for a module that imports or
    exports in a way that this function does not know.
    """
    made = ["const modules = {};", "const known = {};"]
    made.append("const load = (name) => (known[name] ??= modules[name]());")
    texts = dict(modules)
    if LIBRARY not in texts:
        texts[LIBRARY] = f"throw new Error({WITHOUT_LIBRARY!r});"
    for name, text in texts.items():
        made.append(f"modules['{name}'] = () => {{\n{_function(name, text, texts)}\n}};")
    return "\n".join([*made, f"load('{first}');"])


def _function(name: str, text: str, known: Mapping[str, str]) -> str:
    def loaded(found: re.Match[str]) -> str:
        names, other = found[1], found[2]
        if other not in known:
            raise PageError(f"{name} imports {other}, which the page does not have.")
        as_names = names.removeprefix("* as ") if names.startswith("*") else names.replace(" as ", ": ")
        return f"const {as_names} = load('{other}');"

    exported = [found[2] for found in _EXPORTED.finditer(text)]
    if bundled := _BUNDLED.search(text):
        text = text[: bundled.start()]
        pairs = [pair.split(" as ") for pair in bundled[1].split(",")]
        exported = [f"{pair[-1].strip()}: {pair[0].strip()}" for pair in pairs]
    text = _EXPORTED.sub(r"\1", _STATIC.sub(loaded, text))
    text = _LATE.sub(r"Promise.resolve().then(() => load('\1'))", text)
    if left := _LEFT.search(text):
        line = text[left.start() :].splitlines()[0]
        raise PageError(f"{name} has {line[:80]!r}, which cannot become a part of one script.")
    return f"{text}\nreturn {{ {', '.join(exported)} }};"


def _with_policy(index: str, style: str, script: str) -> str:
    """The page's index with style and script inside."""
    for name, text in (("style.css", style), ("the script", script)):
        if found := _HTML.search(text):
            raise PageError(f"{name} holds {found[0]!r}, which would end it inside a page.")
    index = _FETCHED.sub("", index)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = POLICY.format(script=f"sha256-{digest}")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    for before, after in (
        ('<meta charset="utf-8">', f'<meta charset="utf-8">\n    {head}'),
        ('<link rel="stylesheet" href="page/style.css">', f"<style>{style}</style>"),
        ('<script type="module" src="page/main.js"></script>', ""),
        ("</body>", f'<!-- parts -->\n<script type="module">{script}</script>\n</body>'),
    ):
        if index.count(before) != 1:
            raise PageError(f"{INDEX} has {before!r} {index.count(before)} times; expected once.")
        index = index.replace(before, after)
    return index
