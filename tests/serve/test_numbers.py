# SPDX-License-Identifier: BSD-3-Clause
"""What the page is reported of a run agrees with the run: `twin.write_run` has all values in closed form."""

from __future__ import annotations

import json

import numpy as np
import pytest
from drivers.served import served

import perfield
from perfield.output.scales import round_end
from perfield.serve import look, one_rank, values
from perfield.serve.followed import Followed
from perfield.serve.packed import as_json
from twins import twin

RANKS, STEPS = 8, 10


def solve_s(rank, step):
    """Time of region `solve`, s."""
    return twin.solve_ns(rank, step) * 1e-9


@pytest.fixture(scope="module")
def about(client):
    """What /api/run says."""
    return client.json("/api/run")


def field(about, name):
    """One of the fields that /api/run says."""
    return next(field for field in about["fields"] if field["name"] == name)


def test_run_is_reported_in_columns(about):
    assert (about["n_ranks"], about["n_frames"], about["surveyed"]) == (RANKS, STEPS, STEPS)
    assert about["state"] == "finished" and not about["live"] and not about["many_ranks"]
    assert about["first_field"] == "compute_time_s"
    frames = about["frames"]
    assert all(len(column) == STEPS for column in frames.values())
    assert frames["step"] == list(range(1, STEPS + 1)) and frames["time"][3] == 2.0
    assert frames["title"][9] == "step 10, time 5, the slowest to compute"
    assert frames["title"][about["first_frame"]].endswith("a typical step")
    assert about["ranks"]["host"] == ["a"] * 4 + ["b"] * 4
    assert about["ranks"]["pus"] == [str(rank) for rank in range(RANKS)]
    assert [(own["name"], own["title"]) for own in about["own_fields"]] == [("temperature", "temperature")]
    assert about["mesh"]["versions"] == [0] and about["machine"] == {"overview": False}


def test_fields_have_titles_groups_and_the_scales_of_images(about):
    compute = field(about, "solve_time_s")
    low, high = solve_s(0, 0), solve_s(RANKS - 1, STEPS - 1)
    assert compute["range"] == pytest.approx([low, high])
    assert compute["scale"] == [0.0, round_end(high)]
    assert (compute["title"], compute["unit"], compute["group"], compute["region"]) == (
        *("solve time", "s", "region", "solve"),
    )
    groups = {name: field(about, name)["group"] for name in ("sent_bytes", "waiting_time_s", "rank")}
    assert groups == {"sent_bytes": "messages", "waiting_time_s": "waiting", "rank": "place"}
    waiting = field(about, "waiting_time_s")
    assert waiting["scale"] == [0.0, round_end(waiting["range"][1])], "its own"


def test_unusual_step_does_not_stretch_the_scale(tmp_path):
    def first_is_slow(rank, step, values):
        if step == 0:
            values["regions"][0] = twin.region_row(1, 10**9)

    path = twin.write_run(tmp_path / "perfield-run", 4, 6, change_step=first_is_slow)
    with served(path) as client:
        solve = field(client.json("/api/run"), "solve_time_s")
    assert solve["range"][1] == pytest.approx(1.0) and solve["scale"][1] < 0.01


def test_values_are_frames_by_ranks(client):
    body = client.body("/api/values?field=solve_time_s&from=2&to=5")
    found = np.frombuffer(body, "<f4").reshape(3, RANKS)
    expected = [[solve_s(rank, step) for rank in range(RANKS)] for step in (2, 3, 4)]
    assert found == pytest.approx(np.array(expected), rel=1e-6)
    assert len(client.body("/api/values?field=solve_time_s")) == 4 * RANKS * STEPS
    assert client.body("/api/values?field=solve_time_s&from=3&to=3") == b""


def test_absent_values_are_nan(tmp_path):
    path = twin.write_run(
        tmp_path / "perfield-run", 4, 3, ended=False, change_step=lambda rank, step, _: (rank, step) != (2, 1)
    )
    with served(path) as client:
        found = np.frombuffer(client.body("/api/values?field=solve_time_s"), "<f4").reshape(3, 4)
    assert np.isnan(found).tolist() == [[False] * 4, [False, False, True, False], [False] * 4]


