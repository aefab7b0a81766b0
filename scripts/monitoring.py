"""Write the Grafana dashboard and the alert rules in monitoring/ from the names of the metrics.

python scripts/monitoring.py
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ludus.metrics import names, series_names
from ludus.metrics.series_names import FAMILIES, METRICS, Published

FOLDER = Path(__file__).parents[1] / "monitoring"
DASHBOARD, ALERTS = FOLDER / "grafana.json", FOLDER / "alerts.yaml"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
RUN = 'instance=~"$run"'  # a run is one scrape target
WIDTH, HEIGHT, PER_ROW = 8, 8, 3
NAME = re.compile(r"ludus_\w+")

Plain = dict[str, Any]  # Any: plain data for JSON and YAML


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of the dashboard. `queries` are pairs of an expression and the label of its lines."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"  # Grafana's
    stacked: bool = False
    kind: str = "timeseries"


@dataclass(frozen=True, slots=True)
class Alert:
    name: str
    expression: str
    for_time: str
    severity: str
    summary: str


def name_of(metric: str) -> str:
    return METRICS[metric].name


def rate(published: Published, window: str = "5m") -> str:
    return f"rate({of_run(published)}[{window}])"


def of_run(published: Published) -> str:
    return f"{published.name}{{{RUN}}}"


def of_process(process: str) -> str:
    return f'{FAMILIES[names.SHARE].name}{{{RUN}, process="{process}"}}'


def quantile(share: float, buckets: str, by: str = "le") -> str:
    return f"histogram_quantile({share}, sum by ({by}) (rate({buckets}[5m])))"


def plain(metric: str) -> str:
    return of_run(METRICS[metric])


def panels() -> dict[str, list[Panel]]:
    """Return the panels by the title of their row."""
    return {
        "Overview": overview(),
        "Learning": learning(),
        "Where the time goes": times(),
        "Data": [
            Panel("Lag (staleness)", ((plain(names.LAG), "mean"), (plain(names.LAG_MAX), "largest"))),
            Panel("Batches and replay buffer", ((plain(names.QUEUE), "batches"), (plain(names.REPLAY), "decisions"))),
            Panel("Dropped decisions per second", ((rate(METRICS[names.DROPPED]), "{{instance}}"),)),
        ],
        "Faults": faults(),
    }


def overview() -> list[Panel]:
    durations = tuple((quantile(share, of_matches()), f"{share:.0%}") for share in (0.5, 0.95, 0.99))
    return [
        Panel("Decisions per second", ((plain(names.DECISIONS_PER_S), "{{instance}}"),)),
        Panel("Matches per hour", ((plain(names.MATCHES_PER_HOUR), "{{instance}}"),)),
        Panel("Used part of the budget", ((plain(names.PROGRESS), "{{instance}}"),), "percentunit"),
        Panel("Matches played", ((plain(names.MATCHES), "{{instance}}"),)),
        Panel("Duration of matches", durations, "s"),
        Panel("Age of the latest report", ((f"time() - {of_run(series_names.UP_TO_DATE)}", "{{instance}}"),), "s"),
    ]


def learning() -> list[Panel]:
    return [
        Panel("Win rate in evaluations", ((of_run(FAMILIES[names.WIN_RATE]), "{{opponent}}"),), "percentunit"),
        Panel("Win rate in training", ((of_run(FAMILIES[names.TRAIN_WIN_RATE]), "{{opponent}}"),), "percentunit"),
        Panel("Reward per match", ((plain(names.REWARD), "{{instance}}"),)),
        Panel("Losses", ((plain(names.LOSS_POLICY), "policy"), (plain(names.LOSS_VALUE), "value"))),
        Panel("Entropy and KL", ((plain(names.ENTROPY), "entropy"), (plain(names.KL), "KL"))),
        Panel("Stage of the curriculum", ((plain(names.STAGE), "{{instance}}"),)),
    ]


def times() -> list[Panel]:
    shares = [
        Panel(f"Time of {process}", ((of_process(process), "{{activity}}"),), "percentunit", stacked=True)
        for process in ("hosts", "actor", "learner")
    ]
    sync = tuple((quantile(share, of_activity("actor", "load_weights")), f"{share:.0%}") for share in (0.5, 0.95))
    slowest = quantile(0.95, of_activities(), by="le, process, activity")
    return [
        *shares,
        Panel("Busy share of each host", ((of_run(FAMILIES[names.HOST_BUSY]), "host {{host}}"),), "percentunit"),
        Panel("Model sync: loading weights", sync, "s"),
        Panel("Duration of activities, 95%", ((slowest, "{{process}}/{{activity}}"),), "s"),
    ]


def faults() -> list[Panel]:
    restarts = ((names.HOSTS_RESTARTS, "hosts"), (names.ACTOR_RESTARTS, "actor"), (names.SERVERS_RESTARTS, "servers"))
    of_nodes = ((names.NODE_HOST_RESTARTS, "hosts of {{node}}"), (names.NODE_ACTOR_RESTARTS, "actors of {{node}}"))
    per_hour = (
        *((f"3600 * {rate(METRICS[metric], '15m')}", label) for metric, label in restarts),
        *((f"3600 * {rate(FAMILIES[family], '15m')}", label) for family, label in of_nodes),
    )
    voided = f"3600 * {rate(FAMILIES[names.VOIDED_BY], '15m')}"
    skipped = ((plain(names.SKIPPED), "updates"), (plain(names.NON_FINITE), "minibatches"))
    memory = ((plain(names.SERVERS_MIB), "all"), (plain(names.SERVERS_LARGEST_MIB), "largest"))
    return [
        Panel("Hosts", ((plain(names.HOSTS_ALIVE), "running"), (plain(names.HOSTS_TOTAL), "at the start"))),
        Panel("Restarts per hour", per_hour),
        Panel("Voided matches per hour", ((voided, "{{reason}}"),)),
        Panel("Updates that were not finite", skipped),
        Panel("Free disk space", ((of_run(series_names.FREE), "{{instance}}"),), "bytes"),
        Panel("Memory of the servers", memory, "bytes"),
        Panel("Memory of the run", ((of_run(FAMILIES[names.MEMORY]), "{{process}}"),), "bytes", stacked=True),
    ]


def of_matches() -> str:
    return f"{series_names.MATCH_SECONDS.name}_bucket{{{RUN}}}"


def of_activities() -> str:
    return f"{series_names.ACTIVITY_SECONDS.name}_bucket{{{RUN}}}"


def of_activity(process: str, activity: str) -> str:
    return f'{series_names.ACTIVITY_SECONDS.name}_bucket{{{RUN}, process="{process}", activity="{activity}"}}'


def alerts() -> list[Alert]:
    speed, lag = name_of(names.DECISIONS_PER_S), name_of(names.LAG)
    dropped, learned = name_of(names.DROPPED), name_of(names.LEARNED)
    training = f'{name_of(names.PHASE)}{{phase="training"}}'
    lists = (
        ("NobodyPlays", f"{speed} == 0 and on (instance, job) {training}", "2m", "critical", "nobody plays"),
        ("Silent", f"time() - {series_names.UP_TO_DATE.name} > 120", "1m", "critical", "no report for two minutes"),
        ("HostsRestarting", increase(names.HOSTS_RESTARTS, "15m", 5), "0m", "warning", "hosts are restarted often"),
        ("HostsGivenUp", f"{name_of(names.HOSTS_GIVEN_UP)} > 0", "0m", "warning", "a host failed too often"),
        ("LagGrows", f"deriv({lag}[15m]) > 0 and {lag} > 2 * avg_over_time({lag}[1h])", "5m", "warning", "lag grows"),
        (
            "DropsDecisions",
            f"rate({dropped}[10m]) > 0.1 * rate({learned}[10m])",
            "5m",
            "warning",
            "over a tenth of the decisions is too old to be learned from",
        ),
        ("NonFinite", increase(names.SKIPPED, "10m"), "0m", "critical", "updates are not finite"),
        ("TelemetryFails", increase(names.TELEMETRY_FAILURES, "10m"), "0m", "warning", "numbers cannot be written"),
        ("DiskFull", f"{series_names.FREE.name} < 2e9", "1m", "critical", "less than 2 GB of disk are free"),
    )
    return [Alert(f"Ludus{name}", *rest) for name, *rest in lists]


def increase(metric: str, window: str, above: int = 0) -> str:
    return f"increase({name_of(metric)}[{window}]) > {above}"


def dashboard() -> Plain:
    """Return the dashboard as Grafana imports it."""
    shown: list[Plain] = []
    top = 0
    for title, row in panels().items():
        place = {"x": 0, "y": top, "w": 24, "h": 1}
        shown.append({"type": "row", "title": title, "gridPos": place, "id": len(shown) + 1, "panels": []})
        top += 1
        for index, panel in enumerate(row):
            place = {"x": index % PER_ROW * WIDTH, "y": top + index // PER_ROW * HEIGHT, "w": WIDTH, "h": HEIGHT}
            shown.append({**_panel(panel), "gridPos": place, "id": len(shown) + 1})
        top += -(-len(row) // PER_ROW) * HEIGHT
    query = f"label_values({series_names.UP_TO_DATE.name}, instance)"
    run = {"name": "run", "label": "Run", "type": "query", "query": query, "datasource": DATASOURCE}
    return {
        "title": "ludus",
        "uid": "ludus",
        "tags": ["ludus"],
        "schemaVersion": 39,
        "refresh": "15s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
                {**run, "refresh": 2, "multi": True, "includeAll": True},
            ]
        },
        "panels": shown,
    }


def _panel(panel: Panel) -> Plain:
    custom = {"fillOpacity": 60, "stacking": {"mode": "normal"}} if panel.stacked else {"fillOpacity": 0}
    targets = [
        {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": label, "datasource": DATASOURCE}
        for index, (expression, label) in enumerate(panel.queries)
    ]
    return {
        "type": panel.kind,
        "title": panel.title,
        "datasource": DATASOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "custom": custom}, "overrides": []},
    }


def rules() -> Plain:
    """Return the alert rules as Prometheus reads them."""
    listed = [
        {
            "alert": alert.name,
            "expr": alert.expression,
            "for": alert.for_time,
            "labels": {"severity": alert.severity},
            "annotations": {"summary": f"{{{{ $labels.instance }}}}: {alert.summary}"},
        }
        for alert in alerts()
    ]
    return {"groups": [{"name": "ludus", "rules": listed}]}


def queried() -> set[str]:
    """Return the names of all metrics that the dashboard and the rules ask for."""
    text = json.dumps([dashboard(), rules()])
    return set(NAME.findall(text))


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    FOLDER.mkdir(exist_ok=True)
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")


def texts() -> dict[Path, str]:
    """Return the content of the files."""
    head = "# written by scripts/monitoring.py\n"
    return {
        DASHBOARD: json.dumps(dashboard(), indent=1) + "\n",
        ALERTS: head + yaml.safe_dump(rules(), sort_keys=False, width=120),
    }


if __name__ == "__main__":
    main()
