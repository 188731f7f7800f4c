# SPDX-License-Identifier: BSD-3-Clause
"""Opens pages of reports in headless Chromium, without a network, as their readers do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SECTIONS = (  # of the page of a report
    *(
        "findings",
        "parts",
        "where",
        "efficiency",
        "regions",
        "ranks",
        "steps",
        "messages",
        "files",
        "placement",
    ),
    *("pictures", "settings", "how"),
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


def browser() -> str:
    """The browser's program; skips the test where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("Chromium is not installed")
    return found


def opened(page: Path, place: Path, *options: str) -> tuple[str, str]:
    """The page's elements after loading, as HTML, and what the browser printed. place : for its files."""
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    words += [
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--proxy-server=127.0.0.1:9",
        "--virtual-time-budget=3000",
    ]
    words += ["--enable-logging=stderr", f"--user-data-dir={place / 'profile'}", *options]
    run = subprocess.run(
        [browser(), *words, page.resolve().as_uri()],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=180,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout, run.stderr
