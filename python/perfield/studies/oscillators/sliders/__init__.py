# SPDX-License-Identifier: BSD-3-Clause
"""The interactive page of `perfield lab sliders`: a model of oscillators with sliders, computed in Python.

`experiment` turns settings into a model, `page` shows it, `server` hands it to browsers here.
"""

from importlib.util import find_spec

if find_spec("bokeh") is None:
    raise ImportError(
        "the interactive page needs bokeh 3.3 or newer, which this Python does not have; call pip install "
        "'perfield[lab]'."
    )
