"""What `import ludus` offers, used as a script or a notebook uses it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.api import evaluating
from ludus.errors import ConfigError
from ludus.metrics.observer import Numbers, Result

SMALL = {
    "game": "toy",
    "options": {"game": "nim"},
    "mode": "serial",
    "device": "cpu",
    "fleet": {"hosts": 1, "matches": 8},
    "policy": {"width": 16},
    "learner": {"decisions": 256, "minibatch": 128},
    "evaluation": {"matches": 4, "quick_matches": 4},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ludus.Run:
    folder = tmp_path_factory.mktemp("api") / "run"
    return ludus.train(SMALL, updates=2, run_dir=folder, progress=False)


def test_a_run_is_trained_evaluated_and_reported(run: ludus.Run) -> None:
    assert (run.updates, run.interrupted) == (2, False)
    assert {result.opponent for result in run.evaluation} == {"random", "perfect"}
    assert run.report == run.folder / "report.md"
    assert run.report.exists()
    assert (run.folder / "progress.csv").exists()


def test_a_run_is_evaluated_against_the_opponents_that_are_named(run: ludus.Run) -> None:
    (result,) = ludus.evaluate(run, ["random"], matches=4, hosts=1)
    assert (result.opponent, result.matches) == ("random", 4)
    with pytest.raises(ConfigError, match=r"no scripted policy 'nobody' .known are random, perfect"):
        ludus.evaluate(run.folder, ["nobody"])


def test_an_agent_is_evaluated_with_samples_if_its_run_was_or_if_asked(tmp_path: Path, run: ludus.Run) -> None:
    config = {**SMALL, "evaluation": {"matches": 4, "quick_matches": 4, "sample": True}}
    sampled = ludus.train(config, updates=1, run_dir=tmp_path / "run", progress=False)
    assert [evaluating.resolve(each).greedy for each in (run, sampled)] == [True, False]
    assert evaluating.resolve(sampled, sample=False).greedy
    likely, drawn = (ludus.evaluate(run, ["random"], matches=100, hosts=1, sample=each)[0] for each in (False, True))
    assert likely.matches == drawn.matches == 100
    assert likely != drawn


def test_a_loaded_agent_chooses_legal_actions(run: ludus.Run) -> None:
    agent = ludus.load(run)
    assert agent.updates == 2
    legal = np.zeros(agent.spec.actions, np.bool_)
    legal[1] = True
    assert agent.choose({}, legal, first=True) == 1
    with pytest.raises(ValueError, match="no observation 'nonsense'; it has"):
        agent.choose({"nonsense": 1})
    with pytest.raises(ValueError, match="no action is legal"):
        agent.choose({}, np.zeros(agent.spec.actions, np.bool_))


def test_a_run_is_resumed_with_its_own_configuration(run: ludus.Run) -> None:
    again = ludus.train(run_dir=run.folder, resume=True, updates=3, progress=False)
    assert again.updates == 3
    with pytest.raises(ConfigError, match="leave out config and game"):
        ludus.train("gen1", run_dir=run.folder, resume=True)
    with pytest.raises(ConfigError, match="already holds a run"):
        ludus.train(SMALL, run_dir=run.folder)


def test_settings_are_nested_or_dotted_and_wrong_ones_are_refused_with_their_path(tmp_path: Path) -> None:
    for settings in ({"learner": {"lrr": 1}}, {"learner.lrr": 1}):
        with pytest.raises(ConfigError, match=r"learner\.lrr=1: unknown key; did you mean learner\.lr\?"):
            ludus.train(SMALL, settings=settings, run_dir=tmp_path / "run")
    with pytest.raises(ConfigError, match="seed: must be a number, a text, a list or a mapping"):
        ludus.train(SMALL, settings={"seed": object()}, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_observer_sees_the_run_and_its_error_ends_it(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    class Stopper:
        def on_progress(self, numbers: Numbers) -> None:
            raise Enough

        def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None: ...

    with pytest.raises(Enough):
        ludus.train(SMALL, updates=2, run_dir=tmp_path / "run", observer=Stopper(), progress=False)


def test_installed_games_are_listed() -> None:
    listed = {game.name: game for game in ludus.games()}
    assert "nim" in listed["toy"].presets
    assert "heuristic" in listed["showdown"].opponents
    assert "gen9randombattle" in listed["showdown"].formats


def test_importing_ludus_imports_neither_torch_nor_numpy() -> None:
    code = "import sys, ludus; print([name for name in ('torch', 'numpy', 'rich') if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert output.stdout.strip() == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ludus.nonsense  # noqa: B018  the access is the test
