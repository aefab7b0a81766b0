"""The settings of a run: names, types, ranges and defaults. Each component receives only its own struct.

Ranges are part of the types, so a value out of range is refused with its path when the file is read. Upper bounds are
far above useful values: they catch typing errors before processes are started or memory is allocated.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Positive = Annotated[float, Meta(gt=0.0)]
NonNegative = Annotated[float, Meta(ge=0.0)]
Seconds = Annotated[float, Meta(gt=0.0, le=1_000_000)]  # eleven days; poll() accepts at most 24
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
CountOrAuto = Annotated[int, Meta(ge=0, le=1_000_000_000)]  # 0: chosen for this machine
Total = Annotated[int, Meta(ge=0, le=10**15)]  # total of a whole run; 0: no limit
Few = Annotated[int, Meta(ge=1, le=1024)]
FewOrAuto = Annotated[int, Meta(ge=0, le=1024)]
Matches = Annotated[int, Meta(ge=1, le=65_536)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Even = Annotated[int, Meta(ge=2, le=1_000_000_000, multiple_of=2)]
# pairs of (length of an interval, number of such intervals)
Schedule = Annotated[tuple[tuple[Count, Count], ...], Meta(min_length=1)]


class FleetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the hosts: how many there are, and when they are restarted."""

    hosts: FewOrAuto = 0  # number of hosts; 0: one per core
    matches: Matches = 64  # concurrent matches per host
    parts: CountOrAuto = 0  # number of parts in which a host answers; 0: 1 if every core has a host, else 2
    hello_deadline_s: Seconds = 60.0  # seconds that a host may take to start
    reply_deadline_s: Seconds = 30.0  # seconds that a host may take to answer actions
    backoff_s: Seconds = 0.5  # seconds before a restart; doubled with each consecutive failure
    backoff_max_s: Seconds = 30.0  # upper bound of the seconds before a restart
    # consecutive failures after which a host is given up; the run ends if no host is left, or if the actor fails this
    # often without a batch
    failures_in_a_row: Count = 5

    def hosts_on(self, usable_cores: int) -> int:
        """Return the number of hosts on a machine with `usable_cores`."""
        return self.hosts or usable_cores

    def parts_on(self, usable_cores: int, hosts: int) -> int:
        """Return the number of parts in which a host answers.

        With free cores, 2 parts let a host simulate while the actor works on the first part. If every core has a host,
        an actor that wakes up early would take the core of a busy host.
        """
        return self.parts or (1 if hosts >= usable_cores else 2)


class ActorsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the actors: the processes that play with the hosts and fill the learner's batches."""

    # number of actors, among which the hosts are divided; must divide the segments of a batch; 0: chosen for the cores
    # and hosts, 1 on a small machine
    count: FewOrAuto = 0


class ServersConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Game servers that the run starts on this machine, monitors and stops. Only for games that use servers."""

    count: FewOrAuto = 0  # number of servers; 0: none, the options of the game name a server
    base_port: Annotated[int, Meta(ge=0, le=65535)] = 0  # port of the first server, the others follow; 0: free ports
    memory_mib: Positive = 1024.0  # a server that uses more memory is restarted between matches


class RecurrentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the recurrent layer of a net. Its hidden state is zero at the first decision of a match."""

    kind: Literal["none", "lstm", "gru"] = "none"  # none: the net is not recurrent
    width: Count = 128  # width of the hidden state
    sequence_length: Count = 16  # decisions of backpropagation through time; at most rollout.segment
    burn_in: CountOrAuto = 0  # decisions at the start of a segment that only refresh the hidden state; 0: none


class ValueConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the value head: one number, or a categorical distribution over returns."""

    bins: Few = 1  # 1: one number, trained with a squared error; more: bins at equal distances, with a cross-entropy
    limit: Positive = 2.0  # the bins reach from -limit to limit; returns beyond count as the limit
    smoothing: NonNegative = 0.75  # standard deviation of a target, in distances between bins (HL-Gauss); 0: two-hot


class PolicyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the net, and of inference with it."""

    net: str = "auto"  # mlp, transformer, entities or a net of the game; auto: the default of the game
    # width of the embedding of an entity or move (nets with entities); a quarter of the width of hidden layers (mlp)
    width: Count = 64
    layers: Count = 2  # hidden layers (mlp) or attention blocks (transformer, entities, tokens)
    heads: Count = 4  # attention heads (transformer, entities, tokens); must divide the width
    context: Count = 128  # width of the vector that represents the whole state
    recurrent: RecurrentConfig = RecurrentConfig()
    value: ValueConfig = ValueConfig()
    threads: Few = 1  # PyTorch threads per process; more of them can stall when simulators keep the cores busy
    device: Literal["auto", "cpu", "cuda"] = "auto"  # device of inference; auto: chosen by policies/placement.py
    precision: Literal["fp32", "bf16"] = "fp32"  # precision of inference; bf16 also rounds recorded log-probabilities


class RolloutConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the segments and batches that the actor records."""

    segment: Count = 32  # T, the number of decisions in a segment
    queue: Few = 1  # full batches that may wait for the learner before the actor pauses


class PpoConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the algorithms ppo and ppo_kl."""

    gae_lambda: Share = 0.8  # lambda of generalised advantage estimation (GAE)
    clip: Positive = 0.2  # probability ratios are clipped to 1 - clip .. 1 + clip
    target_kl: NonNegative = 0.05  # an update stops after an epoch whose mean KL is above this; 0: never


class VtraceConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the algorithm vtrace: how it weights off-policy decisions."""

    rho_bar: Positive = 1.0  # upper bound of the importance ratio of a decision
    c_bar: Positive = 1.0  # upper bound of the importance ratios in the trace; lower values reduce variance and horizon
    trace_lambda: Share = 0.95  # lambda of the trace; 0 uses only the value estimate after the decision


class RnadConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the algorithm rnad: regularisation of rewards and the NeuRD policy update."""

    eta: NonNegative = 0.2  # strength of the regularisation: reward per nat of log-ratio to the regularisation policy
    # pairs of (updates between swaps of the regularisation policy, number of swaps); the last interval repeats
    schedule: Schedule = ((100, 1),)
    target_share: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.01  # Polyak factor of the target net per optimiser step
    beta: Positive = 2.0  # a logit this far from the mean of its row is not pushed further away
    force_clip: Positive = 10_000.0  # upper bound of the advantage that moves a logit
    trace_lambda: Share = 1.0  # lambda of the V-trace returns
    rho_bar: NonNegative = 0.0  # upper bound of the importance ratio of a decision; 0: no bound
    c_bar: Positive = 1.0  # upper bound of the importance ratios in the trace
    finetune_from: CountOrAuto = 0  # first update whose returns use a post-processed policy; 0: never
    threshold: Share = 0.03  # post-processing removes less likely actions
    discretisation: CountOrAuto = 32  # post-processing rounds probabilities to multiples of 1 / this; 0: no rounding


class PpoKlConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the algorithm ppo_kl: PPO with a KL penalty towards a reference policy."""

    coef: NonNegative = 0.1  # weight of the KL divergence from the reference
    refresh: Count = 50  # updates after which the current policy becomes a reference
    portfolio: Count = 1  # number of latest references kept; each update uses the closest one
    # Polyak factor of the saved net per update; 1: no average
    result_share: Annotated[float, Meta(gt=0.0, le=1.0)] = 1.0


class BcConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the algorithm bc: behaviour cloning."""

    # weight of the entropy bonus; 0.1 to 0.5 leaves a clone of a deterministic policy enough randomness for fine-tuning
    entropy_coef: NonNegative = 0.0


class AwrConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the algorithm awr: cloning that prefers decisions with a high advantage."""

    beta: Positive = 1.0  # a decision weighs exp(advantage / beta); advantages have standard deviation 1
    max_weight: Positive = 20.0  # upper bound of that weight
    entropy_coef: NonNegative = 0.0  # weight of the entropy bonus


class ReplayConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the replay buffer (algorithm vtrace): segments to train on again while no new batch is ready."""

    decisions: CountOrAuto = 0  # capacity in decisions, rounded down to whole segments; 0: no replay
    reuse: Annotated[int, Meta(ge=2)] = 2  # most updates that use one decision, including the first


class ComputeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Precision, compilation and other compute settings of the learner. Only options that help in
    benchmarks/bench_learner.py are on by default."""

    # precision of forward and backward passes; weights and optimiser stay fp32; auto: bf16 if the CPU supports it
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "fp32"
    compile: bool = False  # use torch.compile for the losses; if it fails, the run continues without it and logs why
    # run each optimiser step as one captured CUDA graph; auto: on CUDA
    graphs: bool | Literal["auto"] = "auto"
    fused: bool = True  # use the fused kernel of the optimiser
    # copy batches from page-locked memory, in parts, while the next part is written; auto: on CUDA
    pinned: bool | Literal["auto"] = "auto"


class LearnerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of the learner: batches, optimiser, losses and the algorithm."""

    algorithm: str = "ppo"  # ppo, ppo_kl, vtrace or rnad; from a dataset: bc or awr
    decisions: Count = 4096  # decisions per update (batch size)
    minibatch: Count = 512  # decisions per optimiser step
    epochs: Count = 2  # passes over a batch per update
    lr: Positive = 1e-3  # learning rate at the start of the run
    lr_end: NonNegative = 1e-4  # learning rate at the end of the budget
    lr_schedule: Literal["linear", "cosine", "constant"] = "linear"  # from lr to lr_end, over the budget
    gamma: Share = 0.99  # discount per decision
    value_coef: NonNegative = 0.5  # weight of the value loss
    entropy_coef: NonNegative = 0.01  # weight of the entropy bonus
    max_grad_norm: Positive = 0.5  # gradients with a larger norm are scaled down to it
    # decay of Adam's mean of gradients; auto: 0 for rnad, as in its paper, otherwise 0.9
    adam_beta1: Annotated[float, Meta(ge=0.0, lt=1.0)] | Literal["auto"] = "auto"
    adam_eps: Positive = 1e-5  # epsilon of Adam
    skipped_in_a_row: Count = 5  # consecutive updates with a NaN or infinite loss after which the run stops
    accumulate: Count = 1  # micro-batches per minibatch: gradient accumulation, which saves memory
    compute: ComputeConfig = ComputeConfig()
    max_lag: CountOrAuto = 0  # segments with a decision more versions old than this are dropped; 0: none is dropped
    ppo: PpoConfig = PpoConfig()
    vtrace: VtraceConfig = VtraceConfig()
    rnad: RnadConfig = RnadConfig()
    ppo_kl: PpoKlConfig = PpoKlConfig()
    bc: BcConfig = BcConfig()
    awr: AwrConfig = AwrConfig()
    replay: ReplayConfig = ReplayConfig()


class DataConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The dataset that the algorithms bc and awr learn from, and which of its decisions."""

    folder: str = ""  # folder of the dataset
    policies: tuple[str, ...] = ()  # only decisions of these policies, named as in `ludus data info`; empty: all
    won: bool = False  # only decisions of seats that won their match
    min_rating: NonNegative = 0.0  # only decisions of players with at least this rating; 0: all
    newest: Total = 0  # only so many latest matches; 0: all
    holdout: Share = 0.05  # share of the matches, chosen by their seeds, that is not learned from
    # share of the updates that learn from matches that the run plays itself; 0: it plays none
    live: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.0
    verify: bool = True  # compare the files of rows with their checksums at the start


class OpponentsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Opponents in training, as shares of the matches. The other matches are self-play, in which all seats learn."""

    past: Share = 0.15  # share of matches against past selves
    scripted: Share = 0.1  # share of matches against scripted policies
    scripted_names: tuple[str, ...] = ()  # names of these scripted policies; empty: all except random
    snapshot_every: Count = 25  # updates between two snapshots of a past self
    # a snapshot is also taken once the learner wins this share of its matches against the latest one; 0: never
    snapshot_win_rate: Share = 0.0
    pool: Count = 12  # snapshots to keep, spread over the history of the run
    # how an opponent of a kind is drawn: each as likely, by how much the learner loses to it (pfsp), from the mixture
    # that nobody beats (nash), or always the latest; nash and latest draw scripted policies uniformly
    choose: Literal["uniform", "pfsp", "nash", "latest"] = "uniform"
    # weight of an opponent that the learner beats with probability p, for pfsp: squared (1-p)^2, variance p(1-p),
    # capped min(1/2, 1-p)
    weighting: Literal["squared", "variance", "capped"] = "squared"
    half_life: Count = 50  # updates after which a result counts half, for pfsp and nash
    league: str = ""  # folder of a league whose members play, too; empty: none
    league_share: Share = 0.5  # share of matches against members of the league
    league_members: tuple[str, ...] = ()  # patterns of their names, such as main@*; empty: all members


class EvaluationConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of evaluations, during training and at the end."""

    opponents: tuple[str, ...] = ()  # names of scripted policies; empty: all of the game
    matches: Even = 400  # matches per opponent in the final evaluation; every seed is played from every side
    every_updates: CountOrAuto = 0  # updates between two evaluations; 0: ten evaluations in the whole run
    quick_matches: Even = 100  # matches per opponent in evaluations during training
    seed: Seed = 20_000  # selects the seeds of the matches
    # draw the agent's actions from its policy, instead of the most likely ones: for games in which waiting is the most
    # likely action at most moments
    sample: bool = False


class CheckpointConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Intervals between checkpoints, and the number that is kept."""

    every_s: Positive = 60.0  # seconds between two checkpoints
    keep: Count = 3  # latest checkpoints to keep, in addition to `best`


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a run. Training ends when one of them is reached; 0 means no limit."""

    minutes: NonNegative = 10.0  # training time, without evaluations
    decisions: Total = 0  # decisions learned from
    updates: Total = 0  # number of updates


class WinRateAtLeast(Struct, frozen=True, forbid_unknown_fields=True):
    """Condition: the win rate against an opponent is `at_least` this high."""

    # name of a scripted policy; with `of: training` also "past", and "none" in games with one seat or team
    opponent: str
    at_least: Share  # lowest win rate
    matches: Count = 100  # training matches of the stage that must have ended; ignored for evaluations
    of: Literal["training", "evaluation"] = "training"  # evaluation: the latest one of the stage


class WinRateBelow(Struct, frozen=True, forbid_unknown_fields=True):
    """Condition: the win rate against an opponent is `below` a limit. The other fields are those of WinRateAtLeast."""

    opponent: str
    below: Share
    matches: Count = 100
    of: Literal["training", "evaluation"] = "training"


class PromoteConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions for the next stage to begin. All given ones must hold. Counts start with the stage."""

    win_rate: WinRateAtLeast | None = None
    reward: float | None = None  # lowest mean reward of a learning seat per match, over about the last 200 matches
    matches: Total = 0  # finished matches; 0: no condition
    updates: Total = 0  # number of updates; 0: no condition
    decisions: Total = 0  # decisions learned from; 0: no condition
    budget: Share = 0.0  # share of the run's budget that is used up, counted from the start of the run; 0: no condition


class FallBackConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions for a return to the previous stage. All given ones must hold. Counts start with the stage."""

    win_rate: WinRateBelow | None = None
    reward: float | None = None  # the mean reward per match must be below this
    matches: Total = 0  # finished matches, at least; 0: no condition
    updates: Total = 0  # number of updates, at least; 0: no condition
    decisions: Total = 0  # decisions learned from, at least; 0: no condition


class StageConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A stage of the curriculum: a part of a run with its own settings. Weights and optimiser are kept."""

    name: str  # unique name of the stage
    set: dict[str, Any] = msgspec.field(default_factory=dict)  # values by setting, which override those of the run
    promote: PromoteConfig = PromoteConfig()  # when the next stage begins
    fall_back: FallBackConfig | None = None  # when the previous stage begins again; null: never


class PrometheusConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Address at which Prometheus can scrape the metrics of a run."""

    port: Annotated[int, Meta(ge=0, le=65_535)] = 9464  # 0: any free port; the log names it
    address: str = "127.0.0.1"  # 0.0.0.0: other machines may read the numbers, too


class MetricsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Exporters of metrics, in addition to the files in the run's folder."""

    prometheus: PrometheusConfig | None = None  # none: nowhere; {} has all defaults


class RunConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a run, as its config.yaml has them."""

    game: str  # name of an installed game
    options: dict[str, Any] = msgspec.field(default_factory=dict)  # Any: the game's own struct checks it
    seed: Seed = 1  # seed of all random numbers of the run
    mode: Literal["serial", "overlapped"] = "overlapped"  # serial: one process plays and learns in turn
    device: str = "auto"  # device of the learner: auto, cpu, cuda, cuda:0 ...
    fleet: FleetConfig = FleetConfig()
    actors: ActorsConfig = ActorsConfig()
    servers: ServersConfig = ServersConfig()
    policy: PolicyConfig = PolicyConfig()
    rollout: RolloutConfig = RolloutConfig()
    learner: LearnerConfig = LearnerConfig()
    data: DataConfig = DataConfig()
    opponents: OpponentsConfig = OpponentsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    budget: BudgetConfig = BudgetConfig()
    start_from: str = ""  # run or checkpoint whose weights a new run begins with; empty: random weights
    metrics: MetricsConfig = MetricsConfig()
    curriculum: tuple[StageConfig, ...] = ()  # empty: the whole run is one stage
