"""`ludus export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ludus.errors import ConfigError


def export(
    service: Annotated[str, typer.Argument(metavar="wandb|mlflow", help="Where to send the numbers.")],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    project: Annotated[str, typer.Option(help="Project (wandb) or experiment (mlflow).")] = "ludus",
    every_s: Annotated[float, typer.Option(min=0.0, help="Least seconds of training between two rows.")] = 10.0,
) -> None:
    """Send the numbers of a run to Weights & Biases or MLflow, until the run ends.

    The run is not involved: this command reads its folder. If the service does not answer, it tries again. An ended run
    can be sent as well.

    Example: [bold]ludus export mlflow runs/gen1-20250101-1[/bold]
    """
    from ludus.suggestions import did_you_mean
    from ludus.watch import runs_folder, services

    if service not in services.SERVICES:
        raise ConfigError(f"there is no service {service!r}; {did_you_mean(service, services.SERVICES)}")
    if not runs_folder.is_run(run):
        raise ConfigError(f"{run} is no run; name the folder of one, such as runs/gen1-20250101-1")
    receiver = services.SERVICES[service](run, project)
    try:
        count = services.follow(run, receiver, every_s=every_s, tell=lambda text: typer.echo(text, err=True))
    except KeyboardInterrupt:
        typer.echo("stopped")
        return
    finally:
        receiver.close()
    typer.echo(f"Sent {count} rows of {run} to {service}.")