def test_too_many_values_at_once_are_refused(client, monkeypatch):
    monkeypatch.setattr(values, "MOST_NUMBERS", 40)
    status, sentence = client.refusal("/api/values?field=solve_time_s")
    assert status == 413 and "at most 5 frames at once" in sentence


def test_heat_map_holds_the_largest_value_of_each_bin(run, monkeypatch):
    monkeypatch.setattr(values, "MOST_ROWS", 4)
    monkeypatch.setattr(values, "MOST_COLUMNS", 5)
    with served(run) as client:
        arrays, header = client.packed("/api/heat?field=solve_time_s")
    assert (header["complete"], header["ranks_per_bin"], header["frames_per_bin"]) == (True, 2, 2)
    expected = [[solve_s(2 * row + 1, 2 * column + 1) for column in range(5)] for row in range(4)]
    assert arrays["values"] == pytest.approx(np.array(expected), rel=1e-6)
    assert header["scale"][1] == round_end(solve_s(RANKS - 1, STEPS - 1))


@pytest.mark.parametrize("path", ["/api/heat?field=solve_time_s", "/api/matrix"])
def test_long_run_is_read_request_by_request(run, monkeypatch, path):
    with served(run) as client:
        expected, _ = client.packed(path)
    monkeypatch.setattr(values, "HEAT_S", 0.0)
    monkeypatch.setattr("perfield.serve.messages.MATRIX_S", 0.0)
    monkeypatch.setattr(look, "ENTRIES", 3 * RANKS)
    with served(run) as client:
        asked = [client.packed(path) for _ in range(4)]
    assert [header["complete"] for _, header in asked] == [False, False, False, True]
    for name, array in asked[-1][0].items():
        assert np.array_equal(array, expected[name])


def test_ranges_get_exact_request_by_request(run, monkeypatch):
    monkeypatch.setattr("perfield.serve.followed.READ_S", 0.0)
    monkeypatch.setattr(look, "ENTRIES", 2 * RANKS)
    with served(run) as client:
        answer = [client.json("/api/run") for _ in range(6)]
    assert [about["surveyed"] for about in answer] == [2, 4, 6, 8, 10, 10]
    assert len({about["version"] for about in answer}) == 5  # the last changed nothing
    # the first and the last frame are read first
    assert field(answer[0], "solve_time_s")["range"] == field(answer[5], "solve_time_s")["range"]


def test_unchanged_run_is_reported_in_a_word(client, about):
    assert client.json(f"/api/run?since={about['version']}") == {
        "version": about["version"],
        "unchanged": True,
    }
    assert client.json("/api/run?since=0")["n_ranks"] == RANKS


def test_messages_of_a_frame_come_heaviest_first(client):
    arrays, header = client.packed("/api/messages?frame=4&top=3")
    assert arrays["source"].tolist() == [7, 6, 5] and arrays["target"].tolist() == [0, 7, 6]
    assert arrays["bytes"].tolist() == [16000, 14000, 12000] and set(arrays["count"]) == {3}
    assert header["left_out"] == {"pairs": 5, "count": 15.0, "bytes": 30000.0}
    assert header["total"]["pairs"] == RANKS and header["unknown"]["pairs"] == 0
    assert header["in_words"] == "3 of 8 lines drawn; the rest carry 42 % of the bytes"


def test_messages_that_weigh_the_same_are_chosen_from_the_whole_run(tmp_path):
    def same(rank, step, values):
        for message in values["messages"]:
            message |= {"count": 1, "bytes": 8}

    path = twin.write_run(tmp_path / "perfield-run", 64, 1, change_step=same, mesh=False)
    with served(path) as client:
        source = client.packed("/api/messages?frame=0&top=8")[0]["source"]
    assert len(source) == 8 and source.min() < 16 and source.max() >= 48


def test_findings_and_report_are_served(client):
    cards = client.json("/api/findings")["findings"]
    assert cards and all(card["words"] and card["remedy"] for card in cards)
    assert {"kind", "cost", "chance", "frame", "field", "rank"} <= set(cards[0])
    status, page, headers = client.ask("/api/report")
    assert b"no pictures of mesh and machine" in page and b"--no-pictures" not in page
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert b"<!doctype html>" in page[:200].lower() and cards[0]["kind"].encode() in page.lower()


