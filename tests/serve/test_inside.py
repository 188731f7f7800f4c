# SPDX-License-Identifier: BSD-3-Clause
"""Links in a run directory: those that stay inside are followed, others refuse the run."""

from __future__ import annotations

import pytest
from drivers.served import served

from perfield.serve.inside import OutsideError, check
from twins import twin


@pytest.mark.parametrize(
    "name", ["run.json", "stream/x.pf", "mesh/x.pf", "machine/a.xml", "machine/network.txt"]
)
def test_link_to_outside_refuses_the_run(tmp_path, name):
    path, secret = twin.write_run(tmp_path / "perfield-run", 2, 2), tmp_path / "secret"
    secret.write_text("nobody may see this")
    (path / name).unlink(missing_ok=True)
    (path / name).symlink_to(secret)
    with pytest.raises(OutsideError, match=r"leads out of the run directory, to .*secret"):
        check(path)


def test_room_that_lies_outside_refuses_the_run(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 2, 2)
    (path / "mesh").rename(tmp_path / "elsewhere")
    (path / "mesh").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutsideError, match="mesh is a link"):
        check(path)


def test_links_inside_and_to_the_run_are_followed(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 2, 2)
    stream = next((path / "stream").iterdir())
    stream.rename(path / "kept.pf")
    stream.symlink_to("../kept.pf")
    (tmp_path / "latest").symlink_to(path)
    with served(tmp_path / "latest") as client:
        assert client.json("/api/run")["n_ranks"] == 2


def test_loop_of_links_is_refused(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 2, 2)
    (path / "mesh" / "a.pf").symlink_to("b.pf")
    (path / "mesh" / "b.pf").symlink_to("a.pf")
    with pytest.raises(OutsideError):
        check(path)


def test_link_that_comes_later_is_refused_in_a_sentence(tmp_path):
    path, secret = twin.write_run(tmp_path / "perfield-run", 2, 2), tmp_path / "secret"
    secret.write_text("nobody may see this")
    with served(path) as client:
        assert client.json("/api/run")["n_frames"] == 2
        (path / "machine" / "node0.xml").symlink_to(secret)
        status, sentence = client.refusal("/api/run")
        assert status == 403 and "leads out of the run directory" in sentence
        (path / "machine" / "node0.xml").unlink()
        assert client.json("/api/run")["n_frames"] == 2
