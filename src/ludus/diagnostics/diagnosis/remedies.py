"""Derives suggestions from the measured costs: settings to change, and the predicted speed-up. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

from ludus.config.settings import RunConfig
from ludus.diagnostics.diagnosis import record
from ludus.diagnostics.diagnosis.ceilings import WAITS, Model
from ludus.diagnostics.diagnosis.record import Diagnosis, Suggestion

WORTH = 1.02  # predicted factor from which on a change is suggested
LEARNS = "changes what is learned: compare learning curves, too"


def suggestions(
    diagnosis: Diagnosis, model: Model, config: RunConfig, minibatch_rates: Mapping[int, float]
) -> list[Suggestion]:
    """Return the changes that should help, the most helpful first.

    `minibatch_rates` are the decisions/s of updates by the size of the minibatch, as measured on the recorded batches.
    """
    every = [
        *_mode(model),
        *_hosts(diagnosis, model, config),
        *_actors(diagnosis, model, config),
        *_matches(diagnosis, model, config),
        *_minibatch(model, config, minibatch_rates),
        *_epochs(model, config),
    ]
    worth = [each for each in every if each.gain >= WORTH and math.isfinite(each.gain)]
    return sorted(worth, key=lambda each: (bool(each.caveat), -each.gain))


def _mode(model: Model) -> Iterator[Suggestion]:
    if model.is_serial:
        gain = model.gain(model.costs, is_serial=False)
        yield Suggestion(
            {"mode": "overlapped"},
            gain,
            "hosts, actor and learner then work at the same time; runs are no longer bit for bit repeatable",
        )


def _hosts(diagnosis: Diagnosis, model: Model, config: RunConfig) -> Iterator[Suggestion]:
    hosts = diagnosis.hosts
    if model.limit != "hosts" or hosts >= 2 * model.cores:
        return
    more = max(hosts + 1, min(2 * hosts, model.cores))
    costs = model.costs.scaled("hosts", hosts / more, wall_only=True)
    yield Suggestion({"fleet.hosts": more}, model.gain(costs), f"the hosts limit, and {more} share their work")


def _actors(diagnosis: Diagnosis, model: Model, config: RunConfig) -> Iterator[Suggestion]:
    actors = diagnosis.actors
    segments = max(1, config.learner.decisions // config.rollout.segment)
    if model.limit != "actors" or model.is_serial or diagnosis.hosts < 2 * actors or segments % (2 * actors):
        return
    costs = model.costs.scaled("inference", 0.5, wall_only=True).scaled("recording", 0.5, wall_only=True)
    yield Suggestion({"actors.count": 2 * actors}, model.gain(costs), "the actor limits, and two share its work")


def _matches(diagnosis: Diagnosis, model: Model, config: RunConfig) -> Iterator[Suggestion]:
    """Larger inference batches, with the measured cost per row; and less waiting, if that is what limits."""
    rows, matches = diagnosis.median(record.ROWS) or 0.0, config.fleet.matches
    now_us, then_us = _per_row_us(diagnosis.curve, rows), _per_row_us(diagnosis.curve, 2 * rows)
    if now_us is None or then_us is None or now_us <= 0:
        return
    gain = model.gain(model.costs.scaled("inference", min(1.0, then_us / now_us)))
    why = f"inference costs {then_us:.1f} us per row at {2 * rows:,.0f} rows, {now_us:.1f} us at {rows:,.0f}"
    whole = diagnosis.median(record.WHOLE_RATE)
    waits = not diagnosis.is_shared and whole is not None and whole / model.decisions_per_s < WAITS
    if waits and whole:
        gain = max(gain, math.sqrt(model.decisions_per_s / whole))  # half of the waiting, on the scale of factors
        why += "; hosts, actor and learner wait for each other less if more matches are under way"
    yield Suggestion({"fleet.matches": 2 * matches}, gain, why)


def _minibatch(model: Model, config: RunConfig, rates: Mapping[int, float]) -> Iterator[Suggestion]:
    now = rates.get(config.learner.minibatch)
    for minibatch, rate in rates.items():
        if now and minibatch != config.learner.minibatch and rate > now:
            yield Suggestion(
                {"learner.minibatch": minibatch},
                model.gain(model.costs.scaled("learner", now / rate)),
                f"updates with minibatches of {minibatch:,} run at {rate:,.0f} decisions/s instead of {now:,.0f}",
                LEARNS,
            )


def _epochs(model: Model, config: RunConfig) -> Iterator[Suggestion]:
    epochs = config.learner.epochs
    if epochs > 1:
        yield Suggestion(
            {"learner.epochs": epochs - 1},
            model.gain(model.costs.scaled("learner", (epochs - 1) / epochs)),
            f"{epochs} passes over each batch take {model.costs.learner_s * 1e6:,.0f} us per decision",
            LEARNS,
        )


def _per_row_us(curve: Mapping[str, float], rows: float) -> float | None:
    """Return the microseconds per row of a batch, interpolated on a logarithmic scale between measured sizes."""
    points = sorted((int(size), us) for size, us in curve.items() if size.isdecimal() and int(size) > 0)
    if not points or rows <= 0:
        return None
    if rows >= points[-1][0]:
        return points[-1][1]
    for (small, small_us), (large, large_us) in pairwise(points):
        if small <= rows <= large:
            share = math.log(rows / small) / math.log(large / small)
            return small_us + share * (large_us - small_us)
    return points[0][1]
