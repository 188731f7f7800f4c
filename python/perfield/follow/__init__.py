# SPDX-License-Identifier: BSD-3-Clause
"""The Catalyst host beside a running program: reads its run directory and shows frames as they come."""
