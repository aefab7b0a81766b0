"""Reads a dataset match by match and seat by seat, and writes it in formats of other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus import files
from ludus.data.dataset import Dataset
from ludus.errors import ConfigError, DatasetError, SetupError
from ludus.games.registry import Game, attribute_of
from ludus.policies.checkpoints import checkpoint
from ludus.spec import GameSpec
from ludus.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All decisions of one seat in one match."""

    match: int  # number of the match, counted over the whole dataset
    seat: int
    policy: str
    opponents: tuple[str, ...]  # policies of the other seats
    seed: int
    score: float
    rating: float  # NaN if not known
    truncated: bool
    ended_s: float  # unix time at which the last match of its shard ended
    obs: NDArray[np.uint8]  # [n, nbytes]
    legal: NDArray[np.bool_]  # [n, A]
    action: NDArray[np.int32]  # [n]
    reward: NDArray[np.float32]  # [n]


Progress = Callable[[int, int], None]  # exported decisions, all
Exporter = Callable[[Dataset, GameSpec, Path, Progress], int]  # returns the number of exported decisions

FORMATS = {
    "parquet": "ludus.data.parquet:export",
    "minari": "ludus.data.minari_format:export",
}
"""`--to` -> the function, imported when it is used. A game may add formats (`Game.exports`)."""


def find(name: str, game: Game, options: msgspec.Struct) -> Exporter:
    """Return the function that exports to a format. Raises ConfigError for an unknown format."""
    targets = {**FORMATS, **game.exports}
    if name not in targets:
        raise ConfigError(f"--to: unknown format {name!r}; {did_you_mean(name, targets)}")
    if name in game.exports:
        return _of_game(attribute_of(game, game.exports[name], f"its export to {name}"), options)
    module, _, attribute = targets[name].partition(":")
    exporter: Exporter = getattr(import_module(module), attribute)
    return exporter


def _of_game(write: Callable[..., None], options: msgspec.Struct) -> Exporter:
    """Return an exporter that passes the trajectories, the spec, the options and the folder to a game's function."""

    def export(dataset: Dataset, spec: GameSpec, out: Path, progress: Progress) -> int:
        decisions = 0

        def counted() -> Iterator[Trajectory]:
            nonlocal decisions
            for each in trajectories(dataset, spec):
                yield each
                decisions += len(each.action)
                progress(decisions, dataset.manifest.decisions)

        try:
            write(counted(), spec, options, out)
        except OSError as error:
            raise DatasetError(f"{out} cannot be written: {files.reason(error)}") from error
        return decisions

    return export


def needed(package: str, extra: str) -> Any:  # Any: a module
    """Import a package of an extra. Raises SetupError, which says how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise SetupError(f"{package} is not installed: pip install 'ludus-rl[{extra}]'") from error


def trajectories(dataset: Dataset, spec: GameSpec) -> Iterator[Trajectory]:
    """Yield the decisions of every seat of every match with rows. Damaged shards are left out with a warning."""
    names = [policy.name for policy in dataset.manifest.policies]
    fingerprint = dataset.manifest.rows_spec.fingerprint if dataset.manifest.rows_spec is not None else ""
    first_match = 0
    for shard, content in dataset.undamaged():
        mapped = dataset.undamaged_rows(shard, spec, fingerprint)
        if mapped is not None:
            matches, at = content.matches, 0
            for place in mapped.match.tolist():
                for seat in range(spec.seats):
                    span = slice(at, at + int(matches.count[place, seat]))
                    at = span.stop
                    playing = [names[policy] for policy in matches.policy[place].tolist()]
                    yield Trajectory(
                        first_match + place,
                        seat,
                        playing[seat],
                        tuple(name for other, name in enumerate(playing) if other != seat),
                        int(matches.seed[place]),
                        float(matches.score[place, seat]),
                        float(matches.rating[place, seat]),
                        bool(matches.truncated[place]),
                        shard.ended_s,
                        mapped.obs[span],
                        _mask(mapped.legal[span], spec.actions),
                        mapped.action[span],
                        mapped.reward[span],
                    )
        first_match += shard.matches


def with_rows(dataset: Dataset) -> GameSpec:
    """Return the spec of the rows of a dataset, without tables. Raises DatasetError if it has none."""
    if dataset.manifest.rows_spec is None or not any(shard.rows is not None for shard in dataset.shards):
        raise DatasetError(f"{dataset.folder} has no rows; make them with `ludus data render {dataset.folder}`")
    return checkpoint.rebuild_game(dataset.manifest.rows_spec, {})


def leaves(obs: NDArray[np.uint8], spec: GameSpec) -> Mapping[str, NDArray[Any]]:  # Any: leaves of several types
    """Return the values of an observation by leaf; fixed-point leaves as float32."""
    return {
        leaf.name: spec.obs.reals(obs, leaf.name) if leaf.is_real else spec.obs.leaf(obs, leaf.name)
        for leaf in spec.obs.leaves
    }


def _mask(bits: NDArray[np.uint8], actions: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits, axis=1, count=actions, bitorder="little").view(np.bool_)
