"""Renders, checks and describes datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ludus.api import players
from ludus.config.settings import DataConfig, FleetConfig, ServersConfig
from ludus.config.validation import check as checked
from ludus.data import checking, copying, exporting, probing, rendering
from ludus.data.agreement import Agreement
from ludus.data.agreement import agreement as compare
from ludus.data.checking import CheckResult
from ludus.data.copying import CopyResult
from ludus.data.dataset import Dataset
from ludus.data.rendering import RenderProgress
from ludus.data.selecting import Selection
from ludus.data.source import refuse_stale_rows
from ludus.games import registry, trust
from ludus.games.registry import Game
from ludus.processes import interrupts, log_folder
from ludus.processes.cores import cores
from ludus.run.lock import hold
from ludus.spec import GameSpec

COPIES = 4  # of a scripted policy, with different seeds: where they agree, it does not draw random numbers


def game_of(
    dataset: Dataset,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, not yet checked
) -> tuple[Game, msgspec.Struct]:
    """Return the game of a dataset and the options of its matches, overridden by `options`.

    Raises UntrustedError if the dataset sets an option that only the user of this machine may set, and ConfigError if
    the game is not installed.
    """
    game = registry.load(dataset.manifest.game)
    accepted = trust.accept(game, dataset.manifest.options, str(dataset.folder), options)
    return game, checked(accepted, game.options, f"{dataset.folder}: options")


@contextmanager
def opened(folder: str | Path) -> Iterator[Dataset]:
    """Open a dataset to write to it. Raises ConfigError if another process does, and DatasetError if there is none."""
    Dataset.open(Path(folder))  # before a lock is written into a folder that holds none
    with hold(Path(folder)) as lock:
        lock.tell()
        dataset = Dataset.open(Path(folder))
        dataset.sweep()
        yield dataset


def check(folder: str | Path, progress: Callable[[int, int], None] = lambda done, all: None) -> CheckResult:
    """Compare every file of a dataset with its checksum. Returns the damaged files and what is usable."""
    return checking.check(Dataset.open(Path(folder)), progress)


def render(
    folder: str | Path,
    *,
    workers: int = 0,
    again: bool = False,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, not yet checked
    progress: Callable[[RenderProgress], None] = lambda progress: None,
) -> bool:
    """Make the rows of a dataset by playing its matches again. SIGINT ends it early; finished shards are kept.

    Args:
        folder: Folder of the dataset.
        workers: Number of host processes. 0 means one per core.
        again: Also render shards whose rows are up to date.
        options: Options of the game that override those of the dataset.
        progress: Called several times a second.

    Returns:
        True if all shards have rows, False if a signal ended it early.

    Raises:
        DatasetError: The dataset is damaged, its matches cannot be played again, or the disk is full.
        UntrustedError: The dataset sets an option that only this machine may set.
        FleetError: No host is left to play on.
    """
    with opened(folder) as dataset, log_folder.temporary_log_folder("ludus-render-") as logs:
        rendering.refuse_unreplayable(dataset)  # before a host looks for a server
        game, game_options = game_of(dataset, options)
        if game.prepare is not None:
            game.prepare(game_options, lambda step, share: None)
        usable_cores = cores()
        with interrupts.handled() as stopped:
            with stopped.raised():
                spec = probing.describe(game, game_options, logs).spec
            return rendering.render(
                dataset,
                game,
                game_options,
                spec,
                log_dir=logs,
                hosts=FleetConfig(hosts=workers).hosts_on(usable_cores),
                usable_cores=usable_cores,
                again=again,
                stopped=stopped,
                progress=progress,
            )


def agreement(
    folder: str | Path,
    policy: str,
    *,
    of: str | None = None,
    held_out: float = 0.0,
    most: int = 0,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, not yet checked
    progress: Callable[[int], None] = lambda decisions: None,
) -> Agreement:
    """Measure how often a policy chooses the recorded action.

    Args:
        folder: Folder of a dataset with rows.
        policy: A run, a checkpoint (its most likely action counts) or scripted:NAME.
        of: Name of the recorded policy whose decisions are compared. The default is all policies. If it is scripted,
            the result also counts the decisions in which it chooses the same action whatever its seed.
        held_out: Compare only this share of the matches, the one that `data.holdout` of a run with the same value left
            out. 0 compares all.
        most: Stop after about as many decisions; 0 compares all.
        options: Options of the game that override those of the dataset.
        progress: Called with the number of compared decisions after each shard.

    Raises:
        DatasetError: The dataset is damaged or has no rows for the present observations of the game.
        ConfigError: An argument is wrong.
        CheckpointError: The checkpoint cannot be read or does not fit the game.
    """
    dataset = Dataset.open(Path(folder))
    game, game_options = game_of(dataset, options)
    config = DataConfig(str(folder), () if of is None else (of,), holdout=held_out)
    selection = Selection.of(config, dataset.manifest.policies, held_out=held_out > 0)
    player = players.find(policy, game, "POLICY", temperature=0.0)
    with log_folder.temporary_log_folder("ludus-agreement-") as logs:
        spec = _present_spec(game, game_options, logs)
    refuse_stale_rows(dataset, spec)
    name = "" if of is None else of.removeprefix(players.SCRIPTED)
    copies = [game.scripted[name](spec, seed) for seed in range(COPIES)] if name in game.scripted else []
    largest = max(shard.matches for shard in dataset.shards) * spec.seats
    return compare(
        dataset, spec, selection, player.make(spec, 0, largest), reference=copies, most=most, progress=progress
    )


def copy(
    folders: Sequence[str | Path],
    out: str | Path,
    *,
    policies: Sequence[str] = (),
    min_rating: float = 0.0,
    newest: int = 0,
    progress: Callable[[int, int], None] = lambda done, all: None,
) -> CopyResult:
    """Copy matches of datasets of one game into a new dataset. Rows are copied, too. Damaged shards are left out.

    Args:
        folders: Folders of the datasets.
        out: Folder of the new dataset.
        policies: Only matches in which one of these policies played. The default is all.
        min_rating: Only matches with a player of at least this rating.
        newest: Only so many latest matches of each dataset; 0 means all.
        progress: Called for each shard.

    Raises:
        DatasetError: The datasets are of different games, `out` holds a dataset, or the disk is full.
        ConfigError: A policy is unknown, or another process writes to `out`.
    """
    sources = [Dataset.open(Path(each)) for each in folders]
    config = DataConfig(str(folders[0]), tuple(policies), min_rating=min_rating, newest=newest, holdout=0.0)
    selections = [Selection.of(config, source.manifest.policies) for source in sources]
    with hold(Path(out)) as lock:
        lock.tell()
        return copying.copy(sources, Path(out), selections, progress)


def export(
    folder: str | Path,
    to: str,
    out: str | Path,
    *,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, not yet checked
    progress: Callable[[int, int], None] = lambda done, all: None,
) -> int:
    """Write the rows of a dataset in a format of other programs. Returns the number of decisions.

    Args:
        folder: Folder of a dataset with rows.
        to: "parquet", "minari", or a format of the game ("metamon" for Showdown's singles).
        out: Folder to write to.
        options: Options of the game that override those of the dataset.
        progress: Called with the number of exported decisions, and of all.

    Raises:
        SetupError: The package for the format is not installed.
        DatasetError: The dataset is damaged or has no rows, or the disk is full.
        ConfigError: The format is unknown.
    """
    dataset = Dataset.open(Path(folder))
    spec = exporting.with_rows(dataset)
    game, game_options = game_of(dataset, options)
    exporter = exporting.find(to, game, game_options)
    if to in game.exports:  # those need the tables of the game, which only a host has
        with log_folder.temporary_log_folder("ludus-export-") as logs:
            spec = _present_spec(game, game_options, logs)
        refuse_stale_rows(dataset, spec)
    return exporter(dataset, spec, Path(out), progress)


def _present_spec(game: Game, options: msgspec.Struct, logs: Path) -> GameSpec:
    """Return the game as its hosts describe it now. For a game that is played on servers, one is started for them."""
    with game.served(options, ServersConfig(count=0 if game.serve is None else 1), logs) as served:
        return probing.describe(game, served.options, logs).spec
