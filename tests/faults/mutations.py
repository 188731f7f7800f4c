# SPDX-License-Identifier: BSD-3-Clause
"""Changes bytes and texts at random, and reads them in child processes, so that a crash is a figure."""

from __future__ import annotations

import faulthandler
import math
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

HANGS_AFTER_S = 10  # of processor time
ENDS = (signal.SIGPROF, signal.SIGALRM)  # of a reader that hangs, by processor time or by the clock
MEMORY = 6 << 30  # bytes of address space that a child may add, so that an absurd size fails there
ODD_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 64) - 1)
# fmt: off
ODD_TOKENS = (
    "null", "true", "-1", "0", "1e999", "-1e999", "NaN", "1.5", "9" * 30, "9" * 5000, "1e-320", "[]", "{}",
    '""', '"\\ud800"', '"\\u0000"', '"\\x"', '"0-99999999999"', "[null]", '{"a":[1]}', "\x00", "\xff",
    "²", '"', "\\", ",", ":", "}", "]", "<", ">", "&#0;", "&x;", "<!--", "]]>", "'", "=", "[[a]]", "a.b",
    '"""', "#", "\r", "\n",
)
DEEP_TOKENS = (
    "[" * 100, "[" * 50_000, "[" * 70 + "]" * 70, "[" * 900 + "]" * 900, '{"a":' * 20_000,
    '<object type="Group">' * 3000 + "</object>" * 3000,
)
# fmt: on
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+|\s+|.', re.DOTALL)


