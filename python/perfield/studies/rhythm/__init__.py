# SPDX-License-Identifier: BSD-3-Clause
"""Whether the ranks of a run march in step: phases, and their metrics."""

NAMES = {"phases_of_run": "of_run:phases_of_run", "topology_of": "communication:topology_of"}
COMMANDS = {"rhythm": "command"}
PROVIDERS = {"rhythm": "fields"}
FINDINGS = {"wavefront": "finding"}
FIGURES = {"rhythm": "figures:rhythm"}
FILMS = {"circle": "figures:circle", "matrix": "figures:matrix"}
PLOTS = {"phase_lag": "plots.phase_lag:phase_lag"}
RENDERED = {"rhythm": "rendering"}
FINDING_IMAGES = {"phase_lag": "figures:lag_image"}
