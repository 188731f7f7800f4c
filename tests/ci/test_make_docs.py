# SPDX-License-Identifier: BSD-3-Clause
"""`make docs`: the pages and the API reference become a site, and what is wrong in them is an error."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("docs", "README.md", "pyproject.toml", "bridge/include")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """site(page=""): builds the site of a copy of the pages and a page more; gives (process, folder).

    Later calls build what has changed.
    """
    tmp_path = tmp_path_factory.mktemp("site")
    for name in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"Python's {name} is not installed, so the site cannot be built")
    for name in FILES:
        source = REPOSITORY / name
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copytree(source, tmp_path / name) if source.is_dir() else shutil.copy(source, tmp_path / name)

    def build(page: str = ""):
        if page:
            (tmp_path / "docs/page.md").write_text(page)
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
        command += [tmp_path / "docs", tmp_path / "site"]
        return subprocess.run(command, capture_output=True, text=True, check=False), tmp_path / "site"

    return build


def test_the_site_has_all_pages_and_the_api_without_a_warning(site):
    process, folder = site()
    assert (process.returncode, process.stderr) == (0, "")
    pages = [path.relative_to(REPOSITORY / "docs") for path in (REPOSITORY / "docs").rglob("*.md")]
    assert [page for page in pages if not (folder / page.with_suffix(".html")).exists()] == []
    assert 'href="own-code.html"' in (folder / "index.html").read_text()
    assert 'id="perfield.open"' in (folder / "api/run.html").read_text()
    assert "perfield_mesh_image" in (folder / "api/c.html").read_text()


def test_a_link_to_nowhere_is_an_error(site):
    process, _ = site("---\norphan: true\n---\n# A page\n\n[elsewhere](nowhere.md)\n")
    assert process.returncode == 1
    assert "nowhere.md" in process.stderr
