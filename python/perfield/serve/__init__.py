# SPDX-License-Identifier: BSD-3-Clause
"""Serves a run to browsers: a page of fixed files, and the run's numbers for it to draw.

`server` speaks HTTP, `security` says who is let in, and `routes` is the table of requests. Other modules make
the answers: `about` the run in words, `values` fields of ranks, `surface` the mesh, `machine` the picture of
the machine, `messages` who sends to whom, `one_rank` what a pick shows. `followed` keeps the run up to date.

The page is static and draws with vtk.js in the browser, so the server sends numbers and renders nothing.
"""

PORT = 8017  # unless another is asked for; links of the report lead there
