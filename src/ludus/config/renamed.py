"""Settings and sections that have a new name. The old name is still accepted, in files and in `--set`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

RENAMED = {  # a section stands for all settings in it
    "learner.clip": "learner.ppo.clip",
    "learner.gae_lambda": "learner.ppo.gae_lambda",
    "learner.target_kl": "learner.ppo.target_kl",
    "policy.memory": "policy.recurrent",
}


def current(path: str) -> str:
    """Return the present name of a setting."""
    for old, new in RENAMED.items():
        if _is_in(path, old):
            return new + path.removeprefix(old)
    return path


def moved(data: Mapping[str, Any]) -> dict[str, Any]:  # Any: plain data, not yet checked
    """Return the data with every setting under its present name. If both names are used, the old one is kept, and is
    then refused as unknown."""
    changed = dict(data)
    for old, new in RENAMED.items():
        if _has(changed, old) and not _has(changed, new):
            if _section(changed, new) is None:
                continue
            source = _section(changed, old)  # a copy; the next call copies the sections above both once more
            if source is not None:
                value = source.pop(old.rpartition(".")[2])
                target = _section(changed, new)
                assert target is not None
                target[new.rpartition(".")[2]] = value
    return changed


def old_names(data: Mapping[str, Any], sets: Sequence[str]) -> list[str]:
    """Return the old names that the data, its curriculum or `--set` texts use, in the order of the table."""
    used = {text.partition("=")[0].strip() for text in sets}
    stages = data.get("curriculum")
    for stage in stages if isinstance(stages, list | tuple) else ():
        if isinstance(stage, Mapping) and isinstance(stage.get("set"), Mapping):
            used.update(map(str, stage["set"]))
    return [old for old in RENAMED if _has(data, old) or any(_is_in(path, old) for path in used)]


def _is_in(path: str, section: str) -> bool:
    """Return True if a path names this setting or section, or a setting in it."""
    return path == section or path.startswith(f"{section}.")


def _has(data: Mapping[str, Any], path: str) -> bool:
    *sections, key = path.split(".")
    for name in sections:
        inner = data.get(name)
        if not isinstance(inner, Mapping):
            return False
        data = inner
    return key in data


def _section(data: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Replace the section that holds a setting by a copy and return the copy. Returns None if it is not a section."""
    for name in path.split(".")[:-1]:
        inner = data.get(name, {})
        if not isinstance(inner, Mapping):
            return None
        data[name] = dict(inner)
        data = data[name]
    return data
