# SPDX-License-Identifier: BSD-3-Clause
"""Files that perfield reads beside streams, damaged: bits, cuts, splices, and values of another kind.

A reader ends with what it read, or with a sentence of perfield's own that names the file, within 2 GB.
run.json, perfield.toml, hwloc's XML, networks and indexes are in tests/faults/faults_texts.py.
    python tests/fuzz/fuzz_files.py --cases 5000 --only pictures.json
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).resolve().parent
sys.path[1:1] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "faults")]
import meaning  # noqa: E402
from mutations import mutated, mutated_bytes, read_mutated  # noqa: E402
from verdicts import reported  # noqa: E402

import perfield  # noqa: E402
from perfield import bounded_child, commands  # noqa: E402
from perfield.commands.paths import perfield_exec  # noqa: E402
from twins import twin  # noqa: E402

MEMORY = 2 << 30  # bytes beyond what the libraries take


def named(place: Path, read: Callable[[], object]) -> object:
    """What `read` returns; None if it ends with a sentence of perfield's own, which must name `place`."""
    try:
        return read()
    except Exception as error:
        own = type(error).__module__.startswith("perfield.") or type(error).__name__ == "OptionError"
        if not own and not isinstance(error, OSError):
            raise
        if str(place) not in str(error):
            raise AssertionError(f"a sentence that does not name {place.name}: {error}") from error
        return None


def changed_json(text: str, rng: random.Random) -> bytes:
    """JSON with values of other kinds, or with changes of its text."""
    if rng.random() < 0.4:
        return mutated(text, rng)
    values = json.loads(text)
    for _ in range(rng.choice((1, 1, 2))):
        meaning.change_json(values, rng)
    return json.dumps(values).encode("utf-8", "replace")


# --- pictures.json ------------------------------------------------------------------------------------------


@cache
def pictures() -> str:
    """The file that `perfield render` writes for a small run."""
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        run = twin.write_run(Path(place) / "run", ranks=3, steps=3)
        arguments = commands.parsers(["render"])[""].parse_args(
            ["render", str(run), "-o", f"{place}/pictures"]
        )
        arguments.words = None
        arguments.execute(arguments)
        return (Path(place) / "pictures" / "pictures.json").read_text()


def make_pictures(rng: random.Random, folder: Path) -> None:
    (folder / "pictures.json").write_bytes(changed_json(pictures(), rng))


def read_pictures(folder: Path) -> None:
    """Asks what the pipelines and `perfield open` ask, but draws nothing."""
    from scene import Pictures

    from perfield.commands.open import pictures_of

    pictures_of(folder)
    file = folder / "pictures.json"
    shown = named(file, lambda: Pictures(folder))
    if shown is not None:
        for layer, about in shown.description["layers"].items():
            shown.bounds(layer.partition("/")[0])
            for name in about["arrays"]:
                shown.titles(layer, name)
        named(file, lambda: (shown.layout, shown.known("geometry"), shown.array_of("t"), shown.first_field()))


# --- models of regimes and of oscillators, latencies --------------------------------------------------------


@cache
def model() -> str:
    """A pattern of a machine, as `perfield lab regimes --save` writes it."""
    from perfield.studies.regimes.model import Model
    from perfield.studies.regimes.model.machine import Machine

    two = {"start": [0.5, 0.5], "transition": [[0.9, 0.1], [0.2, 0.8]], "regime": [0, 1]}
    kept = Model("student-t", [-7.0, -5.0], [0.1, 0.2], 4.0, *two.values(), field="step_time_s")
    numbers = {"mean_s": [1e-3, 7e-3], "sd_s": [1e-4, 1e-3], "share": [0.7, 0.3], "dwell_steps": [9, 4]}
    where = {
        "hosts": ("node0",),
        "measured": "2026-01-02T03:04:05",
        "command": "./heat",
        "field": "step_time_s",
    }
    return Machine(kept, **where, reduced="", n_ranks=4, n_steps=90, **numbers).to_json()


def make_model(rng: random.Random, folder: Path) -> None:
    (folder / "m.json").write_bytes(changed_json(model(), rng))


