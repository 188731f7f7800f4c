# SPDX-License-Identifier: BSD-3-Clause
"""Commands that write never replace or remove what is not perfield's, nor write through a link."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from perfield.commands import COMMANDS, main, name_of
from twins import twin

# What each command writes to a folder, or to a file. RUN: a run of 4 ranks; OTHER: another.
FOLDERS = {
    "render": ("render", "RUN", "--steps", "1", "--topology", "-o"),
    "render --images": ("render", "RUN", "--steps", "1", "--topology", "--images", "-o"),
    "open": ("open", "RUN", "-o"),
    "plot": ("plot", "RUN", "--only", "imbalance", "-o"),
    "plot --phases": ("plot", "RUN", "--phases", "circle", "-o"),
    "compare": ("compare", "OTHER", "RUN", "--images", "-o"),
    "hide": ("lab", "hide", "--plots"),
    "follow": ("follow", "RUN", "-o"),
}
CHOSEN = {  # places in the run that perfield chooses itself
    "pictures": ("render", "RUN", "--steps", "1", "--topology"),
    "pictures/zoom-a": ("render", "RUN", "--steps", "1", "--zoom", "a"),
    "pictures/plots": ("plot", "RUN", "--only", "imbalance"),
    "pictures/compared-with-other": ("compare", "OTHER", "RUN", "--images"),
    "follow": ("follow", "RUN"),
}
FILES = {
    "render --film": ("film.mp4", "render", "RUN", "--steps", "1", "--topology", "--film"),
    "report": ("page.html", "report", "RUN", "--no-pictures", "-o"),
    "plot": ("plot.png", "plot", "RUN", "--only", "imbalance", "-o"),
    "plot --phases": ("film.gif", "plot", "RUN", "--phases", "circle", "-o"),
    "scaling": ("plot.png", "scaling", "RUN", "OTHER", "-o"),
    "rhythm --plot": ("plot.png", "lab", "rhythm", "RUN", "--plot"),
    "rhythm": ("data.nc", "lab", "rhythm", "RUN", "--output"),
    "oscillate --plot": ("plot.png", "lab", "oscillate", "--plot"),
    "oscillate": ("data.nc", "lab", "oscillate", "--output"),
    "regimes": ("model.json", "lab", "regimes", "RUN", "--save"),
    "placement": ("ranks.txt", "placement", "RUN", "--rankfile"),
    "balance": ("mesh.graph", "balance", "RUN", "--force", "--metis"),
    "export": ("steps.pftrace", "export", "RUN", "--to", "perfetto", "-o"),
    "hide --html": ("page.html", "lab", "hide", "--html"),
    "inject": ("trace", "lab", "inject", "--model", "model.json", "--trace"),
    "plugin": ("plugin.xml", "setup", "plugin", "-o"),
    "demo": ("perfield-demo", "demo"),
}
# Without a place to name: they write nothing, or a new run directory, whose name is never taken.
OTHERS = {
    "doctor",
    "run",
    "info",
    "steps",
    "fields",
    "serve",
    "lab sliders",
    "setup collect",
    "setup completions",
    "import",
    "setup env",
    "setup config",
    "setup paths",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A folder with two runs."""
    folder = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(("run", "other"), 1):
        twin.write_run(folder / name, ranks=4, steps=12, hosts=("a", "b"), run_id=number)
    return folder


