"""Learning from recorded matches on toy hosts: clones, weighted regression, fine-tuning, and exact resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pytest
from tests import datasets
from tests.running import NEVER, Silent, Watch, assert_equal_weights, latest, small_run, tensors, train, with_updates

from ludus.actors.mixed_source import is_played
from ludus.actors.resolved import resolve
from ludus.api.datasets import agreement, render
from ludus.config.settings import DataConfig, EvaluationConfig, LearnerConfig, PolicyConfig, RecurrentConfig, RunConfig
from ludus.errors import ConfigError
from ludus.policies.checkpoints import checkpoint

NIM = {"game": "nim"}
QUICK = EvaluationConfig(("random",), matches=4, every_updates=NEVER)


@pytest.fixture(scope="session")
def matches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matches of the perfect policy against the random one."""
    folder = tmp_path_factory.mktemp("datasets") / "nim"
    datasets.played(folder, 1500)
    assert render(folder, workers=1)
    return folder


@pytest.fixture(scope="session")
def random_matches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets") / "random"
    datasets.played(folder, 3000, a="random", b=None)
    assert render(folder, workers=1)
    return folder


def config(
    folder: Path,
    updates: int,
    algorithm: str = "bc",
    *,
    data: DataConfig | None = None,
    policy: PolicyConfig = PolicyConfig(width=16),
    evaluation: EvaluationConfig = EvaluationConfig(("perfect", "random"), matches=100, every_updates=NEVER),
) -> RunConfig:
    return small_run(
        updates,
        options=NIM,
        learner=LearnerConfig(algorithm, decisions=256, minibatch=128, lr=3e-3),
        data=data or DataConfig(str(folder), policies=("scripted:perfect",)),
        policy=policy,
        evaluation=evaluation,
    )


def test_a_clone_chooses_what_the_recorded_policy_chose_and_plays_as_well(matches: Path, tmp_path: Path) -> None:
    watch = Watch()
    train(config(matches, 80), tmp_path / "clone", observer=watch)
    result = agreement(matches, str(tmp_path / "clone"), of="scripted:perfect", held_out=0.05)
    assert result.decisions > 50
    assert result.share > 0.97
    ((_, rates),) = watch.evaluations
    assert rates["perfect"] == pytest.approx(0.5, abs=0.03)
    assert float(watch.numbers["learner/agreement"]) > 0.97


def test_weighted_regression_plays_better_than_the_policy_that_was_recorded(
    random_matches: Path, tmp_path: Path
) -> None:
    rates = {}
    for algorithm in ("bc", "awr"):
        watch = Watch()
        run_config = config(random_matches, 100, algorithm, data=DataConfig(str(random_matches)))
        train(run_config, tmp_path / algorithm, observer=watch)
        rates[algorithm] = watch.evaluations[-1][1]["random"]
    assert rates["awr"] > 0.75
    assert rates["awr"] > rates["bc"]


@pytest.mark.parametrize("recurrent", ["none", "gru"])
def test_a_resumed_clone_is_the_one_it_would_have_been(
    matches: Path, tmp_path: Path, recurrent: Literal["none", "gru"]
) -> None:
    policy = PolicyConfig(width=16, recurrent=RecurrentConfig(recurrent, width=8, sequence_length=4))
    whole = config(matches, 25, policy=policy, evaluation=QUICK)
    whole = msgspec.structs.replace(whole, learner=msgspec.structs.replace(whole.learner, lr_schedule="constant"))
    straight = train(whole, tmp_path / "straight", observer=Silent())
    train(with_updates(whole, 11), tmp_path / "halved", observer=Silent())
    assert_equal_weights(train(whole, tmp_path / "halved", resume=True, observer=Silent()), straight)


