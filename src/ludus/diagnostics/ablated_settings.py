"""The settings of a run without some terms of its reward, in every stage of its curriculum. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from ludus.actors.resolved import ResolvedRun
from ludus.errors import ConfigError
from ludus.games.registry import RewardTerms
from ludus.suggestions import did_you_mean

OPTIONS = "options"


def terms_of(run: ResolvedRun) -> list[str]:
    """Return the terms that count in any stage of a run. Raises ConfigError if its reward has no named terms."""
    terms = _reward_terms_of(run)
    return list(dict.fromkeys(term for each in run.stages or (run,) for term in terms.weights(each.options)))


def chosen_terms(run: ResolvedRun, text: str | None) -> list[str]:
    """Return the terms of `--terms a,b`; without it, all. Raises ConfigError for one that does not count in the run."""
    run_terms = terms_of(run)
    if text is None:
        return run_terms
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ConfigError(f"--terms: names no term; this run has {', '.join(run_terms)}")
    for name in names:
        if name not in run_terms:
            raise ConfigError(f"--terms: there is no term {name!r} in this run; {did_you_mean(name, run_terms)}")
    return names


def without(run: ResolvedRun, left_out: Collection[str]) -> dict[str, Any]:  # Any: plain data of a run
    """Return the settings of a run without these terms. Raises ConfigError if a stage would have no term at all."""
    terms = _reward_terms_of(run)
    data: dict[str, Any] = msgspec.to_builtins(run.config)
    if not left_out:
        return data
    data[OPTIONS] = {**data[OPTIONS], **_changed(terms, run.options, left_out, "")}
    for stage, resolved in zip(data.get("curriculum") or (), run.stages, strict=True):
        changed = _changed(terms, resolved.options, left_out, f"stage {stage['name']}: ")
        others = {key: value for key, value in stage["set"].items() if not _belongs_to(key, changed)}
        stage["set"] = {**others, **{f"{OPTIONS}.{name}": value for name, value in changed.items()}}
    return data


def _changed(terms: RewardTerms, options: object, left_out: Collection[str], place: str) -> Mapping[str, Any]:
    """Return the options that leave out these terms. Any: plain data."""
    weights = {name: weight for name, weight in terms.weights(options).items() if name not in left_out}
    if not weights:
        raise ConfigError(f"--terms: {place}without {', '.join(left_out)} nothing is left that could be earned")
    return terms.changed(options, weights)


def _belongs_to(key: str, changed: Mapping[str, object]) -> bool:
    """Return whether a setting of a stage, such as `options.rewards.goal`, sets one of these options or a part."""
    parts = key.split(".")
    return len(parts) > 1 and parts[0] == OPTIONS and parts[1] in changed


def _reward_terms_of(run: ResolvedRun) -> RewardTerms:
    if run.game.reward_terms is None:
        raise ConfigError(
            f"game: the reward of {run.game.name} has no named terms, so none can be left out; see docs/games.md"
        )
    return run.game.reward_terms
