# SPDX-License-Identifier: BSD-3-Clause
"""perfield import turns an OTF2 trace into a run directory, which all other commands read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import perfield
from perfield import bounded_child

small_traces = pytest.importorskip("small_traces", reason="the module otf2 is not installed")
RANKS, STEPS = 4, 3


@pytest.fixture(scope="module")
def ring(tmp_path_factory) -> Path:
    """The ring's anchor file."""
    return small_traces.write_ring(
        tmp_path_factory.mktemp("ring") / "trace", RANKS, STEPS, hosts=("node0", "node1")
    )


@pytest.fixture(scope="module")
def imported(ring, perfield_cli):
    """(the finished command, the run)"""
    result = perfield_cli("import", ring, "--step-region", "time_step")
    assert result.returncode == 0, result.stderr
    return result, perfield.open(result.cwd / "perfield-run")


@pytest.fixture
def copy(ring, tmp_path) -> Path:
    """A copy of the ring's trace, which a test may damage."""
    return Path(shutil.copytree(ring.parent, tmp_path / "copy")) / ring.name


def test_import_prints_its_result_and_how_to_look_at_it(imported):
    result, run = imported
    assert f"perfield-run: {STEPS} steps on {RANKS} ranks" in result.stdout
    assert "open" in result.stdout
    assert result.stderr == ""
    assert run.state == "finished"
    assert run.damage == []


def test_steps_and_regions_keep_the_times_of_the_trace(imported):
    _, run = imported
    frames = list(run.frames())
    rank = np.arange(RANKS)
    assert [frame.label for frame in frames] == [0, 1, 2]
    for number, frame in enumerate(frames):
        gap = small_traces.GAP if number else 0
        assert frame.values["step_time_s"] == pytest.approx([(small_traces.STEP + gap) * 1e-9] * RANKS)
        assert frame.values["solve_time_s"] == pytest.approx(1e-6 * (rank + 1))
        assert frame.values["time_step_count"].tolist() == [1] * RANKS
        assert frame.values["exchange_self_time_s"] == pytest.approx(
            small_traces.STEP * 1e-9 - 1e-6 * (rank + 1)
        )
    assert run.setup.values["step_time_s"] == pytest.approx([small_traces.SETUP * 1e-9] * RANKS)
    region = next(region for region in run.known_regions if region.name == "exchange")
    assert (region.file, region.line) == ("ring.c", 7)


def test_messages_have_world_ranks_on_any_communicator(imported):
    _, run = imported
    for frame in run.frames():
        rows = [(m["source"], m["target"], m["call"], m["count"], m["bytes"]) for m in frame.messages]
        assert rows == [(r, (r + 1) % RANKS, "isend", 1, 100 * (r + 1)) for r in range(RANKS)]
        assert frame.values["received_bytes"].tolist() == [100 * ((r - 1) % RANKS + 1) for r in range(RANKS)]


def test_waits_are_known_by_class_peer_and_region(imported):
    _, run = imported
    rank = np.arange(RANKS)
    waited = (small_traces.STEP - 1000 * (rank + 1) - small_traces.ISEND - 100) * 1e-9
    for frame in run.frames():
        assert frame.values["mpi_wait_time_s"] == pytest.approx(waited)
        assert frame.values["mpi_p2p_time_s"] == pytest.approx([small_traces.ISEND * 1e-9] * RANKS)
        assert frame.waits["peer"].tolist() == ((rank - 1) % RANKS).tolist()
        assert frame.waits["time_s"] == pytest.approx(waited)
        assert frame.values["exchange_mpi_time_s"] == pytest.approx(waited + small_traces.ISEND * 1e-9)


def test_values_that_a_trace_lacks_are_absent(imported):
    _, run = imported
    values = run.frame(0).values
    for name in ("resident_bytes", "cpu_user_time_s", "minor_faults", "perfield_time_s", "pu_id"):
        assert np.isnan(values[name]).all(), name
    assert values["io_read_bytes"].tolist() == [0] * RANKS  # 0, not NaN: MPI-IO is recorded


def test_run_knows_program_hosts_and_configuration(imported, ring):
    _, run = imported
    assert run.info["command"] == ["/home/user/ring", "ring.input"]
    assert run.info["imported_from"] == str(ring)
    assert run.info["configuration"]["step_region"] == "time_step"
    assert [rank["host"] for rank in run.rank_entries] == ["node0", "node0", "node1", "node1"]
    assert run.groups == {"ring": [0, 1, 2, 3]}


