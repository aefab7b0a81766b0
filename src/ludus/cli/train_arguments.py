"""The arguments of `ludus train`, and the command lines that repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ludus.cli import learner_place
from ludus.cli.train_profile import ProfileArguments
from ludus.games import defaults


@dataclass(frozen=True, slots=True)
class TrainArguments:
    """Arguments of `ludus train`."""

    config: str | None
    game: str | None
    sets: tuple[str, ...]
    run_dir: Path | None
    size: str | None
    resume: bool
    resume_from: str | None = None
    profiling: ProfileArguments | None = None
    watch: bool = False
    cluster: str | None = None
    learner: str = learner_place.HERE


def what(arguments: TrainArguments) -> list[str]:
    """Return the words of the command line that say what is trained."""
    words = ["--game", arguments.game] if arguments.game is not None else [arguments.config or defaults.PRESET]
    words += [] if arguments.size is None else ["--size", arguments.size]
    return [*words, *(word for each in arguments.sets for word in ("--set", each))]


def on_cluster(arguments: TrainArguments, folder: Path, cluster: str, learner: str) -> list[str]:
    """Return the words that train in this folder on a cluster, with the learner in this place."""
    words = [*again(folder, cluster, learner)]
    words += ["--resume-from", arguments.resume_from] if arguments.resume_from else []
    words += ["--resume"] if arguments.resume else what(arguments)
    if arguments.profiling is not None:
        kinds, seconds = arguments.profiling.kinds, arguments.profiling.seconds
        words += ["--profile", ",".join(kinds), "--profile-seconds", str(seconds)]
    return words


def again(folder: Path, cluster: str, learner: str) -> Sequence[str]:
    """Return the first words of every command that trains in this folder on a cluster."""
    return ["train", "--run-dir", str(folder), "--cluster", cluster, "--learner", learner]
