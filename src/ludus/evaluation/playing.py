"""Plays a fixed list of matches to its end on a fleet that was started with it: the loop of evaluations and leagues."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ludus.errors import EvaluationError
from ludus.evaluation.recording import Recorder
from ludus.fleet.interface import Fleet, FleetHealth
from ludus.metrics import names
from ludus.metrics.core import ActivityTimer, Metrics
from ludus.policies import launching
from ludus.policies.launching import LaunchingPolicy, Wait
from ludus.types import Arrivals, Choices, Ending, Policy

POLL_S = 1.0


class MatchList(Protocol):
    """A list of matches, and who plays which seat in them."""

    @property
    def players(self) -> Sequence[str]:
        """Return the names of the policies."""
        ...

    def __len__(self) -> int:
        """Return the number of matches."""
        ...

    def player(self, row: NDArray[np.int32], match: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place in `players` of the policy of each row."""
        ...


class MatchTally(Protocol):
    """Counts the matches of a list."""

    @property
    def ended(self) -> int:
        """Return the number of finished matches."""
        ...

    def choose(self, arrivals: Arrivals) -> None:
        """Receive rows that are about to act."""
        ...

    def end(self, ending: Ending) -> None:
        """Receive the end of a match, which may be voided and is then played again."""
        ...


def play_all(
    fleet: Fleet,
    seating: MatchList,
    policies: Mapping[str, Policy],
    tally: MatchTally,
    *,
    deadline_s: float,
    agent: str | None = None,
    after: Callable[[Ending], None] | None = None,
    tick: Callable[[], None] | None = None,
    recorder: Recorder | None = None,
    metrics: Metrics | None = None,
) -> None:
    """Play until all matches have ended.

    `after` is called after each match, `tick` at least once a second; an exception that one of them raises ends the
    loop. The time of the policy `agent`, or of all with None, counts as that of policies, and the rest as that of
    opponents. Raises EvaluationError if the time runs out or the hosts give up matches.
    """
    metrics = metrics or Metrics("actor")
    waiting, sending = metrics.activity(names.WAIT_HOSTS), metrics.activity(names.SEND)
    own, others = metrics.activity(names.POLICIES), metrics.activity(names.OPPONENTS)
    players = [TimedPolicy(policies[name], own if agent in (None, name) else others) for name in seating.players]
    until = time.monotonic() + deadline_s
    while tally.ended < len(seating):
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise EvaluationError(
                f"{tally.ended} of {len(seating)} matches ended within {deadline_s:.0f} s; without the rest "
                "the result would favour short ones, so give more time or schedule fewer"
            )
        with waiting:
            arrivals = fleet.recv(min(left_s, POLL_S))
        if tick is not None:
            tick()
        for ending in arrivals.endings:
            tally.end(ending)
            if recorder is not None:
                recorder.end(ending)
            if after is not None and not ending.void:
                after(ending)
        if len(arrivals):
            action = choose(arrivals, seating, players)
            tally.choose(arrivals)
            if recorder is not None:
                recorder.choose(arrivals, action)
            with sending:
                fleet.send(arrivals.row, action)
        elif not arrivals.endings:
            _raise_lost(fleet.health, len(seating) - tally.ended)


def _raise_lost(health: FleetHealth, missing: int) -> None:
    """Raise EvaluationError if the hosts have given up all remaining matches."""
    if health.exhausted:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in health.voided.most_common(3))
        raise EvaluationError(
            f"{missing} scheduled matches were given up by their hosts, so there is no result: {reasons}"
        )


def choose(arrivals: Arrivals, seating: MatchList, players: Sequence[Policy]) -> NDArray[np.int32]:
    """Return the action of each row. Each policy is called once with all of its rows."""
    action = np.zeros(len(arrivals), np.int32)
    player = seating.player(arrivals.row, arrivals.match)
    present = np.unique(player)
    places = [np.flatnonzero(player == each) for each in present]
    choices_of = launching.act(
        [(players[each], arrivals.take(index)) for each, index in zip(present, places, strict=True)]
    )
    for index, choices in zip(places, choices_of, strict=True):
        action[index] = choices.action
    return action


class TimedPolicy(LaunchingPolicy):
    """Forwards to a policy and measures its time as an activity."""

    def __init__(self, policy: Policy, timer: ActivityTimer) -> None:
        self._policy, self._timer = policy, timer

    @property
    def launches(self) -> bool:
        return isinstance(self._policy, LaunchingPolicy) and self._policy.launches

    def act(self, arrivals: Arrivals) -> Choices:
        with self._timer:
            return self._policy.act(arrivals)

    def launch(self, arrivals: Arrivals) -> Wait:
        assert isinstance(self._policy, LaunchingPolicy)
        with self._timer:
            wait = self._policy.launch(arrivals)

        def waited() -> Choices:
            with self._timer:
                return wait()

        return waited
