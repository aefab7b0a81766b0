"""What clients and disks do wrong, and what the server and other clients notice of it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.serving import (
    SPEC,
    RawClient,
    address,
    arrivals_of,
    connect,
    eventually,
    rows_of,
    save_checkpoint,
    served,
)

from ludus import limits
from ludus.errors import ConfigError, ServingError
from ludus.policies.checkpoints import checkpoint
from ludus.serving import RemotePolicy, connection, protocol
from ludus.serving.address import read_token
from ludus.serving.client import Client, PlayedGame
from ludus.serving.protocol import Kind, Refusal
from ludus.serving.server import ServerSettings

TOKEN = "correct horse battery staple"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "run")
    return tmp_path / "run"


def test_wrong_token_is_refused_in_one_line(run: Path) -> None:
    with served(run, settings=ServerSettings(token=TOKEN)) as server:
        for wrong in ("", TOKEN[:-1]):
            with pytest.raises(ServingError, match=r"refused this client: wrong token; .*--token-file"):
                connect(server, "run", token=wrong)
        with connect(server, "run", token=TOKEN) as client:
            assert client.status().refused == {"token": 2}


def test_token_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o640)
    with pytest.raises(ConfigError, match=r"others may read this token .mode 0640.; run chmod 600"):
        read_token(path)
    path.chmod(0o600)
    assert read_token(path) == TOKEN
    path.write_text("short")
    with pytest.raises(ConfigError, match="the token has 5 characters, expected 16 to"):
        read_token(path)


def test_other_machines_need_a_token_unless_the_user_says_otherwise() -> None:
    with pytest.raises(ConfigError, match=r"--bind 0.0.0.0: other machines could use this server"):
        ServerSettings(host="0.0.0.0").check()
    ServerSettings(host="0.0.0.0", token=TOKEN).check()
    ServerSettings(host="0.0.0.0", without_token=True).check()


@pytest.mark.parametrize(
    ("game", "words"),
    [
        (
            PlayedGame("toy/rps", SPEC.schema, SPEC.fingerprint),
            "trained for game toy/nim, the client plays game toy/rps",
        ),
        (PlayedGame(SPEC.name, 9, SPEC.fingerprint), "trained for schema 1, the client plays schema 9"),
        (PlayedGame(SPEC.name, SPEC.schema, "0" * 16), f"trained for fingerprint {SPEC.fingerprint}"),
    ],
)
def test_policy_of_another_game_is_refused(run: Path, game: PlayedGame, words: str) -> None:
    with served(run) as server, pytest.raises(ServingError, match=words):
        connect(server, "run", game=game)


def test_unknown_policy_is_refused_with_the_names_that_there_are(run: Path) -> None:
    with served(run) as server:
        with pytest.raises(ServingError, match=r"no policy 'rum' here; .*run"):
            connect(server, "rum")
        with pytest.raises(ServingError, match="run has no checkpoint 'u00000009'; the latest are u00000001"):
            connect(server, "run@u00000009")
        with connect(server, "run@u00000001") as client:
            assert client.policy.version == 1


def test_frame_of_two_gib_is_refused_by_its_header(run: Path) -> None:
    with served(run) as server:
        with RawClient(server) as before_hello:
            before_hello.header(Kind.HELLO, 1 << 31)
            assert before_hello.refusal().message == (
                f"HELLO frame announces {1 << 31} bytes, allowed are {limits.GREETING_BYTES}"
            )
            assert before_hello.is_closed()
        with RawClient(server) as welcome:
            assert welcome.hello("run")[0] is Kind.WELCOME
            welcome.header(Kind.ASK, 1 << 31)
            assert welcome.refusal().message.startswith(f"ASK frame announces {1 << 31} bytes, allowed are ")
            assert welcome.is_closed()


def test_bytes_of_another_protocol_are_refused(run: Path) -> None:
    with served(run) as server, RawClient(server) as client:
        client.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert "expected b'LS'" in client.refusal().message
        assert client.is_closed()


def test_half_a_frame_and_silence_closes_the_connection(run: Path) -> None:
    with served(run, settings=ServerSettings(silence_s=0.2)) as server:
        with RawClient(server) as silent:
            assert "no HELLO came, and nothing for" in silent.refusal().message
        with RawClient(server) as client:
            client.hello("run")
            client.socket.sendall(client.ask(1, 0)[:40])
            assert "half a frame came, and nothing for" in client.refusal().message
        with RawClient(server) as idle:  # between two frames a client may be silent
            idle.hello("run")
            with RawClient(server) as later:
                assert "no HELLO came" in later.refusal().message
            assert server.report().refused == {"protocol": 3}
            idle.socket.sendall(idle.ask(1, 0))
            assert idle.next()[0] is Kind.ANSWER


def test_client_that_floods_is_no_longer_read_while_others_are_answered(run: Path) -> None:
    with served(run) as server, RawClient(server) as flood, connect(server, "run") as other:
        flood.hello("run")
        flood.socket.setblocking(False)
        sent, number = 0, 0
        while sent < 256 << 20:  # never reads an answer
            try:
                sent += flood.socket.send(flood.ask(number, number, 256, opens=False))
                number += 1
            except BlockingIOError:
                break
        assert sent < 256 << 20, "the server read everything"
        assert other.act(*rows_of(2)).action.shape == (2,)
        assert server.report().queue_rows <= 256 * connection.ASKS


def test_client_that_dies_within_a_batch_costs_others_nothing_and_its_rows_are_freed(run: Path) -> None:
    with served(run, settings=ServerSettings(lease_s=0.1)) as server, connect(server, "run") as other:
        other.act(*rows_of(3))
        with RawClient(server) as client:
            client.hello("run")
            client.socket.sendall(client.ask(1, 0, 50))
        assert other.act(*rows_of(3)).action.shape == (3,)
        eventually(lambda: server.report().policies[0].rows == 3, "the rows to be freed")


def test_values_that_are_not_finite_are_refused_and_the_rest_of_the_batch_is_answered(run: Path) -> None:
    with served(run, settings=ServerSettings(max_wait_s=0.2)) as server, connect(server, "run") as other:
        row, obs, legal, opens = rows_of(2)
        bad = obs.copy()
        SPEC.obs.leaf(bad, SPEC.obs.leaves[0].name)[1] = np.nan
        with connect(server, "run") as client:
            wrong, right = client.ask(row, bad, legal, opens), other.ask(row, obs, legal, opens)
            with pytest.raises(ServingError, match="row 1: pile has values that are not finite"):
                client.take(wrong)
            assert other.take(right).action.shape == (2,)
            with pytest.raises(ServingError, match="row 0: no action is legal"):
                client.act(row, obs, np.zeros_like(legal), opens)
            assert client.act(row, obs, legal, opens).action.shape == (2,)


def test_decision_sent_again_gets_the_same_answer_and_an_older_one_is_refused(run: Path) -> None:
    with served(run) as server, RawClient(server) as client:
        client.hello("run", greedy=False)
        answers = []
        for batch in range(20):
            client.socket.sendall(client.ask(batch, 5, 8))
            answers.append(protocol.decode_answer(client.next()[1]))
        assert all(np.array_equal(answer.logp, answers[0].logp) for answer in answers)
        assert server.report().again == 19 * 8
        client.socket.sendall(client.ask(20, 4, 8))
        refusal = client.refusal()
        assert (refusal.code, refusal.batch) == ("old-decision", 20)
        client.socket.sendall(client.ask(21, 6, 8))
        assert not np.array_equal(protocol.decode_answer(client.next()[1]).logp, answers[0].logp)


def test_answers_survive_a_lost_connection_of_the_same_client(run: Path) -> None:
    with served(run) as server:
        with RawClient(server) as client:
            client.hello("run", greedy=False)
            client.socket.sendall(client.ask(1, 0))
            before = protocol.decode_answer(client.next()[1])
        with RawClient(server) as client:
            welcome = protocol.decode_json(client.hello("run", greedy=False)[1], protocol.Welcome)
            assert welcome.resumed
            client.socket.sendall(client.ask(1, 0))
            np.testing.assert_array_equal(protocol.decode_answer(client.next()[1]).logp, before.logp)


def test_second_connection_of_a_client_replaces_the_first(run: Path) -> None:
    with served(run) as server, RawClient(server) as first, RawClient(server) as second:
        first.hello("run")
        assert second.hello("run")[0] is Kind.WELCOME
        assert first.refusal().code == "replaced"
        assert first.is_closed()


def test_frames_at_the_wrong_time_are_refused(run: Path) -> None:
    with served(run) as server:
        with RawClient(server) as client:
            client.header(Kind.STATUS, 0)
            assert client.refusal() == Refusal("protocol", "a STATUS frame is not expected from a client now")
        with RawClient(server) as client:
            client.hello(None)
            client.socket.sendall(client.ask(1, 0))
            assert client.refusal().message == "an ASK frame needs a policy; name one in HELLO"
        with RawClient(server) as client:
            _, body = client.hello("run", client="")
            assert "HELLO cannot be decoded" in msgspec.json.decode(body, type=Refusal).message


def test_broken_checkpoint_is_refused_and_the_old_one_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = tmp_path / "run"
    save_checkpoint(run, 1)
    arrivals = arrivals_of(5)
    settings = ServerSettings(watch_s=0.02)
    with caplog.at_level(logging.WARNING), served(watched=(run,), settings=settings) as server:
        remote = RemotePolicy(address(server, "run"), SPEC)
        before = remote.act(arrivals)
        folder = save_checkpoint(tmp_path / "elsewhere", 2, seed=2)
        model = folder / checkpoint.MODEL
        data = bytearray(model.read_bytes())
        data[-3] ^= 0xFF
        model.write_bytes(data)
        os.rename(folder, run / "checkpoints" / folder.name)
        eventually(lambda: server.report().policies[0].refused_reloads == 1, "the refusal")
        np.testing.assert_array_equal(remote.act(arrivals).logp, before.logp)
        assert "u00000002" in caplog.text
        assert "run goes on with version 1" in caplog.text
        save_checkpoint(run, 3, seed=3)
        eventually(lambda: server.report().policies[0].reloads == 1, "the newer checkpoint")
        after = remote.act(arrivals)
        assert after.version == 3
        np.testing.assert_allclose(after.logp, checkpoint.load_agent(run).act(arrivals).logp, atol=1e-6)
        remote.close()


def test_server_that_is_not_there_is_named_with_what_to_do() -> None:
    with pytest.raises(ServingError, match=r"tcp://127.0.0.1:9/run cannot be reached .*is `ludus serve` running there"):
        Client("tcp://127.0.0.1:9/run", timeout_s=0.2)


def test_taken_port_is_named(run: Path) -> None:
    with (
        served(run) as server,
        pytest.raises(ConfigError, match=f"--port {server.address.port}: cannot listen there"),
        served(run, settings=ServerSettings(port=server.address.port)),
    ):
        pass
