# SPDX-License-Identifier: BSD-3-Clause
"""Who is let in, what is never served, and browsers that are slow or vanish."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gzip
import http.client
import json
import random
import socket
import time
from pathlib import Path

import pytest
from drivers.served import served

from perfield.serve import connections, routes
from perfield.serve.followed import Followed
from perfield.serve.page_files import page_files
from perfield.serve.server import PortError, Server
from twins import twin

SECRET = b"nobody may see this"
ESCAPES = [
    "/../secret.txt",
    "/page/../../secret.txt",
    "/page/..%2f..%2fsecret.txt",
    "/page/%2e%2e/%2e%2e/secret.txt",
    "/page/%252e%252e%252fsecret.txt",
    "/page/..\\..\\secret.txt",
    "/page/..%5c..%5csecret.txt",
    "/page/secret.txt%00.js",
    "/page//etc/passwd",
    "//etc/passwd",
    "/page/%2fetc%2fpasswd",
    "/etc/passwd",
    "/api/../../secret.txt",
    "/api/run/../../secret.txt",
    "/api/values?field=../../secret.txt",
    "/api/own?field=/etc/passwd&frame=0",
    "/run.json",
    "/stream/",
    "/page/",
    "/page/index.html/..",
    "/page/.",
    "file:///etc/passwd",
    "http://localhost/etc/passwd",
    "*",
    "?",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leaves_the_table(client, run, path):
    (run.parent / "secret.txt").write_bytes(SECRET)
    status, body, _ = client.ask(path)
    assert status in (400, 404), (status, body)
    assert SECRET not in body and b"root:" not in body
    sentence = json.loads(body)["error"]
    assert (sentence.endswith(".") and sentence[0].isupper()) or path.startswith("/api/")


def test_overlong_address_is_refused(client):
    assert client.refusal("/page/" + "a" * 5000)[0] == 414
    assert client.refusal("/" + "../" * 600 + "etc/passwd")[0] in (404, 414)


def test_raw_bytes_in_a_request_are_refused(client, capfd):
    for line in (b"GET /page/\xff\xfe\x00 HTTP/1.1", b"GET /page/../../x", b"\x00\x01", b"GET / HTTP/9.9"):
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as raw:
            raw.sendall(line + b"\r\nHost: localhost\r\n\r\n")
            raw.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: raw.recv(4096), b""))
        assert b" 200 " not in answer.split(b"\r\n")[0], answer
    assert client.json("/api/run")["n_ranks"] == 8
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "", "192.0.2.1", "127.0.0.1.evil.example"],
)
def test_name_that_leads_here_is_refused(client, host):
    status, body, _ = client.ask("/api/run", Host=host)
    assert status == 403 and b"localhost only" in body


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9000", "127.0.0.1:8017", "[::1]:8017", "127.0.0.2", "LOCALHOST"]
)
def test_localhost_is_answered_behind_any_port(client, host):
    assert client.ask("/api/run", Host=host)[0] == 200


def test_pages_of_other_addresses_are_refused(client):
    assert client.ask("/api/run", Sec_Fetch_Site="cross-site")[0] == 403
    assert client.ask("/api/run", Sec_Fetch_Site="same-origin")[0] == 200
    _, _, headers = client.ask("/api/run", Origin="http://evil.example")
    assert not [name for name in headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_only_reading_is_allowed(client, method):
    status, body, headers = client.ask("/api/run", method)
    assert status == 405 and headers["Allow"] == "GET, HEAD" and b"Only GET, HEAD" in body


def test_head_says_the_length_without_a_body(client):
    _, whole, _ = client.ask("/api/rank?rank=1")
    status, body, headers = client.ask("/api/rank?rank=1", "HEAD")
    assert (status, body, int(headers["Content-Length"])) == (200, b"", len(whole))


def test_files_of_the_page_are_asked_for_again_but_sent_once(client):
    _, _, first = client.ask("/page/main.js")
    status, body, again = client.ask("/page/main.js", If_None_Match=first["ETag"])
    assert (status, body, again["ETag"]) == (304, b"", first["ETag"])
    assert first["Cache-Control"] == again["Cache-Control"] == "no-cache"  # "no-store" would end the keeping


def test_other_address_of_this_machine_opens_the_page(run):
    with served(run, address="127.0.0.2") as client:
        assert client.server.url == f"http://127.0.0.2:{client.port}/"


def test_answers_carry_headers_that_protect(client):
    for path in ("/", "/api/run", "/nothing"):
        _, _, headers = client.ask(path)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert client.ask("/api/run")[2]["Cache-Control"] == "no-store"


def test_another_address_needs_a_token(run):
    with pytest.raises(ValueError, match="needs a token"):
        Server(Followed(run), "0.0.0.0")


TOKEN = "t" * 20


def test_token_is_exchanged_for_a_session_that_no_cookie_holds(run):
    with served(run, address="0.0.0.0", token=TOKEN) as client:

        def status(credential):
            return client.ask("/api/run", Host="anything", Authorization=credential)[0]

        assert client.ask("/api/run", Host="anything")[0] == 401
        assert "a token is needed" in client.refusal("/api/mesh")[1].lower()
        assert client.ask("/", Host="anything")[0] == client.ask("/page/main.js")[0] == 200  # no run in it
        assert client.ask("/api/session", Authorization="Bearer " + "u" * 20)[0] == 401
        assert client.ask(f"/api/run?token={TOKEN}")[0] == 401
        code, body, headers = client.ask("/api/session", Authorization=f"Bearer {TOKEN}")
        session = json.loads(body)["session"]
        assert code == 200 and len(session) >= 40 and "Set-Cookie" not in headers
        assert status(f"Bearer {session}") == status(f"Bearer {TOKEN}") == 200
        for wrong in (session, f"Basic {session}", f"Bearer {session}x", "Bearer ", "Bearer \xe9", "a" * 999):
            assert status(wrong) == 401, wrong
        assert client.ask("/api/run", Cookie=f"perfield_{client.port}={session}")[0] == 401
        assert client.server.url.endswith(f"/?token={TOKEN}")
    with served(run, token=TOKEN) as other:
        assert other.ask("/api/run", Authorization=f"Bearer {session}")[0] == 401  # of an earlier server


def test_localhost_has_its_token_too(run):
    with served(run, token=TOKEN) as client:
        assert client.ask("/api/run")[0] == 401
        assert client.ask("/api/run", Authorization=f"Bearer {TOKEN}", Sec_Fetch_Site="cross-site")[0] == 403
        assert client.ask("/api/run", Authorization=f"Bearer {TOKEN}", Host="evil.example")[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 40",
        b"Content-Length: 0\r\nContent-Length: 40",
        b"Content-Length: x",
        b"Transfer-Encoding: chunked",
    ],
)
def test_body_is_refused_and_never_read_as_a_request(client, headers):
    hidden = b"GET /page/main.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = exchange(
        client, b"GET /api/run HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n\r\n" + hidden
    )
    assert answer.startswith(b"HTTP/1.1 400") and b"A body came with GET" in answer
    assert answer.count(b"HTTP/1.1") == 1


def test_long_head_is_refused(client):
    many = b"".join(b"X-%d: " % n + b"a" * 60_000 + b"\r\n" for n in range(3))
    answer = exchange(client, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + many + b"\r\n", resets=True)
    assert not answer or answer.startswith(b"HTTP/1.1 431")
    assert client.json("/api/run")["n_ranks"] == 8


def exchange(client, sent, resets=False):
    """What the server answers to bytes until it closes. resets : it may close before it has read all."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as raw:
        sentence = b""
        with contextlib.suppress(*[ConnectionError] if resets else []):
            raw.sendall(sent)
            while part := raw.recv(1 << 16):
                sentence += part
        return sentence


