# SPDX-License-Identifier: BSD-3-Clause
"""C++ that reads bytes, under libFuzzer, AddressSanitizer and UBSan (harness.cpp); needs clang.

python tests/fuzz/fuzz_bytes.py --seconds 60
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[1:1] = [str(FOLDER), str(FOLDER.parent)]
import meaning  # noqa: E402
from compiled.sanitizers import BRIDGE, sources  # noqa: E402

from twins import twin  # noqa: E402

FLAGS = ("-std=c++17", "-O1", "-g", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined")
STEP, PACKED, EVENTS, SAMPLES, TEXT, STREAM = range(6)  # the first byte, as harness.cpp takes it


def has_fuzzer(folder: Path) -> bool:
    """Whether clang is here with its libFuzzer."""
    text = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
    words = ["clang++", *FLAGS, "-x", "c++", "-", "-o", folder / "probe"]
    try:
        return not subprocess.run(words, input=text, text=True, check=False, capture_output=True).returncode
    except OSError:
        return False


def built(folder: Path) -> Path:
    """The program with the harness."""
    program = folder / "harness"

    def compile_one(file: Path) -> Path:
        made = folder / f"{file.parent.name}-{file.stem}.o"
        words = ["clang++", *FLAGS, f"-I{BRIDGE}", f"-I{BRIDGE / 'include'}", "-c", file, "-o", made]
        subprocess.run(words, check=True)
        return made

    files = [FOLDER / "harness.cpp", *sources("platform", "format", "configuration")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, files))
    subprocess.run(["clang++", *FLAGS, *objects, "-o", program, "-ldl", "-lpthread"], check=True)
    return program


def write_corpus(folder: Path) -> None:
    """Writes a first input of each kind, from the entries of meaning.py."""
    bodies = {"step": STEP, "events": EVENTS, "samples": SAMPLES, "rank": TEXT}
    entries = [entry for _, entry in meaning.base()[1]]
    for type, number in bodies.items():
        body = next(meaning.body_of(entry) for entry in entries if entry["type"] == type)
        (folder / type).write_bytes(bytes([number]) + body)
        (folder / f"stream-of-{type}").write_bytes(
            bytes([STREAM]) + twin.entry(type, body, rank=0, sequence=0)
        )
    (folder / "toml").write_bytes(bytes([TEXT]) + b"[a]\nb = [1, 'c']\nd = 1_0.5e3 # e\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="of fuzzing (default 60)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, corpus = Path(place), Path(place) / "corpus"
        if not has_fuzzer(folder):
            print("skipped  bytes: clang++ with libFuzzer is not here (Debian: clang libclang-rt-14-dev)")
            return 0
        corpus.mkdir()
        write_corpus(corpus)
        limits = [f"-max_total_time={given.seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=20000"]
        words = [built(folder), *limits, "-print_final_stats=1", corpus]
        result = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    lines = result.stderr.splitlines()
    executed = next((line.split()[-1] for line in lines if "number_of_executed_units" in line), "0")
    print(f"{'MISSES' if result.returncode else 'holds'}  bytes: {int(executed):,} executions")
    if result.returncode:
        print(*lines[-60:], sep="\n")
    return int(bool(result.returncode))


if __name__ == "__main__":
    sys.exit(main())
