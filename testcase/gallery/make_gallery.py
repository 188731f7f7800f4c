# SPDX-License-Identifier: BSD-3-Clause
"""Makes the gallery: runs, their pictures, and a page for each figure of the dissertation.

`python make_gallery.py FOLDER [NUMBER ...]`: all pages, or those of some figures. What an earlier call made
is kept; remove a folder in FOLDER/runs to make a run anew. Start at FOLDER/index.md.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import regimes
import rhythm
import runs
from pages import PAGES as DISSERTATION
from pages import Page, Panel

HERE = Path(__file__).resolve().parent
DRAWING = ("make_gallery.py", "draw.py")
PLOTTED = {"rhythm": rhythm, "regimes": regimes}  # layer -> the module that draws its pages with matplotlib
PAGES = (*DISSERTATION, *rhythm.PAGES, *regimes.PAGES)
MOST_LINES = 30_000
LINES = ("periodic", "from 0", "heaviest")  # options of panels that change the lines of a picture
INDEX = """# Gallery

Pages in the order of the figures of R. Falcão do Couto Alves, *In Situ Visualization of Performance Data in
Parallel CFD Applications* (dissertation, Technische Universität Dresden), whose captions say what they show.
Both sides of a page have the same camera, and the same colours where they show the same unit.

Pages O.1 to O.9 are figures of A. Afzal, G. Hager, G. Wellein, *Exploring metrics for analyzing dynamic
behavior in MPI programs via a coupled-oscillator model*, from perfield's own model; then come five measured
programs beside it.

Pages R.1 to R.13 are figures of M. Heldman, J. Rudi, J. Bessac, *Statistical Treatment of Variable MPI
Latencies and MPI-Communication Hiding for Matrix-Free Finite Element Operators*: from a model, and measured
where two ranks can show it. Each image says which.

