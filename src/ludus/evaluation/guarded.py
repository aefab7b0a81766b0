"""Lets a tournament go on when a member fails: its matches are forfeited, and counted."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ludus.errors import LeagueError
from ludus.policies.launching import LaunchingPolicy, Wait
from ludus.types import Arrivals, Choices, Policy

CRASHED, ILLEGAL = "crashed", "illegal action"
log = logging.getLogger(__name__)


class GuardedPolicy(LaunchingPolicy):
    """Forwards to a member's policy, and plays the first legal action in its place where it fails.

    `forfeits` has the reason for each match that the member lost in this way: it crashed while it played the match, or
    chose an illegal action in it. After a crash it is not asked again; matches that begin later are in `skipped`, and
    have no result. If the policy raises LeagueError, it is no longer that of the member, and none of its matches has a
    result.
    """

    def __init__(self, name: str, policy: Policy) -> None:
        self.name = name
        self.observe: Callable[[Arrivals, Choices], None] | None = None  # receives the policy's choices, if set
        self.forfeits: dict[int, str] = {}  # by the number of the match
        self.skipped: set[int] = set()
        self.crash = ""  # why the policy failed; empty while it plays
        self._policy = policy
        self._withdrawn = False

    @property
    def launches(self) -> bool:
        return not self.crash and isinstance(self._policy, LaunchingPolicy) and self._policy.launches

    def forget(self, match: int) -> None:
        """Forget what happened in a match, which has ended or will be played again."""
        self.forfeits.pop(match, None)
        self.skipped.discard(match)

    def act(self, arrivals: Arrivals) -> Choices:
        if self.crash:
            return self._in_its_place(arrivals)
        try:
            return self._legal(arrivals, self._policy.act(arrivals))
        except Exception as error:  # whatever a member raises is its own failure
            return self._crashed(arrivals, error)

    def launch(self, arrivals: Arrivals) -> Wait:
        assert isinstance(self._policy, LaunchingPolicy)
        try:
            wait = self._policy.launch(arrivals)
        except Exception as error:
            choices = self._crashed(arrivals, error)
            return lambda: choices

        def waited() -> Choices:
            try:
                return self._legal(arrivals, wait())
            except Exception as error:
                return self._crashed(arrivals, error)

        return waited

    def _legal(self, arrivals: Arrivals, choices: Choices) -> Choices:
        """Return the choices with illegal actions replaced. Raises ValueError if there is not one action per row."""
        action = np.asarray(choices.action)
        if action.shape != (len(arrivals),):
            raise ValueError(f"actions of shape {action.shape} for {len(arrivals)} rows")
        within = (action >= 0) & (action < arrivals.legal.shape[1])
        legal = within & arrivals.legal[np.arange(len(action)), np.where(within, action, 0)]
        if self.observe is not None:
            self.observe(arrivals, choices)
        if legal.all():
            return choices
        for match in arrivals.match[~legal].tolist():
            self.forfeits.setdefault(match, ILLEGAL)
        return Choices.scripted(np.where(legal, action, _first_legal(arrivals)).astype(np.int32))

    def _crashed(self, arrivals: Arrivals, error: Exception) -> Choices:
        if isinstance(error, LeagueError):
            self.crash, self._withdrawn = str(error), True
            log.warning("%s plays no more: %s", self.name, self.crash)
            return self._in_its_place(arrivals)
        self.crash = f"{type(error).__name__}: {error}"
        log.warning("%s crashed and plays no more: %s", self.name, self.crash, exc_info=error)
        self.forfeits.update((match, CRASHED) for match in arrivals.match.tolist() if match not in self.forfeits)
        return Choices.scripted(_first_legal(arrivals))

    def _in_its_place(self, arrivals: Arrivals) -> Choices:
        matches = arrivals.match if self._withdrawn else arrivals.match[arrivals.opens]
        self.skipped.update(matches.tolist())
        for match in arrivals.match.tolist():
            if match not in self.skipped:
                self.forfeits.setdefault(match, CRASHED)
        return Choices.scripted(_first_legal(arrivals))


def _first_legal(arrivals: Arrivals) -> NDArray[np.int32]:
    first: NDArray[np.intp] = arrivals.legal.argmax(axis=1)
    return first.astype(np.int32)
