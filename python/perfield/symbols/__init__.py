# SPDX-License-Identifier: BSD-3-Clause
"""Functions and source lines of addresses in programs and libraries, from their files."""