def mutated_bytes(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """The bytes with one to four changes: bits, numbers, cuts, copies, parts of `other`."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        size = len(changed)
        at = rng.randrange(size + 1)
        length = min(rng.choice((1, 2, 4, 8, 40, 400)), size - at)
        kind = rng.randrange(6)
        if kind == 0 and at < size:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            width = rng.choice((1, 2, 4, 8))
            at -= at % width  # fields are aligned
            number = rng.choice(ODD_NUMBERS) & ((1 << 8 * width) - 1)
            changed[at : at + width] = number.to_bytes(width, "little")[: max(size - at, 0)]
        elif kind == 2:
            del changed[at : at + length]
        elif kind == 3:
            changed[at:at] = changed[at : at + length] * rng.choice((1, 1, 50))
        elif kind == 4 and other:
            begin = rng.randrange(len(other))
            changed[at : at + length] = other[begin : begin + rng.choice((4, 40, 400))]
        else:
            changed[at : at + length] = rng.randbytes(length)
    return bytes(changed)


def mutated_text(text: str, rng: random.Random) -> str:
    """The text with one to four changes of its words, quoted parts and punctuation."""
    tokens = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not tokens:
            break
        at, end = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        kind = rng.randrange(6)
        if kind <= 2:
            tokens[at] = rng.choice(ODD_TOKENS if rng.random() < 0.998 else DEEP_TOKENS)
        elif kind == 3:
            del tokens[at : at + rng.choice((1, 3, 9))]
        elif kind == 4:
            tokens[at:at] = tokens[end : end + rng.choice((1, 5, 50))]
        else:
            tokens[at] = tokens[end]
    return "".join(tokens)


def mutated(text: str, rng: random.Random) -> bytes:
    """The text with changes of its words or of its bytes."""
    data = text.encode()
    if rng.random() < 0.3:
        return mutated_bytes(data, rng, data)
    return mutated_text(text, rng).encode("utf-8", "replace")


@dataclass
class Findings:
    """What reading mutated input gave. refused : cases that ended with a sentence, where the reader says so.
    strange : texts of exceptions that are not perfield's own."""

    cases: int = 0
    refused: int = 0
    seconds: float = 0.0  # of processor time, over all processes
    crashes: int = 0
    hangs: int = 0
    slowest_s: float = 0.0
    slowest: int = -1
    strange: dict[str, int] = field(default_factory=dict)

    def in_words(self) -> str:
        """As the result column of the table."""
        return (
            f"{self.crashes} crashes, {self.hangs} hangs, {sum(self.strange.values())} strange exceptions, "
            f"slowest {self.slowest_s:.2f} s"
        )

    def hold(self) -> bool:
        """Whether no reader crashed, hung, raised an exception of its own, or took 1 s."""
        return not (self.crashes or self.hangs or self.strange) and self.slowest_s <= 1


Make = Callable[[random.Random, Path], None]
Read = Callable[[Path], object]  # True if it ended with a sentence in place of what it shows


def read_mutated(
    make: Make, read: Read, cases: int, seed: int, allowed: tuple[type[Exception], ...], memory: int = MEMORY
) -> Findings:
    """Makes and reads `cases` cases, as `read_by_all` does, with one reader."""
    return read_by_all(make, {"": read}, cases, seed, allowed, memory)[""]


def read_by_all(
    make: Make,
    readers: dict[str, Read],
    cases: int,
    seed: int,
    allowed: tuple[type[Exception], ...] = (),
    memory: int = MEMORY,
    seconds: float = math.inf,
    processes: int | None = None,
) -> dict[str, Findings]:
    """Makes `cases` cases, each from `seed` and its number alone; all readers, by name, read each of them,
    one after another. Each case begins with another reader.

    make(rng, folder) writes the input of a case into an empty folder; a reader may raise `allowed`.
    memory : bytes of address space that a child may add to what this process has. seconds : no case begins
    later. processes : that share the cases; None: as many as CPUs.
    The processor time of a reader is its time. The first of each kind of failure is printed on stderr.
    """
    context = multiprocessing.get_context("fork")
    workers = processes or os.cpu_count() or 1
    findings = {name: Findings() for name in readers}
    work = _Work(make, list(readers.items()), seed, allowed, memory, time.monotonic() + seconds)
    queue = context.SimpleQueue()
    present = [context.Array("q", (worker, -1), lock=False) for worker in range(workers)]
    counts = [context.Array("d", 3 * len(readers), lock=False) for worker in range(workers)]
    children: list = [None] * workers
    while True:
        for worker in range(workers):
            child = children[worker]
            if child is not None and child.is_alive():
                continue
            if child is not None and child.exitcode == 1:  # readers end with a signal, if at all
                raise RuntimeError(f"case {present[worker][0]} of --seed {seed} cannot be made; see above")
            if child is not None and child.exitcode:  # died while it read the present case
                case, turn = present[worker]
                name = list(readers)[(case + turn) % len(readers)]
                _note_death(findings, child.exitcode, case, name)
            case, turn = present[worker]
            children[worker] = None
            if case < cases and not (child is not None and child.exitcode == 0):
                left = range(case, cases, workers)
                arguments = (work, left, turn + 1, present[worker], counts[worker], queue)
                children[worker] = context.Process(target=_read_all, args=arguments, daemon=True)
                children[worker].start()
        while not queue.empty():
            _note(findings, *queue.get())
        if not any(children):
            break
        time.sleep(0.02)
    for number, one in enumerate(findings.values()):
        one.cases = int(sum(count[3 * number] for count in counts)) + one.crashes + one.hangs
        one.seconds = sum(count[3 * number + 1] for count in counts)
        one.refused = int(sum(count[3 * number + 2] for count in counts))
    return findings


class _Work(NamedTuple):
    make: Make
    readers: list[tuple[str, Read]]
    seed: int
    allowed: tuple[type[Exception], ...]
    memory: int
    until: float


def _note_death(findings: dict[str, Findings], code: int, case: int, name: str) -> None:
    if -code in ENDS:
        findings[name].hangs += 1
    else:
        findings[name].crashes += 1
    print(f"  case {case} ended its reader {name} with {code}", file=sys.stderr, flush=True)


def _note(found: dict[str, Findings], name: str, case: int, seconds: float, strange: str, trace: str) -> None:
    findings = found[name]
    if seconds > findings.slowest_s:
        findings.slowest_s, findings.slowest = seconds, case
        if seconds > 1:
            print(f"  case {case} {name} took {seconds:.1f} s", file=sys.stderr, flush=True)
    if strange:
        if strange not in findings.strange:
            print(f"  case {case} {name}: {trace}", file=sys.stderr, flush=True)
        findings.strange[strange] = findings.strange.get(strange, 0) + 1


def _read_all(work: _Work, cases: range, first: int, present, counts, queue) -> None:
    """first : the turn of the reader that the first of these cases begins with."""
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which reserves terabytes
        most = work.memory + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where programs print that a reader starts
    faulthandler.enable()  # shows where a crash was, then dies of it
    for end in ENDS:
        faulthandler.register(end, chain=True)
    slowest = [0.0] * len(work.readers)
    for case in cases:
        if time.monotonic() > work.until:
            return
        with tempfile.TemporaryDirectory(dir=_memory_folder()) as place:
            folder = Path(place)
            present[0], present[1] = case, len(work.readers) - 1  # making it never ends the process
            work.make(random.Random(f"{work.seed}/{case}"), folder)
            for turn in range(first, len(work.readers)):
                number = (case + turn) % len(work.readers)
                name, read = work.readers[number]
                present[0], present[1] = case, turn
                seconds, is_refused, strange, trace = _read_one(read, folder, work.allowed)
                counts[3 * number] += 1
                counts[3 * number + 1] += seconds
                counts[3 * number + 2] += is_refused
                if strange or seconds > slowest[number]:
                    slowest[number] = max(slowest[number], seconds)
                    queue.put((name, case, seconds, strange, trace))
        first = 0


def _read_one(read: Read, folder: Path, allowed: tuple[type[Exception], ...]) -> tuple[float, bool, str, str]:
    """Its processor time in s, whether it refused, and the place and traceback of a strange exception."""
    strange = trace = ""
    is_refused = False
    signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER_S)
    signal.alarm(100 * HANGS_AFTER_S)  # of a reader that waits; on a busy machine others wait, too
    began = time.process_time()
    try:
        is_refused = read(folder) is True
    except allowed:
        is_refused = True
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        strange = f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}"
        trace = traceback.format_exc()
    seconds = time.process_time() - began
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)
    return seconds, is_refused, strange, trace


def _memory_folder() -> str | None:
    """A folder in memory if the machine has one: the files live for milliseconds."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
