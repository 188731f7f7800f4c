# SPDX-License-Identifier: BSD-3-Clause
"""Cost of images: CPU seconds per image of 1280 x 720, after 3 s for the start.

The default images of a run of 8 ranks on 2 hosts. All CPU counts, also that of the threads and processes that
draw, so the figures hold on a busy machine, if less well.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import report

sys.path.insert(0, str(report.REPOSITORY / "tests"))  # the fake run
START_S = 3.0


def cpu_s() -> float:
    """CPU seconds of all ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints CPU and wall seconds per image."""
    import perfield
    import twin
    from perfield.output.image_plan import plan_images
    from perfield.output.images import draw_images
    from perfield.output.picture_series import PictureSeries
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.pictures.pieces import choose_pieces
    from perfield.pictures.topology_picture import topology_scene

    if shutil.which("Xvfb") is None:
        print("images need Xvfb, which is not installed", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="perfield-bench-") as folder:
        place = Path(folder)
        twin.write_run(place / "run", ranks=8, steps=40, hosts=("a", "b"))
        run = perfield.open(place / "run")
        options = GeometryOptions(pieces=choose_pieces(run))
        pictures = PictureSeries(run, list(range(20)), place, options, topology_scene(run))
        pictures.write()
        images = plan_images(pictures.description, None)
        before, began = cpu_s(), time.monotonic()
        drawn = len(draw_images(place, images))
        used, passed = cpu_s() - before, time.monotonic() - began
    print(f"{drawn} images, load average {os.getloadavg()[0]:.1f}", file=sys.stderr)
    report.figure("image of 1280 x 720: CPU after 3 s of start", [(used - START_S) / drawn], "s", target=0.4)
    report.figure("image of 1280 x 720: wall time with the start", [passed / drawn], "s", target=None)


if __name__ == "__main__":
    main()