| figure | page | what to see |
| --- | --- | --- |
"""


def say(text: str) -> None:
    print(f"gallery: {text}", flush=True)


@dataclass
class Work:
    """A page to make. made : its runs. jobs : its images, for `draw.py`. reason : why there is no page."""

    page: Page
    made: list[Path | None] = field(default_factory=list)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""


def make_pages(pages: Sequence[Page], folder: Path) -> list[str]:
    """Makes pages in a folder; returns the numbers of those that cannot be made here."""
    works = [Work(page, reason=page.why_not) for page in pages]
    for work in works:
        with _reporting(work):
            panels = work.page.panels if not work.reason else ()
            work.made = [made_run(panel, folder) for panel in panels]
    missing = [work for work in works if work.reason]
    works = [work for work in works if not work.reason and not is_made(work, folder)]
    for work in works:
        with _reporting(work):
            say(f"pictures of page {work.page.number}: {work.page.title}")
            work.jobs = jobs_of(work, folder)
    draw([job for work in works for job in work.jobs])
    for work in works:
        broken = [job for job in work.jobs if not Path(job["file"]).exists()]
        if broken and not work.reason:
            work.reason = "; ".join(job.get("error", "ParaView did not draw it") for job in broken)
    for work in [*missing, *works]:
        page = work.page
        (folder / f"{page.number}.md").write_text(text_of(page, work.reason, folder), encoding="utf-8")
        if work.reason:
            mark_of(page, folder).unlink(missing_ok=True)
            say(f"page {page.number} was not made: {work.reason}")
        else:
            mark_of(page, folder).write_text(fingerprint(page, work.made))
    return [work.page.number for work in [*missing, *works] if work.reason]


def made_run(panel: Panel, folder: Path) -> Path | None:
    """The run of a panel, made if need be; None for a model, which needs none."""
    return runs.make(panel.run, folder / "runs" / panel.run, say) if panel.run else None


@contextlib.contextmanager
def _reporting(work: Work) -> Iterator[None]:
    """Turns the errors that a page may meet into the reason why it is not made."""
    try:
        yield
    except (runs.NotMadeError, LookupError, ValueError, OSError, RuntimeError) as error:
        work.reason = str(error) or type(error).__name__


def mark_of(page: Page, folder: Path) -> Path:
    """The file that says what a page was made from."""
    return folder / f".{page.number}.made"


def is_made(work: Work, folder: Path) -> bool:
    """Whether an earlier call made the same page from the same runs."""
    mark = mark_of(work.page, folder)
    return mark.exists() and mark.read_text() == fingerprint(work.page, work.made)


def fingerprint(page: Page, made: Sequence[Path | None]) -> str:
    """What a page is made from: its row of the table, its runs, and how they are drawn."""
    stamps = [(run.parent / "made.json").stat().st_mtime_ns for run in made if run is not None]
    plots = Path(str(plotted(page).__file__)).read_text() if plotted(page) else ""
    return hashlib.sha256(json.dumps([asdict(page), stamps, how_drawn(), plots]).encode()).hexdigest()


def plotted(page: Page) -> ModuleType | None:
    """The module that draws a page with matplotlib; None where ParaView does."""
    return PLOTTED.get(page.panels[0].layer) if page.panels else None


def how_drawn() -> str:
    """A number that changes with the programs that write and draw pictures here."""
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in DRAWING)).hexdigest()


def image_of(page: Page, number: int) -> str:
    module = plotted(page)
    ending = module.ending(page.panels[number]) if module else "png"
    return f"{page.number}-{'abcdef'[number]}.{ending}"


def text_of(page: Page, reason: str, folder: Path) -> str:
    """The page in Markdown."""
    lines = [f"# {page.number} {page.title}", "", f"**What to see:** {page.see}", ""]
    if reason:
        lines += [f"This page was not made: {reason.strip()}", ""]
    else:
        images = [f"![{panel.words}]({image_of(page, n)})" for n, panel in enumerate(page.panels)]
        if plotted(page):  # wide plots, one below the other
            for panel, image in zip(page.panels, images):
                lines += [f"## {panel.words}", "", image, ""]
            lines += [plotted(page).note(page), ""]
        else:
            lines += ["| " + " | ".join(panel.words for panel in page.panels) + " |"]
            lines += ["| " + " | ".join("---" for _ in page.panels) + " |"]
            lines += ["| " + " | ".join(images) + " |", ""]
        for run in dict.fromkeys(panel.run for panel in page.panels if panel.run):
            lines.append(f"Run `{run}`: {runs.described(folder / 'runs' / run)}.")
    if page.stands_for:
        lines.append(f"In the dissertation: {page.stands_for}.")
    lines += ["", "[all pages](index.md)", ""]
    return "\n".join(lines)


# --- pictures -----------------------------------------------------------------------------------------------


def pictures_of(run_path: Path, panel: Panel) -> Path:
    """Writes the pictures of a run for ParaView, with all that pages show of it; returns their folder.

    The panel's options choose the lines. Pictures of an earlier call are kept.
    """
    lines = [option for option in panel.options if option in LINES]
    folder = run_path.parent / "-".join(["pictures", *lines]).replace(" ", "-")
    panels = [panel for page in PAGES for panel in page.panels if panel.run == run_path.parent.name]
    fields = sorted({field.rpartition("/")[2] for panel in panels for field in panel.fields} - {""})
    focus = tuple(sorted({panel.rank for panel in panels if panel.layer == "focus"}))
    words = sorted({panel.step for panel in panels})
    wanted = json.dumps([fields, focus, words, how_drawn()])
    mark = folder / "wanted.json"
    if mark.exists() and mark.read_text() == wanted:
        return folder
    import numpy as np

    import perfield
    from perfield.output.picture_series import PictureSeries
    from perfield.output.survey import survey
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.pictures.line_choice import LineChoice
    from perfield.pictures.pieces import choose_pieces
    from perfield.pictures.topology_picture import topology_scene
    from perfield.pictures.zoom import zoom

    run = perfield.open(run_path)
    surveyed = survey(run, fields)
    geometry = None
    if any(panel.layer not in ("topology", "matrix") for panel in panels):
        geometry = GeometryOptions(choose_pieces(run, None), focus=focus)
    senders = np.arange(run.n_ranks) == 0 if "from 0" in lines else None
    most = 2 * run.n_ranks if "heaviest" in lines else MOST_LINES
    choice = LineChoice(most, senders=senders, words="lines from rank 0" if "from 0" in lines else "")
    _, chosen = opened(run_path)
    steps = sorted({chosen[word] for word in words})
    placement = None
    if senders is not None:
        everywhere = topology_scene(run, overview=False).placement
        placement = zoom(everywhere, senders, map(run.frame, steps)).placement
    scene = topology_scene(run, placement, periodic_BC="periodic" in lines, overview=False, lines=choice)
    folder.mkdir(parents=True, exist_ok=True)
    PictureSeries(run, steps, folder, geometry, scene, surveyed).write()
    mark.write_text(wanted)
    return folder


def chosen_steps(run: Any, surveyed: Any) -> dict[str, int]:
    """The frame of each word of a panel's `step`."""
    import numpy as np

    absent = np.full(run.n_ranks, np.nan)
    written, longest = [], []
    for frame in run.frames():
        written.append(np.nansum(frame.values.get("io_write_bytes", absent)))
        longest.append(np.nan_to_num(frame.values.get("compute_time_s", absent)).max())
    words = {"typical": surveyed.kinds.typical or 0, "last": len(run) - 1}
    return words | {"output": int(np.argmax(written)), "calm": int(np.argmin(longest))}


