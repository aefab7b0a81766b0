"""Replays a saved match and checks that it ends in the same way."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ludus import files
from ludus.config.settings import FleetConfig
from ludus.config.validation import check
from ludus.errors import ConfigError, ReplayError
from ludus.evaluation import timeline_picture
from ludus.evaluation.recording import SavedMatch, digest, read
from ludus.evaluation.reward_timeline import Timeline, TimelineRecorder
from ludus.fleet.fleet import HostFleet
from ludus.games import hooks, registry, trust
from ludus.games.named_policies import named_policy
from ludus.processes import log_folder
from ludus.spec import GameSpec
from ludus.types import Arrivals, Ending

SCORE_TOLERANCE = 1e-6
POLL_S = 1.0
PICTURE_SUFFIX = ".rewards.png"


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay that matches its record."""

    match: SavedMatch
    log: str
    page: Path | None  # HTML page with the log, if one was written
    timeline: Timeline | None = None  # rewards by turn, if they were asked for
    picture: Path | None = None  # PNG of the timeline, beside the page


@dataclass(frozen=True, slots=True)
class TimelineRequest:
    """Asks a replay for the timeline of its rewards."""

    values: Path | None = None  # folder of a run or checkpoint whose value estimates are recorded too


def replay(
    path: Path,
    out: Path | None = None,
    *,
    deadline_s: float = 120.0,
    local: Mapping[str, Any] | None = None,  # Any: options of the game
    rewards: TimelineRequest | None = None,
) -> ReplayResult:
    """Replay a saved match on one host and compare the result.

    `out` is the path of an HTML page to write. Options in `local` replace those of the file. With `rewards`, the
    timeline of rewards is returned, drawn in the page and in a PNG beside it. Raises ReplayError, without writing a
    page, if the replay differs from the record, and CheckpointError if a checkpoint does not fit the game.
    """
    match = read(path)
    game = registry.load(match.game)
    options = options_of(match, game, path, local)
    ending, timeline = _play(match, game, options, deadline_s, rewards)
    differences = compare(match, ending, hooks.stable_log_of(game)(ending.log))
    if differences:
        raise ReplayError(f"the replay of {path} ended differently than the match: {'; '.join(differences)}")
    picture = None if out is None else _write_page(out, match, game, ending, timeline)
    return ReplayResult(match, ending.log, out, timeline, picture)


def _write_page(
    out: Path, match: SavedMatch, game: registry.Game, ending: Ending, timeline: Timeline | None
) -> Path | None:
    """Write the page and, with a timeline, the picture. Returns the path of the picture."""
    title = f"{match.game}: {' against '.join(match.policies)}"
    page = (game.page or plain_page)(title, ending.log)
    out.parent.mkdir(parents=True, exist_ok=True)
    picture = None
    if timeline is not None:
        png = timeline_picture.draw(timeline, match.policies, title)
        page = timeline_picture.into_page(page, png, timeline)
        picture = out.with_name(out.stem + PICTURE_SUFFIX)
        files.replace(picture, png)
    out.write_text(page, encoding="utf-8")
    return picture


def options_of(
    match: SavedMatch,
    game: registry.Game,
    path: Path,
    local: Mapping[str, Any] | None = None,  # Any: options of the game
) -> msgspec.Struct:
    """Return the options of a saved match, with those in `local` replaced. Raises UntrustedError for an option that
    only the user of this machine may set, and ReplayError for options that do not fit the game."""
    options = trust.accept(game, match.options, str(path), local)
    try:
        return check(options, game.options, "options")
    except ConfigError as error:
        raise ReplayError(f"its options do not fit {match.game}: {error}") from error


