"""`ludus bundle`: one archive for machines without internet."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Annotated

import typer

from ludus.config import places
from ludus.errors import ConfigError

NONE = "none"


def bundle(
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Archive to write, .tar.gz or .tar.", show_default="ludus-VERSION-PYTHON-PLATFORM"),
    ] = None,
    python: Annotated[
        str, typer.Option("--python", help="Version of Python on the target.")
    ] = f"{sys.version_info[0]}.{sys.version_info[1]}",
    target_platform: Annotated[
        str | None,
        typer.Option(
            "--platform", help="Platform of the target, as pip names it.", show_default="this machine's, glibc 2.28"
        ),
    ] = None,
    extras: Annotated[
        str,
        typer.Option("--extras", help="Extras of ludus-rl, as showdown,ray; the simulators of games come with them."),
    ] = "showdown",
) -> None:
    """Write one archive with all that a machine without internet needs: wheels, Node and simulators.

    Packages come from the indexes that pip is configured for, which also decide the build of torch: for the CPU, set
    PIP_INDEX_URL to an index that has that build.

    Example: [bold]ludus bundle --python 3.12 --out ludus.tar.gz[/bold]
    """
    import ludus
    from ludus.bundle import target as targets

    machine = target_platform or targets.default_platform(platform.system(), platform.machine(), platform.mac_ver()[0])
    target = targets.target(python, machine)
    path = out or Path(f"ludus-{ludus.__version__}-{target.abi}-{target.platform}.tar.gz")
    if not path.name.endswith((".tar.gz", ".tgz", ".tar")):
        raise ConfigError(f"--out: {path} must end in .tar.gz, .tgz or .tar")
    places.check_file(path, "--out")
    path.parent.mkdir(parents=True, exist_ok=True)
    from rich.console import Console

    from ludus.bundle.build import build
    from ludus.games import command_parts

    console = Console()
    with command_parts.steps("bundle", console) as progress:
        result = build(path, target, _extras(extras), progress)
    parts = ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in result.sizes.items())
    console.print(
        f"{path}: {path.stat().st_size / 1e6:,.0f} MB for Python {python} on {target.platform} "
        f"({result.wheels} wheels; unpacked: {parts}). On the target:",
        highlight=False,
        soft_wrap=True,
    )
    for line in result.commands:
        console.print(f"  {line}", highlight=False, soft_wrap=True)


def _extras(text: str) -> set[str]:
    """Return the names of the extras. Raises ConfigError for one that ludus does not have."""
    from ludus.bundle.own_wheel import extras
    from ludus.suggestions import did_you_mean

    names = {name.strip() for name in text.split(",") if name.strip()} - {NONE}
    for name in names:
        if name not in extras():
            raise ConfigError(f"--extras: ludus-rl has no extra {name!r}; {did_you_mean(name, extras())}")
    return names
