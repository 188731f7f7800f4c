# SPDX-License-Identifier: BSD-3-Clause
"""Recipes for package managers and containers hold what pyproject.toml says, in each format's own syntax."""

from __future__ import annotations

import ast
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[2]
STATED = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
VERSION = STATED["project"]["version"]


@pytest.fixture(scope="module")
def recipes(tmp_path_factory) -> Path:
    """The folder of the recipes for a source archive."""
    folder = tmp_path_factory.mktemp("recipes")
    (folder / "sdist").write_bytes(b"an archive")
    write = [sys.executable, REPOSITORY / ".ci/recipes/write.py", folder / "sdist", folder / "written"]
    subprocess.run(write, check=True)
    return folder / "written"


def test_recipes_name_the_version_and_the_archive(recipes):
    sha256 = hashlib.sha256(b"an archive").hexdigest()
    texts = {path.name: path.read_text() for path in recipes.iterdir()}
    assert all(VERSION in text for text in texts.values())
    hashed = {name for name, text in texts.items() if sha256 in text}
    assert hashed == {"package.py", "perfield.eb", "recipe.yaml"}


@pytest.mark.parametrize("name", ["package.py", "recipe.yaml"])
def test_recipes_name_all_requirements_with_their_lowest_versions(recipes, name):
    text = (recipes / name).read_text()
    for requirement in [*STATED["build-system"]["requires"], *STATED["project"]["dependencies"]]:
        package, lowest = requirement.split(">=")
        assert (f'"py-{package}@{lowest}:"' if name == "package.py" else f"- {package} >={lowest}\n") in text


def test_easybuild_has_a_version_of_each_requirement_or_its_bundle(recipes):
    words = ast.dump(ast.parse((recipes / "perfield.eb").read_text()))
    bundled = {"numpy": "SciPy-bundle"}
    for requirement in [*STATED["build-system"]["requires"], *STATED["project"]["dependencies"]]:
        package = requirement.split(">=")[0]
        assert f"'{bundled.get(package, package)}'" in words


def test_spack_package_is_python_and_conda_recipe_is_yaml(recipes):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    ast.parse((recipes / "package.py").read_text())
    recipe = yaml.safe_load((recipes / "recipe.yaml").read_text())
    assert recipe["about"]["summary"] == STATED["project"]["description"]


def test_module_file_is_lua(recipes):
    luac = shutil.which("luac") or shutil.which("luac5.4") or shutil.which("luac5.3")
    if not luac:
        pytest.skip("luac is not installed")
    subprocess.run([luac, "-p", recipes / "perfield.lua"], check=True)


def test_citation_names_the_version():
    assert f"\nversion: {VERSION}\n" in (REPOSITORY / "CITATION.cff").read_text()


def test_action_reports_the_run_with_each_condition(tmp_path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = yaml.safe_load((REPOSITORY / ".github/actions/report/action.yml").read_text())
    (step,) = action["runs"]["steps"]
    fake = tmp_path / "perfield"
    fake.write_text('#!/bin/sh\nfor word in "$@"; do echo "[$word]"; done\n[ "$1" = run ]\n')
    fake.chmod(0o755)
    conditions = "imbalance > 1.3\n\nstep_time_s > 15ms\n"
    given = {"run": "-n 2 -- ./a.out in", "fail-if": conditions, "run-directory": "r"}
    inputs = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
    env = {name: inputs[value] for name, value in step["env"].items()}
    env["PATH"] = f"{tmp_path}:/usr/bin:/bin"
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert result.stdout.replace("\n", "") == (
        "[run][--run-directory][r][-n][2][--][./a.out][in]"
        "[report][r][--text][--fail-if][imbalance > 1.3][--fail-if][step_time_s > 15ms]"
    )
    assert result.returncode == 1  # as the report's
