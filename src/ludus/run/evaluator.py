"""Evaluates the agent during and after training, and reports the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ludus.evaluation import arena
from ludus.evaluation.arena import MatchupResult
from ludus.evaluation.report import EVALUATIONS
from ludus.evaluation.schedule import evenly
from ludus.games.named_policies import named_policy
from ludus.games.registry import nets_of
from ludus.league.rating_history import rate_run
from ludus.metrics import names
from ludus.metrics.exporters import evaluations
from ludus.metrics.exporters.evaluations import Evaluation, Score
from ludus.policies import nets
from ludus.policies.gpu.streams import open_stream
from ludus.policies.network import NetPolicy
from ludus.run.context import RunContext
from ludus.run.reporting import Teller
from ludus.spec import GameSpec
from ludus.types import Policy

QUICK_EVALUATIONS = 10  # number of evaluations during a run, unless evaluation.every_updates is set
AGENT = "agent"


class StoppedError(Exception):
    """Ends an evaluation because the run must stop."""


class Evaluator:
    """Evaluates the agent of a run. `stopped` is called at least once a second during an evaluation; if it returns
    True, the evaluation ends with a StoppedError."""

    def __init__(self, parts: RunContext, teller: Teller, stopped: Callable[[], bool]) -> None:
        self._parts = parts
        self._teller = teller
        self._stopped = stopped
        self._evaluated = self._due()
        self._history = _earlier(parts)

    def is_due(self) -> bool:
        """Return True if an evaluation during training is due. Returns True once for each."""
        before, self._evaluated = self._evaluated, self._due()
        return self._evaluated > before

    def play(self, *, final: bool) -> tuple[MatchupResult, ...]:
        """Play the present weights greedily against the configured opponents and report the results.

        Returns one result per opponent, or () if there are no opponents. `final` plays `evaluation.matches` instead of
        `evaluation.quick_matches`.
        """
        parts, metrics = self._parts, self._parts.metrics
        config, alone = parts.config.evaluation, parts.spec.seats == 1
        opponents = () if alone else config.opponents or tuple(parts.run.game.scripted)
        if not opponents and not alone:
            return ()
        matches = evenly(config.matches if final else config.quick_matches, parts.spec.teams)
        metrics.set(names.PHASE, "evaluating")
        self._note(arena.Progress(0, matches * max(len(opponents), 1), opponents[0] if opponents else arena.ALONE))
        self._teller.tell(now=True)
        try:
            with metrics.activity(names.EVALUATE):
                results = arena.play(
                    parts.run.game,
                    parts.run.options,
                    self._contestants,
                    agent=AGENT,
                    opponents=opponents,
                    matches=matches,
                    seed=config.seed,
                    teams=parts.spec.teams,
                    log_dir=parts.run_dir / "logs" / "evaluation",
                    fleet=parts.config.fleet,
                    hosts=parts.run.local_hosts,
                    usable_cores=parts.run.machine.cores,
                    progress=self._after_match,
                    tick=self._leave_where_stopped,
                )
        finally:
            metrics.set(names.PHASE, "finished" if final else "training")
            if parts.playing:
                parts.source.catch_up()  # the actor waited meanwhile; that time must not count as training
        parts.scores = {result.opponent: result.reward if alone else result.win_rate for result in results}
        for result in results:
            metrics.set(names.WIN_RATE(result.opponent), result.score if alone else result.win_rate)
            metrics.set(names.RETURN(result.opponent), result.reward)
            metrics.add(names.EVALUATION_VOIDED, result.voided)
            metrics.add(names.EVALUATION_MOVED, result.moved)
        self._rate(results, final=final)
        self._teller.tell(now=True)  # before the observers get the results, to which the rating belongs
        parts.observer.on_evaluation(results, final=final)
        return tuple(results)

    def _due(self) -> int:
        """Return the number of evaluations that should have been played so far."""
        every, learner = self._parts.config.evaluation.every_updates, self._parts.learner
        return learner.version // every if every else int(learner.used * QUICK_EVALUATIONS)

    def _rate(self, results: Sequence[MatchupResult], *, final: bool) -> None:
        """Set the metrics of the rating, from this evaluation and all earlier ones of the run."""
        parts, metrics = self._parts, self._parts.metrics
        scores = tuple(Score(each.opponent, each.matches, each.wins, each.losses, each.ties) for each in results)
        self._history.append(Evaluation(parts.learner.training_s, parts.learner.version, 0.0, final, scores))
        ratings = rate_run(self._history) if len(set(parts.spec.teams)) == 2 else None
        if ratings is not None:
            latest = ratings.evaluations[-1]
            for name, value in ((names.ELO, latest.elo), (names.ELO_LOW, latest.low), (names.ELO_HIGH, latest.high)):
                metrics.set(name, value)

    def _after_match(self, progress: arena.Progress) -> None:
        self._note(progress)
        self._teller.tell()

    def _leave_where_stopped(self) -> None:
        if self._stopped():
            raise StoppedError

    def _note(self, progress: arena.Progress) -> None:
        metrics = self._parts.metrics
        metrics.set(names.EVALUATED, progress.ended)
        metrics.set(names.EVALUATION_MATCHES, progress.scheduled)
        metrics.set(names.EVALUATION_OPPONENT, progress.opponent)

    def _contestants(self, spec: GameSpec) -> dict[str, Policy]:
        parts, config = self._parts, self._parts.config
        net = nets.build(parts.spec, config.policy, parts.run.game.net, game_nets=nets_of(parts.run.game))
        net.load_state_dict(parts.algorithm.result.state_dict())
        stream = open_stream(parts.run.actor_device.device)
        rounds = config.policy.precision == "bf16"
        seed, game, greedy = config.evaluation.seed, parts.run.game, not config.evaluation.sample
        generator = torch.Generator().manual_seed(seed)
        agent = NetPolicy(
            net,
            parts.spec,
            version=parts.learner.version,
            generator=generator,
            greedy=greedy,
            stream=stream,
            bf16=rounds,
        )
        opponents = config.evaluation.opponents or tuple(game.scripted)
        return {AGENT: agent, **{name: named_policy(name, spec, game, seed=seed, greedy=greedy) for name in opponents}}


def _earlier(parts: RunContext) -> list[Evaluation]:
    """Return the evaluations of the run up to the checkpoint that it continues from."""
    history = evaluations.read(parts.run_dir / EVALUATIONS)
    return [each for each in history if each.training_s <= parts.learner.training_s and not each.final]
