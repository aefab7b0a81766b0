"""Plays matches of two policies into a dataset."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import ludus
from ludus.api import players
from ludus.api.players import Player
from ludus.config.seed_streams import seed_for
from ludus.config.settings import FleetConfig, ServersConfig
from ludus.config.validation import check
from ludus.data import generation, probing
from ludus.data.dataset import Dataset
from ludus.data.generation import GenerationProgress, PolicyScore
from ludus.data.manifest import MANIFEST, Manifest, PlanNote, PolicyNote
from ludus.errors import ConfigError, DatasetError
from ludus.games import defaults, registry, thinking, trust
from ludus.games.registry import Game, Served
from ludus.policies.checkpoints import checkpoint
from ludus.processes import interrupts, log_folder
from ludus.processes.cores import cores
from ludus.run.lock import hold
from ludus.serving.address import is_address
from ludus.spec import GameSpec, teams_in
from ludus.types import Policy

log = logging.getLogger(__name__)
SERVER_GAME = "-server"  # ends the name of the game that plays the matches of another on servers

Progress = Callable[[GenerationProgress], None]


@dataclass(frozen=True, slots=True)
class Generation:
    """The result of `generate`."""

    folder: Path
    matches: int  # in the dataset
    planned: int
    decisions: int  # in the dataset
    standings: tuple[PolicyScore, ...]
    replayable: bool  # False for matches on servers, whose rows were recorded while they were played

    @property
    def finished(self) -> bool:
        """Return whether all planned matches are in the dataset; if not, `resume=True` plays the rest."""
        return self.matches >= self.planned


@dataclass(frozen=True, slots=True)
class Matchup:
    """A validated call of `generate`: the game, its options and both players."""

    game: Game
    options: msgspec.Struct
    a: Player
    b: Player
    matches: int
    seed: int


def generate(
    a: str,
    b: str | None = None,
    *,
    matches: int,
    out: str | Path,
    game: str | None = None,
    seed: int = 1,
    temperature: float = 1.0,
    think_ms: float = 0.0,
    workers: int = 0,
    servers: int = 0,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, checked before anything starts
    resume: bool = False,
    progress: Progress = lambda progress: None,
) -> Generation:
    """Play matches of two policies and record them in a dataset.

    Args:
        a: A policy: "scripted:NAME", the folder of a run (its latest checkpoint) or of a checkpoint, or
            "tcp://HOST:PORT/NAME" for a policy on a server.
        b: The other policy. The default is `a`: self-play. Otherwise each seed is played once from every side.
        matches: Number of matches in the dataset at the end.
        out: Folder of the dataset.
        game: Name of the game. The default is the game of the checkpoints.
        seed: Seed of the list of matches and of the policies.
        temperature: Nets of checkpoints draw actions with probabilities raised to 1 / temperature; 0: the most likely
            action. The address of a policy on a server says itself how it plays.
        think_ms: Milliseconds of search before each decision of a checkpoint, for games that bring a search. 0: none.
        workers: Number of host processes. 0 means one per core.
        servers: Number of game servers to start, for games that are played on servers.
        options: Options of the game that override those of the checkpoints.
        resume: Continue a dataset: play the matches that are missing.
        progress: Called several times a second.

    Returns:
        The number of matches in the dataset, and the win rates.

    Raises:
        ConfigError: An argument is wrong, or another process writes to the folder.
        CheckpointError: A checkpoint cannot be read or does not fit the game.
        DatasetError: The folder holds another dataset, or the disk is full.
        FleetError: No host is left to play on.
    """
    matchup = resolve(
        a,
        b,
        matches=matches,
        game=game,
        seed=seed,
        temperature=temperature,
        think_ms=think_ms,
        options=options,
        on_servers=servers > 0,
    )
    if matchup.game.prepare is not None:
        matchup.game.prepare(matchup.options, lambda step, share: None)
    return play(matchup, Path(out), workers=workers, servers=servers, resume=resume, progress=progress)


def resolve(
    a: str,
    b: str | None,
    *,
    matches: int,
    game: str | None = None,
    seed: int = 1,
    temperature: float = 1.0,
    think_ms: float = 0.0,
    options: Mapping[str, Any] | None = None,  # Any: options of the game, not yet checked
    on_servers: bool = False,
) -> Matchup:
    """Validate the arguments of `generate` without starting a process. With `on_servers`, the game is the one that
    plays the same matches on servers. Raises ConfigError or CheckpointError."""
    texts = {"--a": a, "--b": a if b is None else b}
    game_option = None if game is None else registry.load(game)
    needs_game = all(text.startswith(players.SCRIPTED) for text in texts.values())
    if think_ms and needs_game:
        raise ConfigError("--think-ms: scripted policies do not search; give a checkpoint with --a or --b")
    default_game = game_option or (registry.load(defaults.GAME) if needs_game else None)
    nets = [
        players.find(text, default_game, name, temperature=temperature, think_ms=think_ms)
        for name, text in texts.items()
        if not text.startswith(players.SCRIPTED)
    ]
    own = default_game or registry.load(nets[0].game)
    if game_option is not None and game_option.name != own.name:
        raise ConfigError(f"--game: {game_option.name} was given, the checkpoint is of {own.name}")
    first, second = (
        players.find(text, own, name, temperature=temperature, think_ms=think_ms) for name, text in texts.items()
    )
    local = dict(options or {})
    if game is not None and ":" in game:
        local = {own.options.__struct_fields__[0]: game.partition(":")[2], **local}
    saved: Mapping[str, Any] = next((player.options for player in nets if player.options is not None), {})
    origin = nets[0].source if nets else "--game"
    trust.remember(own, local)
    if on_servers:
        own = _on_servers(own)
    fields = {name: value for name, value in saved.items() if name in own.options.__struct_fields__}
    checked = check(trust.accept(own, fields, origin, local), own.options, "options")
    return Matchup(own, checked, first, second, matches, seed)


def play(
    matchup: Matchup,
    out: Path,
    *,
    workers: int = 0,
    servers: int = 0,
    resume: bool = False,
    progress: Progress = lambda progress: None,
    tell: Callable[[str], None] = lambda line: None,
) -> Generation:
    """Play the matches of a matchup that are not in the dataset yet. SIGINT and SIGTERM end it early; finished matches
    are written in every case. The arguments and errors are those of `generate`; `tell` is called with a line on the
    search of each policy that searched."""
    usable_cores = cores()
    hosts = FleetConfig(hosts=workers).hosts_on(usable_cores)
    with ExitStack() as stack:
        stack.enter_context(hold(out)).tell()
        if not resume and (out / MANIFEST).exists():
            raise DatasetError(f"{out} already holds a dataset; continue it with --resume, or choose another folder")
        folder = stack.enter_context(log_folder.temporary_log_folder("ludus-generate-"))
        stopped = stack.enter_context(interrupts.handled())
        with stopped.raised():
            served: Served = stack.enter_context(
                matchup.game.served(matchup.options, ServersConfig(count=servers), folder)
            )
            dataset = _opened(matchup, out, served.options, folder, resume=resume, exists=(out / MANIFEST).exists())
        dataset.sweep()
        searches = stack.enter_context(ExitStack())

        def policies(spec: GameSpec) -> Mapping[str, Policy]:
            searches.close()  # of the policies of the matches before these
            players_by_name: dict[str, Policy] = {}
            for note, player in ((dataset.manifest.policies[at], each) for at, each in _seated(dataset, matchup)):
                seed = seed_for(matchup.seed, f"generate {note.name}", dataset.manifest.matches)
                policy = player.make(spec, seed, hosts * FleetConfig().matches)
                searches.callback(_end_search, note.name, policy, tell)
                players_by_name[note.name] = policy
            return players_by_name

        generation.generate(
            dataset,
            matchup.game,
            served.options,
            policies,
            log_dir=folder,
            hosts=hosts,
            fleet=FleetConfig(matches=matchup.game.matches_on(served.options, hosts, FleetConfig().matches)),
            usable_cores=usable_cores,
            keep_log=not dataset.manifest.replayable,
            stopped=stopped,
            progress=progress,
        )
    content = dataset.manifest
    planned = 0 if content.plan is None else content.plan.matches
    return Generation(
        out, content.matches, planned, content.decisions, tuple(generation.standings(dataset)), content.replayable
    )


def _end_search(name: str, policy: Policy, tell: Callable[[str], None]) -> None:
    if line := thinking.summary(policy):
        tell(f"{name}: {line}")
    thinking.close(policy)


def _opened(
    matchup: Matchup, out: Path, options: msgspec.Struct, log_dir: Path, *, resume: bool, exists: bool
) -> Dataset:
    """Create the dataset, or open the one to resume. Raises ConfigError if it was made with other arguments."""
    if exists:
        dataset = Dataset.open(out)
        _refuse_other(dataset, matchup)
        return dataset
    if resume:
        raise DatasetError(f"{out} holds no dataset to resume; leave out --resume")
    described = probing.describe(matchup.game, options, log_dir)
    spec = described.spec
    sides = len(set(teams_in(spec.layout, spec.seats)))
    plan = _plan(matchup)
    if plan.a != plan.b and matchup.matches % sides:
        raise ConfigError(f"--matches: {matchup.matches} cannot be split over {sides} sides; take a multiple")
    note, replayable = checkpoint.note_game(spec), matchup.game.serve is None
    content = Manifest(
        game=matchup.game.name,
        spec=note,
        options=matchup.game.saved_options(matchup.options),
        engine=described.engine,
        ludus=ludus.__version__,
        policies=_notes(matchup),
        replayable=replayable,
        rows_spec=None if replayable else note,
        plan=plan,
    )
    return Dataset.create(out, content)


def _on_servers(game: Game) -> Game:
    """Return the game whose hosts play on servers. Raises ConfigError if there is none."""
    if game.serve is not None:
        return game
    other = f"{game.name}{SERVER_GAME}"
    if other not in registry.names():
        raise ConfigError(f"--on servers: {game.name} is played without servers")
    return registry.load(other)


def _plan(matchup: Matchup) -> PlanNote:
    return PlanNote(0, 0 if matchup.a.source == matchup.b.source else 1, matchup.matches, matchup.seed)


def _notes(matchup: Matchup) -> list[PolicyNote]:
    different: Sequence[Player] = (matchup.a,) if _plan(matchup).b == 0 else (matchup.a, matchup.b)
    names = [player.name for player in different]
    if len(set(names)) != len(names):  # two runs whose folders have the same name
        names = [player.source for player in different]
    return [
        PolicyNote(name, player.source, player.sha256, player.temperature, player.think_ms)
        for name, player in zip(names, different, strict=True)
    ]


def _seated(dataset: Dataset, matchup: Matchup) -> list[tuple[int, Player]]:
    """Return the players with their places in the manifest's list of policies."""
    plan = dataset.manifest.plan
    assert plan is not None
    return [(plan.a, matchup.a)] if plan.a == plan.b else [(plan.a, matchup.a), (plan.b, matchup.b)]


