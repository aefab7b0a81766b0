"""The policy bank of an actor: which policy plays which row, and one batched forward pass per policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ludus.policies import launching
from ludus.policies.hidden_states import RowStates
from ludus.policies.network import NetPolicy
from ludus.types import Arrivals, Choices, Ending, Matchmaker, Pairing, Policy

LEARNER = "learner"


class BankState(Struct, frozen=True):
    """The policies that play the running matches, as stored in a checkpoint. Policies keep their numbers, because a
    bank runs the policies of a batch in the order of their numbers."""

    policies: list[str | None]  # name of the policy with each number; None: the number is free
    number_of: list[int]  # [rows] number of the policy that plays each row
    pairings: list[tuple[int, tuple[str, ...]]]  # number of each running match, name of the policy of each seat


class PolicyBank:
    """Maps rows to policies. It calls `Matchmaker.pair` when the first row of a match arrives, and `Matchmaker.report`
    when the match has ended."""

    def __init__(self, learner: NetPolicy, matchmaker: Matchmaker, *, rows: int, seats: int) -> None:
        self.learner = learner
        self._matchmaker = matchmaker
        self._seats = seats
        self._policies: list[Policy | None] = [learner]  # the learner is number 0
        self._numbers: dict[str, int] = {LEARNER: 0}
        self._number_of = np.zeros(rows, np.int32)
        self._opponent_rows = 0  # rows that are not the learner's
        self._pairings: dict[int, Pairing] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all policies in the bank."""
        return tuple(self._numbers)

    @property
    def matches(self) -> int:
        """The number of running matches: their policies are assigned, and they have not ended."""
        return len(self._pairings)

    def policy(self, name: str) -> Policy:
        """Return the policy of this name. Raises KeyError if the bank has none."""
        return self._policy(self._numbers[name])

    def state(self) -> BankState:
        """Return the assignment of policies to rows and matches, for a checkpoint."""
        policies: list[str | None] = [None] * len(self._policies)
        for name, number in self._numbers.items():
            policies[number] = name
        pairings = [(match, pairing.policies) for match, pairing in self._pairings.items()]
        return BankState(policies, self._number_of.tolist(), pairings)

    def restore(self, state: BankState, policies: Mapping[str, Policy]) -> None:
        """Continue the matches of an earlier bank. `policies` must contain every policy named in `state`, except for
        the learner."""
        policies_by_name = {**policies, LEARNER: self.learner}
        self._policies = [None if name is None else policies_by_name[name] for name in state.policies]
        self._numbers = {name: number for number, name in enumerate(state.policies) if name is not None}
        self._number_of[:] = state.number_of
        self._opponent_rows = int(np.count_nonzero(self._number_of))
        self._pairings = {match: Pairing(match, seats) for match, seats in state.pairings}

    def enter(self, name: str, policy: Policy) -> None:
        """Add a policy, or replace the one of this name. Call it before the matchmaker uses the name."""
        if name in self._numbers:
            self._policies[self._numbers[name]] = policy
            return
        number = self._policies.index(None) if None in self._policies else len(self._policies)
        self._policies[number : number + 1] = [policy]
        self._numbers[name] = number

    def retire(self, names: Iterable[str]) -> None:
        """Remove these policies. One that still plays a match stays; retire it again later."""
        for name in set(names) - {LEARNER}:
            number = self._numbers.get(name)
            if number is not None and not (self._number_of == number).any():
                self._policies[number] = None
                del self._numbers[name]

    def end(self, endings: Iterable[Ending]) -> int:
        """Free the rows of matches that ended, and report the results to the matchmaker. Call it before `act`, because
        the next match of the same slot may begin in the same arrivals.

        Returns how many of the matches ended before any row had to make a decision.
        """
        unasked = 0
        for ending in endings:
            pairing = self._pairings.pop(ending.match, None)
            if pairing is None:
                unasked += 1
                continue
            if self.learner.states is not None:
                self._forget(ending.rows)
            self._assign(ending.rows, 0)
            self._matchmaker.report(pairing, ending)
        return unasked

    def act(self, arrivals: Arrivals) -> Choices:
        """Choose an action for each row with the policy that plays it. Assigns policies to matches that begin."""
        if arrivals.opens.any():
            self._seat(arrivals)
        if not self._opponent_rows:
            return self.learner.act(arrivals)
        numbers = self._number_of[arrivals.row]
        present = np.unique(numbers)
        if len(present) == 1:
            return self._policy(int(present[0])).act(arrivals)
        n = len(arrivals)
        action, logp, value = np.empty(n, np.int32), np.zeros(n, np.float32), np.zeros(n, np.float32)
        states = self.learner.states
        hidden_state = None if states is None else np.zeros((n, states.size), np.float32)
        places = [np.flatnonzero(numbers == number) for number in present]
        parts = [(self._policy(int(number)), arrivals.take(at)) for number, at in zip(present, places, strict=True)]
        for index, choices in zip(places, launching.act(parts), strict=True):
            action[index], logp[index], value[index] = choices.action, choices.logp, choices.value
            if hidden_state is not None and choices.hidden_state is not None:
                hidden_state[index] = choices.hidden_state
        return Choices(action, logp, value, self.learner.version, hidden_state)

    def learning(self, row: NDArray[np.int32]) -> NDArray[np.bool_] | None:
        """Return a mask [n] of the rows that the learner plays, or None if it plays all of them."""
        return self._number_of[row] == 0 if self._opponent_rows else None

    def hidden_states(self) -> NDArray[np.float32] | None:
        """Return the hidden states of all rows, [rows, size], from the policies that play them. Return None if the
        learner's net is not recurrent."""
        states = self.learner.states
        if states is None:
            return None
        hidden_states = np.zeros((len(self._number_of), states.size), np.float32)
        for row, remembering in self._remembering(np.arange(len(hidden_states))):
            hidden_states[row] = remembering.take(row)
        return hidden_states

    def restore_hidden_states(self, hidden_states: NDArray[np.float32]) -> None:
        """Set hidden states that `hidden_states` returned. Call it after `restore`. Raises ValueError if their shape
        does not fit."""
        if len(hidden_states) != len(self._number_of):
            raise ValueError(f"hidden states of {len(hidden_states)} rows, expected {len(self._number_of)}")
        for row, remembering in self._remembering(np.arange(len(hidden_states))):
            remembering.put(row, hidden_states[row])

    def _forget(self, rows: NDArray[np.integer[Any]]) -> None:
        for row, remembering in self._remembering(rows):
            remembering.forget(row)

    def _remembering(self, rows: NDArray[np.integer[Any]]) -> Iterator[tuple[NDArray[np.integer[Any]], RowStates]]:
        """Yield these rows grouped by the recurrent policy that plays them, with its hidden states. Rows of other
        policies are left out."""
        numbers = self._number_of[rows]
        for number in np.unique(numbers).tolist():
            policy = self._policy(number)
            if isinstance(policy, NetPolicy) and policy.states is not None:
                yield rows[numbers == number], policy.states

    def _seat(self, arrivals: Arrivals) -> None:
        """Assign policies to the seats of all matches that begin with these arrivals."""
        for at in np.flatnonzero(arrivals.opens).tolist():
            match = int(arrivals.match[at])
            if match in self._pairings:
                continue
            pairing = self._pairings[match] = self._matchmaker.pair(match)
            first = int(arrivals.row[at]) // self._seats * self._seats
            for seat, name in enumerate(pairing.policies):
                self._assign(np.array([first + seat]), self._numbers[name])

    def _assign(self, rows: NDArray[np.integer[Any]], number: int) -> None:
        """Let policy `number` play these rows, and count the rows that the learner does not play."""
        before = np.count_nonzero(self._number_of[rows])
        self._number_of[rows] = number
        self._opponent_rows += int(np.count_nonzero(self._number_of[rows]) - before)

    def _policy(self, number: int) -> Policy:
        policy = self._policies[number]
        assert policy is not None, f"policy {number} was retired while it played"
        return policy