def read_model(folder: Path) -> None:
    """As `perfield lab regimes --against` and `perfield lab inject --model` do."""
    from perfield.studies.regimes.chosen import read_saved
    from perfield.studies.regimes.injection.command import latency_model
    from perfield.studies.regimes.injection.latencies import drawn
    from perfield.studies.regimes.model.machine import Machine, compared

    file = folder / "m.json"
    saved = named(file, lambda: read_saved(file, Machine.from_json))
    if saved is not None:
        list(compared(saved, saved)), saved.name, saved.to_json(), saved.dwell_s
    found = named(file, lambda: latency_model(file))
    if found is not None:
        with np.errstate(all="ignore"):
            drawn(found[0], 2, 5, 1)


def make_latencies(rng: random.Random, folder: Path) -> None:
    from perfield.studies.regimes.injection.latencies import write_trace

    file = folder / "delays"
    write_trace(file, np.full((2, 3), 1e-3), repeats=True)
    file.write_bytes(mutated_bytes(file.read_bytes(), rng, file.read_bytes()))


def read_latencies(folder: Path) -> None:
    from perfield.studies.regimes.injection.latencies import read_trace

    named(folder / "delays", lambda: read_trace(folder / "delays"))


OSCILLATORS = """\
title = "a ring"
seed = 3
[topology]
kind = "ring"
ranks = 6
[potential]
kind = "tanh"
[program]
frequency = 6.0
[coupling]
v_p = 1.0
"""


def make_oscillators(rng: random.Random, folder: Path) -> None:
    (folder / "ring.toml").write_bytes(mutated(OSCILLATORS, rng))


def read_oscillators(folder: Path) -> None:
    from perfield.studies.oscillators.model_files import read_tables

    named(folder / "ring.toml", lambda: read_tables(folder / "ring.toml"))


@cache
def matrices() -> dict[str, bytes]:
    """The matrix of a ring of three, by name of the file."""
    from scipy.io import mmwrite
    from scipy.sparse import csr_matrix, save_npz

    files = {name: io.BytesIO() for name in ("t.mtx", "t.npz")}
    ring = csr_matrix(np.roll(np.eye(3), 1, axis=0))
    mmwrite(files["t.mtx"], ring)
    save_npz(files["t.npz"], ring)
    return {name: file.getvalue() for name, file in files.items()}


def make_matrix(rng: random.Random, folder: Path) -> None:
    name, data = rng.choice(list(matrices().items()))
    (folder / name).write_bytes(
        mutated(data.decode(), rng) if name == "t.mtx" else mutated_bytes(data, rng, data)
    )


def read_matrix(folder: Path) -> None:
    from perfield.studies.oscillators.model_files import topology_table

    (file,) = folder.iterdir()
    named(file, lambda: topology_table(file))


@cache
def result() -> bytes:
    """A result that `perfield lab oscillate -o result.nc` wrote."""
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        words = ["lab", "oscillate", "--preset", "figure-5", "-o", f"{place}/result.nc"]
        arguments = commands.parsers(["lab oscillate"])[""].parse_args(words)
        arguments.words = None
        arguments.execute(arguments)
        return (Path(place) / "result.nc").read_bytes()


def make_result(rng: random.Random, folder: Path) -> None:
    (folder / "result.nc").write_bytes(mutated_bytes(result(), rng, result()))


def read_result(folder: Path) -> None:
    from perfield.studies.oscillators.model_files import read_tables

    named(folder / "result.nc", lambda: read_tables(folder / "result.nc"))


# --- timings and records of hiding --------------------------------------------------------------------------


@cache
def timings() -> dict[str, bytes]:
    """Times of two ranks, by name of the file."""
    times = np.linspace(1e-3, 2e-3, 12).reshape(2, 6)
    files = {name: io.BytesIO() for name in ("t.npy", "t.npz")}
    np.save(files["t.npy"], times)
    np.savez(files["t.npz"], time_s=times, rank=np.arange(2), step=np.arange(6))
    table = "rank,step,time_s\n" + "".join(f"{r},{s},{times[r, s]}\n" for r in range(2) for s in range(6))
    return {name: file.getvalue() for name, file in files.items()} | {"t.csv": table.encode()}


