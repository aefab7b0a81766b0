"""Scripted opponents of Magic on Forge."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from ludus.errors import ConfigError
from ludus.games.forge.option_scene import OptionScene
from ludus.games.toy.scripted import RandomPolicy as Random
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices

KNOCKS = (0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0)  # as in host/ForgeTable.java
PLAYS_ITSELF = 1 - KNOCKS[0]
BOOSTS = ("Pump", "PumpAll", "PutCounter", "Attach", "Untap", "Regenerate", "Animate", "GainLife")


class RandomOptionPolicy(Random):
    """Chooses uniformly among the legal options, and plays its seat itself."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        super().__init__(spec, seed)
        self._spec = spec

    def act(self, arrivals: Arrivals) -> Choices:
        choices = super().act(arrivals)
        choices.action[OptionScene(self._spec, arrivals).asks("SEATING")] = PLAYS_ITSELF
        return choices


class ForgeAiPolicy:
    """Leaves its seat to Forge's own AI, which the host asks from then on."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec
        self._answered: dict[int, int] = {}  # by row, in its current match

    def act(self, arrivals: Arrivals) -> Choices:
        if not OptionScene(self._spec, arrivals).asks("SEATING").all():
            raise ConfigError("forge_ai: this host does not let Forge's AI play a seat; set options.forge_ai to true")
        action = np.zeros(len(arrivals), np.int32)
        for at, row in enumerate(arrivals.row.tolist()):
            answered = 0 if arrivals.opens[at] else self._answered.get(row, 0)
            action[at] = KNOCKS[answered]
            self._answered[row] = answered + 1
        return Choices.scripted(action)

    def state(self) -> str:
        return json.dumps(list(self._answered.items()))

    def restore(self, state: str) -> None:
        self._answered = {int(row): int(answered) for row, answered in json.loads(state)}


class CurvePolicy:
    """A greedy player. It plays a land and the dearest spell that it can pay, aims boosts at its own creatures and all
    else at the opponent, attacks where no blocker wins, and blocks where its creature survives or trades."""

    def __init__(self, spec: GameSpec, seed: int) -> None:
        self._spec = spec
        self._random = np.random.default_rng(seed)

    def act(self, arrivals: Arrivals) -> Choices:
        scene = OptionScene(self._spec, arrivals)
        scores = self._random.random(arrivals.legal.shape) / 1000  # equally good options are drawn
        scores += self._play(scene) + self._aim(scene) + self._fight(scene)
        scores += 10.0 * (scene.does("KEEP") + scene.does("FIRST") + scene.does("YES"))
        scores += scene.does("NUMBER") * scene.option("number")
        action = np.where(arrivals.legal, scores, -np.inf).argmax(axis=1).astype(np.int32)
        action[scene.asks("SEATING")] = PLAYS_ITSELF
        return Choices.scripted(action)

    def _play(self, scene: OptionScene) -> NDArray[np.float64]:
        """Score lands first, then spells by their cost; passing is better than using an ability."""
        return 10.0 * scene.does("LAND") + scene.does("CAST") * (2.0 + scene.option("cost")) + 1.0 * scene.does("PASS")

    def _aim(self, scene: OptionScene) -> NDArray[np.float64]:
        """Score what is picked: own cards for boosts, else the opponent and the opponent's strongest cards."""
        own = np.where(scene.does("PLAYER"), scene.option("is_mine"), 2.0 * scene.card("is_mine") - 1.0)
        is_target = scene.does("CARD") | scene.does("PLAYER") | scene.does("STACKED")
        wants_own = np.isin(scene.effect, [scene.effects[name] for name in BOOSTS])[:, None]
        strength = scene.card("power") + scene.card("cost") / 8.0
        return np.where(is_target, np.where(wants_own, own, -own) + 0.1 * strength, 0.0)

    def _fight(self, scene: OptionScene) -> NDArray[np.float64]:
        """Score attacks that no blocker can punish, and blocks that do not lose a creature for a cheaper one."""
        power, toughness = scene.subject("power")[:, None], scene.subject("toughness")[:, None]
        enemy_power, enemy_toughness = scene.best_blocker()
        is_safe = (enemy_power[:, None] < toughness) | (power > enemy_toughness[:, None])
        survives = scene.card("power") < toughness
        trades = (power >= scene.card("toughness")) & (scene.card("cost") >= scene.subject("cost")[:, None])
        attack = scene.does("ATTACK") * np.where(is_safe, 1.0, -1.0)
        block = scene.does("BLOCK") * np.where(survives | trades, 1.0 + scene.card("power"), -1.0)
        return np.asarray(attack + block, np.float64)

    def state(self) -> str:
        return json.dumps(self._random.bit_generator.state)  # its integers have 128 bits

    def restore(self, state: str) -> None:
        self._random.bit_generator.state = json.loads(state)
