"""Only games that bring a search can search, and only with nets that can be asked about any position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from ludus.errors import ConfigError
from ludus.games import registry, thinking
from ludus.games.named_policies import AgentSource
from ludus.policies.network import NetPolicy


class FakePolicy:
    """A policy as far as `thinking` looks at it."""

    def __init__(self, states: object = None) -> None:
        self.states = states


def net(states: object = None) -> NetPolicy:
    return cast(NetPolicy, FakePolicy(states))


def test_a_game_without_search_is_refused() -> None:
    with pytest.raises(ConfigError, match="toy brings no search"):
        thinking.thinking(net(), cast(Any, None), registry.load("toy"), {}, 50.0)


def test_a_net_with_a_hidden_state_is_refused() -> None:
    with pytest.raises(ConfigError, match="hidden state"):
        thinking.thinking(net(object()), cast(Any, None), registry.load("showdown"), {}, 50.0)


def test_a_search_that_cannot_be_imported_is_named() -> None:
    game = replace(registry.load("toy"), thinking="ludus.games.toy.nowhere:search")
    with pytest.raises(ConfigError, match="nowhere"):
        thinking.thinking(net(), cast(Any, None), game, {}, 50.0)


def test_a_policy_on_a_server_is_refused_only_if_it_is_to_search() -> None:
    remote = AgentSource("tcp://127.0.0.1:5555/x", "showdown-gen1-singles", 2, {}, {})
    assert remote.with_search(0.0) == remote
    with pytest.raises(ConfigError, match="on a server"):
        remote.with_search(50.0)


def test_only_policies_that_search_have_a_summary() -> None:
    class Searching:
        searched, cut, slowest_ms = 1200, 3, 49.6

        def close(self) -> None:
            self.cut = -1

    policy = Searching()
    assert thinking.summary(policy) == "1,200 decisions searched, 3 cut, slowest 50 ms"
    assert thinking.summary(FakePolicy()) == ""
    thinking.close(policy)
    thinking.close(FakePolicy())
    assert policy.cut == -1
