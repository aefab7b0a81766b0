"""How the servers of a run are, as one line of numbers."""

from __future__ import annotations

from ludus.games.registry import ServersHealth
from ludus.games.showdown.server_game import health
from ludus.games.showdown.servers.fleet import ServerView


def view(state: str, memory_mib: float, restarts: int = 0, recycled: int = 0) -> ServerView:
    return ServerView(
        address="ws://127.0.0.1:8000/showdown/websocket",
        state=state,
        pid=1,
        since=None,
        restarts=restarts,
        recycled=recycled,
        memory_mib=memory_mib,
        battles=None,
        log="showdown-0.log",
    )


def test_only_servers_that_take_matches_are_alive_and_memory_adds_up() -> None:
    views = (
        view("ready", 500.0, 1, 2),
        view("draining", 1100.0, 0, 3),
        view("given up", 0.0, 4),
        view("starting", 0.0),
    )
    assert health(views) == ServersHealth(
        total=4, alive=1, restarts=5, recycled=5, memory_mib=1600.0, largest_mib=1100.0
    )
