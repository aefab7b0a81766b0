from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from ludus.errors import ConfigError
from ludus.games.showdown.servers import ports


@pytest.fixture
def used() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server((ports.LOOPBACK, 0)) as listener:
        yield listener.getsockname()[1]


def test_free_ports_are_found_by_themselves() -> None:
    found = ports.choose(3, None)
    assert len(set(found)) == 3
    assert all(ports.is_free(port) for port in found)


def test_a_port_in_use_is_refused_when_it_was_asked_for(used: int) -> None:
    with pytest.raises(ConfigError, match=f"base port: port {used} is in use; name another, or none"):
        ports.choose(1, used)


def test_a_port_in_use_is_passed_over_when_none_was_asked_for(used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FIRST", used)
    assert used not in ports.choose(2, None)
    free = ports.another([used + 1])
    assert free not in (used, used + 1)


@pytest.mark.parametrize("count", [0, -3])
def test_no_servers_at_all_are_refused(count: int) -> None:
    with pytest.raises(ConfigError, match=f"count: {count} servers cannot be started; ask for 1 or more"):
        ports.choose(count, None)


@pytest.mark.parametrize(("count", "base_port"), [(1, 80), (2, 65535), (1, 70000), (1, -1)])
def test_ports_that_do_not_exist_or_are_the_systems_are_refused(count: int, base_port: int) -> None:
    with pytest.raises(ConfigError, match="between 1024 and 65535"):
        ports.choose(count, base_port)