def test_closing_lines_omit_the_cost_of_perfield(imported, perfield_cli):
    result = perfield_cli("info", imported[1].path)
    assert "steps      3 on 4 ranks and 2 nodes" in result.stdout
    assert "waiting" in result.stdout
    assert "\nperfield " not in result.stdout


def test_topology_picture_puts_ranks_on_their_nodes(imported, perfield_cli):
    result = perfield_cli("info", imported[1].path, "--topology", "--json")
    cells = json.loads(result.stdout)["topology"]
    assert {cell["level"] for cell in cells} == {"node", "rank", "measurement"}
    assert sorted(cell["id"] for cell in cells if cell["level"] == "node") == ["node0", "node1"]
    ranks = [cell for cell in cells if cell["level"] == "rank"]
    assert len({(cell["x"], cell["y"], cell["z"]) for cell in ranks}) == RANKS


def test_import_without_step_region_is_one_frame_and_lists_candidates(ring, perfield_cli):
    result = perfield_cli("import", ring)
    assert "no steps on 4 ranks" in result.stdout
    assert "time_step (3 times)" in result.stdout
    run = perfield.open(result.cwd / "perfield-run")
    assert [frame.kind for frame in run.frames()] == ["whole"]
    assert run.frame(0).values["main_count"].tolist() == [1] * RANKS


def test_regions_option_chooses_regions(ring, perfield_cli):
    result = perfield_cli("import", ring, "--only", "sol*, exchange", "-o", "chosen")
    assert {region.name for region in perfield.open(result.cwd / "chosen").known_regions} == {
        "solve",
        "exchange",
    }


def test_configuration_applies_without_options(ring, perfield_cli, tmp_path):
    (tmp_path / "perfield.toml").write_text(
        'step_region = "time_step"\nregions = ["solve"]\nrun_directory = "x"\n'
    )
    assert perfield_cli("import", ring, cwd=tmp_path).returncode == 0
    run = perfield.open(tmp_path / "x")
    assert len(run) == STEPS
    assert {region.name for region in run.known_regions} == {"solve", "time_step"}


def test_existing_directory_is_not_changed(ring, perfield_cli, tmp_path):
    (tmp_path / "perfield-run").mkdir()
    result = perfield_cli("import", ring, cwd=tmp_path)
    assert result.stdout.startswith("perfield-run-2: ")
    assert not list((tmp_path / "perfield-run").iterdir())


def test_unknown_step_region_suggests_others_and_leaves_nothing(ring, perfield_cli):
    result = perfield_cli("import", ring, "--step-region", "timestep")
    assert result.returncode == 2
    assert "no region 'timestep'" in result.stderr
    assert "Did you mean time_step?" in result.stderr
    assert "time_step (3 times)" in result.stderr
    assert not list(result.cwd.iterdir())


@pytest.mark.parametrize("what", ["missing", "folder", "text", "no definitions"])
def test_wrong_file_gives_one_sentence(what, copy, perfield_cli, tmp_path):
    anchor = copy
    if what == "missing":
        anchor = tmp_path / "none.otf2"
    elif what == "folder":
        anchor = copy.parent
    elif what == "text":
        copy.write_text("this is not a trace\n")
    else:
        copy.with_suffix(".def").unlink()
    result = perfield_cli("import", anchor)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"perfield import: {anchor}")
    assert not list(result.cwd.iterdir())


