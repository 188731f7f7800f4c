# SPDX-License-Identifier: BSD-3-Clause
"""Latencies that are injected into messages of a program: drawn from regimes, written, read."""
