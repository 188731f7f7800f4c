# SPDX-License-Identifier: BSD-3-Clause
"""The fields of a run: their table, and the kernel that computes them from step entries.

Knows the regions and quantities that ranks declare; opens no files but those it is given.
"""
