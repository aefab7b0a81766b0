"""Every metric of a run: name, kind, unit and meaning. docs/metrics.md is generated from this file.

A name has the form group/metric. A family is a prefix with many endings, such as `win_rate/heuristic`. Exporters show
metrics in the order of this file, and the members of a family in alphabetical order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ludus.metrics.metric import Family, Kind, Metric

# How far the run is
PROGRESS = "progress/budget"
TRAINING_S = "progress/training_s"
ETA_S = "progress/eta_s"
DECISIONS = "progress/decisions"
LEARNED = "progress/learned"
MATCHES = "progress/matches"
UPDATES = "progress/updates"
PHASE = "progress/phase"
REPORT_S = "progress/report_s"
STAGE = "curriculum/stage"
STAGES_TOTAL = "curriculum/stages"
STAGE_NAME = "curriculum/name"
PROMOTIONS = "curriculum/promotions"
FALLBACKS = "curriculum/fallbacks"
UNFINISHED = "curriculum/unfinished"
EVALUATED = "evaluation/ended"
EVALUATION_MATCHES = "evaluation/scheduled"
EVALUATION_OPPONENT = "evaluation/opponent"
EVALUATION_VOIDED = "evaluation/voided"
EVALUATION_MOVED = "evaluation/moved"
EVALUATION_FAILURES = "evaluation/failures"
ELO = "rating/elo"
ELO_LOW = "rating/low"
ELO_HIGH = "rating/high"

# How fast it is
DECISIONS_PER_S = "speed/decisions_per_s"
MATCHES_PER_HOUR = "speed/matches_per_hour"
UPDATES_PER_S = "speed/updates_per_s"
BATCH_ROWS = "speed/batch_rows"
LAG = "lag/mean"
LAG_MAX = "lag/max"
QUEUE = "lag/queue"
DROPPED = "lag/dropped"
REPLAYED = "lag/replayed"
RECORDED = "learner/recorded"
REPLAY = "lag/replay"

# How it learns
LOSS_POLICY = "loss/policy"
LOSS_VALUE = "loss/value"
LOSS_TOTAL = "loss/total"
ENTROPY = "learner/entropy"
KL = "learner/kl"
CLIP_SHARE = "learner/clip_share"
AGREEMENT = "learner/agreement"
RHO = "learner/rho"
BURNED_IN = "learner/burned_in"
REFERENCE_KL = "learner/reference_kl"
REFERENCE_SWAPS = "learner/reference_swaps"
FORGOTTEN = "learner/forgotten"
EXPLAINED_VARIANCE = "learner/explained_variance"
GRAD_NORM = "learner/grad_norm"
EPOCHS = "learner/epochs"
LR = "learner/lr"
SKIPPED = "learner/skipped"
NON_FINITE = "learner/non_finite"
POOL = "learner/pool"
OPPONENT_ELO = "opponents/elo"
CHECKPOINT_FAILURES = "learner/checkpoint_failures"
TELEMETRY_FAILURES = "telemetry/write_failures"

# What happens in the matches
REWARD = "match/reward"
LENGTH = "match/decisions"
MATCH_S = "match/duration_s"
TRUNCATED = "match/truncated"
BEGUN = "match/begun"
UNDER_WAY = "match/under_way"
UNDER_WAY_DECISIONS = "match/under_way_decisions"
VOIDED = "match/voided"
VOIDED_DECISIONS = "match/voided_decisions"
BEGUN_ANEW = "match/begun_anew"
HOSTS_ALIVE = "hosts/alive"
HOSTS_TOTAL = "hosts/total"
HOSTS_RESTARTS = "hosts/restarts"
HOSTS_GIVEN_UP = "hosts/given_up"
CORES = "hosts/cores"
ACTORS_PLAYING = "actor/playing"
ACTORS_TOTAL = "actor/total"
ACTORS_ADDED = "actor/added"
ACTORS_GIVEN_UP = "actor/given_up"
ACTOR_RESTARTS = "actor/restarts"
ACTOR_LOST = "actor/lost"
NODES_ALIVE = "node/alive"
NODES_TOTAL = "node/total"
NODES_LOST = "node/lost"
NODES_REFUSED = "node/refused"
SERVERS_ALIVE = "servers/alive"
SERVERS_TOTAL = "servers/total"
SERVERS_RESTARTS = "servers/restarts"
SERVERS_RECYCLED = "servers/recycled"
SERVERS_MIB = "servers/memory_mib"
SERVERS_LARGEST_MIB = "servers/largest_mib"

METRICS: tuple[Metric, ...] = (
    Metric(PROGRESS, "gauge", "share", "used part of the budget, 0 to 1"),
    Metric(PHASE, "gauge", "text", "what the run is doing: training, evaluating, saving"),
    Metric(TRAINING_S, "gauge", "s", "training time without evaluations, over all resumes"),
    Metric(REPORT_S, "gauge", "s", "time since the previous report; means refer to it"),
    Metric(ETA_S, "gauge", "s", "estimated training time until the budget is used up"),
    Metric(STAGE, "gauge", "stages", "number of the current stage of the curriculum, from 1"),
    Metric(STAGES_TOTAL, "gauge", "stages", "number of stages of the curriculum"),
    Metric(STAGE_NAME, "gauge", "text", "name of the current stage"),
    Metric(PROMOTIONS, "counter", "stages", "changes to the next stage"),
    Metric(FALLBACKS, "counter", "stages", "changes to the previous stage"),
    Metric(UNFINISHED, "counter", "matches", "matches abandoned because their stage ended"),
    Metric(EVALUATED, "gauge", "matches", "finished matches of the latest evaluation"),
    Metric(EVALUATION_MATCHES, "gauge", "matches", "scheduled matches of the latest evaluation, against all opponents"),
    Metric(EVALUATION_OPPONENT, "gauge", "text", "opponent in the evaluation match that finished last"),
    Metric(EVALUATION_VOIDED, "counter", "matches", "evaluation matches lost with their host and played again"),
    Metric(EVALUATION_MOVED, "counter", "matches", "evaluation matches moved from a host that was given up to another"),
    Metric(ELO, "gauge", "Elo", "rating at the latest evaluation; the last scripted opponent has 1000"),
    Metric(ELO_LOW, "gauge", "Elo", "lower end of its 95% interval"),
    Metric(ELO_HIGH, "gauge", "Elo", "upper end of its 95% interval"),
    Metric(EVALUATION_FAILURES, "counter", "evaluations", "evaluations without a result; the log says why"),
    Metric(DECISIONS, "counter", "decisions", "decisions made in training matches, by all policies"),
    Metric(LEARNED, "counter", "decisions", "decisions used in an update, each counted once"),
    Metric(MATCHES, "counter", "matches", "finished training matches, including truncated ones, without voided ones"),
    Metric(UPDATES, "counter", "updates", "updates: passes of the algorithm over a batch"),
    Metric(DECISIONS_PER_S, "rate", "decisions/s", "growth of progress/decisions"),
    Metric(MATCHES_PER_HOUR, "rate", "matches/h", "growth of progress/matches"),
    Metric(UPDATES_PER_S, "rate", "updates/s", "growth of progress/updates"),
    Metric(BATCH_ROWS, "mean", "rows", "rows per inference batch: those that arrived together"),
    Metric(LAG, "mean", "versions", "staleness: weight versions between choosing an action and learning from it"),
    Metric(LAG_MAX, "gauge", "versions", "the largest lag in the last batch"),
    Metric(QUEUE, "gauge", "batches", "batches that wait for the learner"),
    Metric(DROPPED, "counter", "decisions", "decisions dropped because they were older than learner.max_lag"),
    Metric(REPLAYED, "counter", "decisions", "decisions used in an update again (learner.replay)"),
    Metric(REPLAY, "gauge", "decisions", "decisions in the replay buffer"),
    Metric(RECORDED, "counter", "decisions", "decisions of a dataset used in an update, in runs that also play"),
    Metric(LOSS_POLICY, "mean", "", "policy loss (for PPO, the clipped surrogate)"),
    Metric(LOSS_VALUE, "mean", "", "squared error of the value estimate, without its coefficient"),
    Metric(LOSS_TOTAL, "mean", "", "the loss that the optimiser minimises"),
    Metric(ENTROPY, "mean", "nats", "entropy of the policy over the legal actions"),
    Metric(KL, "mean", "nats", "KL divergence between the policy that chose the actions and the updated policy"),
    Metric(AGREEMENT, "mean", "share", "recorded actions that are the policy's most likely ones (bc, awr, data.live)"),
    Metric(CLIP_SHARE, "mean", "share", "decisions whose probability ratio was clipped"),
    Metric(RHO, "mean", "", "clipped importance weight of V-trace; 1 for on-policy data"),
    Metric(BURNED_IN, "mean", "share", "decisions of a batch that only refresh the hidden state (burn_in)"),
    Metric(REFERENCE_KL, "mean", "nats", "KL divergence of the policy from the reference policy (rnad, ppo_kl)"),
    Metric(REFERENCE_SWAPS, "counter", "swaps", "times that the current policy became the reference"),
    Metric(FORGOTTEN, "counter", "decisions", "decisions left out because the other seat filled the segment (rnad)"),
    Metric(EXPLAINED_VARIANCE, "mean", "", "1 if the value predicts returns exactly, 0 if no better than their mean"),
    Metric(GRAD_NORM, "mean", "", "gradient norm before clipping"),
    Metric(EPOCHS, "mean", "epochs", "epochs per update, limited by the configured number or the KL limit"),
    Metric(LR, "gauge", "", "learning rate of the latest update"),
    Metric(SKIPPED, "counter", "updates", "updates skipped because their loss or gradient was not finite"),
    Metric(NON_FINITE, "counter", "minibatches", "minibatches skipped because their gradient was not finite"),
    Metric(POOL, "gauge", "snapshots", "past selves in the pool of opponents"),
    Metric(OPPONENT_ELO, "gauge", "Elo", "mean rating of the chosen opponents, relative to the learner"),
    Metric(CHECKPOINT_FAILURES, "counter", "checkpoints", "checkpoints and snapshots that could not be written"),
    Metric(
        TELEMETRY_FAILURES,
        "counter",
        "writes",
        "failed writes to progress.csv, evaluations.jsonl, tensorboard/, run.log or the terminal",
    ),
    Metric(REWARD, "mean", "reward", "reward of a learning seat per match"),
    Metric(LENGTH, "mean", "decisions", "decisions per match, all seats together"),
    Metric(MATCH_S, "mean", "s", "time from the first decision of a match to its end, waiting included"),
    Metric(TRUNCATED, "counter", "matches", "matches cut short by a limit of the game"),
    Metric(
        BEGUN,
        "counter",
        "matches",
        "training matches that began: their first decision reached the actor, or they were voided before that. "
        "In every report this is "
        "progress/matches + match/voided + curriculum/unfinished + match/under_way",
    ),
    Metric(
        UNDER_WAY,
        "gauge",
        "matches",
        "training matches that have begun and have neither ended nor been voided, as the actors last reported",
    ),
    Metric(UNDER_WAY_DECISIONS, "gauge", "decisions", "decisions made so far in the running matches"),
    Metric(
        VOIDED,
        "counter",
        "matches",
        "matches that were lost: with their host, with the actor, or with a file of a checkpoint; the sum of voided/*",
    ),
    Metric(
        VOIDED_DECISIONS,
        "counter",
        "decisions",
        "decisions made in voided matches, those that were learned from before included; not of matches voided as anew",
    ),
    Metric(BEGUN_ANEW, "counter", "resumes", "resumes that could not restore the running matches; the log says why"),
    Metric(HOSTS_ALIVE, "gauge", "hosts", "running hosts"),
    Metric(HOSTS_TOTAL, "gauge", "hosts", "hosts at the start of the run"),
    Metric(HOSTS_RESTARTS, "counter", "restarts", "restarts of hosts"),
    Metric(HOSTS_GIVEN_UP, "gauge", "hosts", "hosts that failed too often (fleet.failures_in_a_row) and stay down"),
    Metric(ACTORS_PLAYING, "gauge", "actors", "actors that play"),
    Metric(ACTORS_TOTAL, "gauge", "actors", "actors of the run"),
    Metric(ACTORS_ADDED, "counter", "actors", "actors that were added because nodes have joined the cluster"),
    Metric(ACTORS_GIVEN_UP, "counter", "actors", "actors that failed for good while others went on"),
    Metric(ACTOR_RESTARTS, "counter", "restarts", "restarts of actors that died or were silent"),
    Metric(
        ACTOR_LOST,
        "counter",
        "decisions",
        "recorded decisions lost with an actor that died, according to its last report",
    ),
    Metric(NODES_ALIVE, "gauge", "nodes", "nodes of the cluster that are alive and may play"),
    Metric(NODES_TOTAL, "gauge", "nodes", "the most nodes that were alive at the same time"),
    Metric(NODES_LOST, "counter", "nodes", "nodes that have left the cluster or were lost"),
    Metric(NODES_REFUSED, "gauge", "nodes", "nodes that may not play, because their versions differ"),
    Metric(CORES, "gauge", "cores", "cores that the run may use"),
    Metric(SERVERS_ALIVE, "gauge", "servers", "servers of the run (`servers.count`) that accept matches"),
    Metric(SERVERS_TOTAL, "gauge", "servers", "servers at the start of the run"),
    Metric(SERVERS_RESTARTS, "counter", "restarts", "restarts of servers after a failure"),
    Metric(SERVERS_RECYCLED, "counter", "restarts", "restarts of servers because they exceeded `servers.memory_mib`"),
    Metric(SERVERS_MIB, "gauge", "MiB", "memory of all servers together, as last reported"),
    Metric(SERVERS_LARGEST_MIB, "gauge", "MiB", "memory of the largest server"),
)

WIN_RATE = Family(
    "win_rate", "gauge", "share", "evaluation matches won against this opponent; a tie is not a win", "heuristic"
)
RETURN = Family("return", "gauge", "reward", "mean reward of the agent per evaluation match", "none")
TRAIN_WIN_RATE = Family("train_win_rate", "mean", "share", "training matches won against this kind of opponent", "past")
OPPONENT_SHARE = Family("opponent_share", "gauge", "share", "recent training matches against this kind", "past")
VOIDED_BY = Family(
    "voided",
    "counter",
    "matches",
    "voided matches by reason. Faults of their host: died, hung, protocol, refused, host (it gave the match up), "
    "diverged (a resumed match did not repeat its course). actor_died: running in the last report of an actor that "
    "died. node_lost: the same of an actor whose node was lost or silent. anew: in the checkpoint of a run that was "
    "resumed without them",
    "hung",
)
ACTOR_BUSY = Family(
    "actor_busy", "gauge", "share", "time that this actor of several did not wait, as it last reported", "0"
)
NODE_DECISIONS = Family(
    "node_decisions", "counter", "decisions", "decisions that were made on this node of the cluster", "10.0.0.2"
)
NODE_HOST_RESTARTS = Family(
    "node_host_restarts", "counter", "restarts", "restarts of hosts on this node of the cluster", "10.0.0.2"
)
NODE_ACTOR_RESTARTS = Family(
    "node_actor_restarts", "counter", "restarts", "restarts of actors that were lost on this node", "10.0.0.2"
)
HOST_BUSY = Family("host_busy", "gauge", "share", "share of its time that this host did not wait for actions", "0")
MEMORY = Family("memory_mib", "gauge", "MiB", "resident memory of the run's processes, by kind of process", "hosts")
FACT = Family("fact", "mean", "", "a number that the game reports for each match", "turns")
SHARE = Family("share", "share", "share", "share of its process's time, by activity", "actor/policies")
MEAN_MS = Family("mean_ms", "duration", "ms", "mean duration of a pass, by activity", "actor/policies")
P50_MS = Family("p50_ms", "duration", "ms", "median duration of a pass, by activity", "actor/policies")
P95_MS = Family("p95_ms", "duration", "ms", "95th percentile of the duration of a pass, by activity", "actor/policies")

OF_ACTIVITIES = (SHARE, MEAN_MS, P50_MS, P95_MS)
FAMILIES: tuple[Family, ...] = (
    WIN_RATE,
    RETURN,
    TRAIN_WIN_RATE,
    OPPONENT_SHARE,
    VOIDED_BY,
    ACTOR_BUSY,
    NODE_DECISIONS,
    NODE_HOST_RESTARTS,
    NODE_ACTOR_RESTARTS,
    HOST_BUSY,
    MEMORY,
    FACT,
    *OF_ACTIVITIES,
)

KINDS: dict[str, Kind] = {metric.name: metric.kind for metric in METRICS}

# Gauges of actors that add up in a run with several; of the others, the mean is shown.
ADDED = frozenset({UNDER_WAY, UNDER_WAY_DECISIONS, HOSTS_ALIVE, HOSTS_TOTAL, HOSTS_GIVEN_UP})

# Counters that are also shown as a rate: name of the rate, seconds in its unit.
RATES: dict[str, tuple[str, float]] = {
    DECISIONS: (DECISIONS_PER_S, 1.0),
    MATCHES: (MATCHES_PER_HOUR, 3600.0),
    UPDATES: (UPDATES_PER_S, 1.0),
}


@dataclass(frozen=True, slots=True)
class Activity:
    """A timed part of a process's loop, `process/part`; reported as share/process/part."""

    name: str
    meaning: str


