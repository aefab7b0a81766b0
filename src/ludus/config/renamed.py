"""Settings that have a new name. The old name is still accepted, in files and in `--set`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RENAMED = {
    "learner.clip": "learner.ppo.clip",
    "learner.gae_lambda": "learner.ppo.gae_lambda",
    "learner.target_kl": "learner.ppo.target_kl",
}


def current(path: str) -> str:
    """Returns the name that a setting has today."""
    return RENAMED.get(path, path)


def moved(data: Mapping[str, Any]) -> dict[str, Any]:  # Any: plain data, not yet checked
    """Returns the data with every setting under the name that it has today. If a setting is present under both names,
    the old one stays, to be refused as unknown."""
    changed = dict(data)
    for old, new in RENAMED.items():
        if _has(changed, old) and not _has(changed, new):
            target, source = _section(changed, new), _section(changed, old)
            if target is not None and source is not None:
                target[new.rpartition(".")[2]] = source.pop(old.rpartition(".")[2])
    return changed


def old_names(data: Mapping[str, Any], sets: Sequence[str]) -> list[str]:
    """Returns the old names that the data, its curriculum or `--set` texts use, in the order of the table."""
    used = {text.partition("=")[0].strip() for text in sets}
    stages = data.get("curriculum")
    for stage in stages if isinstance(stages, list | tuple) else ():
        if isinstance(stage, Mapping) and isinstance(stage.get("set"), Mapping):
            used.update(map(str, stage["set"]))
    return [old for old in RENAMED if old in used or _has(data, old)]


def _has(data: Mapping[str, Any], path: str) -> bool:
    *sections, key = path.split(".")
    for name in sections:
        inner = data.get(name)
        if not isinstance(inner, Mapping):
            return False
        data = inner
    return key in data


def _section(data: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Returns the section that holds a setting, as a copy in its place in `data`. Returns None if it is no section."""
    for name in path.split(".")[:-1]:
        inner = data.get(name, {})
        if not isinstance(inner, Mapping):
            return None
        data[name] = dict(inner)
        data = data[name]
    return data
