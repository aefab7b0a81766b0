"""Compare the Rocket League arenas of a host with RLGym's environment and with the raw simulator.

    python benchmarks/bench_rocket.py [--quick] [--save] [--arenas 64]

Everything runs interleaved in one process, with random actions from the table of 90, tick_skip 8, rewards for goals and
touches, and matches that restart when they end. Reported are environment steps (all cars of an arena act once) per CPU
second; the rows also contain ticks (8 per step) and agent steps (one per car).
- raw: the same arenas; controls are set and arenas stepped, nothing is read
- matches: the work of a host for each decision, without frames
- host: the whole loop of a host, including encoding and decoding frames, without the pipe
- rlgym: RLGym's environment (RocketSimEngine, DefaultObs, LookupTableAction, RepeatAction) with one arena
The last line on stdout is one JSON object; --save appends it to benchmarks/results/rocket.jsonl.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.games.rocket.arena import Pitch, controls_of
from ludus.games.rocket.controls import ACTIONS
from ludus.games.rocket.field import TICKS_PER_S
from ludus.games.rocket.host import make_game
from ludus.games.rocket.matches import RocketMatches, spec_of
from ludus.games.rocket.options import RocketOptions
from ludus.games.rocket.simulator import rocketsim
from ludus.games.rocket.starts import Starts
from ludus.sdk.batched import MatchesTogether
from ludus.sdk.slots import SlotTable
from ludus.wire.bodies import Configure
from ludus.wire.frames import HEADER_BYTES, FrameKind, encode_actions

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "rocket.jsonl"
TEAMS = (1, 2, 3)
TICK_SKIP = 8
REPEATS = 5
SEED = 7

Play = Callable[[float], float]  # for so many CPU seconds -> environment steps a CPU second


def main() -> None:
    quick = "1v1 and 3v3, a fifth of a second each: coarser"
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS, quick=quick)
    parser.add_argument("--arenas", type=int, default=64, help="arenas per host")
    arguments = parser.arguments()
    seconds = 0.2 if arguments.quick else 3.0
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, dict[str, float]] = {}
    for team in (1, 3) if arguments.quick else TEAMS:
        samples = _measured(team, arguments.arenas, seconds)
        for name, rates in samples.items():
            steps = contest.summary(rates)["median"]
            more = {"ticks": steps * TICK_SKIP, "agent_steps": steps * 2 * team}
            rows[f"{name}, {team}v{team}"] = contest.summary(rates, **more)
        for ours, peer, label in (
            ("matches", "rlgym", "vs_rlgym"),
            ("matches", "raw", "vs_raw"),
            ("host", "rlgym", "host_vs_rlgym"),
            ("host", "raw", "host_vs_raw"),
        ):
            ratios[f"{label}_{team}v{team}"] = contest.ratio(samples[ours], samples[peer])
    contest.show(rows, ratios)
    result = {
        "bench": "rocket",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "unit": "environment steps a CPU second",
        "arenas": arguments.arenas,
    }
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _measured(team: int, arenas: int, seconds: float) -> dict[str, list[float]]:
    options = RocketOptions(team_size=team, room=3, tick_skip=TICK_SKIP, rewards={"goal": 10.0, "touch": 1.0})
    players: dict[str, Play] = {
        "raw": _raw(options, arenas),
        "matches": _matches(options, arenas),
        "host": _host(options, arenas),
        "rlgym": _rlgym(options),
    }
    for play in players.values():
        play(seconds / 4)
    samples: dict[str, list[float]] = {name: [] for name in players}
    for repeat in range(REPEATS):
        for name, play in players.items():
            samples[name].append(play(seconds))
        line = "  ".join(f"{name} {rates[-1]:,.0f}" for name, rates in samples.items())
        contest.say(f"{team}v{team}, repeat {repeat + 1} of {REPEATS}: {line}")
    return samples


def _rated(step: Callable[[], int]) -> Play:
    def play(seconds: float) -> float:
        began_s, done = time.process_time(), 0
        while (spent_s := time.process_time() - began_s) < seconds:
            done += step()
        return done / spent_s

    return play


def _raw(options: RocketOptions, arenas: int) -> Play:
    """Step arenas without reading them.

    Goals are not detected, so a ball may stay in the net. Arenas are therefore restarted after the time in which random
    play ends in the other programs; by then a step costs half as much again as at the kickoff.
    """
    simulator = rocketsim(options.meshes)
    pitches = [Pitch(simulator, options.team_size) for _ in range(arenas)]
    starts, controls = Starts(options.starts, options.team_size), controls_of(simulator)
    generator = np.random.default_rng(SEED)
    rounds, at_most = 0, round(options.no_touch_s * TICKS_PER_S / TICK_SKIP)

    def step() -> int:
        nonlocal rounds
        if rounds % at_most == 0:
            for seed, pitch in enumerate(pitches):
                pitch.place(starts.draw(rounds + seed))
        rounds += 1
        arguments = generator.integers(0, ACTIONS, (arenas, options.seats)).tolist()
        for pitch, actions in zip(pitches, arguments, strict=True):
            pitch.step([controls[action] for action in actions], TICK_SKIP, options.late_ticks)
        return arenas

    return _rated(step)


def _matches(options: RocketOptions, arenas: int) -> Play:
    matches, slots = RocketMatches(options, spec_of(options), arenas), list(range(arenas))
    generator = np.random.default_rng(SEED)
    matches.start(slots, slots)

    def step() -> int:
        turn = matches.advance(slots, generator.integers(0, ACTIONS, (arenas, options.seats)).astype(np.int32))
        if turn.over:
            ended = [slots[place] for place in turn.over]
            matches.start(ended, generator.integers(0, 2**31, len(ended)).tolist())
        return arenas

    return _rated(step)


class _Rounds:
    """A channel that answers every row at once, until its time is over."""

    def __init__(self, rows: int) -> None:
        self._row = np.arange(rows, dtype=np.int32)
        self._generator = np.random.default_rng(SEED)
        self.until_s = 0.0
        self.answers = 0

    def receive(self) -> tuple[FrameKind, memoryview] | None:
        if time.process_time() >= self.until_s:
            return None
        self.answers += 1
        action = self._generator.integers(0, ACTIONS, len(self._row)).astype(np.int32)
        return FrameKind.ACTIONS, memoryview(encode_actions(self._row, action))[HEADER_BYTES:]

    def send(self, frame: bytes) -> None:
        pass


def _host(options: RocketOptions, arenas: int) -> Play:
    game = make_game({"team_size": options.team_size, "room": options.room, "rewards": options.rewards})
    assert game.group is not None
    configure = Configure(arenas, {}, SEED)
    group, channel = game.group(arenas), _Rounds(arenas * options.seats)

    def play(seconds: float) -> float:
        """Run the loop of a host once. Opening its matches is part of the measured cost."""
        channel.answers = 0
        began_s = time.process_time()
        channel.until_s = began_s + seconds
        MatchesTogether(group, game.spec, configure).run(SlotTable(game, configure, channel), channel)
        return channel.answers * arenas / (time.process_time() - began_s)

    return play


def _rlgym(options: RocketOptions) -> Play:
    from rlgym.api import RLGym
    from rlgym.rocket_league import action_parsers, done_conditions, obs_builders, reward_functions, sim, state_mutators

    team = options.team_size
    environment: Any = RLGym(  # Any: RLGym has no types
        state_mutators.MutatorSequence(
            state_mutators.FixedTeamSizeMutator(team, team), state_mutators.KickoffMutator()
        ),
        obs_builders.DefaultObs(zero_padding=options.room),
        action_parsers.RepeatAction(action_parsers.LookupTableAction(), repeats=TICK_SKIP),
        reward_functions.CombinedReward((reward_functions.GoalReward(), 10.0), (reward_functions.TouchReward(), 1.0)),
        sim.RocketSimEngine(),
        done_conditions.GoalCondition(),
        done_conditions.AnyCondition(
            done_conditions.NoTouchTimeoutCondition(options.no_touch_s),
            done_conditions.TimeoutCondition(options.timeout_s),
        ),
    )
    generator = np.random.default_rng(SEED)
    environment.reset()
    agents = environment.agents

    def step() -> int:
        nonlocal agents
        arguments = generator.integers(0, ACTIONS, (len(agents), 1))
        _, _, ended, truncated = environment.step(dict(zip(agents, arguments, strict=True)))
        if all(ended.values()) or any(truncated.values()):
            environment.reset()
            agents = environment.agents
        return 1

    return _rated(step)


if __name__ == "__main__":
    main()
