# SPDX-License-Identifier: BSD-3-Clause
"""Runs, events and timings whose content is known, made without a measured program."""
