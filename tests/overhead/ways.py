# SPDX-License-Identifier: BSD-3-Clause
"""The ways in which a program is run: bare, with Score-P, and with one feature of perfield at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.report import REPOSITORY
from overhead.subjects import Heat3d, stride

FEATURES = ("regions", "communication", "pictures", "fields", "io", "functions", "counters", "all")
NOTHING = {
    "PERFIELD_REGIONS": "",
    "PERFIELD_MESSAGES": "false",
    "PERFIELD_IO": "false",
    "PERFIELD_FIELDS_EVERY": "0",
}
QUIET = {"SCOREP_ENABLE_PROFILING": "false", "SCOREP_ENABLE_TRACING": "false"}


@dataclass(frozen=True)
class Way:
    """How a program is run.

    name : as in the tables. build : plain, functions, scorep or scorep-functions. measured : under
    perfield-exec. pictures : made inside the program. settings : environment variables.
    """

    name: str
    build: str = "plain"
    measured: bool = True
    pictures: bool = False
    settings: dict[str, str] = field(default_factory=dict)


BARE = Way("bare", measured=False)


def feature_settings(subject: Heat3d, feature: str) -> dict[str, str]:
    """Settings that turn on regions or communication, and nothing else."""
    if feature == "communication":
        chosen = {"PERFIELD_MESSAGES": "true"}
        steps = {} if subject.closes_steps else {"PERFIELD_STEP_SECONDS": "0.1"}
    else:
        chosen = {"PERFIELD_REGIONS": "*" if subject.marks_regions else subject.function}
        steps = {} if subject.closes_steps else {"PERFIELD_STEP_REGION": subject.function}
    return {**NOTHING, **chosen, **steps}


def ways_of(subject: Heat3d, steps: int, features: list[str], scorep: bool) -> list[Way]:
    """All ways to run a program, the bare one first.

    features : some of FEATURES. scorep : whether Score-P is there.
    """
    every = str(stride(steps))
    stored = {"PERFIELD_FIELDS_EVERY": every}
    found = [BARE]
    for feature in ("regions", "communication"):
        if feature not in features:
            continue
        chosen = feature_settings(subject, feature)
        build = "functions" if feature == "regions" and not subject.marks_regions else "plain"
        modes = {"topology": {}, "geometry": stored} if subject.has_mesh else {"topology": {}}
        for mode, settings in modes.items():
            found.append(Way(f"{feature}, {mode}", build, settings={**chosen, **settings}))
        if scorep and not subject.no_scorep:
            found += _with_scorep(subject, feature, modes, chosen)
        if "pictures" in features and subject.closes_steps:
            for mode in modes:
                found.append(
                    Way(f"{feature}, {mode}, inside", pictures=True, settings=_inside(chosen, mode, every))
                )
    plain = feature_settings(subject, "regions")
    if "fields" in features and subject.has_mesh and subject.marks_regions:
        found.append(Way("mesh and fields", settings={**NOTHING, **stored}))
    if "io" in features:
        found.append(Way("io", settings={**NOTHING, **_steps(subject), "PERFIELD_IO": "true"}))
    if "functions" in features and subject.hooks:
        settings = {**plain, "PERFIELD_REGIONS": subject.function}
        found.append(Way("functions", "functions", settings=settings))
    if "counters" in features:
        build = "plain" if subject.marks_regions else "functions"
        found.append(
            Way("counters", build, settings={**plain, "PERFIELD_COUNTERS": "page_faults,task_clock"})
        )
    if "all" in features:
        found.append(Way("all that is on by default", settings=_steps(subject)))
    return found


def _steps(subject: Heat3d) -> dict[str, str]:
    return {} if subject.closes_steps else {"PERFIELD_STEP_SECONDS": "0.1"}


def _inside(chosen: dict[str, str], mode: str, every: str) -> dict[str, str]:
    return {
        **chosen,
        "PERFIELD_CATALYST_IN_PROCESS": "true",
        "PERFIELD_CATALYST_EVERY": every,
        "PERFIELD_CATALYST_SCRIPTS": str(REPOSITORY / f"catalyst_scripts/{mode}.py"),
    }


def _with_scorep(subject: Heat3d, feature: str, modes: dict, chosen: dict[str, str]) -> list[Way]:
    """As in the thesis: Score-P alone, without profile and trace, and perfield's plug-in above it."""
    build = "scorep-functions" if feature == "regions" else "scorep"
    settings = dict(QUIET)
    if feature == "regions":
        settings["SCOREP_MPI_ENABLE_GROUPS"] = "none"
        chosen = {**chosen, "PERFIELD_REGIONS": subject.function}
    found = [Way(f"Score-P, {feature}", build, measured=False, settings=settings)]
    for mode, stored in modes.items():
        found.append(Way(f"plug-in, {feature}, {mode}", build, settings={**settings, **chosen, **stored}))
    return found
