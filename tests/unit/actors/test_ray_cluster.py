"""What is said when a Ray cluster cannot be used, before anything of it starts."""

from __future__ import annotations

import sys

import pytest

from ludus.actors import cluster_token, ray_cluster
from ludus.errors import ConfigError, SetupError


def test_a_missing_extra_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(SetupError, match=r"--cluster needs Ray, which is not installed: pip install .*\[ray\]"),
        ray_cluster.connected("auto"),
    ):
        pass


def test_ray_client_is_refused_before_ray_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ConfigError, match=r"--cluster: expected auto or HOST:PORT .* got 'ray://head:10001'"),
        ray_cluster.connected("ray://head:10001"),
    ):
        pass


@pytest.mark.parametrize("mode", [None, "disabled"])
def test_a_machine_without_token_authentication_does_not_connect(
    mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with pytest.raises(SetupError, match="set RAY_AUTH_MODE=token on all machines"):
        cluster_token.refuse_without()
