# SPDX-License-Identifier: BSD-3-Clause
"""Programs that tests compile: their text, how they are built and kept, and what they counted."""
