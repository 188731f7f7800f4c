# SPDX-License-Identifier: BSD-3-Clause
"""Runs the fault campaigns of this folder and prints one table: what, tried, result, target, holds.

    run_all.py [--short] [--seed N] [NAME ...]     all campaigns, or those whose file name contains a NAME

Ends with 1 if a target is missed or a campaign fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from campaign import FOLDER

sys.path[1:1] = [str(FOLDER.parent / "bench")]
from report import circumstances, table  # noqa: E402


def run_campaign(path, arguments: list[str]) -> tuple[list[dict], bool]:
    """Runs a campaign; returns its rows and whether it ended well."""
    print(f"perfield faults: {path.stem}", file=sys.stderr, flush=True)
    result = subprocess.run(
        [sys.executable, str(path), *arguments], stdout=subprocess.PIPE, text=True, check=False
    )
    rows = [json.loads(line) for line in result.stdout.splitlines() if line]
    if result.returncode:
        print(f"perfield faults: {path.name} ended with {result.returncode}", file=sys.stderr)
    return rows, result.returncode == 0 and bool(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="run the campaigns whose name contains it")
    parser.add_argument("--short", action="store_true", help="take seconds: fewer repetitions")
    parser.add_argument("--seed", type=int, help="of the random choices; printed by each campaign")
    given = parser.parse_args()
    passed_on = ["--short"] * given.short
    passed_on += [] if given.seed is None else ["--seed", str(given.seed)]
    campaigns = [
        path
        for path in sorted(FOLDER.glob("faults_*.py"))
        if not given.names or any(name in path.stem for name in given.names)
    ]
    taken = circumstances()
    ended = [run_campaign(path, passed_on) for path in campaigns]
    rows = [row for found, _ in ended for row in found]
    print("\n".join(f"{key}: {value}" for key, value in taken.items()) + "\n")
    head = ("what", "tried", "result", "target", "holds")
    print(
        table([head, *([*(row[key] for key in head[:4]), "yes" if row["holds"] else "NO"] for row in rows)])
    )
    good = all(well for _, well in ended) and all(row["holds"] for row in rows)
    return 0 if good and rows else 1


if __name__ == "__main__":
    sys.exit(main())
