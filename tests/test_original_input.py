# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup config --from: the original plug-in's input files become a perfield.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfield import original_input

REPOSITORY = Path(__file__).resolve().parents[1]

PLUGIN = """\
print_log = 1
clock_resolution = 2400000000
measuring_frequency = 4
measurements = 1
communication = 0
renew_comm = 1
topology_mode = 1
python_script = plugin.py
"""

ADAPTOR = """\
# drawing
print_log = 1
inter_node_offset = 7
network_topology = 1
topology_file = topology.conf

measurements = 1
communication = 1
comm_offset=2.5
renew_comm = 0
periodic_BC = 1
"""


@pytest.fixture
def convert(perfield_cli, tmp_path):
    """convert(plugin, adaptor=None): runs `perfield setup config --from` on files with these texts."""

    def run(*texts: str):
        files = []
        for name, text in zip(("plugin.input", "adaptor.input"), texts):
            (tmp_path / name).write_text(text)
            files.append(name)
        return perfield_cli("setup", "config", "--from", *files, cwd=tmp_path)

    return run


def settings_of(text: str) -> dict[str, str]:
    lines = [line.partition("  # ")[0] for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split(" = ", 1) for line in lines)


@pytest.mark.parametrize("texts", [(PLUGIN, ADAPTOR), (ADAPTOR, PLUGIN)])
def test_keys_with_a_counterpart_become_settings(convert, texts):
    result = convert(*texts)
    assert (result.returncode, result.stderr) == (0, "")
    assert settings_of(result.stdout) == {
        "log": "true",
        "measure_every": "4",
        "regions": "[]",
        "messages": "false",
        "inter_node_offset": "7.0",
        "network_topology": "true",
        "topology_file": '"topology.conf"',
        "comm_offset": "2.5",
        "periodic_BC": "true",
    }


def test_comments_explain_keys_without_counterpart(convert):
    result = convert(PLUGIN, ADAPTOR)
    comments = [line for line in result.stdout.splitlines() if line.startswith("# ")]
    for key in (
        "clock_resolution = 2400000000",
        "renew_comm = 1",
        "topology_mode = 1",
    ):
        (comment,) = [line for line in comments if line.startswith(f"# {key}: ")]
        assert len(comment) > len(key) + 20


def test_converted_text_is_a_valid_configuration(convert, perfield_cli, tmp_path):
    (tmp_path / "perfield.toml").write_text(convert(PLUGIN, ADAPTOR).stdout)
    listed = perfield_cli("setup", "config", cwd=tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in listed.stdout.splitlines()]
    assert any(line.startswith("measure_every = 4 # perfield.toml:") for line in lines)
    assert any(line.startswith("regions = [] # perfield.toml:") for line in lines)


def test_wrong_lines_are_errors_and_the_rest_is_converted(convert):
    wrong = "measuring_freqency = 3\ncommunication = yes\nnonsense\nmeasurements = 1\nmeasurements = 0\n"
    result = convert(wrong)
    assert result.returncode == 2
    assert settings_of(result.stdout) == {"regions": "[]"}
    assert result.stderr.splitlines() == [
        "perfield setup config: plugin.input:3: found 'nonsense'; expected key = value",
        "perfield setup config: plugin.input:1: there was no key measuring_freqency; "
        "is measuring_frequency meant?",
        "perfield setup config: plugin.input:2: found communication = yes; expected 0 or 1",
        "perfield setup config: plugin.input:5: measurements was given before; the first one is taken",
    ]


def test_missing_file_is_named_and_the_other_is_converted(convert, perfield_cli, tmp_path):
    convert(PLUGIN)
    result = perfield_cli("setup", "config", "--from", "plugin.input", "adaptor.input", cwd=tmp_path)
    assert result.returncode == 2
    assert settings_of(result.stdout)["measure_every"] == "4"
    (printed,) = result.stderr.splitlines()
    assert printed.startswith(
        "perfield setup config: adaptor.input cannot be read (No such file or directory); "
    )


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_measuring_frequency_starts_at_1(convert, value):
    result = convert(f"measuring_frequency = {value}\n")
    assert result.returncode == 2
    assert "expected a whole number from 1 on" in result.stderr


def test_missing_file_gives_a_sentence(perfield_cli, tmp_path):
    result = perfield_cli("setup", "config", "--from", "nothing.input", cwd=tmp_path)
    assert result.returncode == 2
    assert "nothing.input" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("table", ["PLUGIN", "ADAPTOR"])
def test_documentation_names_every_key(table):
    page = (REPOSITORY / "docs/original-plugin.md").read_text()
    for key, counterpart in getattr(original_input, table).items():
        assert f"`{key}`" in page, key
        assert f"`{counterpart.setting}`" in page or not counterpart.setting, key
