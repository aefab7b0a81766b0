"""The settings of the variants of an ablation: without some terms of the reward, or with some changes. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from ludus.actors.resolved import ResolvedRun, resolve
from ludus.config import load
from ludus.config.folders import file_name
from ludus.diagnostics.ablation import AblationPlan
from ludus.errors import ConfigError
from ludus.games.registry import RewardTerms
from ludus.suggestions import did_you_mean

OPTIONS = "options"
_NAMED = re.compile(r"\s*([^=:]{1,60}?)\s*:\s+(.+)", re.DOTALL)


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


def changes_of(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return what `--change "NAME: A.B=VALUE C.D=VALUE"` gives, by name; without a name, the settings are the name.

    Raises ConfigError if a text is no setting or a name is given twice.
    """
    changes: dict[str, tuple[str, ...]] = {}
    for text in texts:
        parts = _NAMED.fullmatch(text)
        try:
            sets = tuple(shlex.split(parts[2] if parts else text))
        except ValueError as error:
            raise ConfigError(f"--change {text!r}: cannot be split into settings: {error}") from error
        if not sets or any("=" not in each for each in sets):
            raise ConfigError(f"--change {text!r}: expected settings, as in 'wide: policy.width=128 learner.lr=1e-3'")
        name = parts[1] if parts else " ".join(sets)
        if file_name(name) in map(file_name, changes):  # a folder each
            raise ConfigError(f"--change: the name {name!r} is given twice")
        changes[name] = sets
    return changes


def variant_of(run: ResolvedRun, plan: AblationPlan, variant: str) -> ResolvedRun:
    """Return the run of a variant. Raises ConfigError if it cannot be trained."""
    data = without(run, [variant] if variant in plan.terms else [])
    return load.assembled(data, plan.changes.get(variant, ()), None, resolve)


def without(run: ResolvedRun, left_out: Collection[str]) -> dict[str, Any]:  # Any: plain data of a run
    """Return the settings of a run without these terms. Raises ConfigError if a stage would have no term at all."""
    data: dict[str, Any] = msgspec.to_builtins(run.config)
    if not left_out:
        return data
    terms = _reward_terms_of(run)
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
            f"game: the reward of {run.game.name} has no named terms, so none can be left out; see "
            "docs/games.md, or compare settings with --change"
        )
    return run.game.reward_terms