def test_idle_connections_make_room_for_readers(client, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 4)
    with contextlib.ExitStack() as all_of_them:
        idle = [
            all_of_them.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=60))
            for _ in range(12)
        ]
        assert client.json("/api/run")["n_ranks"] == 8
        assert idle[0].recv(1) == b""  # closed by the server
        assert len(client.server.connections) <= 4


def test_readers_keep_their_connections_before_others(client, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 4)
    reader = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    with contextlib.ExitStack() as all_of_them, contextlib.closing(reader):
        reader.request("GET", "/api/run")
        reader.getresponse().read()
        kept = reader.sock
        idle = [
            all_of_them.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=60))
            for _ in range(12)
        ]
        assert idle[0].recv(1) == b""
        reader.request("GET", "/api/run")
        assert reader.getresponse().status == 200 and reader.sock is kept


def test_new_connection_is_refused_in_a_sentence_where_all_are_busy(client, monkeypatch):
    monkeypatch.setattr(connections.Connections, "add", lambda self, connection: False)
    answer = exchange(client, b"")
    assert b" 503 " in answer and b"All connections to perfield serve are busy; try again." in answer


def test_new_connection_is_closed_where_all_others_are_busy(monkeypatch):
    monkeypatch.setattr(connections, "MOST", 2)
    held, pairs = connections.Connections(), [socket.socketpair() for _ in range(3)]
    try:
        for ours, _ in pairs[:2]:
            assert held.add(ours)
            held.know(ours)
            held.answer(ours)
        assert not held.add(pairs[2][0])
        held.wait(pairs[1][0])
        assert held.add(pairs[2][0]) and len(held) == 2
        assert pairs[1][1].recv(1) == b""
    finally:
        for one in (one for pair in pairs for one in pair):
            one.close()


