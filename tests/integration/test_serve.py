"""`ludus serve` as users run it: other commands as its clients, a client in JavaScript, signals, and its death."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.commands import DEADLINE_S, LUDUS, ludus_here
from tests.serving import SPEC, arrivals_of, save_checkpoint

from ludus.api.datasets import render
from ludus.data.dataset import Dataset
from ludus.games.showdown import node
from ludus.policies.checkpoints import checkpoint
from ludus.serving import RemotePolicy

EXAMPLE = Path(__file__).parents[2] / "examples" / "serving" / "client.js"


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`ludus serve` with these words, and its address; killed on leaving if it still runs."""
    with subprocess.Popen(
        [*LUDUS, "serve", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                found = re.search(r"status (tcp://\S+)", line)
                if found is not None:
                    break
            else:
                raise AssertionError(f"ludus serve ended with {process.wait()}")
            yield process, found[1]
        finally:
            deadline.cancel()
            process.kill()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    save_checkpoint(folder / "nim")
    save_checkpoint(folder / "memory", recurrent=True)
    return folder


def test_commands_play_with_policies_on_a_server_as_with_checkpoints(runs: Path) -> None:
    with serving(runs, "nim", "--port", "0") as (process, address):
        words = ("--matches", "20", "--hosts", "1", "--json")
        served = ludus_here(runs, "eval", f"{address}/nim", "--opponents", f"perfect,nim,{address}/nim", *words)
        local = ludus_here(runs, "eval", "nim", "--opponents", "perfect", *words)
        assert (served.returncode, local.returncode) == (0, 0), served.stderr + local.stderr
        ours, theirs = json.loads(served.stdout), json.loads(local.stdout)
        assert [each["opponent"] for each in ours["results"]] == ["perfect", "nim", f"{address}/nim"]
        assert ours["results"][0]["wins"] == theirs["results"][0]["wins"]
        assert [each["win_rate"] for each in ours["results"][1:]] == [0.5, 0.5]  # every seed from both seats
        status = ludus_here(runs, "serve", "status", address, "--json")
        report = json.loads(status.stdout)
        assert report["decisions"] > 0
        assert report["policies"][0]["name"] == "nim"
        table = ludus_here(runs, "serve", "status", address)
        assert re.search(r"nim +1 +yes", table.stdout)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0


def test_policies_come_and_go_while_a_server_runs(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with serving(runs, "nim", "--port", "0") as (_, address):
        assert ludus_here(runs, "serve", "add", address, "late=memory").stdout == f"{address}/late\n"
        again = ludus_here(runs, "serve", "add", address, "late=nim")
        assert (again.returncode, again.stdout) == (2, "")
        assert "is served as 'late' already; choose another name, as in other=" in again.stderr
        table = ludus_here(runs, "serve", "status", address)
        assert re.search(r"late +1 +yes", table.stdout)
        assert ludus_here(runs, "serve", "remove", address, "late").stdout == f"removed late; {address} serves nim\n"
    gone = ludus_here(runs, "serve", "add", "tcp://127.0.0.1:9", "nim")
    assert gone.returncode == 2
    assert "no server of yours at port 9 of this machine takes commands" in " ".join(gone.stderr.split())


def test_matches_of_policies_on_a_server_are_recorded(runs: Path, tmp_path: Path) -> None:
    with serving(runs, "nim", "--port", "0") as (_, address):
        words = ("--a", f"{address}/nim", "--b", f"{address}/nim?sample", "--matches", "20", "--workers", "1")
        generate = ludus_here(runs, "generate", *words, "--out", str(tmp_path / "data"))
        assert generate.returncode == 0, generate.stderr
        table = ludus_here(runs, "serve", "status", address).stdout
        assert re.search(r"nim +1 +yes", table)
        assert re.search(r"nim\?sample +1 +yes", table)
    dataset = Dataset.open(tmp_path / "data")
    assert dataset.manifest.matches == 20
    assert [(each.source, each.temperature) for each in dataset.manifest.policies] == [
        (f"{address}/nim", 0.0),
        (f"{address}/nim?sample", 1.0),
    ]
    assert render(tmp_path / "data", workers=1)


def test_training_plays_against_a_policy_on_a_server(runs: Path, tmp_path: Path) -> None:
    with serving(runs, "nim", "--port", "0") as (_, address):
        opponent = f"{address}/nim"
        sets = (
            "fleet.hosts=1", "fleet.matches=8", "learner.decisions=256", "learner.minibatch=128", "rollout.segment=8",
            "budget.minutes=0", "budget.updates=3", "policy.width=8", "opponents.past=0", "opponents.scripted=0.5",
            f'opponents.scripted_names=["{opponent}"]', f'evaluation.opponents=["{opponent}"]', "evaluation.matches=4",
        )  # fmt: skip
        words = [word for each in sets for word in ("--set", each)]
        run = ludus_here(tmp_path, "train", "nim", "--run-dir", "run", *words)
        assert run.returncode == 0, run.stderr + run.stdout
        evaluations = (tmp_path / "run" / "evaluations.jsonl").read_text()
        assert opponent in evaluations
        report = json.loads(ludus_here(runs, "serve", "status", address, "--json").stdout)
        assert report["decisions"] > 50


def test_client_in_javascript_gets_the_actions_of_the_policy(runs: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("correct horse battery staple")
    token.chmod(0o600)
    with serving(runs, "nim", "--port", "0", "--token-file", str(token)) as (_, address):
        host, port = address.removeprefix("tcp://").split(":")
        command = [str(node.find()), str(EXAMPLE), host, port, "nim"]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        assert (refused.returncode, refused.stderr[:18]) == (1, "token: wrong token")
        client = subprocess.run([*command, token.read_text()], capture_output=True, text=True, timeout=DEADLINE_S)
        assert client.returncode == 0, client.stderr
    answers = [json.loads(line) for line in client.stdout.splitlines()]
    arrivals = arrivals_of(3)
    arrivals.obs[:] = 0
    SPEC.obs.leaf(arrivals.obs, "pile")[:, 0] = [0, 1, 2]
    choices = checkpoint.load_agent(runs / "nim").act(arrivals)
    for number, answer in enumerate(answers):
        assert [each["number"] for each in answer["rows"]] == [number] * 3
        assert [each["action"] for each in answer["rows"]] == choices.action.tolist()
        np.testing.assert_allclose([each["logp"] for each in answer["rows"]], choices.logp, atol=1e-5)
    assert len(answers) == 3


def test_client_outlives_a_server_that_is_killed_within_a_request(runs: Path) -> None:
    local = checkpoint.load_agent(runs / "memory")
    with serving(runs, "memory", "--port", "0", "--max-wait-ms", "3000") as (process, address):
        policy = RemotePolicy(f"{address}/memory", SPEC, timeout_s=DEADLINE_S)
        first, second = arrivals_of(4, seed=1), arrivals_of(4, seed=2)
        second.opens[:] = False
        ours = [local.act(first), local.act(second)]
        np.testing.assert_array_equal(policy.act(first).action, ours[0].action)
        collect = policy.launch(second)  # the server waits for more rows
        process.kill()
        process.wait(DEADLINE_S)
    with serving(runs, "memory", "--port", address.rpartition(":")[2]):
        choices = collect()
        np.testing.assert_array_equal(choices.action, ours[1].action)
        np.testing.assert_allclose(choices.logp, ours[1].logp, atol=1e-5)
    counts = policy.client.counts
    assert (counts.reconnects, counts.replayed_rows, counts.resent_rows, counts.lost_states) == (1, 4, 4, 0)


@pytest.mark.slow
def test_bench_serve_reports_speed_latency_and_win_rates(runs: Path, tmp_path: Path) -> None:
    words = ("--matches", "8", "--workers", "2", "--concurrency", "2", "--out", str(tmp_path / "out"))
    bench = ludus_here(runs, "bench", "serve", "nim", *words)
    assert bench.returncode == 0, bench.stderr
    assert [line.split()[1] for line in bench.stdout.splitlines()[:4]] == ["policy", "simulator", "port", "disk"]
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [trial["name"] for trial in result["trials"]] == ["one process", "server", "server, row by row"]
    assert all(trial["matches"] == 8 and trial["invalid"] == 0 for trial in result["trials"])
    assert result["trials"][1]["report"]["decisions"] == result["trials"][1]["decisions"] > 0
    assert result["trials"][2]["batch_mean"] == 1.0
    assert (tmp_path / "out" / "speed.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "battles/hour" in (tmp_path / "out" / "report.md").read_text()
