# SPDX-License-Identifier: BSD-3-Clause
"""Cost of images: CPU seconds per image of 1280 x 720, after 0.5 s for the start.

The default images of a run of 8 ranks on 2 hosts, and those of the machine of 4,096 and of 1,000,000 ranks,
which show nodes as cells. `--full` draws the machine of 4,096 ranks with a cell per rank instead. All CPU
counts, also that of the threads and processes that draw, so the figures hold on a busy machine, if less well.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import report

if TYPE_CHECKING:
    from perfield.output.picture_series import PictureSeries

sys.path.insert(0, str(report.REPOSITORY / "tests"))  # the fake run
START_S = 0.5


def cpu_s() -> float:
    """CPU seconds of all ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def drawn(what: str, pictures: PictureSeries, most: int | None, target: float) -> None:
    """Writes pictures, draws their first images, and prints CPU and wall seconds per image."""
    from perfield.output.image_plan import plan_images
    from perfield.output.images import draw_images

    pictures.write()
    images = plan_images(pictures.description, None)[:most]
    before, began = cpu_s(), time.monotonic()
    n_images = len(draw_images(pictures.directory, images))
    used, passed = cpu_s() - before, time.monotonic() - began
    print(f"{what}: {n_images} images, load average {os.getloadavg()[0]:.1f}", file=sys.stderr)
    report.figure(
        f"image of 1280 x 720, {what}: CPU after 0.5 s of start",
        [(used - START_S) / n_images],
        "s",
        target=target,
    )
    report.figure(
        f"image of 1280 x 720, {what}: wall time with the start", [passed / n_images], "s", target=None
    )


def main() -> None:
    """Prints CPU and wall seconds per image."""
    from grid_runs import GridRun

    import perfield
    from perfield.output.picture_series import PictureSeries
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.pictures.pieces import choose_pieces
    from perfield.pictures.topology_picture import topology_scene
    from twins import twin

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true")
    full = parser.parse_args().full
    if shutil.which("Xvfb") is None:
        print("images need Xvfb, which is not installed", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="perfield-bench-") as folder:
        place = Path(folder)
        twin.write_run(place / "run", ranks=8, steps=40, hosts=("a", "b"))
        run = perfield.open(place / "run")
        options = GeometryOptions(pieces=choose_pieces(run))
        pictures = PictureSeries(run, list(range(20)), place / "8", options, topology_scene(run))
        drawn("8 ranks", pictures, None, 0.4)
        sizes = {"4,096 ranks": ((16, 16, 16), 1), "1,000,000 ranks": ((100, 100, 100), 6)}
        for size, (shape, target) in sizes.items():
            if full and target > 1:
                continue
            large = GridRun(shape)
            scene = topology_scene(large, large.placement(with_switches=True), overview=not full)
            arrays = ["compute_time_s", "mpi_time_s", "isend_bytes"]
            pictures = PictureSeries(large, [0], place / size, None, scene, arrays=arrays)
            (place / size).mkdir()
            drawn(f"{'full picture, ' if full else ''}{size}", pictures, 3, target)


if __name__ == "__main__":
    main()