def test_endless_request_is_cut(client, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_S", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        assert slow.recv(1) == b""


def test_reader_that_never_reads_is_cut(client, monkeypatch):
    monkeypatch.setattr(connections, "SEND_S", 0.2)
    monkeypatch.setattr(connections, "SLOWEST", 1e12)
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as unread:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(ConnectionError):  # cut while it asks
            unread.sendall(b"GET /api/mesh HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
        end = time.monotonic() + 60
        while len(client.server.connections) and time.monotonic() < end:
            time.sleep(0.01)
        assert not len(client.server.connections)


def fill(stack, held, connection):
    """Lets an answer to `connection` wait that leaves 10 bytes, once earlier ones have been read."""
    end = time.monotonic() + 60
    while True:
        try:
            return stack.enter_context(held.sending(connection, connections.MOST_BYTES - 10))
        except connections.BusyError:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_bytes_that_wait_for_slow_browsers_are_bounded(client):
    with socket.socket() as slow, contextlib.ExitStack() as stack:
        fill(stack, client.server.connections, slow)
        status, sentence = client.refusal("/api/run")
        assert status == 503 and "255 MiB to slow browsers" in sentence
    assert client.json("/api/run")["n_ranks"] == 8


@pytest.fixture
def short(tmp_path, monkeypatch):
    """A folder whose path is short enough for a socket, wherever the tests run."""
    monkeypatch.chdir(tmp_path)
    return Path()


def test_socket_is_its_owners_and_answers_as_localhost(run, short):
    place = short / "page.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(place))
    assert place.exists()
    with served(run, socket_path=place) as client, socket.socket(socket.AF_UNIX) as raw:
        assert place.stat().st_mode & 0o777 == 0o600
        with pytest.raises(PortError, match="another server listens"):
            Server(Followed(run), socket_path=place)
        raw.connect(str(place))
        raw.sendall(b"GET /api/run HTTP/1.1\r\nHost: localhost:9000\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: raw.recv(1 << 16), b""))
        assert answer.startswith(b"HTTP/1.1 200") and b'"n_ranks":8' in answer.replace(b" ", b"")
        assert client.server.url == str(place.absolute())
    assert not place.exists()


def test_socket_never_replaces_what_is_not_an_ended_servers(run, short):
    (short / "file").write_text("mine")
    (short / "link").symlink_to("file")
    for name in ("file", "link"):
        with pytest.raises(PortError, match="is not a socket of yours"):
            Server(Followed(run), socket_path=short / name)
    assert (short / "file").read_text() == "mine"
    (short / "open").mkdir()
    (short / "open").chmod(0o777)
    with pytest.raises(PortError, match="other users can replace files in"):
        Server(Followed(run), socket_path=short / "open" / "page.sock")
    with pytest.raises(PortError, match="no socket can be made at"):
        Server(Followed(run), socket_path=short / ("a" * 200))


@pytest.mark.parametrize("path", ["http://host/api/run", "http://host//api/run", "http://host///api/run"])
def test_no_spelling_of_an_address_gets_around_the_token(run, path):
    with served(run, address="0.0.0.0", token="t" * 20) as client:
        assert client.ask(path, Host="anything")[0] in (401, 404)


def test_taken_port_is_reported(client, run):
    with pytest.raises(PortError, match=rf"port {client.port} .* cannot be taken: .*--port; 0 takes any"):
        Server(Followed(run), port=client.port)


def test_large_answers_are_compressed_for_browsers_that_can(client):
    plain = client.body("/api/run")
    _, body, headers = client.ask("/api/run", Accept_Encoding="gzip, deflate")
    assert headers["Content-Encoding"] == "gzip" and len(body) < len(plain) / 3
    assert gzip.decompress(body) == plain


def test_slow_browser_holds_up_nobody(client):
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /api/run HTTP/1.1\r\nHost: localhost\r\n")  # never ends its request
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as unread:
            unread.sendall(b"GET /api/mesh HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)  # never reads
            assert client.json("/api/run")["n_frames"] == 10


def test_browser_that_vanishes_leaves_no_trace(client, capfd):
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as gone:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # resets
            gone.sendall(b"GET /api/mesh HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
    end = time.monotonic() + 60
    while client.json("/api/run")["n_frames"] != 10 and time.monotonic() < end:
        pass
    assert "Traceback" not in capfd.readouterr().err


def test_several_browsers_at_once_get_the_same(run):
    paths = ["/api/run", "/api/mesh", "/api/machine", "/api/rank?rank=3", "/api/heat?field=compute_time_s"]
    with served(run) as client, concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(client.body, paths * 4))
    for number in range(len(paths)):
        assert len(set(answers[number :: len(paths)])) == 1


@pytest.mark.parametrize("fault", [ZeroDivisionError, KeyError, IndexError])
def test_fault_of_ours_is_a_sentence_and_the_server_goes_on(client, monkeypatch, capfd, fault):
    def fails(view, query):
        raise fault("planted")

    monkeypatch.setitem(routes.API, "run", fails)
    status, sentence = client.refusal("/api/run")
    assert status == 500 and "its terminal says more" in sentence
    assert fault.__name__ in capfd.readouterr().err
    monkeypatch.undo()
    assert client.json("/api/run")["n_ranks"] == 8


def test_page_without_its_library_says_so(run, tmp_path):
    (tmp_path / "index.html").write_text("<p>page")
    (tmp_path / "secret.key").write_text("no file of the page")
    with served(run, page=tmp_path) as client:
        assert client.body("/") == b"<p>page"
        assert "vtk.js is not part of this installation" in client.refusal("/page/vtk.js")[1]
        assert client.refusal("/page/secret.key")[0] == 404
        _, _, headers = client.ask("/page/index.html")
        assert client.ask("/", If_None_Match=headers["ETag"])[0] == 304


def test_browser_learns_of_all_modules_from_the_page_itself(client):
    page, modules = client.body("/").decode(), [name for name in page_files() if name.endswith(".js")]
    assert len(modules) > 30
    assert all(page.count(f'<link rel="modulepreload" href="page/{name}">') == 1 for name in modules)


def test_missing_page_says_so(run, tmp_path):
    with served(run, page=tmp_path / "nothing") as client:
        assert b"The page is not part of this installation" in client.body("/")


def test_wrong_requests_get_what_to_ask(client):
    for path, status, words in (
        ("/api/nothing", 404, "there are run, values"),
        ("/api/values?field=nothing", 404, "no field 'nothing'"),
        ("/api/values", 400, "'field' is missing"),
        ("/api/values?field=compute_time_s&from=8&to=3", 404, "from='8' is not there"),
        ("/api/values?field=compute_time_s&to=999", 404, "from 0 to 10"),
        ("/api/messages?frame=-1", 400, "from 0 to 9"),
        ("/api/messages?frame=1e3", 400, "from 0 to 9"),
        ("/api/rank?rank=8", 404, "from 0 to 7"),
        ("/api/rank?rank=" + "9" * 400, 404, "from 0 to 7"),
        ("/api/run?" + "a&" * 30, 400, "more than 20"),
        ("/api/run?before=3", 400, "'before' is unknown in this request; known are since."),
        ("/api/rank?rank=1&rank=2", 400, "names something twice"),
        ("/api/mesh?version=7", 404, "no mesh of version 7"),
        ("/api/own?field=nothing&frame=1", 404, "no piece has the field 'nothing'"),
    ):
        assert client.refusal(path)[0] == status, path
        assert words in client.refusal(path)[1]


NAMES = ("field", "frame", "from", "overview", "rank", "since", "to", "top", "version", "nothing")
ODD = [
    "",
    "0",
    "1",
    "9",
    "10",
    "-1",
    "+1",
    "1.5",
    "1e9",
    "nan",
    "inf",
    "9" * 18,
    "9" * 400,
    "true",
    "null",
    "[1]",
]
ODD += [
    "compute_time_s",
    "a" * 900,
    "../../x",
    "%00",
    "%ff%fe",
    "%F0%9F%92%A5",
    "%D9%A3",
    "%C2%B2",
    "%",
    "{}",
    "'\"<",
]


@pytest.mark.parametrize("name", sorted(routes.API))
def test_odd_requests_get_an_answer_or_a_sentence(client, name):
    draw = random.Random(31)
    odd = [f"{one}={value}" for one in NAMES for value in ODD]
    odd += ["&".join(draw.sample(odd, draw.randint(2, 4))) for _ in range(300)] + ["&&&", "=", "a;b", "="]
    for query in odd:
        answer = routes.answer(client.server.followed, name, query)  # what it raises would be status 500
        assert answer.status in (200, 400, 404, 413), query
        assert answer.status == 200 or len(json.loads(answer.body)["error"]) > 10, query


def test_run_of_another_directory_is_not_touched(tmp_path):
    path = twin.write_run(tmp_path / "perfield-run", 2, 2)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*") if "analysis" not in file.parts}
    with served(path) as client:
        client.json("/api/run")
        client.body("/api/mesh")
    assert before == {
        f: f.stat().st_mtime_ns for f in path.rglob("*") if "analysis" not in f.parts and f in before
    }
