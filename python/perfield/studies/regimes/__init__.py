# SPDX-License-Identifier: BSD-3-Clause
"""Levels that the timings of a shared machine mix: regimes, by hidden Markov models."""

NAMES = {"regimes_of_run": "of_run:regimes_of_run", "timings_of_run": "of_run:timings_of_run"}
COMMANDS = {"regimes": "command", "inject": "injection.command"}
PROVIDERS = {"regimes": "fields"}
FINDINGS = {"slow_regime": "finding"}
MORE_FIGURES = {"regimes": "figures:regimes", "regimes_spread": "figures:regimes_spread"}
RENDERED = {"regimes": "rendering"}
REPORT = {"regimes": "report"}
COMPARISONS = {"regimes": "comparison"}
