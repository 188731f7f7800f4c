# SPDX-License-Identifier: BSD-3-Clause
"""Mutated entries of streams: bits, lengths, cuts and splices, most of them with checksums made right again.

Each case is a run directory with many mutated entries, read as `perfield.open`, frames, tables, meshes and
the closing lines read it. The long form also reads such directories with perfield's C++ under sanitizers.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from campaign import FOLDER, options, verdict
from compiled.sanitizers import READING, compiled, linked, sources
from mutations import mutated_bytes, mutated_text, read_mutated

import perfield
from perfield import _bridge
from perfield.run import RunError
from twins import twin

PER_CASE = 250
SANITIZERS = "address,undefined"
CRCS = struct.Struct("<II")


CLOCK = {
    "reference_rank": 0, "monotonic_ns": 10**12, "offset_ns": -20_000, "drift_ppb": 3.5, "round_trip_ns": 900,
    "wander_ppb": 50, "compared_ns": [10**12, 10**12 + 10**10], "uncertainty_ns": 450, "method": "exchange",
}  # fmt: skip


def with_clock(rank: int, values: dict) -> None:
    """Gives a rank entry its pair of clocks."""
    values |= {"monotonic_ns": 10**12 + rank, "realtime_error_ns": 1000, "arguments": ["a", "b"]}


@cache
def entries(room: str) -> list[bytes]:
    """Whole entries of every type, of a run of two ranks on two hosts."""
    found = []
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run"
        clocks = ((0, CLOCK), (1, CLOCK))
        twin.write_run(
            path,
            ranks=2,
            steps=3,
            hosts=("node0", "node1"),
            change_rank=with_clock,
            clocks=clocks,
            packed=True,
        )
        for file in sorted((path / room).glob("*.pf")):
            if room == "stream":
                writer = twin.Writer(file, 0)
                writer.sequence = 1000
                writer.add("place", twin.json_body({"cpuset": "4-7"}))
                writer.add("sites", twin.json_body({"sites": [], "once": 3, "modules": ["a"]}))
            data = file.read_bytes()
            found += [data[entry["offset"] : entry["end"]] for entry in twin.decode(data)[0]]
    return found


def with_right_checksums(entry: bytes, length_too: bool) -> bytes:
    """The entry with the checksums of what it holds now, and with its length if `length_too`."""
    head, body = bytearray(entry[: twin.HEADER.size]), entry[twin.HEADER.size :]
    if len(head) < twin.HEADER.size:
        return entry
    head[:8] = twin.MARKER
    if length_too:
        head[12:16] = struct.pack("<I", len(body))
    head[40:44] = struct.pack("<I", _bridge.crc32c(body))
    head[44:48] = struct.pack("<I", _bridge.crc32c(bytes(head[:44])))
    return bytes(head) + body


def mutated_entry(entry: bytes, rng: random.Random, other: bytes) -> bytes:
    """An entry with changes in its body (most often), its header, or anywhere."""
    head, body = entry[: twin.HEADER.size], entry[twin.HEADER.size :]
    kind = rng.randrange(10)
    if kind < 2:
        return mutated_bytes(entry, rng, other)
    if kind < 4:
        return with_right_checksums(mutated_bytes(head, rng, other) + body, rng.random() < 0.5)
    if kind < 7 and body[:1] == b"{":
        return with_right_checksums(head + mutated_text(body.decode(), rng).encode("utf-8", "replace"), True)
    return with_right_checksums(head + mutated_bytes(body, rng, other), True)


def make(rng: random.Random, folder: Path) -> None:
    """Writes a run directory whose streams hold whole and mutated entries."""
    for room, most in (("stream", PER_CASE * 4 // 5), ("mesh", PER_CASE // 5)):
        known = entries(room)
        (folder / room).mkdir()
        with (folder / room / "node0-node0.pf").open("wb") as file:
            for _ in range(most):
                if rng.random() < 0.1:
                    file.write(rng.choice(known))
                file.write(mutated_entry(rng.choice(known), rng, rng.choice(known)))
    run = {"run_id": f"{twin.RUN_ID:016x}", "start_ns": twin.START_NS, "size": 2, "command": ["./heat"]}
    (folder / "run.json").write_text(twin.json.dumps(run))


def read(folder: Path) -> None:
    """Reads a run as the commands do."""
    _bridge.summary_lines(str(folder))
    try:
        run = perfield.open(folder)
    except RunError:
        return
    read_run(run)


def read_run(run: perfield.run.RunDirectory) -> None:
    """Asks an open run for everything."""
    repr(run), run.damage, run.groups, run.steps_closed, run.quantities, run.partial
    for frame in [*[run.frame(n) for n in range(len(run))][:3], run.setup, run.teardown]:
        dict(frame.values), frame.messages, frame.waits
        for rank in range(min(run.n_ranks, 2)):
            run.mesh(rank, 1), run.fields(rank, frame.index)
    run.ranks, run.regions, run.places(), run.clocks, run.clocks_agree


def sanitizer_reports(cases: int, seed: int) -> tuple[int, int]:
    """(entries that were whole, runs of the reader that the sanitizers ended), over as many cases."""
    at_once, found, reports = 20, 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        objects = compiled(sources(*READING), SANITIZERS)
        program = linked(FOLDER / "programs" / "read_entries.cpp", objects, SANITIZERS, folder)
        for first in range(0, cases, at_once):
            runs = [folder / str(case) for case in range(first, min(first + at_once, cases))]
            for run in runs:
                run.mkdir()
                make(random.Random(f"{seed}/{run.name}"), run)
            result = subprocess.run(
                [program, *runs], capture_output=True, text=True, check=False, timeout=600
            )
            if result.returncode:
                reports += 1
                print(f"  cases from {first} on:\n{result.stderr[-3000:]}", file=sys.stderr)
            found += int((result.stdout.split() or ["0"])[0])
            for run in runs:
                shutil.rmtree(run)
    return found, reports


def main() -> None:
    given = options(__doc__)
    cases = 16 if given.short else 1_000_000 // PER_CASE
    found = read_mutated(make, read, cases, given.seed, (RunError,))
    tried = f"{cases * PER_CASE:,} entries, in C++ and Python"
    verdict("mutated entries", tried, found.in_words(), "0 crashes, slowest 1 s", found.hold())
    if given.short:  # compiling takes too long
        return
    whole, reports = sanitizer_reports(cases, given.seed + 1)
    verdict(
        "mutated entries under AddressSanitizer and UBSan",
        f"{cases * PER_CASE:,} entries, in C++",
        f"{reports} reports, {whole:,} entries pass for whole",
        "0 reports",
        not reports and whole > cases,
    )


if __name__ == "__main__":
    main()