HOST_WAIT = "hosts/wait"
HOST_SIMULATE = "hosts/simulate"
HOST_ENCODE = "hosts/encode"
HOST_MASK = "hosts/mask"
HOST_SEND = "hosts/send"
HOST_OTHER = "hosts/other"
WAIT_HOSTS = "actor/wait_hosts"
SEGMENTS = "actor/segments"
POLICIES = "actor/policies"
OPPONENTS = "actor/opponents"
SEND = "actor/send"
HAND_OVER = "actor/hand_over"
LOAD_WEIGHTS = "actor/load_weights"
SAVE = "actor/save"
ACTOR_OTHER = "actor/other"
START = "learner/start"
WAIT_BATCH = "learner/wait_batch"
UPDATE = "learner/update"
PUBLISH = "learner/publish"
CHECKPOINT = "learner/checkpoint"
EVALUATE = "learner/evaluate"
LEARNER_OTHER = "learner/other"

ACTIVITIES: tuple[Activity, ...] = (
    Activity(HOST_WAIT, "waiting for actions"),
    Activity(HOST_SIMULATE, "advancing and starting matches; for games on servers, waiting for them"),
    Activity(HOST_ENCODE, "encoding observations"),
    Activity(HOST_MASK, "computing action masks"),
    Activity(HOST_SEND, "building and writing frames"),
    Activity(HOST_OTHER, "everything else"),
    Activity(WAIT_HOSTS, "waiting for rows, and reading them"),
    Activity(SEGMENTS, "writing decisions, rewards and endings into segments"),
    Activity(POLICIES, "inference: batched forward passes and, in training, scripted opponents"),
    Activity(OPPONENTS, "inference of the opponents in `ludus eval`"),
    Activity(SEND, "sending actions to the hosts"),
    Activity(HAND_OVER, "handing batches to the learner, including waiting for it"),
    Activity(LOAD_WEIGHTS, "loading published weights"),
    Activity(SAVE, "writing running matches into a checkpoint"),
    Activity(ACTOR_OTHER, "everything else"),
    Activity(START, "starting hosts and actor, loading a checkpoint"),
    Activity(WAIT_BATCH, "waiting for a batch; in serial mode, the actor's time"),
    Activity(UPDATE, "updates: returns, forward, backward and optimiser"),
    Activity(PUBLISH, "publishing weights to the actor"),
    Activity(CHECKPOINT, "writing checkpoints"),
    Activity(EVALUATE, "playing evaluation matches"),
    Activity(LEARNER_OTHER, "everything else"),
)


