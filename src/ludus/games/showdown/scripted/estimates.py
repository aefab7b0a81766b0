"""Estimates the effect of moves, and how well two Pokemon match up. Pure.

Axes: n rows, S own slots, F foe slots (as many), M moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.games.showdown.scripted.actions import TEAM, Bools, Floats, Ints
from ludus.games.showdown.scripted.reading import ATK, DEF, SPA, SPD, SPE, BattleScene, Moves, Types

STAB = 1.5
MEAN_ROLL = 0.925  # of the 0.85 to 1 that the game draws
BURN = 0.5
SPEED_TIER = 0.1  # the weights of SimpleHeuristicsPlayer in poke-env
HP_WEIGHT = 0.4
STAGES = np.array([(2 + stage) / 2 for stage in range(7)] + [2 / (2 - stage) for stage in range(-6, 0)], np.float32)


def staged(boosts: NDArray[np.int8]) -> Floats:
    """The factor that stages of a boost put on a stat; negative ones index from the end."""
    return STAGES[boosts]


def matchup(scene: BattleScene, types: Types, foes: slice) -> Floats:
    """Return how well each own Pokemon matches up against those foes [n, 6, foes], by types, speed and health. Above 0
    is good."""
    own, foe = scene.pair[:, :TEAM, None], scene.pair[:, None, foes]
    speed, health = scene.base[:, :, SPE], scene.hp
    stand: Floats = (
        types.best[own, foe]
        - types.best[foe, own]
        + SPEED_TIER * np.sign(speed[:, :TEAM, None] - speed[:, None, foes])
        + HP_WEIGHT * (health[:, :TEAM, None] - health[:, None, foes])
    )
    return stand


def effectiveness(scene: BattleScene, types: Types, kind: Ints, foes: slice) -> Floats:
    """Return the type effectiveness of moves of types `kind` [n, S, M] on these foes [n, S, F, M]."""
    return types.on[kind[:, :, None, :], scene.pair[:, None, foes, None]]


def same_type(scene: BattleScene, kind: Ints, slots: int) -> Bools:
    """Return whether the user has the move's type [n, S, M]."""
    user = scene.types[:, :slots, :2]
    same: Bools = (kind > 0) & ((kind == user[:, :, :1]) | (kind == user[:, :, 1:]))
    return same


def rough_damage(scene: BattleScene, moves: Moves, types: Types, slots: int) -> Floats:
    """Return relative damage of own moves on active foes [n, S, F, M], from base stats and boosts."""
    foes = slice(TEAM, TEAM + slots)
    ids = scene.moves[:, :slots]
    own, foe = staged(scene.boosts[:, :slots, :SPE]), staged(scene.boosts[:, slots:, :SPE])
    attack = (2 * scene.base[:, :slots, :SPE] + 36) * own
    defence = (2 * scene.base[:, foes, :SPE] + 36) * foe
    kind = moves.type[ids]
    value = moves.plain_value[ids] * np.where(same_type(scene, kind, slots), STAB, 1.0).astype(np.float32)
    return value[:, :, None, :] * _ratio(attack, defence, moves.physical[ids]) * effectiveness(scene, types, kind, foes)


def damage(scene: BattleScene, moves: Moves, types: Types, slots: int, users: int) -> Floats:
    """Return the expected damage of the first `users` own Pokemon on active foes [n, users, F, M], as a share of HP.

    It includes level, stats, boosts of active Pokemon, burn, accuracy and the number of hits.
    """
    foes = slice(TEAM, TEAM + slots)
    ids = scene.moves[:, :users]
    attack = scene.stats[:, :users, :SPE].copy()
    attack[:, :slots] *= staged(scene.boosts[:, :slots, :SPE])
    attack[:, :, ATK] *= np.where(scene.burned[:, :users], BURN, 1.0)
    defence = scene.stats[:, foes, :SPE] * staged(scene.boosts[:, slots:, :SPE])
    kind = moves.type[ids]
    level = scene.level[:, :users, None]
    stab = np.where(same_type(scene, kind, users), STAB, 1.0)
    scale = (0.4 * level + 2) / 50 * moves.power[ids] * stab  # [n, users, M]
    hit = scale[:, :, None, :] * _ratio(attack, defence, moves.physical[ids]) + 2 * (scale > 0)[:, :, None, :]
    on = effectiveness(scene, types, kind, foes)
    fixed = moves.fixed[ids] + level * moves.level_damage[ids]
    points = hit * on * (MEAN_ROLL * moves.hits[ids])[:, :, None, :] + fixed[:, :, None, :] * (on > 0)
    full = np.maximum(scene.maxhp[:, foes], 1.0)
    share: Floats = (points * moves.accuracy[ids][:, :, None, :] / full[:, None, :, None]).astype(np.float32)
    return share


def _ratio(attack: Floats, defence: Floats, physical: Bools) -> Floats:
    """Attack over defence as the move's category has it [n, S, F, M], from stats [n, S or F, ...]."""
    attack, defence = attack[:, :, None, :], np.maximum(defence, 1.0)[:, None, :, :]
    return np.where(
        physical[:, :, None, :],
        (attack[..., ATK] / defence[..., DEF])[..., None],
        (attack[..., SPA] / defence[..., SPD])[..., None],
    )
