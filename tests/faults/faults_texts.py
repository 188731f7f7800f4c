# SPDX-License-Identifier: BSD-3-Clause
"""Mutated text files: perfield.toml, run.json, hwloc's XML, networks, and indexes with right checksums."""

from __future__ import annotations

import os
import random
import shutil
import struct
import tempfile
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
from campaign import FOLDER, options, verdict
from faults_entries import read_run
from mutations import mutated, mutated_bytes, read_mutated

import perfield
from perfield import _bridge, configuration, topology
from perfield.run import RunError
from twins import twin

TOML = """\
# a comment
regions = ["solve", 'flux_*', "\\u00e9"]
step_region = "time step"
max_regions = 10_000
flush_seconds = 1.5e-1
messages = true
run_directory = 'runs/perfield-run'
"""


# --- perfield.toml ------------------------------------------------------------------------------------------


def make_toml(rng: random.Random, folder: Path) -> None:
    """Writes a mutated perfield.toml."""
    (folder / "perfield.toml").write_bytes(mutated(TOML, rng))


def read_toml(folder: Path) -> None:
    """Reads the configuration as the measured program does, then a value of it in Python."""
    os.environ["PERFIELD_CONFIG"] = str(folder / "perfield.toml")
    _, errors, _ = _bridge.load_config()
    configuration.in_force("regions")
    if any(unicodedata.category(character) == "Cc" for sentence in errors for character in sentence):
        raise AssertionError(f"an error that controls the terminal: {errors!r}")


# --- run.json -----------------------------------------------------------------------------------------------


@cache
def whole_run() -> Path:
    """A run that was measured without a fault; removed with the process."""
    place = tempfile.TemporaryDirectory()
    whole_run.place = place
    return twin.write_run(Path(place.name) / "run", ranks=2, steps=2)


def make_json(rng: random.Random, folder: Path) -> None:
    """Copies a run and changes its run.json."""
    shutil.copytree(whole_run(), folder, dirs_exist_ok=True)
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_bytes(mutated(text, rng))


def read_json(folder: Path) -> None:
    """Opens the run, and computes its closing lines."""
    _bridge.summary_lines(str(folder))
    run = perfield.open(folder)
    repr(run), run.ranks, len(run)
    configuration.setting(run, "regions")


# --- hwloc's XML --------------------------------------------------------------------------------------------


@cache
def machines() -> list[str]:
    """The smaller captured machines."""
    paths = (FOLDER.parent / "fixtures").rglob("*.xml")
    return [path.read_text() for path in sorted(paths) if path.stat().st_size < 60_000]


def make_xml(rng: random.Random, folder: Path) -> None:
    """Writes a mutated XML file."""
    (folder / "node0.xml").write_bytes(mutated(rng.choice(machines()), rng))


def read_xml(folder: Path) -> None:
    """Reads the machine, and all machines of the folder."""
    topology.read_machines(folder)
    machine = topology.read_machine(folder / "node0.xml")
    machine.position, [machine.spans(level) for level in topology.LEVELS if level != "rank"]


# --- networks -----------------------------------------------------------------------------------------------


@cache
def networks() -> list[str]:
    """A description of each kind."""
    return [path.read_text() for path in sorted((FOLDER.parent / "fixtures" / "networks").iterdir())]


def make_network(rng: random.Random, folder: Path) -> None:
    """Writes a mutated description of a network into a run, and sometimes one spliced from two kinds."""
    text = rng.choice(networks())
    if rng.random() < 0.1:
        text += rng.choice(networks())
    (folder / "machine").mkdir()
    (folder / "machine" / "network.txt").write_bytes(mutated(text, rng))


def read_network(folder: Path) -> None:
    """Finds the network of a run with this file, which never fails, then reads the file itself."""
    ranks = [{"host": host, "topology_addr": "top.s1." + host} for host in ("n1", "n3", "n5.site")]
    placed = topology.place(ranks, {}, topology.network_of(folder, ranks, {}))
    placed.switches.hops(np.arange(3), np.arange(3)[:, None])
    try:
        network = topology.read_network(folder / "machine" / "network.txt")
    except topology.NetworkError:
        return
    topology.used_switches(network, sorted(network.leaf_of)[:50])


# --- indexes ------------------------------------------------------------------------------------------------

INDEX_HEADER = 200  # bytes; the last eight are the checksums of the tables and of the header


def make_index(rng: random.Random, folder: Path) -> None:
    """Copies a run, saves the index of its stream, and changes that."""
    shutil.copytree(whole_run(), folder, dirs_exist_ok=True)
    (stream,) = (folder / "stream").glob("*.pf")
    stored = folder / "analysis" / f"index-stream-{stream.stem}.pfi"
    _bridge.StreamIndex(str(stream), str(stored), twin.RUN_ID, 0).refresh()
    data = bytearray(mutated_bytes(stored.read_bytes(), rng, stream.read_bytes()))
    if len(data) >= INDEX_HEADER and rng.random() < 0.9:
        data[192:196] = struct.pack("<I", _bridge.crc32c(bytes(data[INDEX_HEADER:])))
        data[196:200] = struct.pack("<I", _bridge.crc32c(bytes(data[:196])))
    stored.write_bytes(data)


def read_index(folder: Path) -> None:
    """Reads everything of the run."""
    read_run(perfield.open(folder))


# --- the campaign -------------------------------------------------------------------------------------------

KINDS = (
    ("mutated perfield.toml", make_toml, read_toml, (), 100, 40_000),
    ("mutated run.json", make_json, read_json, (RunError,), 40, 10_000),
    ("mutated hwloc XML", make_xml, read_xml, (topology.MachineError,), 100, 50_000),
    ("mutated descriptions of networks", make_network, read_network, (), 200, 50_000),
    ("mutated index files", make_index, read_index, (RunError,), 20, 2_000),
)


def main() -> None:
    given = options(__doc__)
    whole_run()
    for what, make, read, allowed, short, long in KINDS:
        cases = short if given.short else long
        found = read_mutated(make, read, cases, given.seed, allowed)
        verdict(what, f"{cases:,} files", found.in_words(), "0 crashes, slowest 1 s", found.hold())


if __name__ == "__main__":
    main()
