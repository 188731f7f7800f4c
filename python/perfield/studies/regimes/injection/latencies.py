# SPDX-License-Identifier: BSD-3-Clause
"""Latencies that are injected into a program's messages: the trace file, and those drawn from a model.

Heldman, Rudi, Bessac, "Statistical Treatment of Variable MPI Latencies and MPI-Communication Hiding for
Matrix-Free Finite Element Operators", ICS '25, section 5 (future work). `bridge/injector/latencies.hpp` reads
the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from perfield.catalyst_scripts.owned_folder import new_file
from perfield.catalyst_scripts.safe_open import safe_open
from perfield.studies.regimes.model import REGIME, TIME, Model, RegimeError, simulated

VERSION = 1
START = "perfield-latencies"  # of the file
LONGEST_S = (2**32 - 1) * 1e-9  # that the file can hold, so that no rank waits for ever
OFFSET = 4096  # of the numbers, unless the lines before them are longer


def write_trace(
    path: Path | str, latency_s: Any, *, repeats: bool = True, about: Mapping[str, Any] | None = None
) -> None:
    """Writes latencies as a trace, which `perfield lab inject --trace` takes.

    latency_s : (n_series, n_messages), or (n_messages) for all ranks, in seconds, from 0 to LONGEST_S. The
    k-th message that rank r gets from any one other rank takes latency_s[r % n_series, k]. repeats : messages
    beyond the last one start again at the first; else they are not delayed. about : where the latencies come
    from; goes into the file and the run. Raises RegimeError for latencies that cannot be injected, OSError
    for the file.
    """
    values = np.atleast_2d(np.asarray(latency_s, dtype=np.float64))
    if values.ndim != 2 or values.size == 0:
        raise RegimeError(
            f"latencies of shape {np.shape(latency_s)} are no trace; expected (series, messages) with at "
            "least one of each."
        )
    if not ((values >= 0) & (values <= LONGEST_S)).all():
        wrong = values[~((values >= 0) & (values <= LONGEST_S))][0]
        raise RegimeError(
            f"a latency of {wrong:g} s cannot be injected; expected numbers from 0 to {LONGEST_S:.1f} s."
        )
    n_series, n_messages = values.shape
    body = {
        "series": n_series,
        "messages": n_messages,
        "repeats": repeats,
        "mean_s": float(values.mean()),
        "longest_s": float(values.max()),
        **(about or {}),
    }
    text = json.dumps(body)
    offset = max(OFFSET, len(text.encode()) + 200)
    head = f"{START} {VERSION} {offset} {n_series} {n_messages} {int(repeats)}\n{text}\n".encode()
    with new_file(path) as place, place.open("wb") as file:
        file.write(head.ljust(offset, b"\n"))
        file.write(np.rint(values * 1e9).astype("<u4").tobytes())


def read_trace(path: Path | str) -> tuple[np.ndarray, dict[str, Any]]:
    """The latencies of a trace, (n_series, n_messages) in seconds, and what it says of them.

    Raises RegimeError if the file is not a trace of this version, OSError if it cannot be read.
    """
    with safe_open(path, most=None) as file:
        words = file.readline(200).split()
        line = file.readline(1 << 20)
        is_trace = len(words) == 6 and words[:2] == [START.encode(), str(VERSION).encode()]
        if not is_trace or not all(word.isdigit() and len(word) <= 18 for word in words[2:5]):
            raise RegimeError(
                f"{path} is not a trace of latencies of version {VERSION}; `perfield lab inject --model "
                "FILE` draws one."
            )
        offset, n_series, n_messages = (int(word) for word in words[2:5])
        file.seek(offset)
        body = file.read()
        values = np.frombuffer(body[: len(body) // 4 * 4], dtype="<u4")
    if len(values) != n_series * n_messages:
        raise RegimeError(
            f"{path} holds {len(values)} latencies, but its first line says {n_series} times {n_messages}; "
            "draw it again with `perfield lab inject --model FILE`."
        )
    try:
        about = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RegimeError(
            f"{path} has a second line that is not JSON: {error}; draw it again with `perfield lab inject "
            "--model FILE`."
        ) from error
    return values.reshape(n_series, n_messages) * 1e-9, about


def drawn(model: Model, n_series: int, n_messages: int, seed: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Latencies drawn from a fitted model, one for each message of a pair of ranks, and what they are.

    Returns (n_series, n_messages) in seconds and a dict for `write_trace`. Draws below 0 (of Gaussian models)
    become 0, and draws above ten times the 99.9th percentile of all become that: a Student's t of logarithms
    has no mean, and a single draw could hold the program for minutes. Both are counted.
    """
    times = simulated(model, n_series, n_messages, seed)
    values = times[TIME].values
    longest = min(10 * float(np.quantile(values, 0.999)), LONGEST_S)
    shares = np.bincount(times[REGIME].values.ravel(), minlength=model.n_regimes) / values.size
    about = {
        "seed": seed,
        "model": json.loads(model.to_json()),
        "share_of_messages_in_regime": shares.tolist(),
        "below_0_set_to_0": int((values < 0).sum()),
        "above_limit_cut": int((values > longest).sum()),
        "limit_s": longest,
    }
    return np.clip(values, 0, longest), about
