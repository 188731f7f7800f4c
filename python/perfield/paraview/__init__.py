# SPDX-License-Identifier: BSD-3-Clause
"""perfield inside ParaView: a reader of run.json, and filters on what it reads.

One module per proxy. It has PROXY, which describes it to ParaView, and make(), which computes its output from
VTK data objects and knows nothing of ParaView. `plugin` makes one XML file of all PROXY, whose scripts call
`calls`, and `calls` calls make().
"""
