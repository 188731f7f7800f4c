# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run: findings first, then what supports them; as a page, as text and as JSON."""

from perfield.report.contents import Report, report

__all__ = ["Report", "report"]
