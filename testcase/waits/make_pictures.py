# SPDX-License-Identifier: BSD-3-Clause
"""Makes the pictures of docs/waiting.md from runs of waits_c, and prints what perfield says of each.

`python make_pictures.py WAITS_C FOLDER`: runs each scenario, keeps the runs in a new FOLDER, and writes the
pictures to docs/images. Needs `perfield` with matplotlib on the PATH.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from PIL import Image

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
DELAY_MS = 400  # long beside what ranks that share cores wait for one another
COLOURS = 48
SCENARIOS = {  # scenario -> name of its picture
    "late_sender_recv": "late-sender",
    "late_receiver": "late-receiver",
    "late_at_allreduce": "n-to-n",
    "late_at_bcast": "late-broadcast",
    "late_at_reduce": "early-reduce",
    "put_fence": "late-one-sided",
    "late_post": "late-post",
    "chain": "chain",
}


def make(program: Path, folder: Path, scenario: str) -> str:
    """Runs a scenario and draws its first step; returns the sentences of `perfield info --waits`."""
    run = folder / scenario
    subprocess.run(
        ["perfield", "run", "--run-directory", run, "--set", "arrivals_every=1", "--oversubscribe", "-n", "7",
         "--", program, scenario, str(DELAY_MS)],
        check=True, cwd=folder, capture_output=True,
    )  # fmt: skip
    picture = IMAGES / f"waiting-{SCENARIOS[scenario]}.png"
    subprocess.run(["perfield", "plot", run, "--only", "waits", "--steps", "0", "-o", picture], check=True)
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)
    printed = subprocess.run(
        ["perfield", "info", run, "--waits", "--rows", "1"], check=True, capture_output=True, text=True
    ).stdout
    return "\n".join(line for line in printed.splitlines() if line.endswith("."))


if __name__ == "__main__":
    program, folder = (Path(word).resolve() for word in sys.argv[1:3])
    folder.mkdir(parents=True)
    for scenario in SCENARIOS:
        print(f"{scenario}\n{make(program, folder, scenario)}\n")