def _refuse_other(dataset: Dataset, matchup: Matchup) -> None:
    """Raise ConfigError unless the dataset was made with the same arguments. Only `matches` may be larger; the plan is
    then extended."""
    content, folder = dataset.manifest, dataset.folder
    if content.plan is None:
        raise ConfigError(f"{folder} was merged or filtered, so there is nothing to resume; choose another folder")
    plan = _plan(matchup)
    before = {
        "game": content.game,
        "seed": content.plan.seed,
        "options": content.options,
        "policies": _with_known_sums(content.policies, _notes(matchup)),
    }
    now = {
        "game": matchup.game.name,
        "seed": plan.seed,
        "options": matchup.game.saved_options(matchup.options),
        "policies": _notes(matchup),
    }
    for name, value in now.items():
        if before[name] != value:
            raise ConfigError(
                f"{folder} was made with other {name} ({_in_words(before[name])}) than given ({_in_words(value)}); "
                "resume it with the same, or choose another folder"
            )
    if plan.matches < content.plan.matches:
        raise ConfigError(f"--matches: {folder} plans {content.plan.matches:,} matches; give at least as many")
    if plan != content.plan:
        dataset.update(plan=plan)


def _with_known_sums(before: Sequence[PolicyNote], now: Sequence[PolicyNote]) -> list[PolicyNote]:
    """Return the policies of a dataset for a comparison. An earlier version of ludus recorded no checksum of a policy
    on a server, and an earlier server tells none: a warning says that its weights cannot be compared."""
    sums = {note.source: note.sha256 for note in now}
    notes = []
    for note in before:
        digest = sums.get(note.source, note.sha256)
        if is_address(note.source) and digest != note.sha256 and not (digest and note.sha256):
            log.warning("%s: no checksum to compare; make sure that it has the same weights as before", note.source)
            note = msgspec.structs.replace(note, sha256=digest)
        notes.append(note)
    return notes


def _in_words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(f"{each.name} {each.sha256[:12]}".strip() for each in value)
    return str(value)
