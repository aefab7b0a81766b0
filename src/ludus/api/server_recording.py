"""Records matches against outsiders, which a command plays on a server, in a dataset: their rows and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ludus
from ludus.data import generation
from ludus.data.dataset import Dataset
from ludus.data.live_rows import LiveRows
from ludus.data.manifest import MANIFEST, Manifest, PolicyNote
from ludus.data.recorder import LedgerRecorder
from ludus.errors import DatasetError
from ludus.fleet.fleet import HostFleet
from ludus.games.named_policies import AgentSource
from ludus.policies.checkpoints import checkpoint, checksums
from ludus.run.lock import hold
from ludus.types import Ending

OPPONENT = "opponent"  # name in the manifest of everyone who is met on the server


class Recording:
    """A dataset that receives the matches of one command. `recording` opens it."""

    def __init__(
        self,
        folder: Path,
        game: str,
        options: dict[str, Any],  # Any: the game's own
        agent: AgentSource,
    ) -> None:
        self._folder, self._game, self._options = folder, game, options
        self._agent = _note(agent)
        self._dataset = Dataset.open(folder) if (folder / MANIFEST).exists() else None
        self.first_number = 0  # of the matches of this command
        if self._dataset is not None:
            self._refuse_other(self._dataset.manifest)
            self._dataset.sweep()
            highest = int(generation.recorded_numbers(self._dataset).max(initial=-1))
            self.first_number = max(highest + 1, self._dataset.manifest.matches)

    def recorder(self, fleet: HostFleet, ratings: Callable[[Ending], Sequence[float]]) -> LedgerRecorder:
        """Return a recorder for the matches of a fleet, in which the agent has seat 0. Raises DatasetError if the
        dataset is of another game or cannot be written."""
        note = checkpoint.note_game(fleet.spec)
        if self._dataset is None:
            content = Manifest(
                game=self._game,
                spec=note,
                options=self._options,
                engine=dict(fleet.engine),
                ludus=ludus.__version__,
                policies=[],
                replayable=False,
                rows_spec=note,
            )
            self._dataset = Dataset.create(self._folder, content)
        dataset = self._dataset
        if dataset.manifest.spec.fingerprint != note.fingerprint:
            raise DatasetError(
                f"{self._folder} holds observations of schema {dataset.manifest.spec.schema} of "
                f"{dataset.manifest.spec.name}, and these are of schema {note.schema} of {note.name}; choose another "
                "folder"
            )
        opponent = PolicyNote(OPPONENT, OPPONENT)
        policies = [*dataset.manifest.policies]
        for policy in (self._agent, opponent):
            if policy not in policies:
                policies.append(policy)
        dataset.update(policies=policies)
        places = [policies.index(self._agent)] + [policies.index(opponent)] * (note.seats - 1)
        return LedgerRecorder(
            dataset,
            fleet.rows,
            lambda match: places,
            live=LiveRows(fleet.spec),
            first_number=self.first_number,
            ratings=ratings,
        )

    def _refuse_other(self, content: Manifest) -> None:
        if content.replayable or content.plan is not None:
            raise DatasetError(f"{self._folder} was made by `ludus generate`; choose another folder")
        for name, before, now in (("game", content.game, self._game), ("options", content.options, self._options)):
            if before != now:
                raise DatasetError(
                    f"{self._folder} holds matches with other {name} ({before}) than given ({now}); choose another "
                    "folder"
                )


@contextmanager
def recording(
    folder: Path,
    game: str,
    options: Mapping[str, Any],  # Any: the game's own, which a dataset keeps
    agent: AgentSource,
) -> Iterator[Recording]:
    """Open or create a dataset for matches that cannot be played again. Raises ConfigError if another process writes
    to the folder, and DatasetError if it holds a dataset of another kind."""
    with hold(folder) as lock:
        lock.tell()
        yield Recording(folder, game, dict(options), agent)


def _note(agent: AgentSource) -> PolicyNote:
    path = agent.path
    if path is None:
        return PolicyNote(agent.name, agent.name, temperature=0.0)
    run = path.parent.parent.name if path.parent.name == checkpoint.CHECKPOINTS else path.parent.name
    digest = checksums.of_file(path / checkpoint.MODEL).sha256
    return PolicyNote(f"{run}/{path.name}", str(path), digest, temperature=0.0)
