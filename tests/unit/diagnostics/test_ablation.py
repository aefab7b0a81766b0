from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.watched import Won

from ludus.diagnostics import ablation, ablation_report, ablation_training
from ludus.diagnostics.ablation import Ablation, AblationPlan, Training, TrainingOutcome
from ludus.errors import ConfigError
from ludus.metrics import names
from ludus.metrics.exporters.csv import ProgressCsv
from ludus.metrics.exporters.evaluations import EvaluationLog
from ludus.metrics.observer import ALONE

PLAN = AblationPlan(name="r", title="rocket", settings={}, terms=("touch", "boost"), seeds=(1, 2, 3), minutes=5.0)
WON: dict[str, tuple[float, ...]] = {"": (0.60, 0.62, 0.61), "touch": (0.40, 0.41, 0.42), "boost": (0.60, 0.63, 0.60)}


def played(won: dict[str, tuple[float, ...]]) -> Ablation:
    outcomes = [
        TrainingOutcome(
            training=Training(variant, seed), shares={"a": share, "b": share}, facts={"touches": 10 * share}
        )
        for variant, shares in won.items()
        for seed, share in zip(PLAN.seeds, shares, strict=False)
    ]
    return Ablation(plan=PLAN, outcomes=outcomes)


def test_all_variants_with_the_first_seed_are_trained_first() -> None:
    assert [(each.variant, each.seed) for each in PLAN.trainings[:4]] == [("", 1), ("touch", 1), ("boost", 1), ("", 2)]
    state = Ablation(
        plan=PLAN, outcomes=[TrainingOutcome(training=Training("", 1)), TrainingOutcome(training=Training("boost", 1))]
    )
    assert state.due()[0] == Training("touch", 1)
    assert len(state.due()) == 7


def test_a_term_without_which_matches_are_lost_helps_and_another_has_no_clear_effect() -> None:
    whole, touch, boost = played(WON).effects()
    assert [each.variant for each in (whole, touch, boost)] == ["", "touch", "boost"]
    assert touch.change == pytest.approx(-0.2)
    assert touch.change_interval is not None
    assert -0.23 < touch.change_interval[0] < touch.change_interval[1] < -0.17
    assert [ablation.verdict(each, PLAN) for each in (whole, touch, boost)] == ["", "the term helps", "no clear effect"]


def test_changes_are_paired_by_seed() -> None:
    """Seeds differ more than variants do: only pairs show that the term hurts."""
    whole, touch = played({"": (0.2, 0.5, 0.8), "touch": (0.25, 0.56, 0.85)}).effects()
    assert whole.interval is not None
    assert whole.interval == (0.0, 1.0)  # nothing is known without pairs
    assert ablation.verdict(touch, PLAN) == "the term hurts"


def test_changes_of_settings_are_stronger_or_weaker() -> None:
    plan = msgspec.structs.replace(
        PLAN, terms=(), changes={"wide": ("policy.width=128",), "slow": ("learner.lr=1e-5",)}
    )
    won: dict[str, tuple[float, ...]] = {"": (0.60, 0.62, 0.61), "wide": (0.70, 0.71, 0.72), "slow": (0.40, 0.41, 0.42)}
    state = Ablation(plan=plan, outcomes=played(won).outcomes)
    assert {plan.label(each.variant): ablation.verdict(each, plan) for each in state.effects()} == {
        "unchanged": "",
        "slow": "weaker",
        "wide": "stronger",
    }


def test_intervals_of_shares_hold_possible_shares_only() -> None:
    [whole] = played({"": (0.05, 0.2)}).effects()
    assert whole.interval is not None
    assert whole.interval[0] == 0
    alone = [
        TrainingOutcome(training=Training("", seed), shares={ALONE: reward}) for seed, reward in ((1, 0.1), (2, 0.9))
    ]
    [rewarded] = Ablation(plan=PLAN, outcomes=alone).effects()
    assert rewarded.interval is not None
    assert rewarded.interval[0] < 0 < 1 < rewarded.interval[1]


def test_one_seed_is_no_answer() -> None:
    _, touch = played({"": (0.6,), "touch": (0.1,)}).effects()
    assert touch.change_interval is None
    assert ablation.verdict(touch, PLAN) == "one seed: cannot tell"


