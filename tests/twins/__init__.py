# SPDX-License-Identifier: BSD-3-Clause
"""Slow twins of fast code: the stream, frames and wait states once more, in plain Python."""