@pytest.fixture
def place(runs, tmp_path, monkeypatch) -> Path:
    """The folder in which a command runs, with both runs and a folder of the user's."""
    for name in ("run", "other"):
        shutil.copytree(runs / name, tmp_path / name)
    for name in ("geometry/wing.stl", "images/01_photo.png", "topology/notes.txt", "messages/mail"):
        (tmp_path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / name).write_text(f"the user's {name}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERFIELD_RUN_DIRECTORY", "run")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    """Each file and link below a folder, and what it holds."""
    return {
        str(path.relative_to(folder)): f"-> {path.readlink()}"
        if path.is_symlink()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def refused(capfd, words, *places: str) -> None:
    """The command names a place in a sentence, and its exit code is 2."""
    code = main([{"RUN": "run", "OTHER": "other"}.get(word, word) for word in words])
    said = capfd.readouterr().err.splitlines()
    said = [line for line in said if not line.startswith("perfield: using")]
    assert code == 2 and len(said) == 1 and any(place in said[0] for place in places), said


def test_each_command_that_writes_is_tried_here():
    tried = {name_of(words) for words in (*FOLDERS.values(), *CHOSEN.values())}
    tried |= {name_of(words[1:]) for words in FILES.values()}
    assert tried | OTHERS == set(COMMANDS) and not tried & OTHERS


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("planted", ["a folder of the user's", "a link to it"])
def test_folder_of_the_user_is_left_as_it_is(place, capfd, name, planted):
    target = "home"
    if planted == "a link to it":
        (place / "link").symlink_to("home")
        target = "link"
    before = contents(place / "home")
    refused(capfd, (*FOLDERS[name], target), target)
    assert contents(place / "home") == before


@pytest.mark.parametrize("chosen", CHOSEN)
def test_places_in_a_run_are_no_links(place, capfd, chosen):
    for part in (Path(chosen), *Path(chosen).parents[:-1]):
        target = place / "run" / part
        target.parent.mkdir(exist_ok=True)
        target.symlink_to(place / "home")
        before = contents(place / "home")
        refused(capfd, CHOSEN[chosen], str(part))
        assert contents(place / "home") == before and target.is_symlink()
        target.unlink()
        shutil.rmtree(place / "run/pictures", ignore_errors=True)


@pytest.mark.parametrize("linked", ["geometry", "topology", "messages", "images"])
def test_links_in_a_copied_run_lead_nowhere(place, capfd, linked):
    words = ("render", "RUN", "--steps", "1")
    assert main(["render", "run", "--steps", "1"]) == 0
    capfd.readouterr()
    shutil.rmtree(place / "run/pictures" / linked, ignore_errors=True)
    (place / "run/pictures" / linked).symlink_to(place / "home")
    before = contents(place / "home")
    refused(capfd, (*words, "--images") if linked == "images" else words, linked)
    assert contents(place / "home") == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("planted", ["a link", "a link to nothing", "a folder"])
def test_named_files_are_no_links_and_no_folders(place, capfd, name, planted):
    file, *words = FILES[name]
    program = ["-n", "1", "true"] if name == "inject" else []
    if planted == "a folder":
        if (name, planted) in (("plot", "a folder"), ("plot --phases", "a folder")):
            pytest.skip("a folder of that name is one for plots")
        (place / file).mkdir()
    else:
        (place / file).symlink_to("home/topology/notes.txt" if planted == "a link" else "home/new")
    before = contents(place / "home")
    refused(capfd, (*words, file, *program), file)
    assert contents(place / "home") == before and ((place / file).is_symlink() or (place / file).is_dir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("chosen", [*CHOSEN, "analysis"])
def test_run_of_another_user_is_read_and_left_as_it_is(place, capfd, monkeypatch, chosen):
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    run = place / "run"
    for path in (run, *run.rglob("*")):
        os.chown(path, 12345, -1, follow_symlinks=False)
    before = contents(run)
    refused(capfd, CHOSEN.get(chosen, ("report", "RUN", "--no-pictures")), "belongs to user 12345")
    assert main(["info", "run"]) == 0
    assert contents(run) == before and not (run / chosen).exists()
    (kept,) = (place / "cache/perfield").iterdir()  # for indexes
    assert kept.stat().st_mode & 0o077 == 0


def test_page_of_the_user_is_left_as_it_is(place, capfd):
    page = place / "run/analysis/report.html"
    words = ("report", "run", "--no-pictures")
    assert main([*words]) == main([*words]) == 0  # perfield's own is replaced
    page.write_text("the user's notes on it")
    capfd.readouterr()
    refused(capfd, words, "report.html was not written by perfield, or was changed since")
    assert page.read_text() == "the user's notes on it"


def test_rendering_again_replaces_perfields_files_alone(place, capfd):
    assert main(["render", "run", "--steps", "1:5"]) == 0
    (place / "run/pictures/geometry/mine.vtu").write_text("the user's")
    (place / "run/pictures/todo.txt").write_text("the user's")
    assert main(["render", "run", "--steps", "7"]) == 0
    left = sorted(path.name for path in (place / "run/pictures/geometry").iterdir())
    assert left == ["mine.vtu", "step_000006", "step_000006.vtm"]
    assert (place / "run/pictures/todo.txt").read_text() == "the user's"


def test_pictures_without_a_list_are_left_as_they_are(place, capfd):
    assert main(["render", "run", "--steps", "1"]) == 0
    (place / "run/pictures/.perfield-files").unlink()  # as an earlier version left them
    before = contents(place / "run/pictures")
    capfd.readouterr()
    refused(capfd, ("render", "RUN", "--steps", "2"), "run/pictures is not empty")
    assert contents(place / "run/pictures") == before


def test_plots_and_comparisons_come_before_or_after_pictures(place, capfd):
    assert main(["plot", "run", "--only", "imbalance"]) == 0
    assert main(["render", "run", "--steps", "1", "--topology"]) == 0
    assert main(["plot", "run", "--only", "imbalance"]) == 0
    assert (place / "run/pictures/plots/imbalance.png").exists()
