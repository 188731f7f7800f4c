# SPDX-License-Identifier: BSD-3-Clause
"""Ranks as coupled oscillators: a model of their rhythm, of the paper or of a run."""

NAMES = {"measured_model": "of_run:measured_model"}
COMMANDS = {"oscillate": "command", "sliders": "sliders_command"}
MORE_FIGURES = {"rhythm_and_model": "figures:rhythm_and_model"}
RHYTHM_MODELS = {"oscillators": "beside"}
