"""Computes the answers to a batch of asks: one forward pass for all rows that need one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludus.policies.network import NetPolicy
from ludus.serving.batching import WaitingAsk
from ludus.serving.connection import Connection
from ludus.serving.decision_table import CachedAnswers, Places, RefusedRows
from ludus.serving.greeting import ClientSession
from ludus.serving.library import ServedPolicy
from ludus.serving.protocol import Ask, Code, ServedAnswer
from ludus.types import Arrivals, Choices

log = logging.getLogger(__name__)
Waiting = WaitingAsk[ClientSession, Connection]


class AskOutcome(NamedTuple):
    """The outcome of one ASK: an answer or a refusal."""

    waiting: Waiting
    answer: ServedAnswer | None  # None: refused
    again: int = 0  # rows that were sent again
    refusal: RefusedRows | None = None


class _Checked(NamedTuple):
    """An ASK that may be answered."""

    waiting: Waiting
    slots: Places
    again: NDArray[np.bool_]
    legal: NDArray[np.bool_]


class ForwardPass:
    """A batch that is being computed. `finish` returns the outcomes; call it before the policy begins another."""

    def __init__(self, served: ServedPolicy, net: NetPolicy, batch: Sequence[Waiting], max_batch: int) -> None:
        self._served, self._net, self._max_batch = served, net, max_batch
        self._outcomes: list[AskOutcome] = []
        self._checked: list[_Checked] = []
        for waiting in batch:
            try:
                self._checked.append(_check(served, waiting))
            except RefusedRows as refusal:
                self._outcomes.append(AskOutcome(waiting, None, refusal=refusal))
        self.launched = False  # True if the forward pass runs in the background
        self.rows = 0  # of the forward pass
        self.forwards = 0
        self._collect: Callable[[], Choices] | None = None
        self._failure: Exception | None = None
        self._begin()

    def finish(self) -> list[AskOutcome]:
        """Wait for the forward pass and return the outcome of every ASK."""
        if self._failure is None:
            try:
                self._keep(self._checked, None if self._collect is None else self._collect())
                return self._outcomes
            except Exception as error:
                self._failure = error
        if len(self._checked) > 1:  # one ask may have spoilt it for the others
            log.warning("a forward pass of %s failed (%s); trying ask by ask", self._served.name, self._failure)
        for each in self._checked:
            try:
                self._keep([each], self._forward(_arrivals([each])))
            except Exception as error:
                log.exception("an ask for %s failed", self._served.name)
                refusal = RefusedRows(Code.FAILED, f"the forward pass failed: {type(error).__name__}: {error}")
                self._outcomes.append(AskOutcome(each.waiting, None, refusal=refusal))
        return self._outcomes

    def _begin(self) -> None:
        arrivals = _arrivals(self._checked)
        self.rows = 0 if arrivals is None else len(arrivals)
        if arrivals is None:
            return
        try:
            if len(arrivals) <= self._max_batch:
                self.forwards = 1
                self._collect = self._net.launch(arrivals)
                self.launched = self._net.launches
            else:
                choices = self._forward(arrivals)
                assert choices is not None
                self._collect = lambda: choices
        except Exception as error:
            self._failure = error

    def _forward(self, arrivals: Arrivals | None) -> Choices | None:
        """Compute in parts of at most `max_batch` rows."""
        if arrivals is None:
            return None
        parts = []
        for begin in range(0, len(arrivals), self._max_batch):
            index = np.arange(begin, min(begin + self._max_batch, len(arrivals)))
            parts.append(self._net.act(arrivals.take(index)))
        self.forwards += len(parts)
        if len(parts) == 1:
            return parts[0]
        return Choices(
            np.concatenate([part.action for part in parts]),
            np.concatenate([part.logp for part in parts]),
            np.concatenate([part.value for part in parts]),
            self._net.version,
        )

    def _keep(self, checked: Sequence[_Checked], choices: Choices | None) -> None:
        """Store the answers to the rows that were computed, and make an ANSWER of every ASK."""
        at, slots = 0, self._served.slots
        version = self._net.version if choices is None else choices.version
        for each in checked:
            ask, fresh = each.waiting.ask, ~each.again
            count = int(np.count_nonzero(fresh))
            if choices is not None and count:
                part = slice(at, at + count)
                answers = CachedAnswers(choices.action[part], choices.logp[part], choices.value[part], version)
                slots.keep(each.slots[fresh], ask.number[fresh], answers)
                at += count
                if count == len(fresh):
                    self._answer(each, ask, answers, 0)
                    continue
            latest = slots.recall(each.slots)
            answers = CachedAnswers(latest["action"], latest["logp"], latest["value"], int(latest["version"].max()))
            self._answer(each, ask, answers, len(fresh) - count)

    def _answer(self, each: _Checked, ask: Ask, answers: CachedAnswers, again: int) -> None:
        answer = ServedAnswer(
            ask.batch, answers.version, ask.row, ask.number, answers.action, answers.logp, answers.value
        )
        self._outcomes.append(AskOutcome(each.waiting, answer, again))


def _check(served: ServedPolicy, waiting: Waiting) -> _Checked:
    """Find the slots of an ASK and check its values. Raises RefusedRows."""
    ask = waiting.ask
    slots = served.slots.locate(waiting.client.rows, ask)
    again = served.slots.answered(slots, ask)
    legal = np.unpackbits(ask.legal, axis=1, count=served.spec.actions, bitorder="little").view(np.bool_)
    empty = np.flatnonzero(~legal.any(axis=1))
    if len(empty):
        raise RefusedRows(Code.BAD_ROWS, f"row {int(ask.row[empty[0]])}: no action is legal")
    for name in served.floats:
        values = served.spec.obs.leaf(np.ascontiguousarray(ask.obs), name).reshape(len(ask.row), -1)
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(wrong):
            raise RefusedRows(Code.BAD_ROWS, f"row {int(ask.row[wrong[0]])}: {name} has values that are not finite")
    return _Checked(waiting, slots, again, legal)


def _arrivals(checked: Sequence[_Checked]) -> Arrivals | None:
    """Return the rows that need a forward pass, or None."""
    parts = [each for each in checked if not each.again.all()]
    if not parts:
        return None
    fresh = [slice(None) if not each.again.any() else ~each.again for each in parts]
    pairs = list(zip(parts, fresh, strict=True))
    slots = np.concatenate([each.slots[index] for each, index in pairs])
    return Arrivals(
        row=slots.astype(np.int32),
        match=np.zeros(len(slots), np.int64),
        obs=np.concatenate([each.waiting.ask.obs[index] for each, index in pairs]),
        legal=np.concatenate([each.legal[index] for each, index in pairs]),
        reward=np.zeros(len(slots), np.float32),
        opens=np.concatenate([each.waiting.ask.opens[index] for each, index in pairs]).astype(np.bool_),
    )
