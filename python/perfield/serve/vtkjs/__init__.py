# SPDX-License-Identifier: BSD-3-Clause
"""Makes vtk.js, the one file of the page that is bundled; see __main__.py."""
