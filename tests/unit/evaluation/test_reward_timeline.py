"""The rewards of a replayed match, turn by turn: a match of a game with terms, and of one without."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import rewarding

from ludus.errors import ReplayError
from ludus.evaluation import recording, timeline_picture
from ludus.evaluation.recording import SavedMatch, digest
from ludus.evaluation.replay import TimelineRequest, replay
from ludus.evaluation.reward_timeline import Timeline, TimelineRecorder
from ludus.games import registry
from ludus.types import Arrivals, Choices

ACTIONS = ((2, 0, 1), (1, 0, 2))


def saved_in(folder: Path, **fields: Any) -> Path:  # Any: fields of a saved match
    match = SavedMatch(
        version=1,
        game="rewarding",
        schema=1,
        options={},
        seed=11,
        number=7,
        policies=("<b>one</b>", "two"),
        actions=ACTIONS,
        score=(0.5, 0.5),
        turns=3.0,
        truncated=False,
        log_sha256=digest(""),
    )
    path = folder / f"match{recording.SUFFIX}"
    recording.write(path, SavedMatch(**{name: getattr(match, name) for name in match.__struct_fields__} | fields))
    return path


@pytest.fixture
def rewarding_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load", lambda name: rewarding.game)


@pytest.mark.usefixtures("rewarding_is_known")
def test_terms_of_each_turn_add_up_to_the_rewards(tmp_path: Path) -> None:
    result = replay(saved_in(tmp_path), tmp_path / "match.html", rewards=TimelineRequest())
    assert result.timeline is not None
    terms = result.timeline.terms
    assert terms["goal"].tolist() == [[0, 0], [1, -1], [0, 0], [-1, 1]]
    assert np.allclose(terms["boost"], [[0.0, 0.0], [0.2, 0.1], [0.0, 0.0], [0.1, 0.2]])
    assert np.allclose(terms["goal"] + terms["boost"], result.timeline.reward, atol=1e-6)
    assert result.timeline.value is None
    assert result.picture == tmp_path / "match.rewards.png"
    drawn = result.picture.read_bytes()
    assert drawn.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", drawn[16:24])
    assert (width, height) == (1100, 638), "a panel for each seat"
    page = (tmp_path / "match.html").read_text()
    assert "data:image/png;base64," in page
    assert "goal: 0, 0; boost: 0.3, 0.3; reward: 0.3, 0.3" in page


@pytest.mark.usefixtures("rewarding_is_known")
def test_without_the_option_nothing_is_drawn(tmp_path: Path) -> None:
    result = replay(saved_in(tmp_path), tmp_path / "match.html")
    assert (result.timeline, result.picture) == (None, None)
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.usefixtures("rewarding_is_known")
def test_a_value_that_names_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="value estimates need a run or a checkpoint"):
        replay(saved_in(tmp_path), rewards=TimelineRequest(Path("scripted:random")))


def test_a_game_without_terms_has_rewards_only(tmp_path: Path) -> None:
    options = {"game": "identity", "actions": 2, "rounds": 3}
    played = {"policies": ("one",), "actions": ((1, 1, 1),), "score": (1.0,)}  # 1 is right three times with this seed
    log = digest("seed 11\n0:1\n0:1\n0:1")
    path = saved_in(tmp_path, game="toy", options=options, log_sha256=log, **played)
    result = replay(path, rewards=TimelineRequest())
    assert result.timeline is not None
    assert result.timeline.terms == {}
    assert result.timeline.reward.tolist() == [[0.0], [1.0], [1.0], [1.0]]
    assert result.timeline.totals() == {"reward": [3.0]}
    assert timeline_picture.draw(result.timeline, ("one",), "costs $5$").startswith(b"\x89PNG")


class Certain:
    """A policy whose value estimate is the row number."""

    def act(self, arrivals: Arrivals) -> Choices:
        n = len(arrivals)
        return Choices(np.zeros(n, np.int32), np.zeros(n, np.float32), arrivals.row.astype(np.float32))


def test_values_are_known_for_seats_that_choose() -> None:
    recorder = TimelineRecorder(2, 7, Certain())
    spec = rewarding.SPEC
    arrivals = Arrivals(
        row=np.array([1], np.int32),
        match=np.array([7], np.int64),
        obs=np.zeros((1, spec.obs.nbytes), np.uint8),
        legal=np.ones((1, 3), np.bool_),
        reward=np.array([0.5], np.float32),
        opens=np.array([False]),
    )
    other = {"reward_terms": {"match": 8, "terms": {"goal": [9.0, 9.0]}}}
    own = {"reward_terms": {"match": 7, "terms": {"goal": [0.0, 0.5]}}}
    recorder.turn(arrivals, [{"connected": True}, other, own])
    recorder.turn(arrivals, [])
    timeline = recorder.timeline()
    assert timeline.value is not None
    assert np.array_equal(timeline.value, [[np.nan, 1.0]] * 2, equal_nan=True)
    assert timeline.terms["goal"].tolist() == [[0.0, 0.5], [0.0, 0.0]]
    assert timeline.reward.tolist() == [[0.0, 0.5]] * 2


def test_a_picture_without_a_page_body_is_added_at_the_end() -> None:
    timeline = Timeline(np.zeros((2, 1)), {'<"goal">': np.ones((2, 1))}, np.array([[0.5], [np.nan]]))
    page = timeline_picture.into_page("text", timeline_picture.draw(timeline, ("one",), "title"), timeline)
    assert page.startswith("text<h2>")
    assert '<"goal">' not in page
