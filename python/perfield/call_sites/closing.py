# SPDX-License-Identifier: BSD-3-Clause
"""Which call ends the steps of a run, in words that are the same after the program was built anew."""

from __future__ import annotations

import re

from perfield.call_sites.candidates import sites
from perfield.call_sites.names import names
from perfield.run.run_directory import RunDirectory
from perfield.symbols.source_lines import source_lines


def closing_call(run: RunDirectory) -> str:
    """The call that ends the steps which perfield found, or that `step_call` names, and the function that
    makes it: Allreduce@solve; "" if none does."""
    named = (run.info.get("configuration") or {}).get("step_call") or ""
    return re.sub(r"(-[0-9a-f]+)?(/\d+)?$", "", str(named)) or _found(run)


def _found(run: RunDirectory) -> str:
    bodies = [body["found"] for _, body in sorted(run.sites.items()) if body.get("found")]
    if not bodies or not run.steps_closed.any():
        return ""
    known = sites(run)
    site = next((each for each in known if each.hash == bodies[0]), None)
    if site is None:  # a damaged entry
        return ""
    return names(known, source_lines(site.callers))[site].rpartition("-")[0]
