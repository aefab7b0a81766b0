"""Evaluations of a run whose hosts die: others play their share, and a run outlives an evaluation that has no host."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.playing import first_host_dies
from tests.running import Watch, small_run, train

from ludus.config.settings import EvaluationConfig, FleetConfig
from ludus.games.toy.game import command
from ludus.games.toy.options import ToyOptions
from ludus.metrics import names
from ludus.metrics.observer import Numbers


def test_evaluations_of_a_run_go_on_without_a_host_that_dies_every_time(tmp_path: Path) -> None:
    config = small_run(
        2,
        game="command",
        options={"command": list(first_host_dies().argv)},
        fleet=FleetConfig(hosts=2, matches=4, backoff_s=0.01, failures_in_a_row=2),
        evaluation=EvaluationConfig(matches=12, quick_matches=8, every_updates=1),
    )
    watch = Watch()
    result = train(config, tmp_path, observer=watch)
    assert [final for final, _ in watch.evaluations] == [False, True]
    assert result.evaluation[0].matches == 12
    assert watch.numbers[names.HOSTS_ALIVE] == 1
    assert watch.numbers[names.EVALUATION_MOVED] == 4 + 6
    assert names.EVALUATION_FAILURES not in watch.numbers


class Saboteur(Watch):
    """Hosts that start while an evaluation is under way are to die."""

    def __init__(self, sign: Path) -> None:
        super().__init__()
        self._sign = sign

    def on_progress(self, numbers: Numbers) -> None:
        super().on_progress(numbers)
        if numbers.get(names.PHASE) == "evaluating":
            self._sign.touch()


def test_a_run_that_cannot_be_evaluated_is_trained_and_saved_and_says_why(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    host = f"if [ -e {shlex.quote(str(sign))} ]; then exit 3; fi; exec {shlex.join(command(ToyOptions()).argv)}"
    config = small_run(
        2,
        game="command",
        options={"command": ["sh", "-c", host]},
        evaluation=EvaluationConfig(matches=4, quick_matches=4, every_updates=1),
    )
    saboteur = Saboteur(sign)
    result = train(config, tmp_path / "run", observer=saboteur)
    assert (result.version, result.interrupted, result.evaluation) == (2, False, ())
    assert "exited with status 3 before HELLO" in result.unevaluated
    assert result.checkpoint is not None
    assert saboteur.evaluations == []
    assert saboteur.numbers[names.EVALUATION_FAILURES] == 2
    assert saboteur.numbers[names.PHASE] == "finished"