def test_truncated_events_are_kept_with_a_warning(copy, perfield_cli):
    events = copy.parent / "traces" / "2.evt"
    events.write_bytes(events.read_bytes()[: events.stat().st_size // 2])
    result = perfield_cli("import", copy, "--step-region", "time_step")
    assert result.returncode == 0
    assert "events of rank 2" in result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert run.state == "killed"
    assert run.frame(-1).present.tolist() == [True, True, False, True]


def test_rank_without_an_event_file_is_absent(copy, perfield_cli):
    (copy.parent / "traces" / "1.evt").unlink()
    result = perfield_cli("import", copy, "--step-region", "time_step")
    assert result.returncode == 0
    assert "events of rank 1 cannot be read" in result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert run.rank_entries[1] is None
    assert run.frame(0).present.tolist() == [True, False, True, True]


def test_ranks_without_events_give_a_warning(tmp_path, perfield_cli):
    with small_traces.Writer(tmp_path / "trace", ranks=3) as trace:
        trace.inside(0, "main", 0, 5000)
    result = perfield_cli("import", trace.anchor)
    assert "2 of 3 ranks have no events and are missing in the run (rank 1, 2)" in result.stderr
    assert perfield.open(result.cwd / "perfield-run").rank_entries[1:] == [None, None]


def test_ranks_that_never_enter_the_step_give_a_warning(tmp_path, perfield_cli):
    with small_traces.Writer(tmp_path / "trace", ranks=2) as trace:
        for rank, name in enumerate(("advance", "serve")):
            trace.inside(rank, name, 0, 5000)
    result = perfield_cli("import", trace.anchor, "--step-region", "advance")
    assert "1 of 2 ranks never leave 'advance', so they have no steps (rank 1)" in result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert run.frame(0).present.tolist() == [True, False]


def test_step_region_that_is_never_left_gives_one_frame(tmp_path, perfield_cli):
    with small_traces.Writer(tmp_path / "trace", ranks=1) as trace:
        trace.region("advance")
        trace.inside(0, "main", 0, 5000)
    result = perfield_cli("import", trace.anchor, "--step-region", "advance")
    assert "no step was closed" in result.stdout
    assert [frame.kind for frame in perfield.open(result.cwd / "perfield-run").frames()] == ["whole"]


def test_trace_without_mpi_is_rank_0_of_1(tmp_path, perfield_cli):
    with small_traces.Writer(tmp_path / "alone", ranks=1, mpi=False) as trace:
        trace.inside(0, "main", 0, 5000)
    result = perfield_cli("import", trace.anchor)
    run = perfield.open(result.cwd / "perfield-run")
    assert run.n_ranks == 1
    assert run.frame(0).values["main_time_s"].tolist() == pytest.approx([5e-6])
    assert np.isnan(run.frame(0).values["mpi_time_s"]).all()


def test_missing_library_gives_a_sentence_with_its_package(ring, perfield_cli, tmp_path):
    (tmp_path / "otf2.py").write_text("raise ImportError('not for this Python')\n")
    result = perfield_cli("import", ring, env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 2
    assert "python3-otf2" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_import_trace_works_from_python(ring, tmp_path):
    from perfield.traces import import_trace

    reported = []
    done = import_trace(
        ring, tmp_path / "run", step_region="time_step", progress=lambda *n: reported.append(n)
    )
    assert (done.path, done.n_steps, done.n_ranks) == (tmp_path / "run", STEPS, RANKS)
    assert reported[-1][0] <= reported[-1][1] == done.n_events


def test_link_that_takes_the_place_of_a_folder_leads_nowhere(ring, tmp_path, monkeypatch):
    from perfield.traces.importing import import_trace
    from perfield.traces.new_run import NewRun

    (tmp_path / "home").mkdir()
    plain = NewRun.stream

    def planted(run, *of_host):
        stream = plain(run, *of_host)
        if not stream.parent.is_symlink():
            stream.parent.rmdir()
            stream.parent.symlink_to(tmp_path / "home")
        return stream

    monkeypatch.setattr(NewRun, "stream", planted)
    monkeypatch.setattr(bounded_child, "is_child", True)  # so this process reads the trace
    with pytest.raises(NotADirectoryError):
        import_trace(ring, tmp_path / "run")
    assert not list((tmp_path / "home").iterdir()) and not (tmp_path / "run").exists()


def test_hard_link_in_place_of_the_stream_is_not_appended_to(ring, tmp_path, monkeypatch):
    from perfield.traces.importing import import_trace
    from perfield.traces.new_run import NewRun

    (tmp_path / "notes").write_text("mine\n")
    plain = NewRun.stream

    def planted(run, *of_host):
        stream = plain(run, *of_host)
        if not stream.exists():
            stream.hardlink_to(tmp_path / "notes")
        return stream

    monkeypatch.setattr(NewRun, "stream", planted)
    monkeypatch.setattr(bounded_child, "is_child", True)  # so this process reads the trace
    with pytest.raises(OSError, match="Too many links"):
        import_trace(ring, tmp_path / "run")
    assert (tmp_path / "notes").read_text() == "mine\n"