def compare(match: SavedMatch, ending: Ending, log: str) -> list[str]:
    """Describe each difference between the record and the replayed match. `log` is the match's log without the parts
    that differ in every replay. Returns an empty list if there is no difference."""
    differences = []
    score = tuple(float(one) for one in ending.score)
    if len(score) != len(match.score) or not np.allclose(score, match.score, atol=SCORE_TOLERANCE):
        differences.append(f"score {score}, recorded {match.score}")
    if (turns := float(ending.facts.get("turns", 0.0))) != match.turns:
        differences.append(f"{turns:g} turns, recorded {match.turns:g}")
    if ending.truncated != match.truncated:
        differences.append(f"truncated {ending.truncated}, recorded {match.truncated}")
    if (log_sha256 := digest(log)) != match.log_sha256:
        differences.append(f"log {log_sha256[:12]}, recorded {match.log_sha256[:12]}")
    return differences


class Script:
    """Returns the recorded actions of each seat in order."""

    def __init__(self, match: SavedMatch) -> None:
        self._remaining = [iter(seat) for seat in match.actions]
        self._counts = [0] * len(match.actions)

    def actions(self, arrivals: Arrivals) -> NDArray[np.int32]:
        actions = np.zeros(len(arrivals), np.int32)
        for index, seat in enumerate(arrivals.row % len(self._remaining)):
            action = next(self._remaining[seat], None)
            if action is None:
                raise ReplayError(f"seat {seat} must act once more after its {self._counts[seat]} recorded actions")
            if action >= arrivals.legal.shape[1] or not arrivals.legal[index, action]:
                raise ReplayError(
                    f"action {action}, number {self._counts[seat]} of seat {seat}, is not legal when replayed"
                )
            self._counts[seat] += 1
            actions[index] = action
        return actions

    def unused(self) -> int:
        """Return the number of recorded actions that were not used."""
        return sum(len(list(seat)) for seat in self._remaining)


def _play(
    match: SavedMatch, game: registry.Game, options: msgspec.Struct, deadline_s: float, rewards: TimelineRequest | None
) -> tuple[Ending, Timeline | None]:
    script = Script(match)
    until = time.monotonic() + deadline_s
    with (
        log_folder.temporary_log_folder("ludus-replay-") as folder,
        HostFleet(
            game.command(options),
            FleetConfig(),
            options=msgspec.to_builtins(options),
            seed=match.seed,
            log_dir=folder,
            hosts=1,
            matches=1,
            schedule=[(match.number, match.seed)],
            keep_log=True,
            events=rewards is not None,
        ) as fleet,
    ):
        _refuse_other(match, fleet.spec)
        recorder = _recorder(match, game, fleet.spec, rewards)
        while time.monotonic() < until:
            arrivals = fleet.recv(POLL_S)
            for ending in arrivals.endings:
                if ending.void:
                    raise ReplayError(f"the host was lost while replaying: {ending.void}")
                if unused := script.unused():
                    raise ReplayError(f"it ends {unused} recorded actions too early")
                if recorder is not None:
                    recorder.end(ending, fleet.take_events())
                return ending, None if recorder is None else recorder.timeline()
            if len(arrivals):
                if recorder is not None:
                    recorder.turn(arrivals, fleet.take_events())
                fleet.send(arrivals.row, script.actions(arrivals))
    raise ReplayError(f"it did not end within {deadline_s:.0f} s")


def _refuse_other(match: SavedMatch, spec: GameSpec) -> None:
    if spec.schema != match.schema:
        raise ReplayError(f"recorded with schema {match.schema} of {match.game}, this is schema {spec.schema}")
    if spec.seats != len(match.policies):
        raise ReplayError(f"recorded with {len(match.policies)} seats, {spec.name} has {spec.seats}")


def _recorder(
    match: SavedMatch, game: registry.Game, spec: GameSpec, rewards: TimelineRequest | None
) -> TimelineRecorder | None:
    if rewards is None:
        return None
    values = None
    if rewards.values is not None:
        if not rewards.values.is_dir():
            raise ReplayError(f"{rewards.values} is no folder; value estimates need a run or a checkpoint")
        values = named_policy(str(rewards.values), spec, game, rows=spec.seats)
    return TimelineRecorder(spec.seats, match.number, values)


def plain_page(title: str, log: str) -> str:
    """Return a plain HTML page with the log, for games without their own page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title></head>\n'
        f"<body><h1>{html.escape(title)}</h1>\n<pre>{html.escape(log)}</pre></body></html>\n"
    )
