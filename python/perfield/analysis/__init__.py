# SPDX-License-Identifier: BSD-3-Clause
"""Draws conclusions from measured arrays and Datasets; knows neither pictures nor files on disk."""
