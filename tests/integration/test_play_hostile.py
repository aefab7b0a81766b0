"""`ludus play` on a server that lies: it costs the battle and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from ludus.games.showdown.install import Installation
from ludus.games.showdown.play.outsiders import Event, PlayResult, play
from ludus.games.showdown.play_game import PlayOptions
from ludus.games.showdown.scripted import POLICIES

DEADLINE_S = 30.0
FORMAT = "gen1randombattle"
ROOM = f"battle-{FORMAT}-1"
FORGED = '@{"event":"back","afterS":0.0}'
OPENING = """|init|battle
|title|x
|t:|1
|gametype|singles
|player|p1|Stranger|1|
|player|p2|Agent|1|
|teamsize|p1|1
|teamsize|p2|1
|gen|1
|tier|[Gen 1] Random Battle
|start
|switch|p1a: Mew|Mew, L80|100/100
|switch|p2a: Mew|Mew, L80|300/300
|turn|1"""


def request(number: int) -> str:
    move = {"move": "Surf", "id": "surf", "pp": 20, "maxpp": 20, "target": "normal", "disabled": False}
    mon = {
        **{"ident": "p2: Mew", "details": "Mew, L80", "condition": "300/300", "active": True, "moves": ["surf"]},
        **{"stats": dict.fromkeys(("atk", "def", "spa", "spd", "spe"), 1), "baseAbility": "noability", "item": ""},
    }
    side = {"name": "Agent", "id": "p2", "pokemon": [mon]}
    return f"|request|{json.dumps({'active': [{'moves': [move]}], 'side': side, 'rqid': number})}"


class Liar:
    """Begins a battle as a server does and answers the first choice with `lies`."""

    def __init__(self, lies: Sequence[str]) -> None:
        self._lies = lies

    def __call__(self, connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            connection.send("|challstr|4|abc")
            for message in connection:
                self._answer(connection, str(message))

    def _answer(self, connection: ServerConnection, said: str) -> None:
        if "|/trn " in said:
            connection.send("|updateuser| Agent|1|1|{}")
            connection.send(f"|pm| Stranger| Agent|/challenge {FORMAT}")
        elif "|/accept" in said:
            connection.send(f">{ROOM}\n{OPENING}")
            connection.send(f">{ROOM}\n{request(2)}")
        elif "|/choose" in said:
            for lie in self._lies:
                connection.send(lie)


@contextmanager
def lying(lies: Sequence[str]) -> Iterator[str]:
    with serve(Liar(lies), "127.0.0.1", 0, compression=None, close_timeout=0.5) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{serving.socket.getsockname()[1]}/showdown/websocket"
        serving.shutdown()
        thread.join(5.0)


def played(lies: Sequence[str], log_dir: Path) -> tuple[PlayResult, list[Event]]:
    events: list[Event] = []
    with lying(lies) as server:
        result = play(
            lambda spec: POLICIES["random"](spec, 1),
            PlayOptions(server=server, name="Agent", format=FORMAT),
            log_dir=log_dir,
            matches=1,
            deadline_s=DEADLINE_S,
            tell=events.append,
        )
    return result, events


def test_a_server_cannot_forge_what_the_host_reports(showdown: Installation, tmp_path: Path) -> None:
    """What it says is in the log; the host's own reports are told apart."""
    lies = [f">{ROOM}\n{FORGED}", f"|popup|{FORGED}\n{FORGED}", FORGED, f">{ROOM}\n|request|{FORGED}"]
    result, events = played(lies, tmp_path)
    assert dict(result.voided) == {"the server asked in a way that is not understood": 1}
    assert (result.reconnects, result.restarts, result.stopped) == (0, 0, "")
    assert [event["event"] for event in events] == ["connected", "popup"]
    log = (tmp_path / "host-0.log").read_text(encoding="utf-8")
    assert FORGED in log
    assert not [line for line in log.splitlines() if line.startswith(FORGED)]


@pytest.mark.parametrize(
    "lie",
    [
        "|pm|",
        f">{ROOM}\n|turn|x\n|t:|2\n|win|Agent",
        f">{ROOM}\n|rated|\n|win|Agent\n|raw|Agent's rating: 1 <strong>{'9' * 400}</strong>",
    ],
    ids=["pm", "turn", "rating"],
)
def test_words_that_make_no_sense_cost_at_most_the_battle(showdown: Installation, tmp_path: Path, lie: str) -> None:
    result, _ = played([lie, f">{ROOM}\n|t:|3\n|win|Agent"], tmp_path)
    assert (result.restarts, result.stopped) == (0, "")
    assert result.total.battles + sum(result.voided.values()) == 1


def test_a_flood_of_messages_is_not_passed_on(showdown: Installation, tmp_path: Path) -> None:
    flood = [f"|popup|{number} {'x' * 10_000}" for number in range(5_000)]
    result, events = played([*flood, f">{ROOM}\n|t:|3\n|win|Agent"], tmp_path)
    assert result.total.battles == 1
    popups = [event for event in events if event["event"] == "popup"]
    assert 0 < len(popups) < 1_000
    assert max(len(event["why"]) for event in popups) < 1_000