def make_timings(rng: random.Random, folder: Path) -> None:
    name, data = rng.choice(list(timings().items()))
    (folder / name).write_bytes(mutated_bytes(data, rng, data))


def read_times(folder: Path) -> None:
    from perfield.studies.regimes.timing_files import read_timings

    (file,) = folder.iterdir()
    named(file, lambda: read_timings(file))


def make_study(rng: random.Random, folder: Path) -> None:
    from perfield.studies.hiding.matvecs import COUNTS, FIELDS, SECONDS

    kinds = [(name, "f8" if name in (*SECONDS, "alpha") else "i4") for name in FIELDS]
    file = io.BytesIO()
    np.save(file, np.zeros(4, kinds))
    reported = json.dumps(
        {"method": "cg", "blocks": "[1, 1, 2]", "latencies_injected": False, **dict.fromkeys(COUNTS, 1)}
    )
    data, text = file.getvalue(), reported.encode()
    if rng.random() < 0.7:
        data = mutated_bytes(data, rng, data)
    else:
        text = changed_json(reported, rng)
    (folder / "matvec.0.npy").write_bytes(data)
    (folder / "study.json").write_bytes(text)


def read_record(folder: Path) -> None:
    from perfield.studies.hiding.matvecs import read_study

    named(folder, lambda: read_study(folder))


# --- programs -----------------------------------------------------------------------------------------------


@cache
def program() -> bytes:
    """A small library with symbols and debug information; b"" without a compiler."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "a.c").write_text("int f(int a) { return a + 1; }\nint g(int a) { return f(a); }\n")
        words = ["cc", "-g", "-shared", "-fPIC", "-Wl,--build-id", "a.c", "-o", "a.so"]
        try:
            subprocess.run(words, cwd=place, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return b""
        return (Path(place) / "a.so").read_bytes()


def make_program(rng: random.Random, folder: Path) -> None:
    (folder / "a.so").write_bytes(mutated_bytes(program(), rng, program()))


def read_program(folder: Path) -> None:
    """Reads the symbols, as naming samples does; what is damaged names nothing."""
    from perfield.symbols.files import symbols_of

    symbols = symbols_of(str(folder / "a.so"))
    if symbols is not None:
        symbols.of([0, 0x1000, 0x1100, (1 << 64) - 1]), symbols.start_of(0x1100), symbols.build_id.encode()


# --- meshes -------------------------------------------------------------------------------------------------


def make_mesh(rng: random.Random, folder: Path) -> None:
    """Writes the body of a mesh entry whose description or numbers changed."""
    data = rng.choice(meaning.meshes())
    size = int.from_bytes(data[:4], "little")
    if rng.random() < 0.6:
        text = twin.padded(changed_json(data[8 : 8 + size].decode(), rng))
        data = len(text).to_bytes(4, "little") + data[4:8] + text + data[8 + size :]
    else:
        data = mutated_bytes(data, rng, data)
    (folder / "body").write_bytes(data)


def read_mesh(folder: Path) -> None:
    """Makes VTK's data of a block, of its ghosts and of its fields, or a sentence of it."""
    from perfield.pictures.blocks import MeshError, attach, dataset_of, owned_cells
    from perfield.run.mesh import field_names, read_block, read_fields

    body = (folder / "body").read_bytes()
    field_names(body[:100])
    block, why = read_block(0, 1, body, {})
    if block is None:
        if not why:
            raise AssertionError("a block is missing without a reason")
        return
    with contextlib.suppress(MeshError):
        made = dataset_of(block)
        owned_cells(made), made.GetBounds()
        for (_, name), field in read_fields(0, body):
            attach(made, name, field.values, field.association)


GRID = "UnstructuredGrid"


@cache
def lists() -> dict[str, str]:
    """A .pvd and a .pvtu file of two pieces, and the same for steps, by name."""
    rows = "".join(f'<DataSet timestep="{n // 2}" part="{n % 2}" file="p{n % 2}.vtu"/>' for n in range(6))
    pieces = '<PPoints><PDataArray type="Float64" NumberOfComponents="3"/></PPoints>' + "".join(
        f'<Piece Source="p{n}.vtu"/>' for n in range(2)
    )
    return {
        "a.pvd": f'<VTKFile type="Collection"><Collection>{rows}</Collection></VTKFile>',
        "a.pvtu": f'<VTKFile type="P{GRID}"><P{GRID}>{pieces}</P{GRID}></VTKFile>',
    }


