# SPDX-License-Identifier: BSD-3-Clause
"""Which call ends the steps of a run."""

from __future__ import annotations

import re
from typing import Any

from perfield.call_sites.candidates import Site, sites
from perfield.call_sites.names import without_hash
from perfield.run.run_directory import RunDirectory
from perfield.symbols.source_lines import source_lines


def found_in(run: RunDirectory) -> dict[str, Any]:
    """What ranks noted on the steps that perfield found; empty if it found none."""
    return next((body for _, body in sorted(run.sites.items()) if body.get("found")), {})


def closing_site(run: RunDirectory) -> Site | None:
    """The call site that ends the steps which perfield found; None without it, or if its entry is damaged."""
    found = found_in(run).get("found")
    return next((site for site in sites(run) if site.hash == found), None) if found else None


def closing_call(run: RunDirectory) -> str:
    """The call that ends the steps which perfield found, or that `step_call` names, and the function that
    makes it (`without_hash`); "" if none does."""
    if named := (run.info.get("configuration") or {}).get("step_call"):
        return re.sub(r"(-[0-9a-f]+)?(/\d+)?$", "", str(named))
    site = closing_site(run) if run.steps_closed.any() else None
    return without_hash(site, source_lines(site.callers)) if site else ""
