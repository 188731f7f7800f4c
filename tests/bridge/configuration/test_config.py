# SPDX-License-Identifier: BSD-3-Clause
"""The configuration: the file, the environment, and the messages about errors in them."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
COUNTERS = REPOSITORY / "bridge/configuration/counters.def"
PROGRAM = "import json; from perfield._bridge import load_config; print(json.dumps(load_config()))"


@pytest.fixture
def load(execute, tmp_path):
    """load(text=None, **environment): ({key: its facts}, errors) from a new process; then load.notices."""

    def run(text: str | None = None, **environment: str):
        if text is not None:
            (tmp_path / "perfield.toml").write_text(text)
        result = execute(sys.executable, "-c", PROGRAM, env=environment)
        assert result.returncode == 0, result.stderr
        keys, errors, run.notices = json.loads(result.stdout)
        return {key["key"]: key for key in keys}, errors

    return run


def test_defaults_without_a_file(load):
    keys, errors = load()
    assert errors == []
    table = (REPOSITORY / "bridge/configuration/keys.def").read_text()
    assert list(keys) == re.findall(r"^PERFIELD_KEY\((\w+),", table, re.M)
    for key in keys.values():
        assert key["origin"] == "default"
        assert key["value"] == key["default"]


def test_file_values_name_their_line(load):
    keys, errors = load(
        '# first\nmeasure_every = 1_0  # ten\n\nregions = ["solve*",\n  \'a"b\', # two\n]\nsummary=false\n'
    )
    assert errors == []
    assert (keys["measure_every"]["value"], keys["measure_every"]["origin"]) == ("10", "perfield.toml:2")
    assert json.loads(keys["regions"]["value"]) == ["solve*", 'a"b']
    assert (keys["summary"]["value"], keys["summary"]["origin"]) == ("false", "perfield.toml:7")


def test_environment_overrides_file(load):
    keys, errors = load(
        "measure_every = 10\nmessages = true\n",
        PERFIELD_MEASURE_EVERY="3",
        PERFIELD_MESSAGES="off",
        PERFIELD_REGIONS="solve*, halo",
        PERFIELD_PERIODIC_BC="1",
        PERFIELD_FLUSH_SECONDS="2.5e-1",
    )
    assert errors == []
    assert (keys["measure_every"]["value"], keys["measure_every"]["origin"]) == (
        "3",
        "PERFIELD_MEASURE_EVERY",
    )
    assert keys["messages"]["value"] == "false"
    assert json.loads(keys["regions"]["value"]) == ["solve*", "halo"]
    assert keys["periodic_BC"]["value"] == "true"
    assert float(keys["flush_seconds"]["value"]) == 0.25


def test_unknown_key_suggests_nearest(load):
    _, errors = load("\nmesure_every = 3\n")
    assert errors == ["perfield.toml:2: unknown key 'mesure_every'; did you mean measure_every?"]


def test_unknown_key_without_near_match_points_to_the_list(load):
    _, errors = load("colour_of_the_sky = 3\n")
    assert errors == [
        "perfield.toml:1: unknown key 'colour_of_the_sky'; 'perfield setup config' lists all keys"
    ]


def test_unknown_variable_suggests_nearest(load):
    _, errors = load(PERFIELD_SUMARY="false")
    assert errors == ["PERFIELD_SUMARY: unknown setting; did you mean PERFIELD_SUMMARY?"]


def test_internal_and_module_variables_are_accepted(load):
    names = ["RUN", "RUN_ID", "PRELOADED", "ROOT", "DIR", "HOME", "VERSION", "NO_PACKAGES"]
    _, errors = load(**{f"PERFIELD_{name}": "x" for name in names})
    assert errors == []


def test_key_inside_a_table_is_reported_to_move_up(load):
    _, errors = load("[perfield]\nsummary = false\n")
    assert errors == [
        "perfield.toml:2: unknown key 'perfield.summary'; did you mean summary, above the first [table]?"
    ]


CALL_SITE = (
    "a call and the name of its call site, such as Allreduce@solve-3f2a, "
    "or Wait@solve-3f2a/4 for each fourth hit"
)
NUMBERED = (
    "a name, such as Allreduce@solve-3f2a: a number depends on what a rank called before, so that ranks "
    "closed different steps; `perfield steps perfield-run` lists the names"
)
LINE = (
    "a name, such as Allreduce@solve-3f2a: only `perfield run` knows file and line, from an earlier run; "
    "`perfield steps perfield-run` lists the names"
)
EVERY = "a number from 1 to 999999 behind '/', such as Wait@solve-3f2a/4 for each fourth hit"


RANKS = "ranks of the world, such as 3 and 7, without {}"


@pytest.mark.parametrize(
    ("line", "found", "expected"),
    [
        ('measure_every = "ten"', 'the text "ten"', "an integer (steps)"),
        ("measure_every = 1.5", "the number 1.5", "an integer (steps)"),
        ("measure_every = 0", "the integer 0", "at least 1"),
        ("skip_steps = -1", "the integer -1", "at least 0"),
        ("arrivals_every = -1", "the integer -1", "at least 0"),
        ("max_regions = 99999999999999999999", "the integer 99999999999999999999", "an integer (regions)"),
        ("summary = 1", "the integer 1", "true or false"),
        ("group = true", "true", "a text in quotes"),
        ('group = ["a", "b"]', "a list", "a text in quotes"),
        ('flush_seconds = "soon"', 'the text "soon"', "a number (s)"),
        ('clock = "sundial"', 'the text "sundial"', "auto, counter or monotonic"),
        ('run_directory = ""', 'the text ""', "the name of a directory"),
        ('focus_ranks = ["3", "-1"]', "a list", RANKS.format("'-1'")),
        ('focus_ranks = "three"', 'the text "three"', RANKS.format("'three'")),
        ('step_call = "Allreduce"', 'the text "Allreduce"', CALL_SITE),
        ('step_call = "Allreduce@2"', 'the text "Allreduce@2"', NUMBERED),
        ('step_call = "Allreduce@2/4"', 'the text "Allreduce@2/4"', NUMBERED),
        ('step_call = "Allreduce@cg.c:120"', 'the text "Allreduce@cg.c:120"', LINE),
        ('step_call = "Allreduce@solve"', 'the text "Allreduce@solve"', CALL_SITE),
        ('step_call = "Allreduce@solve-3f2"', 'the text "Allreduce@solve-3f2"', CALL_SITE),
        ('step_call = "Allreduce@solve-wxyz"', 'the text "Allreduce@solve-wxyz"', CALL_SITE),
        ('step_call = "Allreduce@-3f2a"', 'the text "Allreduce@-3f2a"', CALL_SITE),
        ('step_call = "Wait@solve-3f2a/"', 'the text "Wait@solve-3f2a/"', EVERY),
        ('step_call = "Wait@solve-3f2a/0"', 'the text "Wait@solve-3f2a/0"', EVERY),
        (
            'step_call = "@solve-3f2a"',
            'the text "@solve-3f2a"',
            "an MPI call that perfield counts, such as Allreduce@solve-3f2a",
        ),
        (
            'step_call = "MPI_Alreduce@solve-3f2a"',
            'the text "MPI_Alreduce@solve-3f2a"',
            "an MPI call that perfield counts, such as Allreduce@solve-3f2a (did you mean Allreduce?)",
        ),
        ("step_seconds = -1", "the integer -1", "at least 0"),
        ("step_seconds = 1e-6", "the number 1e-6", "0 (no such steps) or at least 0.001"),
    ],
)
def test_wrong_value_names_key_found_and_expected(load, line, found, expected):
    keys, errors = load(line + "\n")
    name = line.split()[0]
    default = keys[name]["default"]
    assert errors == [
        f"perfield.toml:1: {name}: found {found}, expected {expected}; the default is {default}",
    ]
    assert keys[name]["value"] == default


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("group = x\n", "found x; expected true, false, a number"),
        ("group = 'x\n", "the text has no closing '"),
        ('group = "a\\qb"\n', "found \\q in a text"),
        ("group\n", "found 'group' without '='"),
        ("group =\n", "found no value after '='"),
        ("= 3\n", "found '= 3'; expected key = value"),
        ("regions = ['a' 'b']\n", "the list needs ','"),
        ("regions = ['a'\n", "a closing ']'"),
        ("regions = ['a',\n", "the list has no closing ']'"),
        ("group = { a = 1 }\n", "tables in one line"),
        ("[[group]]\n", "lists of tables"),
        ("[group\n", "needs a closing ']'"),
        ("skip_steps = 3 4\n", "found '4' after the value"),
        ('group = """a"""\n', "texts of several lines"),
    ],
)
def test_invalid_toml_is_reported_with_its_line(load, text, sentence):
    _, errors = load("# one\n" + text)
    assert len(errors) == 1, errors
    assert errors[0].startswith("perfield.toml:2: ")
    assert sentence in errors[0]


def test_other_file_is_reported_briefly_and_legibly(load):
    _, errors = load("\x1b[31m\x00é" + "x" * 500 + "\n" + "= 1\n" * 100)
    assert errors[0] == "perfield.toml:1: found '?[31m?é" + "x" * 52 + "...'; expected key = value"
    assert len(errors) == 11
    assert "Is this a configuration of perfield?" in errors[-1]


def test_errors_show_no_bytes_that_a_terminal_or_reader_refuses(load, tmp_path):
    (tmp_path / "perfield.toml").write_bytes(b'regions = [\xf1\x1b[2J]\nmessages = \x00\n"a\xc2\x9b" = 1\n')
    _, errors = load()
    assert len(errors) == 3
    assert all(sentence.isprintable() for sentence in errors)
    assert "found ??" in errors[0]


def test_all_errors_are_reported_together(load):
    _, errors = load(
        "group = x\nmeasure_every = true\nnosuch = 1\nskip_steps = 1\nskip_steps = 2\n", PERFIELD_CLOCK="no"
    )
    assert len(errors) == 5, errors
    assert "perfield.toml:5: skip_steps was already set on line 4; keep one of the two" in errors


def test_conflicting_settings_name_both_origins(load):
    _, errors = load("measure_every = 4\n", PERFIELD_SUM_EVERY="3")
    assert errors == [
        "measure_every = 4 (perfield.toml:1) and sum_every = 3 (PERFIELD_SUM_EVERY) exclude each other: a "
        "frame is either one measured step or a sum of steps; remove one of them"
    ]
    assert load("measure_every = 4\nsum_every = 1\n")[1] == []


def test_only_one_setting_may_close_steps(load):
    _, errors = load('step_call = "allreduce@solve-3f2a"\n', PERFIELD_STEP_SECONDS="0.5")
    assert errors == [
        'step_call = "allreduce@solve-3f2a" (perfield.toml:1) and step_seconds = 0.5 (PERFIELD_STEP_SECONDS) '
        "exclude each other: each says where steps end; keep one of them"
    ]


def test_texts_keep_every_character(load):
    keys, errors = load('group = "tab\\t é \\u00e9 \\U0001F600 \\\\ \\" end"\n')
    assert errors == []
    assert json.loads(keys["group"]["value"]) == 'tab\t é é \U0001f600 \\ " end'


def test_windows_line_ends_and_byte_order_mark_are_accepted(load):
    keys, errors = load("\ufeffmeasure_every = 2\r\ngroup = 'g' # x\r\n")
    assert errors == []
    assert (keys["measure_every"]["value"], keys["group"]["value"]) == ("2", '"g"')


def test_named_file_must_exist(load, tmp_path):
    _, errors = load(PERFIELD_CONFIG="nowhere.toml")
    assert errors == ["nowhere.toml cannot be read: No such file or directory; PERFIELD_CONFIG names it"]
    _, errors = load(PERFIELD_CONFIG=str(tmp_path))
    assert len(errors) == 1
    assert "Is a directory" in errors[0]


STRANGER = 12345
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        pytest.param(
            lambda folder, file: os.chown(file, STRANGER, 0), "it belongs to another", marks=only_root
        ),
        pytest.param(
            lambda folder, file: os.chown(folder, STRANGER, 0),
            "it is in a directory that belongs to another user (number 12345)",
            marks=only_root,
        ),
        pytest.param(
            lambda folder, file: os.chown(file, -1, STRANGER) or file.chmod(0o664),
            "it can be written by a group (number 12345)",
            marks=only_root,
        ),
        (lambda folder, file: file.chmod(0o646), "it can be written by all users"),
        (lambda folder, file: folder.chmod(0o757), "it is in a directory that can be written by all users"),
        (lambda folder, file: linked_from_open_folder(folder, file), "can be written by all users"),
    ],
    ids=["owner", "owner of folder", "group", "all", "folder for all", "link"],
)
def test_file_that_another_user_may_have_written_is_ignored(load, tmp_path, spoil, why):
    file = tmp_path / "perfield.toml"
    file.write_text("measure_every = 7\n")
    spoil(tmp_path, file)
    keys, errors = load()
    assert (errors, keys["measure_every"]["origin"]) == ([], "default")
    (notice,) = load.notices
    assert notice.startswith("ignores perfield.toml, since it ") and why in notice
    assert notice.endswith("name it in PERFIELD_CONFIG or by `perfield run --config`")
    keys, errors = load(PERFIELD_CONFIG="perfield.toml")
    assert (errors, load.notices, keys["measure_every"]["value"]) == ([], [], "7")


def linked_from_open_folder(folder: Path, file: Path) -> None:
    """Moves the file into a folder that all users can write, and links to it."""
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    file.rename(folder / "open/settings")
    file.symlink_to("open/settings")


def test_own_file_in_a_folder_with_the_sticky_bit_is_read(load, tmp_path):
    tmp_path.chmod(0o1777)
    keys, _ = load("measure_every = 7\n")
    assert (keys["measure_every"]["value"], load.notices) == ("7", [])


@pytest.mark.parametrize("named", [False, True])
def test_pipe_as_file_is_refused_at_once(load, tmp_path, named):
    os.mkfifo(tmp_path / "perfield.toml")
    _, errors = load(**({"PERFIELD_CONFIG": "perfield.toml"} if named else {}))
    (error,) = errors
    assert error.startswith(
        "perfield.toml cannot be read: it is a pipe, a device or a socket, expected a file"
    )


def test_file_without_end_is_refused(load, tmp_path):
    with (tmp_path / "perfield.toml").open("wb") as file:
        file.truncate(10**12)
    _, errors = load()
    assert errors[0].startswith("perfield.toml cannot be read: it has more than 1000000 bytes")


def test_named_file_replaces_the_default_file(load, tmp_path):
    (tmp_path / "other.toml").write_text("skip_steps = 7\n")
    keys, errors = load("skip_steps = 1\n", PERFIELD_CONFIG="other.toml")
    assert errors == []
    assert (keys["skip_steps"]["value"], keys["skip_steps"]["origin"]) == ("7", "other.toml:1")


def test_empty_file_gives_defaults(load):
    keys, errors = load("")
    assert errors == []
    assert all(key["origin"] == "default" for key in keys.values())


def test_unknown_counter_suggests_nearest(load):
    _, errors = load('counters = ["cycles", "instrutions"]\n')
    assert errors == [
        "perfield.toml:1: counters: found a list, expected names of counters; unknown counter 'instrutions'; "
        "did you mean instructions?; the default is []"
    ]


def test_invalid_counter_lists_are_errors(load):
    for names, words in {
        "r1,r2,r3,r4,r5,r6,r7,r8,r9": "expected at most 8 counters, not 9",
        "cycles,r1a8,cycles": "expected each counter once, and 'cycles' is listed twice",
        "rxyz": "unknown counter 'rxyz'",
        "r11223344556677889": "unknown counter 'r11223344556677889'",
    }.items():
        _, errors = load(PERFIELD_COUNTERS=names)
        assert len(errors) == 1
        assert words in errors[0]
        assert errors[0].startswith("PERFIELD_COUNTERS: found")


def test_no_counter_name_ends_with_another():
    names = re.findall(r"^PERFIELD_COUNTER\((\w+),", COUNTERS.read_text(), re.M)
    assert "instructions" in names
    assert not [(a, b) for a in names for b in names if a.endswith(f"_{b}")]


def test_every_counter_is_documented(load):
    text = (REPOSITORY / "docs/counters.md").read_text()
    names = re.findall(r"^PERFIELD_COUNTER\((\w+),", COUNTERS.read_text(), re.M)
    assert [name for name in names if f"`{name}`" not in text] == []
    for first in range(0, len(names), 8):
        assert load(PERFIELD_COUNTERS=",".join(names[first : first + 8]))[1] == []
