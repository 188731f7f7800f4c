# SPDX-License-Identifier: BSD-3-Clause
"""The options of pipelines: one meaning in each host, and sentences for wrong values."""

from __future__ import annotations

import json

import pytest

from perfield._bridge import load_config
from perfield.catalyst_scripts.pipeline_options import (
    TABLE,
    Camera,
    OptionError,
    Options,
    from_arguments,
    from_environment,
    from_settings,
    unknown,
)

PLACE = ((4.0, 3.0, 2.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
CHOSEN = Options(
    every=3,
    fields=("a", "b"),
    cameras=(("geometry", Camera("", PLACE)), ("topology", Camera("front"))),
    size=(640, 480),
)


def test_all_hosts_read_the_same_options(monkeypatch):
    texts = {
        "every": "3",
        "fields": "a, b,a",
        "camera": "4 3 2; 0 0 0; 0 0 1, topology:front",
        "size": "640x480",
    }
    lists = {**texts, "fields": ["a", "b"], "camera": ["4 3 2; 0 0 0; 0 0 1", "topology:front"], "live": ""}
    assert from_settings(lists) == CHOSEN
    words = [word for name, value in texts.items() for word in (f"--{name}", value)]
    assert from_arguments(words, "")[0] == CHOSEN
    for name, value in texts.items():
        monkeypatch.setenv(f"PERFIELD_CATALYST_{name.upper()}", value)
    assert from_environment() == CHOSEN == from_arguments([], "")[0]
    assert from_arguments(["--size", "200x300"], "")[0].size == (200, 300)  # before the environment


def test_defaults_are_those_of_the_configuration():
    keys = {row["key"]: json.loads(row["default"]) for row in load_config()[0]}
    assert from_settings({option.name: keys[f"catalyst_{option.name}"] for option in TABLE}) == from_settings(
        {}
    )


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("every", "0", "'0' is not a number of steps"),
        ("camera", "tpo", "'tpo' is no camera; did you mean top?"),
        ("camera", "topologie:top", "there is no picture 'topologie'; did you mean topology?"),
        ("camera", "1 2 3; 4 5", 'expected "position;focus;up", three numbers each'),
        ("camera", "0 0 1; 0 0 0; 0 0 5", "looks nowhere, or along its own up"),
        ("camera", "nan 0 1; 0 0 0; 0 1 0", "is no place of a camera"),
        ("size", "12x900", "each 160 to 16384: 1280x720"),
    ],
)
def test_wrong_values_name_the_option_and_what_to_give(monkeypatch, name, value, words):
    with pytest.raises(OptionError) as error:
        from_settings({name: value})
    assert str(error.value).startswith(f"catalyst_{name}: ") and words in str(error.value)
    with pytest.raises(OptionError, match=f"^--{name}: "):
        from_arguments([f"--{name}", value], "")
    monkeypatch.setenv(f"PERFIELD_CATALYST_{name.upper()}", value)
    with pytest.raises(OptionError, match=f"^PERFIELD_CATALYST_{name.upper()}: "):
        from_environment()


def test_unknown_fields_come_with_the_nearest_known_name():
    assert unknown(["step_tim_s", "rank", "zzz"], ["step_time_s", "rank"]) == [
        "there is no field 'step_tim_s' here; did you mean step_time_s?",
        "there is no field 'zzz' here; `perfield fields RUN` lists those of a run",
    ]
