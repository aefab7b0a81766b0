"""Joins the arrivals of several hosts into one batch."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus.fleet.host import Host
from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending
from ludus.wire.bodies import ArrivalsBody


def nothing(spec: GameSpec) -> Arrivals:
    """Return arrivals without rows."""
    return Arrivals(
        np.empty(0, np.int32),
        np.empty(0, np.int64),
        np.empty((0, spec.obs.nbytes), np.uint8),
        np.empty((0, spec.actions), np.bool_),
        np.empty(0, np.float32),
        np.empty(0, np.bool_),
    )


def collected(hosts: Sequence[Host], span: int, nothing: Arrivals) -> Arrivals:
    """Take the arrivals and endings of all hosts and return them as one batch.

    `span` is the number of rows per host. `nothing` is the result, with the endings added, if there are no rows.
    """
    row: list[NDArray[np.int32]] = []
    match: list[NDArray[np.int64]] = []
    bodies: list[ArrivalsBody] = []
    endings: list[Ending] = []
    for host in hosts:
        if not host.inbox.arrivals and not host.inbox.endings:
            continue
        delivered, ended = host.deliver()
        for body in delivered:
            row.append(body.row + host.index * span)
            match.append(host.match_ids(body.match))
        bodies += delivered
        endings += ended
    if not bodies:
        return msgspec.structs.replace(nothing, endings=tuple(endings))
    return gathered(row, match, bodies, endings, nothing.legal.shape[1])


def gathered(
    row: Sequence[NDArray[np.int32]],
    match: Sequence[NDArray[np.int64]],
    bodies: Sequence[ArrivalsBody],
    endings: Sequence[Ending],
    actions: int,
) -> Arrivals:
    """Join the bodies of one or more ARRIVALS frames into one batch.

    `row` and `match` are the numbers that the fleet uses; they replace those of the hosts.
    """
    if len(bodies) == 1:  # the usual case
        ((_, _, reward, opens, legal, obs, _),) = bodies
        return Arrivals(row[0], match[0], obs, _flags(legal, actions), reward, opens.view(np.bool_), tuple(endings))
    _, _, rewards, opened, legals, observations, _ = zip(*bodies, strict=True)
    return Arrivals(
        np.concatenate(row),
        np.concatenate(match),
        np.concatenate(observations),
        _flags(np.concatenate(legals), actions),
        np.concatenate(rewards),
        np.concatenate(opened).view(np.bool_),
        tuple(endings),
    )


def _flags(legal: NDArray[np.uint8], actions: int) -> NDArray[np.bool_]:
    return np.unpackbits(legal, axis=1, count=actions, bitorder="little").view(np.bool_)
