# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup config: the listing, its errors, and the page docs/configuration.md."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_documentation_matches_the_table_of_keys(perfield_cli):
    result = perfield_cli("setup", "config", "--markdown")
    assert result.returncode == 0, result.stderr
    assert (REPOSITORY / "docs/configuration.md").read_text() == result.stdout, (
        "regenerate it: perfield setup config --markdown > docs/configuration.md"
    )


def test_page_ignores_the_settings_in_force(perfield_cli):
    plain = perfield_cli("setup", "config", "--markdown")
    assert (
        perfield_cli("setup", "config", "--markdown", env={"PERFIELD_SKIP_STEPS": "3"}).stdout == plain.stdout
    )


def test_listing_shows_the_origin_of_each_value(perfield_cli, tmp_path):
    (tmp_path / "perfield.toml").write_text('\ngroup = "fluid"\n')
    result = perfield_cli("setup", "config", cwd=tmp_path, env={"PERFIELD_SKIP_STEPS": "3"})
    assert (result.returncode, result.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert 'group = "fluid" # perfield.toml:2' in lines
    assert "skip_steps = 3 # PERFIELD_SKIP_STEPS" in lines
    assert "sum_every = 1 # default" in lines
    assert "# add up this many steps into one frame [steps]" in lines


def test_output_is_a_configuration_with_the_same_values(perfield_cli, tmp_path):
    changes = {"PERFIELD_REGIONS": "solve*,a b", "PERFIELD_GROUP": 'a "b" \\ é', "PERFIELD_SUMMARY": "no"}
    first = perfield_cli("setup", "config", cwd=tmp_path, env=changes)
    (tmp_path / "perfield.toml").write_text(first.stdout)
    again = perfield_cli("setup", "config", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")

    def settings(text: str) -> list[str]:
        return [line.rpartition("  # ")[0].strip() for line in text.splitlines() if not line.startswith("#")]

    assert settings(again.stdout) == settings(first.stdout)
    assert 'regions = ["solve*", "a b"]' in settings(again.stdout)


def test_errors_are_sentences_and_give_exit_code_2(perfield_cli):
    result = perfield_cli("setup", "config", env={"PERFIELD_SKIP_STEPS": "x", "PERFIELD_NOSUCHTHING": "1"})
    assert result.returncode == 2
    printed = sorted(result.stderr.splitlines())
    assert printed == [
        "perfield setup config: PERFIELD_NOSUCHTHING: unknown setting; "
        "'perfield setup config' lists all keys",
        'perfield setup config: PERFIELD_SKIP_STEPS: found the text "x", expected an integer (steps); '
        "the default is 0",
    ]
