"""The server: who may ask, what it answers, what it costs."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.watched import make_run

from ludus.errors import SetupError
from ludus.metrics import names
from ludus.watch import assets, export
from ludus.watch.answers import Answers
from ludus.watch.page_server import WatchServer, free_port
from ludus.watch.runs_folder import Runs

HOSTILE = "<img src=x onerror=alert(1)>"
SERVER_MIB = 60


@contextmanager
def served(root: Path) -> Iterator[WatchServer]:
    with WatchServer(Answers(Runs(root)), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10.0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchServer]:
    make_run(tmp_path / "runs" / "one")
    make_run(tmp_path / "runs" / "two")
    with served(tmp_path / "runs") as running:
        yield running


def get(
    server: WatchServer, path: str, headers: Mapping[str, str] | None = None, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def ask(server: WatchServer, question: str) -> Any:  # Any: JSON
    status, _, body = get(server, f"/{server.token}/api/{question}")
    assert status == 200, body
    return json.loads(body)


def test_the_page_and_its_files_are_served(server: WatchServer) -> None:
    status, headers, body = get(server, f"/{server.token}/")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    for policy in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'self'"):
        assert policy in headers["Content-Security-Policy"]
    assert b"<!-- " not in body.replace(b"<!DOCTYPE", b"")
    for name in (*(f"{module}.js" for module in assets.modules()), "page.css", "uplot.js", "uplot.css"):
        assert get(server, f"/{server.token}/{name}")[0] == 200, name


@pytest.mark.parametrize(
    "path", ["/", "/favicon.ico", "/wrong/", "/wrong/api/runs", "/TOKEN", "/./TOKEN/", "/%2e/TOKEN/"]
)
def test_nothing_is_served_without_the_token(server: WatchServer, path: str) -> None:
    status, _, body = get(server, path.replace("TOKEN", server.token + ("x" if path == "/TOKEN" else "")))
    assert status == 403
    assert b"ludus watch" in body


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:PORT"},
        {"Host": "127.0.0.1:PORT", "Origin": "http://evil.example"},
        {"Host": "127.0.0.1:PORT", "Origin": "null"},
        {"Host": "127.0.0.1:PORT", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_hosts_and_sites_are_refused(server: WatchServer, headers: dict[str, str]) -> None:
    headers = {name: value.replace("PORT", str(server.port)) for name, value in headers.items()}
    assert get(server, f"/{server.token}/api/runs", headers)[0] == 403


def test_requests_of_the_page_itself_are_answered(server: WatchServer) -> None:
    origin = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert get(server, f"/{server.token}/api/runs", origin)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_the_server_only_reads(server: WatchServer, method: str) -> None:
    assert get(server, f"/{server.token}/api/runs", method=method)[0] == 501


@pytest.mark.parametrize(
    "path",
    [
        "page.html",
        "../pyproject.toml",
        "..%2fserver.py",
        "page/page.css",
        "api/run?run=..",
        "api/run?run=.",
        "api/run?run=",
        "api/run?run=one/../two",
        "api/run?run=%00",
        "api/nothing",
        "match?run=one&name=../config.yaml",
        "match?run=one&name=%00.html",
    ],
)
def test_files_and_runs_of_other_names_are_not_found(server: WatchServer, path: str) -> None:
    status, _, body = get(server, f"/{server.token}/{path}")
    assert status == 404
    assert "error" in json.loads(body)


def test_a_run_answers_with_everything_that_its_page_shows(server: WatchServer) -> None:
    listed = ask(server, "runs")["runs"]
    assert sorted(run["name"] for run in listed) == ["one", "two"]
    assert (listed[0]["game"], listed[0]["state"]) == ("toy nim", "finished")
    run = ask(server, "run?run=one")
    assert run["numbers"][names.TRAINING_S] == 19.0
    assert run["bottleneck"].startswith("The learner") or run["bottleneck"]
    assert [line["level"] for line in run["log"]] == ["INFO", "WARNING"]
    assert run["starts"][0]["commit"] == "abc1234"
    assert ask(server, "config?run=one")["settings"]["learner.lr"] == 0.001
    series = ask(server, f"series?run=one&names={names.TRAINING_S},{names.LOSS_VALUE},missing")
    assert series["rows"] == 20
    assert list(series["series"]) == [names.TRAINING_S, names.LOSS_VALUE]
    assert series["series"][names.LOSS_VALUE]["mean"][:3] == [1.0, 0.5, 0.333333]


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / "progress.csv").write_text("progress/training_s,loss/value\n1,nan\n2,inf\n3,0.5\n")
    with served(run) as server:
        series = ask(server, f"series?run=run&names={names.LOSS_VALUE}")
        assert series["series"][names.LOSS_VALUE]["mean"] == [None, None, 0.5]
        assert ask(server, "run?run=run")["not_finite"] == 2


def test_a_run_that_is_deleted_while_it_is_watched_is_named(server: WatchServer, tmp_path: Path) -> None:
    assert ask(server, "run?run=two")["name"] == "two"
    shutil.rmtree(tmp_path / "runs" / "two")
    status, _, body = get(server, f"/{server.token}/api/run?run=two")
    assert status == 404
    assert "the run two is not in" in json.loads(body)["error"]
    assert [run["name"] for run in ask(server, "runs")["runs"]] == ["one"]


def test_a_saved_match_is_shown_without_scripts(server: WatchServer, tmp_path: Path) -> None:
    replays = tmp_path / "runs" / "one" / "replays"
    replays.mkdir()
    (replays / "1.html").write_text("<script>alert(1)</script>")
    status, headers, _ = get(server, f"/{server.token}/match?run=one&name=1.html")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy


def test_a_port_in_use_is_named(server: WatchServer, tmp_path: Path) -> None:
    answers = Answers(Runs(tmp_path / "runs"))
    with pytest.raises(SetupError, match=f"port {server.port} cannot be used: Address already in use; choose another"):
        WatchServer(answers, server.port)
    assert free_port(server.port) == 0


def test_an_exported_page_escapes_every_text(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    run = make_run(root / HOSTILE.replace("/", "_"), config=f"game: toy\noptions:\n  game: '{HOSTILE}</script>'\n")
    with (run / "run.log").open("a") as file:
        file.write("</script><script>alert(2)</script><!--\n")
    page = tmp_path / "page.html"
    size = export.write(Answers(Runs(root)), page)
    text = page.read_text()
    assert size == len(text.encode())
    assert "<img" not in text
    assert "<script>alert" not in text
    assert "http://" not in text.split('id="snapshot"')[1]
    assert "default-src &#x27;none&#x27;" in text


def test_the_server_needs_little_memory(tmp_path: Path) -> None:
    for index in range(10):
        make_run(tmp_path / f"run-{index}", 700)
    with subprocess.Popen(
        [sys.executable, "-m", "ludus", "watch", str(tmp_path), "--port", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            address = process.stdout.readline().strip()
            port, token = address.removeprefix("http://127.0.0.1:").strip("/").split("/")
            for index in range(10):
                connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
                for question in ("runs", f"run?run=run-{index}", f"series?run=run-{index}&names={names.TRAINING_S}"):
                    connection.request("GET", f"/{token}/api/{question}")
                    assert connection.getresponse().read().startswith(b"{")
                connection.close()
            assert psutil.Process(process.pid).memory_info().rss / 2**20 < SERVER_MIB
        finally:
            process.send_signal(2)
            process.wait(10)
    assert process.returncode == 0