def test_messages_with_unknown_peers_are_distinguished(tmp_path):
    def to_nobody(rank, step, values):
        values["messages"].append({"peer": -3, "call": twin.ISEND, "count": 2, "bytes": 70})

    path = twin.write_run(tmp_path / "perfield-run", 4, 1, change_step=to_nobody)
    with served(path) as client:
        arrays, header = client.packed("/api/messages?frame=0")
        matrix, about = client.packed("/api/matrix")
    assert len(arrays["source"]) == 4 and header["unknown"]["bytes"] == 280
    assert about["unknown"]["bytes"] == 280 and matrix["bytes"].sum() == 2 * 1000 * (1 + 2 + 3 + 4)


def test_matrix_adds_frames_up_by_sender_and_receiver(client, monkeypatch):
    arrays, header = client.packed("/api/matrix?from=2&to=6")
    expected = np.zeros((RANKS, RANKS))
    for rank in range(RANKS):
        expected[rank, (rank + 1) % RANKS] = 4 * 2000 * (rank + 1)
    assert np.array_equal(arrays["bytes"], expected)
    assert (header["complete"], header["frames_read"], header["frames_wanted"]) == (True, 4, 4)
    monkeypatch.setattr("perfield.serve.messages.MOST_BINS", 4)
    binned, header = client.packed("/api/matrix?from=0&to=1")
    assert header["ranks_per_bin"] == 2 and binned["bytes"].shape == (4, 4)
    assert binned["bytes"][0].tolist() == [2000, 4000, 0, 0]


def test_rank_is_reported_with_place_partners_and_regions(client):
    answer = client.json("/api/rank?rank=5")
    assert answer["place"] == "Rank 5 on b, PU 5." and answer["host"] == "b"
    assert answer["partners"] == [
        {"rank": 6, "sent": STEPS * 12000, "received": 0, "sent_count": 30, "received_count": 0},
        {"rank": 4, "sent": 0, "received": STEPS * 10000, "sent_count": 0, "received_count": 30},
    ]
    assert answer["regions"]["names"] == ["solve", "exchange"]
    series = answer["regions"]["series"][answer["regions"]["fields"][0]]
    assert series == pytest.approx([solve_s(5, step) for step in range(STEPS)])
    assert answer["fields"]["step_time_s"][0] == pytest.approx(solve_s(7, 0) + 2e-4)
    assert answer["frames"] == list(range(STEPS))


def test_series_of_a_rank_are_read_in_parts(client, run, monkeypatch):
    whole = client.json("/api/rank?rank=3")
    monkeypatch.setattr(one_rank, "NUMBERS", RANKS * 3)  # one frame at a time
    assert json.loads(as_json(one_rank.one_rank(Followed(run).view(), 3))) == whole
    monkeypatch.setattr(one_rank, "MOST_FRAMES", 5)
    few = one_rank.one_rank(Followed(run).view(), 3)
    assert few["frames"] == [0, 2, 4, 6, 8]
    assert few["fields"]["step_time_s"] == pytest.approx(whole["fields"]["step_time_s"][::2])


def test_rank_that_never_checked_in_is_reported(tmp_path):
    def larger(rank, values):
        values["size"] = 5

    path = twin.write_run(tmp_path / "perfield-run", 4, 2, change_rank=larger)
    with served(path) as client:
        about, answer = client.json("/api/run"), client.json("/api/rank?rank=4")
    assert answer["place"] == "Rank 4 never checked in." and answer["partners"] == []
    assert "1 of 5 ranks never checked in; nothing is known of them." in about["notes"]
    assert about["ranks"]["host"][4] == "" and about["ranks"]["pus"][4] == ""


def test_numbers_are_those_of_the_frames(client, run):
    opened = perfield.open(run)
    for name in ("compute_time_s", "sent_bytes", "exchange_mpi_time_s"):
        found = np.frombuffer(client.body(f"/api/values?field={name}&from=7&to=8"), "<f4")
        assert found == pytest.approx(opened.frame(7).values[name], rel=1e-6)
