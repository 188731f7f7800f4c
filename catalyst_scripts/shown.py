# SPDX-License-Identifier: BSD-3-Clause
"""Shows a channel of a running program in a view, coloured by a field."""

from __future__ import annotations

from typing import Any

import machine_picture
import mesh_picture
from colours import colour
from drawing import pv
from scene import Pictures, quoted, set_title


class Shown:
    """A channel in a view.

    channels : in place of pictures; its description is that of the steps so far, with the newest one's words
    as "step". name : of the channel. layer, field : as in pictures.json.
    """

    def __init__(self, channels: Pictures, view: Any, name: str, layer: str, field: str):
        self._channels, self._view, self._layer, self._field = channels, view, layer, field
        if name == "geometry":
            source = mesh_picture.show_field(channels, view, field)[-1]
        else:
            of_machine = layer.partition("/")[2]
            made = machine_picture.show_layers(channels, view, of_machine, field)
            source = machine_picture.block_of(made, of_machine)
        self._display = pv.Show(source, view)
        self._title = set_title(view, channels.arrays(layer)[field]["title"], [""], channels.read(name))

    def refresh(self) -> None:
        """Updates the colours to the current ranges, and the title to the current step."""
        about = self._channels.arrays(self._layer)[self._field]
        colour(self._display, self._view, self._field, about)
        known = self._channels.description
        self._title.Expression = quoted(f"{about['title']}\n{known['run']}, {known['step']}")
