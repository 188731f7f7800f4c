# SPDX-License-Identifier: BSD-3-Clause
"""Levels that the timings of a shared machine mix: regimes, by hidden Markov models."""

RENDERED = {"regimes": "rendering"}
