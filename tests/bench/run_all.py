# SPDX-License-Identifier: BSD-3-Clause
"""Runs every bench of this folder and prints each figure beside its target.

    run_all.py [NAME ...]            runs all benches, or those whose file name contains a NAME
    run_all.py --compare A.json B.json    shows two earlier results side by side

Writes the results to bench-results/<date>-<commit>.json. Ends with 1 if a bench failed. A figure that misses
its target is marked, but is not a failure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from report import REPOSITORY, circumstances, holds, number, table

FOLDER = Path(__file__).resolve().parent
VERDICT = {True: "yes", False: "NO", None: ""}


def run_bench(path: Path) -> tuple[list[dict], bool]:
    """Runs a bench; returns its figures and whether it succeeded."""
    print(f"perfield bench: {path.stem}", file=sys.stderr, flush=True)
    result = subprocess.run([sys.executable, str(path)], stdout=subprocess.PIPE, text=True, check=False)
    figures = [{"bench": path.stem, **json.loads(line)} for line in result.stdout.splitlines() if line]
    if result.returncode:
        print(f"perfield bench: {path.name} ended with {result.returncode}", file=sys.stderr)
    return figures, result.returncode == 0


def show(figures: list[dict]) -> str:
    """All figures as a table: median, 5 to 95 % range, unit, target, and whether the target is met."""
    rows = [("what", "median", "5 to 95 %", "unit", "target", "holds")]
    for line in figures:
        bound = "" if line["target"] is None else ("at most " if line["most"] else "at least ")
        rows.append(
            (
                line["what"],
                number(line["median"]),
                f"{number(line['low'])} to {number(line['high'])}",
                line["unit"],
                bound + number(line["target"]),
                VERDICT[holds(line)],
            )
        )
    return table(rows)


def compare(first: Path, second: Path) -> str:
    """Two results side by side, with the ratio of their medians."""
    results = [json.loads(path.read_text()) for path in (first, second)]
    old, new = ({line["what"]: line for line in result["figures"]} for result in results)
    rows = [("what", first.stem, second.stem, "unit", "ratio")]
    for what in [*old, *(name for name in new if name not in old)]:
        before, after = (side.get(what, {}).get("median") for side in (old, new))
        ratio = after / before if before and after is not None else None
        unit = (new.get(what) or old[what])["unit"]
        rows.append((what, number(before), number(after), unit, number(ratio)))
    return table(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="run the benches whose name contains it")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="RESULT", help="show two side by side")
    arguments = parser.parse_args()
    if arguments.compare:
        print(compare(*arguments.compare))
        return 0
    benches = [
        path
        for path in sorted(FOLDER.glob("bench_*.py"))
        if not arguments.names or any(name in path.stem for name in arguments.names)
    ]
    taken = circumstances()
    ended = [run_bench(path) for path in benches]
    figures = [line for lines, _ in ended for line in lines]
    folder = REPOSITORY / "bench-results"
    folder.mkdir(exist_ok=True)
    name = f"{taken['date'][:19]}-{taken['commit'].split()[0]}.json".replace(":", "")
    (folder / name).write_text(json.dumps({"circumstances": taken, "figures": figures}, indent=1) + "\n")
    print("\n".join(f"{key}: {value}" for key, value in taken.items()))
    print("\n" + show(figures))
    print(f"\nwritten: bench-results/{name}")
    return 0 if all(well for _, well in ended) else 1


if __name__ == "__main__":
    sys.exit(main())
