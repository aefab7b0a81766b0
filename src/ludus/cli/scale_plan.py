"""Turns the command line of `ludus bench scale` into a plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ludus.config.overrides import whole_options
from ludus.errors import ConfigError
from ludus.games import defaults

if TYPE_CHECKING:
    from ludus.diagnostics.scaling import StudyPlan

MATCHES, REPEATS, BUDGET_S, MIN_MATCHES = (4, 16, 64), 3, 300.0, 1
SECTIONS = ("options", "fleet", "seed")  # that --set may change


@dataclass(frozen=True, slots=True)
class ScaleArguments:
    """The command line. None: the option was not given."""

    game: str | None = None
    hosts: str | None = None
    matches: str | None = None
    sets: Sequence[str] = ()
    policy: str | None = None
    repeats: int | None = None
    budget: str | None = None
    min_matches: int | None = None
    servers: str | None = None


def make(before: StudyPlan | None, arguments: ScaleArguments) -> StudyPlan:
    """Make a plan of the arguments. Options that were not given come from `before`, or from the defaults."""
    from ludus.config import load
    from ludus.diagnostics.scaling import SHORTEST_S, StudyPlan
    from ludus.games import catalogue, registry

    _check_sets(arguments.sets)
    policy = arguments.policy or (before.policy if before else "random")
    base = _base(before, arguments.game, policy, arguments.sets)
    config = load.assembled(base, arguments.sets, None, lambda data: load.build(data, options_of=catalogue.options_of))
    fleet = {key: value for key, value in msgspec.to_builtins(config.fleet).items() if key not in ("hosts", "matches")}
    plan = StudyPlan(
        game=config.game,
        options=config.options,
        fleet=fleet,
        seed=config.seed,
        policy=_policy_name(policy, config.game),
        hosts=counts(arguments.hosts, "--hosts") if arguments.hosts else before.hosts if before else default_hosts(),
        matches=counts(arguments.matches, "--matches") if arguments.matches else before.matches if before else MATCHES,
        repeats=arguments.repeats or (before.repeats if before else REPEATS),
        budget_s=seconds(arguments.budget, "--budget") if arguments.budget else before.budget_s if before else BUDGET_S,
        min_matches=arguments.min_matches or (before.min_matches if before else MIN_MATCHES),
        servers=counts(arguments.servers, "--servers") if arguments.servers else before.servers if before else (),
    )
    if plan.servers and registry.load(plan.game).serve is None:
        raise ConfigError(f"--servers: {plan.game} is played without servers")
    if plan.trial_s < SHORTEST_S:
        raise ConfigError(
            f"--budget: {plan.budget_s:g} s for {len(plan.order)} trials is {plan.trial_s:.2f} s each; give at least "
            f"{SHORTEST_S * len(plan.order):g}s, or fewer --hosts, --matches or --repeats"
        )
    return plan


def counts(text: str, name: str) -> tuple[int, ...]:
    """Parse a list such as "1,2,4" into sorted, distinct numbers."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"{name}: must be whole numbers from 1, separated by commas, as in 1,2,4, but is {text!r}")
    return tuple(sorted({int(part) for part in parts}))


def seconds(text: str, name: str) -> float:
    """Parse a duration such as "90s", "10m", "1h30m" or "1.5d". A number without a unit is in seconds."""
    number = r"(\d+(?:\.\d+)?)"
    duration = re.fullmatch(rf"(?:{number}d)?(?:{number}h)?(?:{number}m)?(?:{number}s?)?", text.strip())
    if duration is None or not any(duration.groups()):
        raise ConfigError(f"{name}: must be a time as in 90s, 10m, 1h30m or 1.5d, but is {text!r}")
    units_s = (86_400, 3600, 60, 1)
    return sum(float(part) * unit_s for part, unit_s in zip(duration.groups(), units_s, strict=True) if part)


def default_hosts() -> tuple[int, ...]:
    """Return the powers of two up to the number of cores, and that number itself."""
    from ludus.processes.cores import cores

    limit = cores()
    return tuple(sorted({2**power for power in range(limit.bit_length()) if 2**power <= limit} | {limit}))


def _check_sets(sets: Sequence[str]) -> None:
    for text in sets:
        path = text.partition("=")[0].strip()
        if path in ("fleet.hosts", "fleet.matches"):
            raise ConfigError(f"--set {text}: use --{path.partition('.')[2]}")
        if path.partition(".")[0] not in SECTIONS:
            raise ConfigError(f"--set {text}: nothing is learned here; only options.*, fleet.* and seed can be set")


def _base(before: StudyPlan | None, game: str | None, policy: str, sets: Sequence[str]) -> dict[str, object]:
    """Return the configuration before --set: that of the resumed benchmark, of the checkpoint, or the defaults.

    Raises UntrustedError for an option in a file that only the user of this machine may set.
    """
    if before is not None and game in (None, before.game):
        options = _accepted(before.game, before.options, "the resumed benchmark", sets)
        return {"game": before.game, "options": options, "fleet": before.fleet, "seed": before.seed}
    from ludus.games import agents

    if agents.path_of(policy).exists():
        from ludus.games.checkpoint_game import game_of
        from ludus.policies.checkpoints import checkpoint

        checkpoint_path = checkpoint.find(agents.path_of(policy))
        state = checkpoint.read_state(checkpoint_path)
        own = game_of(checkpoint_path, state.game.name).name
        if game in (None, own):
            return {"game": own, "options": _accepted(own, state.options, str(checkpoint_path), sets)}
    return {"game": game or defaults.GAME}


def _accepted(game: str, options: dict[str, Any], origin: str, sets: Sequence[str]) -> dict[str, Any]:
    """Return the options that this machine trusts, without those that `sets` will replace. Any: options of a game."""
    from ludus.games import registry, trust

    replaced = whole_options(sets)
    others = {name: value for name, value in options.items() if name not in replaced}
    return trust.accept(registry.load(game), others, origin)


def _policy_name(policy: str, game_name: str) -> str:
    """Return the name of a scripted policy, or the path of the checkpoint."""
    from ludus.games import agents, registry

    scripted = registry.load(game_name).scripted
    if policy in scripted:
        return policy
    if not agents.path_of(policy).exists():
        choices = f"there are {', '.join(scripted)}" if scripted else "it has none; give a run's folder"
        raise ConfigError(
            f"--policy: {policy!r} is no checkpoint, and {game_name} has no policy of that name; {choices}"
        )
    from ludus.policies.checkpoints import checkpoint

    return str(checkpoint.find(agents.path_of(policy)))
