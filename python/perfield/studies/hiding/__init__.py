# SPDX-License-Identifier: BSD-3-Clause
"""How a matrix-free solver hides its messages: by a model, or by runs of the solver."""

COMMANDS = {"hide": "command"}
