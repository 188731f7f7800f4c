# SPDX-License-Identifier: BSD-3-Clause
"""Changes bytes and texts at random, and reads them in child processes, so that a crash is a figure."""

from __future__ import annotations

import faulthandler
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
    """What reading mutated input gave. strange : texts of exceptions that are not perfield's own."""

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


def read_mutated(
    make: Callable[[random.Random, Path], None],
    read: Callable[[Path], None],
    cases: int,
    seed: int,
    allowed: tuple[type[Exception], ...],
    memory: int = MEMORY,
) -> Findings:
    """Makes and reads `cases` cases, each from `seed` and its number alone, in as many processes as CPUs.

    make(rng, folder) writes the input of a case into an empty folder; read(folder) may raise `allowed`.
    memory : bytes of address space that a child may add to what this process has.
    The processor time of `read` is its time. The first of each kind of failure is told on stderr.
    """
    context = multiprocessing.get_context("fork")
    workers = os.cpu_count() or 1
    findings = Findings()
    queue = context.SimpleQueue()
    present = [context.Value("q", worker - workers, lock=False) for worker in range(workers)]
    children: list = [None] * workers
    while True:
        for worker in range(workers):
            child = children[worker]
            if child is not None and child.is_alive():
                continue
            if child is not None and child.exitcode:  # died while it read the present case
                _note_death(findings, child.exitcode, present[worker].value)
            first = present[worker].value + workers
            children[worker] = None
            if first < cases and not (child is not None and child.exitcode == 0):
                arguments = (
                    make,
                    read,
                    range(first, cases, workers),
                    seed,
                    allowed,
                    memory,
                    present[worker],
                    queue,
                )
                children[worker] = context.Process(target=_read_all, args=arguments)
                children[worker].start()
        while not queue.empty():
            _note(findings, *queue.get())
        if not any(children):
            return findings
        time.sleep(0.02)


def _note_death(findings: Findings, code: int, case: int) -> None:
    if -code in ENDS:
        findings.hangs += 1
    else:
        findings.crashes += 1
    print(f"  case {case} ended its reader with {code}", file=sys.stderr)


def _note(findings: Findings, case: int, seconds: float, strange: str, trace: str) -> None:
    if seconds > findings.slowest_s:
        findings.slowest_s, findings.slowest = seconds, case
        if seconds > 1:
            print(f"  case {case} took {seconds:.1f} s", file=sys.stderr)
    if strange:
        if strange not in findings.strange:
            print(f"  case {case}: {trace}", file=sys.stderr)
        findings.strange[strange] = findings.strange.get(strange, 0) + 1


def _read_all(make, read, cases: range, seed: int, allowed, memory: int, present, queue) -> None:
    most = memory + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()  # tells where a crash was, then dies of it
    for end in ENDS:
        faulthandler.register(end, chain=True)
    slowest = 0.0
    for case in cases:
        present.value = case
        with tempfile.TemporaryDirectory(dir=_memory_folder()) as place:
            folder = Path(place)
            make(random.Random(f"{seed}/{case}"), folder)
            strange = trace = ""
            signal.setitimer(signal.ITIMER_PROF, HANGS_AFTER_S)
            signal.alarm(100 * HANGS_AFTER_S)  # of a reader that waits; on a busy machine others wait, too
            began = time.process_time()
            try:
                read(folder)
            except allowed:
                pass
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                strange = f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}"
                trace = traceback.format_exc()
            seconds = time.process_time() - began
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        if strange or seconds > slowest:
            slowest = max(slowest, seconds)
            queue.put((case, seconds, strange, trace))


def _memory_folder() -> str | None:
    """A folder in memory if the machine has one: the files live for milliseconds."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
