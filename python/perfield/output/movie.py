# SPDX-License-Identifier: BSD-3-Clause
"""Makes a film of written pictures: each step is a frame, the mesh at the left and the machine at the right,
and what a caller draws below them.

VTK draws the frames into a temporary folder, with the same colours in all steps, and ffmpeg joins them.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.catalyst_scripts.pipeline_options import PICTURES, layer_of
from perfield.output.image_plan import array_names, pair_of
from perfield.output.images import check_drawing, draw_images

Below = Callable[[tuple[int, int], Sequence[Path]], None]
"""Draws what is below the pictures, for each frame into a file. Takes width and height."""
BELOW, LEAST_BELOW = 0.3, 150  # its share of the height, and pixels below which it is left out
_EVEN = "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white,format=yuv420p"  # what all players show
ENCODING = {  # filter and options of ffmpeg, by the ending of the file
    ".mp4": (_EVEN, ["-c:v", "libx264", "-crf", "18", "-movflags", "+faststart"]),
    ".webm": (_EVEN, ["-c:v", "libvpx-vp9", "-crf", "24", "-b:v", "0"]),
    ".gif": ("split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none", []),
}


class MovieError(OSError):
    """No film was made; the text says what is missing, or what ffmpeg said. An earlier film is unchanged."""


@dataclass(frozen=True)
class Movie:
    """A film to make. path : of its file. size : of a frame, in pixels. rate : frames per second.

    camera : as the option of pipelines. fields : the first one is shown, where a picture has it; compute time
    where none was given.
    """

    path: Path
    size: tuple[int, int] = (1920, 1080)
    rate: float = 4.0
    camera: str = ""
    fields: Sequence[str] = ()

    def check(self) -> None:
        """Raises MovieError, NotOursError or ImagesError, before anything is drawn, if there is no film."""
        if self.path.suffix.lower() not in ENCODING:
            endings = ", ".join(ENCODING)
            raise MovieError(f"{self.path} has no ending of a film; end it in one of {endings}.")
        if self.path.is_dir() or not self.path.resolve().parent.is_dir():
            raise MovieError(f"{self.path} is no place for a file; give one in a folder that exists.")
        check_new_file(self.path)
        if shutil.which("ffmpeg") is None:
            raise MovieError(
                "a film needs ffmpeg, which is not in PATH; install the Debian package ffmpeg, or draw the "
                "steps as images (--images --steps all)."
            )
        check_drawing()

    def make(
        self,
        directory: Path,
        description: dict[str, Any],
        progress: Callable[[], None] = lambda: None,
        below: Below | None = None,
    ) -> int:
        """Makes the film of the pictures in `directory`; returns its number of frames.

        description : pictures.json. progress : is called after each image; a frame has `n_pictures` of them.
        below : left out in a film that is too low for it. Raises MovieError or ImagesError.
        """
        shown = self._layers(description)
        low = round(BELOW * self.size[1]) if below else 0
        low = low if low >= LEAST_BELOW else 0
        width, height = self.size[0] // len(shown), self.size[1] - low
        steps = description["steps"]
        images = [
            {
                **{"layer": layer, "field": field, "focus": None, "static": False, "steps": steps},
                "files": [f"{number}_{place:06d}.png" for place in range(len(steps))],
            }
            for number, (layer, field) in enumerate(shown)
        ]
        with tempfile.TemporaryDirectory(prefix="perfield-movie-") as place:
            look = {"size": f"{width}x{height}", "camera": self.camera, "one_scale": True}
            draw_images(directory, images, progress, folder=Path(place), look=look)
            if low:
                files = [Path(place, f"below_{number:06d}.png") for number in range(len(steps))]
                below((len(shown) * width, low), files)
            frames = [str(Path(place, f"{number}_%06d.png")) for number in range(len(shown))]
            self.join(frames, str(Path(place, "below_%06d.png")) if low else "")
        return len(steps)

    def field(self, description: dict[str, Any]) -> tuple[str, tuple[float, float] | None]:
        """The field that the film shows, and both ends of its colours; None where it names things."""
        layer, field = self._layers(description)[0]
        scale = description["layers"][layer]["arrays"][field]["scale"]
        return field, scale and tuple(scale)

    def n_pictures(self, description: dict[str, Any]) -> int:
        """How many pictures are side by side in a frame."""
        return len(self._layers(description))

    def join(self, frames: Sequence[str], below: str = "") -> None:
        """Joins numbered images to the film. frames : their paths, with %06d, for each picture in a frame.
        below : of the images below them; "": there are none."""
        look, options = ENCODING[self.path.suffix.lower()]
        named = "".join(f"[{number}:v]" for number in range(len(frames)))
        joined = f"{named}hstack=inputs={len(frames)}" if len(frames) > 1 else f"{named}null"
        joined += f"[above];[above][{len(frames)}:v]vstack" * bool(below)
        command = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error"]
        for path in [*frames, *filter(None, [below])]:
            command += ["-framerate", f"{self.rate:g}", "-i", path]
        command += ["-filter_complex", f"{joined},{look}", *options]
        # Absolute, else ffmpeg takes what is before a colon for a protocol.
        with new_file(self.path.absolute()) as film:
            command.append(str(film))
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                said = "\n".join(done.stderr.strip().splitlines()[-4:])
                raise MovieError(f"ffmpeg made no {self.path} and ended with {done.returncode}:\n{said}")

    def _layers(self, description: dict[str, Any]) -> list[tuple[str, str]]:
        """Layer and field of each picture in a frame. Raises MovieError if there is none."""
        layers = description["layers"]
        wanted = [
            *array_names(description, self.fields)[:1],
            *pair_of(description)[:1],
            "step_time_s",
            "rank",
        ]
        found = []
        for picture in PICTURES:
            shown = ((layer_of(layers, picture, field), field) for field in wanted)
            found += [next((pair for pair in shown if pair[0]), None)]
        if not any(found):
            raise MovieError(
                "these pictures show no field that a film could; `perfield render RUN` lists why."
            )
        return [pair for pair in found if pair]