PIECE = """\
<VTKFile type="UnstructuredGrid" version="1.0"><UnstructuredGrid><Piece NumberOfPoints="1" NumberOfCells="1">
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 0 0</DataArray></Points>
<Cells><DataArray type="Int64" Name="connectivity" format="ascii">0</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">1</DataArray>
<DataArray type="UInt8" Name="types" format="ascii">1</DataArray></Cells>
</Piece></UnstructuredGrid></VTKFile>
"""


def make_list(rng: random.Random, folder: Path) -> None:
    """Writes a changed list of whole pieces; VTK's readers, which read the pieces, are not perfield's."""
    name, text = rng.choice(list(lists().items()))
    (folder / name).write_bytes(mutated(text, rng))
    for n in range(2):
        (folder / f"p{n}.vtu").write_text(PIECE)


def read_list(folder: Path) -> None:
    from perfield.pictures.mesh_files import MeshFile

    file = next(path for path in folder.iterdir() if path.stem == "a")
    mesh = named(file, lambda: MeshFile(file))
    for time_s in (mesh.times or [None])[:3] if mesh is not None else ():
        named(folder, lambda at=time_s: mesh.datasets(at))


# --- traces -------------------------------------------------------------------------------------------------


@cache
def trace() -> dict[str, bytes]:
    """The files of a small trace, by name."""
    from known_runs import small_traces

    with tempfile.TemporaryDirectory() as place:
        anchor = small_traces.write_ring(Path(place) / "trace", 2, 3, hosts=("node0", "node1"))
        files = [path for path in anchor.parent.rglob("*") if path.is_file()]
        return {str(path.relative_to(anchor.parent)): path.read_bytes() for path in files}


def make_trace(rng: random.Random, folder: Path) -> None:
    # Not the anchor file: OTF2 3.0's library overruns its memory on about 1 of 1,000 damaged ones, in this
    # process.
    changed = rng.choice([name for name in trace() if not name.endswith(".otf2")])
    for name, data in trace().items():
        path = folder / "trace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mutated_bytes(data, rng, data) if name == changed else data)


def read_trace(folder: Path) -> None:
    from perfield.traces.importing import import_trace

    bounded_child.is_child = True  # so this process reads the trace
    (anchor,) = (folder / "trace").glob("*.otf2")
    made = named(folder, lambda: import_trace(anchor, folder / "run", step_region="time_step"))
    if made is not None:
        run = perfield.open(made.path)
        for frame in run.frames():
            dict(frame.values)


# --- notes of staged files ----------------------------------------------------------------------------------


@cache
def measured_run() -> dict[str, bytes]:
    """The files of a small run, by path."""
    with tempfile.TemporaryDirectory() as place:
        run = twin.write_run(Path(place) / "run", ranks=1, steps=1)
        facts = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(facts, indent=2) + "\n")  # as perfield-exec, which reads it
        return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def make_staged(rng: random.Random, folder: Path) -> None:
    """Writes a run whose files lie on its node, as a note says; files, note or folder changed."""
    name = "node0-staged-1"
    there = folder / "node" / f"perfield-{twin.RUN_ID:016x}-{name}"
    for room in (there, folder / "run" / "stream", folder / "run" / "mesh", folder / "home"):
        room.mkdir(parents=True, mode=0o700)
    for path, data in measured_run().items():
        if not path.endswith(".pf"):
            (folder / "run" / path).write_bytes(data)
            continue
        changed = mutated_bytes(data, rng, data) if rng.random() < 0.3 else data
        (there / f"{Path(path).parent}.pf").write_bytes(changed)
        if rng.random() < 0.1:
            (folder / "run" / Path(path).parent / f"{name}.pf").write_bytes(changed)
    for file in (there / "notes", folder / "home" / "stream.pf"):
        file.write_text("the user's")
    if rng.random() < 0.2:
        there.chmod(rng.choice((0o777, 0o770, 0o720)))
    if rng.random() < 0.2:
        (there / "mesh.pf").unlink(missing_ok=True)
        rng.choice((os.mkfifo, lambda path: path.symlink_to(folder / "home" / "stream.pf")))(
            there / "mesh.pf"
        )
    leads = rng.choice((there, there, there, folder / "home", folder / "node" / ".." / "home", Path("home")))
    note = json.dumps({"host": "node0", "directory": str(leads)}).encode()
    if rng.random() < 0.5:
        note = changed_json(note.decode(), rng)
    odd = ("", "../x", "x" * 200, "a b\n", "\udc80")
    name = rng.choice(odd).replace("/", "") if rng.random() < 0.1 else name
    (folder / "run" / "stream" / f".staged-{name}").write_bytes(note)


