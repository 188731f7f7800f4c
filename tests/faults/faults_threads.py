# SPDX-License-Identifier: BSD-3-Clause
"""64 threads count events while steps close: every event is in some step, once, and no access races.

The short form has fewer events and no ThreadSanitizer, since that takes minutes to compile.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from campaign import FOLDER, PATHS, compiled, options, run, verdict
from compiled.sanitizers import BRIDGE, MEASURING, linked, sources
from compiled.sanitizers import compiled as sanitized

import perfield

N_THREADS = 64
EVENTS_PER_ROUND = 5


def counted(folder: Path) -> dict[str, int]:
    """The sums of a run over its steps and what is beside them."""
    found = perfield.open(folder / "perfield-run")
    assert [frame.kind for frame in found.frames()][:1] == ["step"], "no step was closed"
    frames = [*found.frames(), found.setup, found.teardown]
    sums = {
        name: int(sum(frame.values[name][0] for frame in frames if frame.values[name][0] > 0))
        for name in ("work_count", "isend_count", "sent_count", "sent_bytes", "recv_count")
        if name in found.columns.names
    }
    return sums | {"steps": len(found)}


def main() -> None:
    given = options(__doc__)
    rounds = 20_000 if given.short else 200_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = FOLDER / "programs" / "threads.cpp"
        if given.short:
            words = "-pthread", f"-I{BRIDGE}", *PATHS["libs"].split()
            program = compiled("threads.cpp", folder, *words, compiler="g++")
        else:
            objects = sanitized(sources(*MEASURING), "thread")
            program = linked(source, objects, "thread", folder)
        result = run([program, N_THREADS, rounds], folder, {"TSAN_OPTIONS": "exitcode=66"}, timeout=1800)
        assert (result.returncode, result.stdout) == (7, "the answer is 42\n"), result
        races = result.stderr.count("WARNING: ThreadSanitizer")
        sums = counted(folder)
    messages = N_THREADS * rounds
    expected = {"work_count": messages, "sent_count": messages, "sent_bytes": 10 * messages}
    wrong = {name: sums.get(name) for name, value in expected.items() if sums.get(name) != value}
    sanitizer = "" if given.short else f"{races} races, "
    verdict(
        f"{N_THREADS} threads count while steps close",
        f"{EVENTS_PER_ROUND * rounds:,} events each, {sums['steps']} steps",
        f"{sanitizer}{len(wrong)} wrong sums {wrong or ''}".strip(),
        f"{'' if given.short else '0 races, '}0 wrong sums",
        not wrong and not races,
    )


if __name__ == "__main__":
    main()
