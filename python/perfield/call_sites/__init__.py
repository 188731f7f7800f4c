# SPDX-License-Identifier: BSD-3-Clause
"""The places in a program from which MPI is called: which of them may close steps, and their source lines."""
