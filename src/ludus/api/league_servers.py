"""Policies on servers that play matches whose results are kept: their weights must stay the same."""

from __future__ import annotations

from ludus.errors import LeagueError
from ludus.league.members import League, Member, refuse_elsewhere, refuse_other_version
from ludus.policies.launching import Wait
from ludus.serving.address import Address, parse
from ludus.serving.client import Client
from ludus.serving.remote import RemotePolicy
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices


def add(league: League, address: Address, name: str) -> Member:
    """Add a policy on a server of this machine. Raises ServingError if the server does not answer."""
    refuse_elsewhere(address)
    with Client(address) as client:
        return league.add_server(address, client.policy, name or client.policy.name)


def policy_of(member: Member, spec: GameSpec) -> RemotePolicy:
    """Return the policy of a member on a server. Raises LeagueError if the server has other weights now."""
    address = parse(member.origin)
    refuse_elsewhere(address)
    return FrozenRemotePolicy(address, spec, member.version, member.name)


class FrozenRemotePolicy(RemotePolicy):
    """A policy on a server. Raises LeagueError as soon as the server has other weights than those of `version`."""

    def __init__(self, address: Address, spec: GameSpec, version: int | None, name: str) -> None:
        """`version=None` is the version that the server has now. `name` is used in errors."""
        super().__init__(address, spec)
        self._address, self._name = address, name
        self._version = self.client.policy.version if version is None else version
        try:
            self._check(self.client.policy.version)
        except LeagueError:
            self.close()
            raise

    def launch(self, arrivals: Arrivals) -> Wait:
        wait = super().launch(arrivals)

        def collect() -> Choices:
            choices = wait()
            self._check(choices.version)
            return choices

        return collect

    def _check(self, version: int) -> None:
        refuse_other_version(self._name, str(self._address), self._version, version)
