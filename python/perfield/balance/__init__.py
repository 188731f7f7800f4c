# SPDX-License-Identifier: BSD-3-Clause
"""Measured cost per cell, in the forms that mesh partitioners read."""

from perfield.balance.measured import BalanceError, measure

__all__ = ["BalanceError", "measure"]