def read_staged(folder: Path) -> None:
    """Moves the files into the run; each stream is still in one of both places, and all else where it was."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    files = {path: path.read_bytes() for path in found}
    words = [str(perfield_exec()), "--collect", str(folder / "run")]
    ended = subprocess.run(words, cwd=folder, capture_output=True, timeout=60, check=False)
    if ended.returncode not in (0, 1) or (ended.returncode and not ended.stderr):
        raise AssertionError(f"ended with {ended.returncode}: {ended.stderr!r}")
    for path, data in files.items():
        if path.suffix == ".pf" and path.parent.parent.name == "node":
            room, (note,) = path.stem, [one for one in files if one.name.startswith(".staged-")]
            moved = folder / "run" / room / f"{note.name.removeprefix('.staged-')}.pf"
            if not any(place.is_file() and place.read_bytes() == data for place in (path, moved)):
                raise AssertionError(f"{path.name} is lost: {ended.stdout!r} {ended.stderr!r}")
        elif not path.name.startswith(".staged-") and path.read_bytes() != data:
            raise AssertionError(f"{path} was changed")


# --- the fuzzer ---------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """make(rng, folder) writes files that read(folder) reads. needs : what is made once, beforehand."""

    make: Callable[[random.Random, Path], None]
    read: Callable[[Path], None]
    needs: Callable[[], object] | None = None


KINDS = {
    "pictures.json": Kind(make_pictures, read_pictures, pictures),
    "model of regimes": Kind(make_model, read_model, model),
    "latencies": Kind(make_latencies, read_latencies),
    "oscillators": Kind(make_oscillators, read_oscillators),
    "matrix": Kind(make_matrix, read_matrix, matrices),
    "result": Kind(make_result, read_result, result),
    "timings": Kind(make_timings, read_times),
    "record of hiding": Kind(make_study, read_record),
    "program": Kind(make_program, read_program, program),
    "mesh": Kind(make_mesh, read_mesh, meaning.meshes),
    "list of mesh files": Kind(make_list, read_list),
    "note of staged files": Kind(make_staged, read_staged, measured_run),
    "OTF2 trace": Kind(make_trace, read_trace, trace),
}


def is_here(name: str) -> str:
    """Why a kind cannot be tried here; "" if it can."""
    if name == "pictures.json":
        sys.path.append(str(FOLDER.parents[1] / "catalyst_scripts"))
        try:
            import scene  # noqa: F401
        except ImportError:
            return "VTK's Python modules are not installed"
    if name == "OTF2 trace" and importlib.util.find_spec("otf2") is None:
        return "the module otf2 is not installed"
    return "" if name != "program" or program() else "no C compiler is here"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=5000, help="of each kind of file (default 5000)")
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind; may be repeated")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="of an earlier run")
    given = parser.parse_args()
    print(f"fuzz_files.py: --seed {given.seed}", flush=True)
    os.environ["MPLBACKEND"] = "Agg"
    good = True
    for name in given.only or KINDS:
        kind = KINDS[name]
        if why := is_here(name):
            print(f"skipped  {name}: {why}", flush=True)
            continue
        if kind.needs is not None:
            kind.needs()
        with tempfile.TemporaryDirectory() as place:  # loads the libraries before the limit on memory
            kind.make(random.Random(0), Path(place))
            with contextlib.suppress(Exception):
                kind.read(Path(place))
        found = read_mutated(kind.make, kind.read, given.cases, given.seed, (), MEMORY)
        good &= reported(name, "files", found)
    return not good


if __name__ == "__main__":
    sys.exit(main())