def jobs_of(work: Work, folder: Path) -> list[dict[str, Any]]:
    """A page's images as `draw.py` takes them; draws matrices at once."""
    jobs = []
    for number, (panel, run_path) in enumerate(zip(work.page.panels, work.made)):
        target = folder / image_of(work.page, number)
        target.unlink(missing_ok=True)
        if panel.layer in PLOTTED:
            PLOTTED[panel.layer].draw(panel, run_path, target)
        elif panel.layer == "matrix":
            draw_matrix(panel, run_path, target)
        else:
            jobs.append(described(panel, run_path, target))
    share(jobs)
    return jobs


def draw(jobs: Sequence[dict[str, Any]]) -> None:
    """Draws images with ParaView, in one process. A job whose image fails gets the "error"."""
    from perfield.output.images import display

    if not jobs:
        return
    with display() as number, tempfile.TemporaryDirectory(prefix="perfield-gallery-") as place:
        reported = Path(place, "job.json")
        reported.write_text(json.dumps({"panels": jobs}), encoding="utf-8")
        command = [sys.executable, str(HERE / "draw.py"), str(reported)]
        environment = {**os.environ, "DISPLAY": number}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        by_file = {job["file"]: job for job in jobs}
        with subprocess.Popen(command, env=environment, text=True, errors="replace", **pipes) as process:
            for line in process.stdout:
                file, _, error = line.rstrip("\n").partition("\t")
                if file in by_file and error:
                    by_file[file]["error"] = error
                elif file in by_file:
                    say(f"drew {Path(file).name}")


def described(panel: Panel, run_path: Path, target: Path) -> dict[str, Any]:
    """A panel as `draw` takes it, with the colours and bounds of its own pictures."""
    pictures = pictures_of(run_path, panel)
    about = json.loads((pictures / "pictures.json").read_text(encoding="utf-8"))
    number, shown = chosen_frame(panel, run_path)
    step = next(step for step in about["steps"] if step["frame"] == number)
    mode = "topology" if panel.layer == "topology" else "geometry"
    boxes = [layer["bounds"] for name, layer in about["layers"].items() if name.startswith(mode)]
    return {
        **asdict(panel),
        "pictures": str(pictures),
        "time": step["shown_at"],
        "line": f"{panel.run}, {step['title']}",
        "boxes": [box for box in boxes if box],
        "arrays": {
            field: {**array_of(about, mode, field), **peak_of(shown, field)}
            for field in panel.fields
            if field
        },
        "scales": {},
        "file": str(target),
    }


def chosen_frame(panel: Panel, run_path: Path) -> tuple[int, Any]:
    """The frame that a panel shows: its number, and itself."""
    run, chosen = opened(run_path)
    return chosen[panel.step], run.frame(chosen[panel.step])


@functools.cache
def opened(run_path: Path) -> tuple[Any, dict[str, int]]:
    """A run, and its frame of each word of a panel's `step`; read once."""
    import perfield
    from perfield.output.survey import survey

    run = perfield.open(run_path)
    return run, chosen_steps(run, survey(run))