def test_fine_tuning_begins_with_the_weights_of_the_clone(matches: Path, tmp_path: Path) -> None:
    clone = train(config(matches, 80), tmp_path / "clone", observer=Silent())
    learner = LearnerConfig("ppo_kl", decisions=256, minibatch=128, lr=1e-9, lr_end=0.0)
    tuning = small_run(1, options=NIM, learner=learner, start_from=str(tmp_path / "clone"))
    tuned = train(tuning, tmp_path / "tuned", observer=Silent())
    before, after = tensors(clone), tensors(tuned)
    for name, tensor in before.items():
        if name.startswith("net."):
            assert float((tensor - after[name]).abs().max()) < 1e-6, name
    assert checkpoint.read_state(latest(tuned)).version == 1


@pytest.mark.parametrize("algorithm", ["ppo", "ppo_kl", "vtrace", "awr"])
def test_a_run_learns_from_its_own_matches_and_from_recorded_ones_in_turn(
    matches: Path, tmp_path: Path, algorithm: str
) -> None:
    watch = Watch()
    data = DataConfig(str(matches), policies=("scripted:perfect",), live=0.5)
    train(config(matches, 80, algorithm, data=data), tmp_path / "run", observer=watch)
    numbers = watch.numbers
    assert (numbers["progress/learned"], numbers["learner/recorded"]) == (40 * 256, 40 * 256)
    assert float(numbers["learner/agreement"]) > 0.9  # on the recorded decisions of perfect, which do not vary
    assert float(numbers["progress/matches"]) > 100
    assert watch.evaluations[-1][1]["random"] > 0.85


@pytest.mark.parametrize("stop", [11, 12])
def test_a_resumed_mixture_is_the_one_it_would_have_been(matches: Path, tmp_path: Path, stop: int) -> None:
    data = DataConfig(str(matches), live=0.4)
    whole = config(matches, 25, "ppo", data=data, evaluation=QUICK)
    whole = msgspec.structs.replace(whole, learner=msgspec.structs.replace(whole.learner, lr_schedule="constant"))
    straight = train(whole, tmp_path / "straight", observer=Silent())
    train(with_updates(whole, stop), tmp_path / "halved", observer=Silent())
    assert_equal_weights(train(whole, tmp_path / "halved", resume=True, observer=Silent()), straight)


def test_a_mixture_with_actors_of_their_own_plays_while_it_learns_from_the_dataset(
    matches: Path, tmp_path: Path
) -> None:
    watch = Watch()
    run_config = config(matches, 20, "ppo", data=DataConfig(str(matches), live=0.25), evaluation=QUICK)
    train(msgspec.structs.replace(run_config, mode="overlapped"), tmp_path / "run", observer=watch)
    assert (watch.numbers["progress/learned"], watch.numbers["learner/recorded"]) == (5 * 256, 15 * 256)


def test_played_updates_are_spread_evenly() -> None:
    assert [is_played(version, 0.5) for version in range(4)] == [False, True, False, True]
    assert sum(is_played(version, 0.8) for version in range(1000)) == 800
    assert not any(is_played(version, 0.0) for version in range(10))


@pytest.mark.parametrize(
    ("algorithm", "changes", "message"),
    [
        ("ppo", {}, "data.folder: .* ppo learns from matches of its own; use bc, awr, or set data.live, the share"),
        ("ppo", {"folder": "", "live": 0.5}, "data.live: 0.5 learns from a dataset; name one"),
        ("bc", {"live": 0.5}, "bc would imitate its own choices"),
        ("rnad", {"live": 0.5}, "data.live: 0.5, but rnad cannot learn from datasets"),
    ],
)
def test_mixtures_that_cannot_work_are_refused(algorithm: str, changes: dict[str, object], message: str) -> None:
    data = msgspec.structs.replace(DataConfig("data/nim"), **changes)
    with pytest.raises(ConfigError, match=message):
        resolve(config(Path(), 1, algorithm, data=data))


def test_a_dataset_and_an_algorithm_must_fit_each_other(matches: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"learner.algorithm: bc learns from a dataset; name one"):
        resolve(config(matches, 1, data=DataConfig()))
    with pytest.raises(ConfigError, match=r"start_from: .* does not exist"):
        train(small_run(1, options=NIM, start_from=str(tmp_path / "nothing")), tmp_path / "run", observer=Silent())
