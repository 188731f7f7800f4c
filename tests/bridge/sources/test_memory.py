# SPDX-License-Identifier: BSD-3-Clause
"""The source `memory`: the largest resident memory of a process."""

from __future__ import annotations

import numpy as np

MB = 1 << 20


def test_peak_grows_with_touched_memory_and_never_falls(measured):
    run, _ = measured(
        """
      perfield_initialize();
      work(20); perfield_step(0, 0);
      volatile char* block = malloc(64 << 20);
      for (int at = 0; at < 64 << 20; at += 4096) block[at] = 1;
      work(20); perfield_step(1, 1);
      free((void*)block);
      work(20); perfield_step(2, 2);
    """,
        before="#include <stdlib.h>\n",
    )
    assert "memory" in run.rank_entries[0]["sources"]
    peaks = [frame.values["resident_peak_bytes"][0] for frame in run.frames()]
    now = [frame.values["resident_bytes"][0] for frame in run.frames()]
    assert peaks[1] - peaks[0] > 60 * MB and peaks[2] >= peaks[1]
    assert now[2] < peaks[2] - 60 * MB
    assert all(peak >= resident - MB for peak, resident in zip(peaks, now))


def test_steps_between_samples_have_the_peak(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 5; ++s) { work(1); perfield_step(s, s); }
    """
    )
    peaks = [frame.values["resident_peak_bytes"][0] for frame in run.frames()]
    assert np.isfinite(peaks).all() and len(set(peaks)) == 1


def test_reading_procfs_is_not_the_programs_io(measured):
    run, _ = measured("perfield_initialize(); work(20); perfield_step(0, 0); work(20); perfield_step(1, 1);")
    assert [frame.values["io_read_count"][0] for frame in run.frames()] == [0, 0]