def peak_of(frame: Any, field: str) -> dict[str, float]:
    """The largest value of a field of ranks or of messages in a frame, as "peak"; nothing of other fields."""
    import numpy as np

    from perfield.pictures.lines import pairs_of

    layer, _, name = field.rpartition("/")
    known = pairs_of(frame).values if layer == "messages" else frame.values
    values = known.get(name)
    if layer in ("", "measurements", "messages") and values is not None and np.isfinite(values).any():
        return {"peak": float(np.nanmax(values))}
    return {}


def array_of(about: Mapping[str, Any], mode: str, field: str) -> dict[str, Any]:
    """The description of an array. Raises LookupError if the pictures lack it."""
    layer, _, name = f"{mode}/{field}".rpartition("/")
    arrays = about["layers"].get(layer, {}).get("arrays", {})
    if name not in arrays:
        raise LookupError(f"the pictures have no {name} in {layer}")
    return arrays[name]


def share(jobs: Sequence[dict[str, Any]]) -> None:
    """Gives panels of the same mode the same camera, and arrays of the same unit the same colours."""
    from perfield.output.scales import round_end

    def camera(job: dict[str, Any]) -> tuple[Any, ...]:
        return job["layer"] == "topology", job["layout"], "from 0" in job["options"]

    for key in set(map(camera, jobs)):
        same = [job for job in jobs if camera(job) == key]
        boxes = [box for job in same for box in job["boxes"]]
        for job in same:
            job["boxes"] = boxes
    amounts = [
        (job, name, about) for job in jobs for name, about in job["arrays"].items() if about.get("scale")
    ]
    amounts = [amount for amount in amounts if not amount[2]["scale"][0]]  # others are the program's own
    ends: dict[str, float] = {}
    for _, _, about in amounts:
        ends[about["unit"]] = max(ends.get(about["unit"], 0.0), about.get("peak", about["range"][1]))
    for job, name, about in amounts:
        job["scales"][name] = [0.0, round_end(ends[about["unit"]], whole=about["unit"] == "1")]


def draw_matrix(panel: Panel, run_path: Path, target: Path) -> None:
    """Draws who sent to whom in a step."""
    import numpy as np
    from matplotlib import rcParams
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.figure import Figure

    from perfield.plots.style import STYLE

    run, _ = opened(run_path)
    column = panel.fields[0].removeprefix("sent_")
    sent = np.zeros((run.n_ranks, run.n_ranks))
    _, frame = chosen_frame(panel, run_path)
    known = (frame.messages["source"] >= 0) & (frame.messages["target"] >= 0)
    messages = frame.messages[known]
    np.add.at(sent, (messages["target"], messages["source"]), messages[column])
    rcParams.update(STYLE)
    figure = Figure(figsize=(12.8, 7.2), dpi=100, layout="compressed")
    axes = figure.subplots()
    shown = np.where(sent > 0, sent, np.nan)
    least, most = float(np.nanmin(shown)), float(np.nanmax(shown))
    norm = LogNorm(max(1.0, least), most) if most > 20 * least else Normalize(0.0, most)
    image = axes.imshow(shown, cmap="viridis", interpolation="nearest", norm=norm)
    axes.set_xlabel("rank that sends")
    axes.set_ylabel("rank that receives")
    axes.set_title(f"{panel.words}\n{panel.run}, step {int(frame.label)}; white: none", loc="left")
    figure.colorbar(image, ax=axes, label="bytes" if column == "bytes" else "messages")
    figure.savefig(target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the pages go; index.md there lists them")
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="figures, such as 7.1 A.2 (all)")
    arguments = parser.parse_args()
    unknown = set(arguments.numbers) - {page.number for page in PAGES}
    if unknown:
        parser.error(
            f"there is no page {', '.join(sorted(unknown))}; expected 6.1, 7.1 to 7.36, A.1 to A.4, ..."
        )
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [page for page in PAGES if not arguments.numbers or page.number in arguments.numbers]
    missing = make_pages(chosen, folder)
    rows = []
    for page in PAGES:
        if (folder / f"{page.number}.md").exists():
            see = page.see if mark_of(page, folder).exists() else "not made here; the page says why"
            rows.append(f"| {page.number} | [{page.title}]({page.number}.md) | {see} |")
    (folder / "index.md").write_text(INDEX + "\n".join(rows) + "\n", encoding="utf-8")
    say(f"{len(chosen) - len(missing)} of {len(chosen)} pages are made; start at {folder / 'index.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
