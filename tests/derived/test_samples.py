# SPDX-License-Identifier: BSD-3-Clause
"""Samples of functions in runs: which frame, rank and function they count for, and what damage does."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from perfield import _bridge
from perfield.derived import samples
from perfield.derived.observe import observe
from perfield.derived.providers.functions import Functions
from perfield.derived.samples import MOST_FUNCTIONS
from perfield.symbols.functions import MPI, NO_FILE
from twins import twin
from twins.samples_twin import MONOTONIC_NS, PERIOD_NS, module, pack_samples, write_sampled_run

MIDDLE = 0.5
FAR = {"begin": "0", "end": "f" * 20, "name": "far"}


@pytest.fixture(autouse=True)
def named(monkeypatch):
    """Files that need not exist: the function at each address is f<address>."""

    def functions_at(path, build_id, addresses):
        if not path or "libmpi" in path:
            return functions_at_file(path, build_id, addresses)
        return [[f"f{address}"] for address in addresses]

    functions_at_file = samples.functions_at
    monkeypatch.setattr(samples, "functions_at", functions_at)


def times_in(run, rank, frame, n=1):
    """n moments in a frame of a rank, on CLOCK_MONOTONIC."""
    read = run.read([frame])
    mine = read["fixed"][read["rank"] == rank][0]
    return [
        MONOTONIC_NS + int(mine["begin_ns"] + (k + MIDDLE) * (mine["end_ns"] - mine["begin_ns"]) / n)
        for k in range(n)
    ]


@pytest.fixture
def made(tmp_path):
    """made(add, **options): the run with what add(rank, writer, run) adds; the run is open without it."""

    def make(add, **options):
        bare = perfield.open(write_sampled_run(tmp_path / "bare", lambda rank, writer: None, **options))
        return perfield.open(
            write_sampled_run(tmp_path / "run", lambda rank, writer: add(rank, writer, bare), **options)
        )

    return make


def add_modules(writer, *modules):
    writer.add("modules", twin.json_body({"modules": list(modules)}), index=1)


def test_entries_are_read_as_the_twin_writes_them(tmp_path):
    random = np.random.default_rng(5)
    samples = [
        (
            int(random.integers(1, 2**50)),
            int(random.integers(0, 300)),
            random.integers(0, 2**63, 7).tolist()[: n % 8],
        )
        for n in range(200)
    ]
    path = tmp_path / "stream.pf"
    writer = twin.Writer(path, 3)
    offsets = [0]
    for part in (samples[:150], [], samples[150:]):
        offsets.append(offsets[-1] + len(writer.add("samples", pack_samples(part, 77, lost=len(part)))))
    read = _bridge.read_samples(str(path), np.array(offsets[:-1], np.uint64))
    rows = read["samples"]
    assert rows["time_ns"].tolist() == [one[0] for one in samples]
    assert rows["thread"].tolist() == [one[1] for one in samples]
    found = [read["addresses"][row["first"] : row["first"] + row["depth"]].tolist() for row in rows]
    assert found == [list(one[2]) for one in samples]
    assert set(rows["period_ns"]) == {77} and set(rows["rank"]) == {3}
    assert (read["lost"], read["damaged"]) == (200, 0)


def test_damaged_bodies_are_counted_and_left_out(tmp_path):
    good = pack_samples([(1000, 0, [1, 2, 3])] * 9)
    path = tmp_path / "stream.pf"
    writer = twin.Writer(path, 0)
    offsets = [0]
    for body in (good[:24], good[:40], good[:8] + b"\xff" * (len(good) - 8), b"\xff" * 64, good):
        body += bytes(-len(body) % 8)
        offsets.append(offsets[-1] + len(writer.add("samples", body)))
    read = _bridge.read_samples(str(path), np.array(offsets[:-1], np.uint64))
    assert read["damaged"] == 4 and len(read["samples"]) == 9


def test_samples_count_for_the_step_in_which_they_were_taken(made):
    def add(rank, writer, run):
        add_modules(writer, module("/bin/solver", 0x1000))
        moments = [
            *times_in(run, rank, 1, 3),
            *times_in(run, rank, 4),
            MONOTONIC_NS - 5,
            MONOTONIC_NS + 10**15,
        ]
        writer.add("samples", pack_samples([(moment, 0, [0x1000 + 16]) for moment in moments]))

    table = made(add).samples().compute()
    assert table[["step", "rank", "count"]].to_numpy().tolist() == [
        [1, 0, 3],
        [1, 1, 3],
        [4, 0, 1],
        [4, 1, 1],
    ]
    assert set(table["function"]) == {"f16"} and set(table["module"]) == {"/bin/solver"}
    assert table["time_s"].tolist() == pytest.approx([3 * PERIOD_NS * 1e-9] * 2 + [PERIOD_NS * 1e-9] * 2)


def test_a_library_in_the_place_of_another_counts_from_then_on(made):
    def add(rank, writer, run):
        first, second = times_in(run, rank, 1, 2)
        add_modules(writer, module("/lib/one.so", 0x1000))
        writer.add("samples", pack_samples([(first, 0, [0x1010])]))
        add_modules(writer, module("/lib/two.so", 0x1000))
        writer.add("samples", pack_samples([(second, 0, [0x1010])]))

    table = made(add).samples().compute().groupby("module")["count"].sum()
    assert table.to_dict() == {"/lib/one.so": 2, "/lib/two.so": 2}


def test_mpi_is_one_function_and_code_without_a_file_another(made):
    def add(rank, writer, run):
        add_modules(
            writer, module("/lib/libmpi.so.40", 0x1000, 0x100), module("/lib/mca_btl_x.so", 0x2000, 0x100)
        )
        places = [0x1010, 0x1020, 0x9999]
        samples = [(moment, 0, [at]) for moment, at in zip(times_in(run, rank, 2, 3), places)]
        writer.add("samples", pack_samples(samples))

    run = made(add)
    assert run.samples().compute().groupby("function")["count"].sum().to_dict() == {MPI: 4, NO_FILE: 2}


def add_functions(writer, *functions):
    listed = [{"begin": f"{begin:x}", "end": f"{begin + 16:x}", "name": name} for begin, name in functions]
    writer.add("modules", twin.json_body({"functions": listed}), index=2)


def test_functions_that_a_compiler_made_have_its_names(made):
    def add(rank, writer, run):
        first, second = times_in(run, rank, 1, 2)
        add_functions(writer, (0x5000, "one"), (0x5010, "other"))
        writer.add(
            "samples", pack_samples([(first, 0, [0x5004]), (first, 0, [0x500F]), (first, 0, [0x5010])])
        )
        add_functions(writer, (0x5008, "later"))  # its code takes the place of the first one's
        writer.add("samples", pack_samples([(second, 0, [0x5008])]))

    found = made(add).samples().compute().groupby(["function", "module"])["count"].sum()
    assert found.to_dict() == {("one", ""): 4, ("other", ""): 2, ("later", ""): 2}


def test_samples_in_the_interpreter_are_those_of_the_innermost_function_of_python(made):
    def add(rank, writer, run):
        add_modules(
            writer, module("/usr/bin/python3.13", 0x1000, 0x1000), module("/lib/numpy.so", 0x9000, 0x100)
        )
        add_functions(writer, (0x5000, "py::inner:/me/flow.py"), (0x6000, "py::outer:/me/flow.py"))
        chains = [
            [0x1010, 0x1500, 0x5008, 0x1010, 0x6008],  # the loop of the interpreter, in inner, in outer
            [0x1010, 0x6010],  # a call that ends the code of outer
            [0x1020],  # no calls are known
            [0x9010, 0x5008],  # a library, called by inner
        ]
        moments = times_in(run, rank, 1, len(chains))
        writer.add("samples", pack_samples([(at, 0, chain) for at, chain in zip(moments, chains)]))

    run = made(add)
    found = run.samples().compute().groupby(["function", "module"])["count"].sum()
    assert found.to_dict() == {
        ("inner (flow.py)", "/me/flow.py"): 2,
        ("outer (flow.py)", "/me/flow.py"): 2,
        ("f16", "/lib/numpy.so"): 2,
        ("f32", "/usr/bin/python3.13"): 2,
    }


def test_damaged_lists_of_modules_leave_code_without_a_file(made):
    def add(rank, writer, run):
        add_modules(writer, {"begin": "zz"}, {"begin": 5}, {"path": "/lib/x"}, 3)
        writer.add("modules", twin.json_body({"modules": 7, "functions": [4, {"begin": "1"}, FAR]}), index=2)
        writer.add(
            "samples",
            pack_samples([(times_in(run, rank, 2)[0], 0, [0x1010]), (times_in(run, rank, 2)[0], 0, [])]),
        )

    assert set(made(add).samples().compute()["function"]) == {NO_FILE}


def test_functions_that_matter_become_fields_and_the_rest_is_one(made):
    def add(rank, writer, run):
        if rank:
            return
        add_modules(writer, module("/bin/solver", 0x1000))
        n = 2 * MOST_FUNCTIONS
        samples = [(at, 0, [0x1000 + k]) for k in range(n) for at in times_in(run, rank, 3, 1 + (k < 5))]
        writer.add("samples", pack_samples(samples))

    run = made(add)
    frames = run.with_fields(run.all_fields.provider(Functions).names)
    values = frames.frame(3).values
    names = [name for name in values if name.startswith("sampled_")]
    assert len(names) == MOST_FUNCTIONS + 1 and "sampled_f3_time_s" in names
    assert values["sampled_f3_time_s"][0] == pytest.approx(2 * PERIOD_NS * 1e-9)
    assert values["sampled_other_functions_time_s"][0] == pytest.approx(MOST_FUNCTIONS * PERIOD_NS * 1e-9)
    assert np.isnan(values["sampled_f3_time_s"][1]), "the rank took no samples"
    assert frames.frame(2).values["sampled_f3_time_s"][0] == 0


def test_findings_get_the_time_of_functions_and_how_unsure_it_is(made):
    def add(rank, writer, run):
        add_modules(writer, module("/bin/solver", 0x1000), module("/lib/libmpi.so", 0x9000))
        samples = [(at, 0, [0x1010]) for frame in (2, 3) for at in times_in(run, rank, frame, 2 + rank)]
        writer.add("samples", pack_samples([*samples, (times_in(run, rank, 2)[0], 0, [0x9010])]))

    found = observe(made(add), ["functions"]).functions
    assert found.names == ("f16",)
    period_s = PERIOD_NS * 1e-9
    assert found.time_s[0] == pytest.approx([4 * period_s, 6 * period_s])
    assert found.variance[0] == pytest.approx([4 * period_s**2, 6 * period_s**2])


def test_a_run_without_samples_has_no_fields_of_functions(tmp_path):
    run = perfield.open(write_sampled_run(tmp_path / "run", lambda rank, writer: None))
    assert observe(run, ["functions"]).functions is None
    assert not run.has_samples and not len(run.samples().compute()) and not run.sampled.functions
    assert not run.all_fields.provider(Functions).names


def test_lost_samples_are_added_up(made):
    def add(rank, writer, run):
        writer.add("samples", pack_samples([], lost=3))

    assert made(add).sampled.lost == 6


def test_samples_of_a_running_program_grow(tmp_path):
    path = write_sampled_run(tmp_path / "run", lambda rank, writer: None)
    run = perfield.open(path)
    assert run.sampled.n_samples == 0
    writer = twin.Writer(next((path / "stream").glob("*.pf")), 0)
    writer.sequence = 1000
    writer.add("samples", pack_samples([(times_in(run, 0, 1)[0], 0, [0x10])]))
    run.refresh()
    assert run.sampled.n_samples == 1
