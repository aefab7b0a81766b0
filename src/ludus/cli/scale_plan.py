"""What `ludus bench scale` measures, from the words of its command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ludus.config.overrides import whole_options
from ludus.errors import ConfigError

if TYPE_CHECKING:
    from ludus.diagnostics.scaling import StudyPlan

MATCHES, REPEATS, BUDGET_S, ASKED = (4, 16, 64), 3, 300.0, 1
USED = ("options", "fleet", "seed")  # what --set may change


@dataclass(frozen=True, slots=True)
class ScaleArguments:
    """The command line; None: not said."""

    game: str | None = None
    hosts: str | None = None
    matches: str | None = None
    sets: Sequence[str] = ()
    policy: str | None = None
    repeats: int | None = None
    budget: str | None = None
    asked: int | None = None
    servers: str | None = None


def make(before: StudyPlan | None, asked: ScaleArguments) -> StudyPlan:
    """What is asked for; what is not said is as it was `before`, or the default."""
    from ludus.config import load
    from ludus.diagnostics.scaling import SHORTEST_S, StudyPlan
    from ludus.games import catalogue, registry

    _check_sets(asked.sets)
    policy = asked.policy or (before.policy if before else "random")
    base = _base(before, asked.game, policy, asked.sets)
    config = load.assembled(base, asked.sets, None, lambda data: load.build(data, options_of=catalogue.options_of))
    fleet = {key: value for key, value in msgspec.to_builtins(config.fleet).items() if key not in ("hosts", "matches")}
    plan = StudyPlan(
        game=config.game,
        options=config.options,
        fleet=fleet,
        seed=config.seed,
        policy=_named(policy, config.game),
        hosts=counts(asked.hosts, "--hosts") if asked.hosts else before.hosts if before else default_hosts(),
        matches=counts(asked.matches, "--matches") if asked.matches else before.matches if before else MATCHES,
        repeats=asked.repeats or (before.repeats if before else REPEATS),
        budget_s=seconds(asked.budget, "--budget") if asked.budget else before.budget_s if before else BUDGET_S,
        asked=asked.asked or (before.asked if before else ASKED),
        servers=counts(asked.servers, "--servers") if asked.servers else before.servers if before else (),
    )
    if plan.servers and registry.load(plan.game).serve is None:
        raise ConfigError(f"--servers: {plan.game} is played without servers")
    if plan.turn_s < SHORTEST_S:
        raise ConfigError(
            f"--budget: {plan.budget_s:g} s for {len(plan.order)} turns is {plan.turn_s:.2f} s each; give at least "
            f"{SHORTEST_S * len(plan.order):g}s, or fewer --hosts, --matches or --repeats"
        )
    return plan


def counts(text: str, name: str) -> tuple[int, ...]:
    """ "1,2,4" as numbers, in order, each once."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"{name}: must be whole numbers from 1 with commas between, as in 1,2,4, but is {text!r}")
    return tuple(sorted({int(part) for part in parts}))


def seconds(text: str, name: str) -> float:
    """ "90s", "10m", "1h30m"; a number alone is seconds."""
    found = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", text.strip())
    if found is None or not any(found.groups()):
        raise ConfigError(f"{name}: must be a time as in 90s, 10m or 1h30m, but is {text!r}")
    return sum(float(part) * size for part, size in zip(found.groups(), (3600, 60, 1), strict=True) if part)


def default_hosts() -> tuple[int, ...]:
    """1, 2, 4 .. and as many as there are cores."""
    from ludus.processes.cores import cores

    most = cores()
    return tuple(sorted({2**power for power in range(most.bit_length()) if 2**power <= most} | {most}))


def _check_sets(sets: Sequence[str]) -> None:
    for text in sets:
        path = text.partition("=")[0].strip()
        if path in ("fleet.hosts", "fleet.matches"):
            raise ConfigError(f"--set {text}: say it with --{path.partition('.')[2]}")
        if path.partition(".")[0] not in USED:
            raise ConfigError(f"--set {text}: nothing is learned here; only options.*, fleet.* and seed can be set")


def _base(before: StudyPlan | None, game: str | None, policy: str, sets: Sequence[str]) -> dict[str, object]:
    """The configuration before --set: that of the benchmark gone on with, of the checkpoint, or the defaults. Raises
    UntrustedError for an option in a file that only this machine may set."""
    if before is not None and game in (None, before.game):
        options = _accepted(before.game, before.options, "the benchmark to go on with", sets)
        return {"game": before.game, "options": options, "fleet": before.fleet, "seed": before.seed}
    if Path(policy).exists():
        from ludus.api.evaluating import game_of
        from ludus.policies.checkpoints import checkpoint

        chosen = checkpoint.find(Path(policy))
        state = checkpoint.read_state(chosen)
        own = game_of(chosen, state.game.name).name
        if game in (None, own):
            return {"game": own, "options": _accepted(own, state.options, str(chosen), sets)}
    return {"game": game or "showdown"}


def _accepted(game: str, options: dict[str, Any], origin: str, sets: Sequence[str]) -> dict[str, Any]:
    """Any: options of a game. Those that `sets` names are put over these later."""
    from ludus.games import registry, trust

    named = whole_options(sets)
    kept = {name: value for name, value in options.items() if name not in named}
    return trust.accept(registry.load(game), kept, origin)


def _named(policy: str, game_name: str) -> str:
    """The policy as the plan names it: a scripted one, or the path of one checkpoint."""
    from ludus.games import registry

    scripted = registry.load(game_name).scripted
    if policy in scripted:
        return policy
    if not Path(policy).exists():
        known = f"there are {', '.join(scripted)}" if scripted else "it has none at all: name a run's folder"
        raise ConfigError(f"--policy: {policy!r} is no checkpoint, and {game_name} has no policy of that name; {known}")
    from ludus.policies.checkpoints import checkpoint

    return str(checkpoint.find(Path(policy)))