# Activities of the learner outside of training. They are left out of the shares, which describe the training time.
BREAKS = (START, EVALUATE)


def process(activity: str) -> str:
    """Return the kind of process of an activity: hosts, actor or learner."""
    return activity.partition("/")[0]


def ordered_activities(activities: Iterable[str]) -> list[str]:
    """Sort activities as in this file, unknown ones last."""
    return sorted(activities, key=lambda activity: (_ACTIVITY_ORDER.get(activity, len(ACTIVITIES)), activity))


def ordered(names: Iterable[str]) -> list[str]:
    """Sort names as in this file: families alphabetically (activities in their own order), unknown names last."""
    return sorted(names, key=_place)


def _place(name: str) -> tuple[int, int, str]:
    if name in _METRIC_ORDER:
        return (_METRIC_ORDER[name], 0, name)
    for index, family in enumerate(FAMILIES):
        end = family.end(name)
        if end is not None:
            return (len(METRICS) + index, _ACTIVITY_ORDER.get(end, len(ACTIVITIES)), name)
    return (len(METRICS) + len(FAMILIES), 0, name)


_METRIC_ORDER = {metric.name: index for index, metric in enumerate(METRICS)}
_ACTIVITY_ORDER = {activity.name: index for index, activity in enumerate(ACTIVITIES)}
