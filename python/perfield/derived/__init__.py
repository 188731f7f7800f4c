# SPDX-License-Identifier: BSD-3-Clause
"""What follows from what a run measured: tables, waiting, call paths, samples, regimes, rhythm, models, and
what differs between runs.

It reads runs through `perfield.run` and leaves the conclusions to `perfield.analysis`. Draws nothing.
"""
