"""The configuration of a run. A component takes its own struct, never the whole.

Ranges are part of the types, so a bad value is refused with its path when the file is read. Upper bounds are far beyond
any use: they refuse a slip of the keyboard before processes are started or memory is taken for it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Positive = Annotated[float, Meta(gt=0.0)]
NonNegative = Annotated[float, Meta(ge=0.0)]
Seconds = Annotated[float, Meta(gt=0.0, le=1_000_000)]  # eleven days; poll() takes 24 at most
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
CountOrAuto = Annotated[int, Meta(ge=0, le=1_000_000_000)]  # 0: chosen for this machine
Total = Annotated[int, Meta(ge=0, le=10**15)]  # of a whole run; 0: no limit
Few = Annotated[int, Meta(ge=1, le=1024)]
FewOrAuto = Annotated[int, Meta(ge=0, le=1024)]
Matches = Annotated[int, Meta(ge=1, le=65_536)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Even = Annotated[int, Meta(ge=2, le=1_000_000_000, multiple_of=2)]
Schedule = Annotated[tuple[tuple[Count, Count], ...], Meta(min_length=1)]  # so long, so many times


class FleetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    hosts: FewOrAuto = 0  # 0: one per core
    matches: Matches = 64  # per host; the batches of the policy are about as large
    parts: CountOrAuto = 0  # in which a host answers; 0: one where every core has a host, else two
    hello_deadline_s: Seconds = 60.0  # from start to the first frame
    reply_deadline_s: Seconds = 30.0  # from actions to what they lead to
    backoff_s: Seconds = 0.5  # doubled with each failure in a row, at most backoff_max_s
    backoff_max_s: Seconds = 30.0
    # then that host is given up; if none is left, or the actor fails as often without a batch, the run ends
    failures_in_a_row: Count = 5

    def hosts_on(self, usable_cores: int) -> int:
        """Return the number of hosts on a machine with so many cores."""
        return self.hosts or usable_cores

    def parts_on(self, usable_cores: int, hosts: int) -> int:
        """Return in how many parts a host answers. With cores to spare, hosts should not wait for the actor while they
        have work. If every core has a host, an actor that wakes early takes the core from a busy one."""
        return self.parts or (1 if hosts >= usable_cores else 2)


class ServersConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Servers that the run itself starts on this machine, keeps alive and stops; for games that are played on such."""

    count: FewOrAuto = 0  # 0: none, the options of the game say where to play
    base_port: Annotated[int, Meta(ge=0, le=65535)] = 0  # ports from there on, in a row; 0: free ones
    memory_mib: Positive = 1024.0  # of one; past it, it is started anew between matches


class RecurrentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the recurrent layer of a net. Its hidden state is zero at the first decision of a match."""

    kind: Literal["none", "lstm", "gru"] = "none"
    width: Count = 128  # of the hidden state
    sequence_length: Count = 16  # decisions over which gradients flow back; at most rollout.segment
    burn_in: CountOrAuto = 0  # decisions at a segment's begin that only refresh its state; 0: none


class PolicyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    net: str = "auto"  # mlp, transformer, or a net that the game brings; auto: what the game prefers
    width: Count = 64  # of one entity's or move's embedding (pointer, transformer), a quarter of a hidden layer (mlp)
    layers: Count = 2  # hidden ones (mlp), blocks of attention (transformer)
    heads: Count = 4  # of attention (transformer); they divide the width
    context: Count = 128  # of the whole state's vector
    recurrent: RecurrentConfig = RecurrentConfig()
    threads: Few = 1  # torch threads in each process: more stalls beside busy simulators
    device: Literal["auto", "cpu", "cuda"] = "auto"  # where it plays; auto: chosen by policies/placement.py
    precision: Literal["fp32", "bf16"] = "fp32"  # of playing; bf16 rounds what is recorded of choices, too


class RolloutConfig(Struct, frozen=True, forbid_unknown_fields=True):
    segment: Count = 32  # T, decisions in a segment
    queue: Few = 1  # full batches that may wait while the learner is at work on one, before the actor waits


class PpoConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the algorithms ppo and ppo_kl."""

    gae_lambda: Share = 0.8  # of generalised advantage estimation
    clip: Positive = 0.2  # ratios are clipped to 1 - clip .. 1 + clip
    target_kl: NonNegative = 0.05  # an update stops after the epoch in which the mean KL passes this; 0: never


class VtraceConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How far decisions of older versions are trusted; of algorithm vtrace."""

    rho_bar: Positive = 1.0  # the largest ratio by which a decision counts: 1 judges the policy that learns
    c_bar: Positive = 1.0  # the largest ratio by which what follows counts: less is steadier and looks less far
    trace_lambda: Share = 0.95  # 1: what follows counts as far as ratios allow; 0: only the value after the decision


class RnadConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How rewards are regularised and logits are moved; of algorithm rnad."""

    eta: NonNegative = 0.2  # what a seat pays for each nat that it is away from the regularisation policy
    schedule: Schedule = ((100, 1),)  # updates between two swaps of that policy, times; the last goes on for ever
    target_share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.01  # of the way that the target net goes in each step
    beta: Positive = 2.0  # logits further than this from their mean are not pushed away any more
    force_clip: Positive = 10_000.0  # the largest advantage by which a logit is moved
    trace_lambda: Share = 1.0
    rho_bar: NonNegative = 0.0  # the largest ratio by which a decision counts for a value; 0: any
    c_bar: Positive = 1.0  # the largest ratio by which what follows counts
    finetune_from: CountOrAuto = 0  # the update from which on policies are post-processed in the returns; 0: never
    threshold: Share = 0.03  # less likely actions are left out then
    discretisation: CountOrAuto = 32  # probabilities are multiples of 1 / this then; 0: any


class PpoKlConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The policy that PPO is held near; of algorithm ppo_kl."""

    coef: NonNegative = 0.1  # of the divergence from it, in nats
    refresh: Count = 50  # updates after which the policy joins those that it is held near
    portfolio: Count = 1  # so many past ones; the nearest counts, the oldest is forgotten
    result_share: Annotated[float, Meta(gt=0.0, le=1.0)] = 1.0  # of the way that the net which is saved goes an update


class ReplayConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Segments that are learned from again while the next batch is not there; of algorithm vtrace."""

    decisions: CountOrAuto = 0  # kept, in whole segments; 0: none
    reuse: Annotated[int, Meta(ge=2)] = 2  # updates that one decision may be part of, the first included


class ComputeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How the learner computes. On by default is only what benchmarks/bench_learner.py shows to help."""

    # of forward and backward, while weights and optimiser stay fp32; auto: bf16 where a CPU has instructions for it
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "fp32"
    compile: bool = False  # losses by torch.compile; where that fails the run goes on without, and says why
    graphs: bool = False  # compiled losses as captured CUDA graphs
    fused: bool = True  # a step of the optimiser is one kernel
    pinned: bool = False  # on cuda: batches go over from page-locked memory while the next part is written


class LearnerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    algorithm: str = "ppo"  # ppo, ppo_kl, vtrace or rnad
    decisions: Count = 4096  # per update
    minibatch: Count = 512  # decisions
    epochs: Count = 2
    lr: Positive = 1e-3
    lr_end: NonNegative = 1e-4
    lr_schedule: Literal["linear", "cosine", "constant"] = "linear"  # over the budget
    gamma: Share = 0.99
    value_coef: NonNegative = 0.5
    entropy_coef: NonNegative = 0.01
    max_grad_norm: Positive = 0.5
    adam_eps: Positive = 1e-5
    skipped_in_a_row: Count = 5  # updates with a NaN or infinite loss before the run stops
    accumulate: Count = 1  # parts of a minibatch that are computed one after the other: less memory, the same step
    compute: ComputeConfig = ComputeConfig()
    max_lag: CountOrAuto = 0  # versions; segments with an older decision are dropped and counted; 0: none is
    ppo: PpoConfig = PpoConfig()
    vtrace: VtraceConfig = VtraceConfig()
    rnad: RnadConfig = RnadConfig()
    ppo_kl: PpoKlConfig = PpoKlConfig()
    replay: ReplayConfig = ReplayConfig()


class OpponentsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Shares of matches; what `past` and `scripted` leave is self-play, in which both seats learn."""

    past: Share = 0.15
    scripted: Share = 0.1
    scripted_names: tuple[str, ...] = ()  # empty: all but random
    snapshot_every: Count = 25  # updates
    pool: Count = 12  # snapshots kept, spread over the run's history


class EvaluationConfig(Struct, frozen=True, forbid_unknown_fields=True):
    opponents: tuple[str, ...] = ()  # empty: all the game has
    matches: Even = 400  # at the end, each; half of them with seats swapped
    every_updates: CountOrAuto = 0  # 0: a tenth of the run
    quick_matches: Even = 100  # at those points
    seed: Seed = 20_000  # the list of match-ups


class CheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    every_s: Positive = 60.0
    keep: Count = 3  # the last ones, beside `best`


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The run ends when any of these that is not 0 is used up."""

    minutes: NonNegative = 10.0  # of training, evaluation not counted
    decisions: Total = 0
    updates: Total = 0


class WinRateAtLeast(Struct, frozen=True, forbid_unknown_fields=True):
    opponent: str  # a scripted one; in training also past
    at_least: Share
    matches: Count = 100  # of the stage, before the rate counts; in evaluations their own number does
    of: Literal["training", "evaluation"] = "training"  # evaluation: the latest of the stage


class WinRateBelow(Struct, frozen=True, forbid_unknown_fields=True):
    """As WinRateAtLeast, the other way round."""

    opponent: str
    below: Share
    matches: Count = 100
    of: Literal["training", "evaluation"] = "training"


class PromoteConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """When the next stage begins: all that are given hold. Everything counts from the begin of the stage."""

    win_rate: WinRateAtLeast | None = None
    reward: float | None = None  # at least; a learning seat's in a match, mean of the last 200 or so
    matches: Total = 0  # that ended; 0: not asked for
    updates: Total = 0
    decisions: Total = 0  # learned from


class FallBackConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """When the stage before begins again: all that are given hold."""

    win_rate: WinRateBelow | None = None
    reward: float | None = None  # less than that
    matches: Total = 0  # at least, as for promote
    updates: Total = 0
    decisions: Total = 0


class StageConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a run with settings of its own; weights and optimiser go on from stage to stage."""

    name: str
    set: dict[str, Any] = msgspec.field(default_factory=dict)  # setting -> value, over those of the run
    promote: PromoteConfig = PromoteConfig()
    fall_back: FallBackConfig | None = None


class RunConfig(Struct, frozen=True, forbid_unknown_fields=True):
    game: str
    options: dict[str, Any] = msgspec.field(default_factory=dict)  # Any: the game's own struct checks it
    seed: Seed = 1
    mode: Literal["serial", "overlapped"] = "overlapped"
    device: str = "auto"  # of the learner: auto, cpu, cuda, cuda:0 ...
    fleet: FleetConfig = FleetConfig()
    servers: ServersConfig = ServersConfig()
    policy: PolicyConfig = PolicyConfig()
    rollout: RolloutConfig = RolloutConfig()
    learner: LearnerConfig = LearnerConfig()
    opponents: OpponentsConfig = OpponentsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    budget: BudgetConfig = BudgetConfig()
    curriculum: tuple[StageConfig, ...] = ()  # empty: the whole run is one stage