def test_failures_are_counted_and_never_mixed_into_means() -> None:
    state = played({"": (0.6, 0.6), "touch": (0.5,)})
    state.outcomes.append(TrainingOutcome(training=Training("touch", 2), failure="no host"))
    state.outcomes.append(TrainingOutcome(training=Training("boost", 1), failure="no host"))
    _, touch, boost = state.effects()
    assert (touch.seeds, touch.failed, touch.strength) == (1, 1, 0.5)
    assert ablation.verdict(boost, PLAN) == "failed"


def test_the_state_survives_its_file(tmp_path: Path) -> None:
    ablation.write(tmp_path / ablation.JSON, played(WON))
    again = ablation.read(tmp_path)
    assert again == played(WON)


@pytest.mark.parametrize("text", [None, "{}", "[]", "{" * 100_000, "\xff"])
def test_a_folder_without_a_whole_ablation_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / ablation.JSON).write_text(text)
    with pytest.raises(ConfigError, match="--resume"):
        ablation.read(tmp_path)


def test_the_page_has_the_table_the_behaviour_the_picture_and_the_failures(tmp_path: Path) -> None:
    state = played(WON)
    state.outcomes[-1] = TrainingOutcome(training=Training("boost", 3), failure="no host is left")
    page = ablation_report.write(tmp_path, state, "ludus ablate --resume x").read_text()
    assert "| without touch | 3 | 0.410 | 0.385 to 0.435 | -0.200 |" in page
    assert "the term helps" in page
    assert "| touches | 6.1 | 4.1 | 6.15 |" in page
    assert "- without boost, seed 3 failed: no host is left" in page
    assert (tmp_path / ablation_report.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_the_outcome_of_a_training_is_its_final_evaluation_and_its_last_facts(tmp_path: Path) -> None:
    with ProgressCsv(tmp_path / "progress.csv") as progress, EvaluationLog(tmp_path / "evaluations.jsonl") as log:
        for second in range(20):
            row = {names.TRAINING_S: float(second), names.FACT("reward_goal"): second, names.FACT("saves"): 2.0}
            progress.on_progress(row)
            log.on_progress(row)
        log.on_evaluation([Won("chaser", 10, 4), Won("random", 10, 8)], final=True)
    outcome = ablation_training.outcome_of(Training("touch", 1), tmp_path, 0, tmp_path / "output.log")
    assert outcome.shares == {"chaser": 0.4, "random": 0.8}
    assert outcome.strength == pytest.approx(0.6)
    assert outcome.facts == {"reward_goal": 18.5, "saves": 2.0}


def test_a_training_without_a_final_evaluation_failed_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "output.log").write_text("starting\nludus: no host is left\n")
    outcome = ablation_training.outcome_of(Training("touch", 1), tmp_path, 2, tmp_path / "output.log")
    assert outcome.failure == "ludus: no host is left"


def test_trainings_run_beside_each_other_on_cores_of_their_own() -> None:
    both = threading.Barrier(2, timeout=20.0)  # broken unless two trainings run at the same time
    cores: list[frozenset[int]] = []

    def train(training: Training, tell: Callable[[], None]) -> TrainingOutcome:
        both.wait()
        cores.append(frozenset(os.sched_getaffinity(0)))
        return TrainingOutcome(training=training)

    due = [Training("", seed) for seed in range(4)]
    outcomes = list(ablation_training.train_all(due, 2, train, lambda: None))
    assert {outcome.training for outcome in outcomes} == set(due)
    if len(os.sched_getaffinity(0)) > 1:
        assert len(set(cores)) == 2
        assert not frozenset.intersection(*set(cores))


def test_all_trainings_end_when_the_caller_stops() -> None:
    ended: list[Training] = []

    def train(training: Training, tell: Callable[[], None]) -> TrainingOutcome:
        try:
            while training.seed:
                tell()
                time.sleep(0.01)
        finally:
            ended.append(training)
        return TrainingOutcome(training=training)

    outcomes = ablation_training.train_all([Training("", seed) for seed in range(4)], 2, train, lambda: None)
    assert next(outcomes).training == Training("", 0)
    outcomes.close()
    assert Training("", 3) not in ended


def test_every_core_belongs_to_one_training() -> None:
    parts = ablation_training.shares_of_cores(2)
    assert sorted(core for part in parts for core in part) == sorted(os.sched_getaffinity(0))
