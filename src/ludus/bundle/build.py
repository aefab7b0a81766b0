"""Makes a bundle: wheel of ludus, wheels of its dependencies, simulators, scripts, checksums."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import parse_wheel_filename

import ludus
from ludus.bundle import contents, own_wheel, tarball, wheels
from ludus.bundle.tarball import Progress
from ludus.bundle.target import Target
from ludus.errors import SetupError
from ludus.files import replacing
from ludus.games import cache, registry
from ludus.games.registry import Game


@dataclass(frozen=True, slots=True)
class Bundle:
    path: Path
    sizes: Mapping[str, int]  # bytes of each part, unpacked
    wheels: int
    preset: str  # to try first

    @property
    def commands(self) -> tuple[str, str]:
        """Return the two lines that unpack and start it."""
        return contents.commands(self.path.name, self.preset)


def build(path: Path, target: Target, extras: Collection[str], progress: Progress) -> Bundle:
    """Write the bundle for a target to `path`, which is replaced only when it is whole. Raises SetupError, ConfigError.

    `extras` are optional dependencies of ludus. An extra with the name of a game adds the files that this game has
    installed, too.
    """
    games = [registry.load(name) for name in registry.names() if name in extras]
    preset = "gen1" if "showdown" in extras else "nim"
    with tempfile.TemporaryDirectory(prefix="ludus-bundle-", dir=path.parent) as temporary:
        folder = Path(temporary)
        progress("wheel of ludus", 0.0)
        own = own_wheel.make(folder / "own")
        (folder / "wheels").mkdir()

        def download_step(name: str) -> None:
            progress(f"downloading: {name}", 0.0)

        downloaded = wheels.download(own, extras, target, folder / "wheels", download_step)
        paths = {f"{contents.WHEELS}/{wheel.name}": wheel for wheel in downloaded}
        sizes = {"wheels": _bytes(paths)}
        for game in games:
            own_paths = _installed(game, target, progress)
            if own_paths:
                sizes[game.name] = _bytes(own_paths)
                paths |= own_paths
        digests = tarball.sums(paths, progress)
        with replacing(path) as partial:
            tarball.write(partial, paths, _texts(path.name, target, preset, sizes, digests), progress)
    return Bundle(path, sizes, len(downloaded), preset)


def _installed(game: Game, target: Target, progress: Progress) -> dict[str, Path]:
    """Return what a game installs for its hosts, by name in the archive. Installs it here if it is missing."""
    if game.prepare is None or game.installed is None:
        return {}
    options = game.options()
    game.prepare(options, lambda step, share: progress(f"{game.name} {step}", share))
    paths: dict[str, Path] = {}
    for folder in game.installed(options):
        if not folder.is_relative_to(cache.home()):
            raise SetupError(f"{game.name} names {folder}, which is not in {cache.home()}; it cannot be packed")
        paths |= tarball.files_under(folder, f"{contents.HOME}/{folder.relative_to(cache.home()).as_posix()}")
    for name, file in paths.items():
        if file.suffix in (".node", ".so", ".dylib"):
            raise SetupError(f"{name} is compiled for this machine and may not run on {target.platform}")
    return paths


def _texts(
    archive_name: str, target: Target, preset: str, sizes: Mapping[str, int], digests: Mapping[str, str]
) -> dict[str, str]:
    """Return the texts of the bundle by name: scripts, README, the pins for pip and the checksums of all files."""
    pinned, pip_wheel = [], ""
    for name, digest in digests.items():
        folder, _, file = name.rpartition("/")
        if folder == contents.WHEELS:
            package, version, _, _ = parse_wheel_filename(file)
            if package == wheels.PIP:
                pip_wheel = file
            pinned.append((package, str(version), digest))
    return {
        contents.README: contents.readme(archive_name, ludus.__version__, target, preset, sizes),
        contents.INSTALL: contents.install_script(target, len(digests), pip_wheel, preset),
        contents.START: contents.start_script(),
        contents.PINS: contents.pins(pinned),
        contents.SUMS: "".join(
            f"{digest}  {name.removeprefix(f'{contents.ROOT}/')}\n" for name, digest in sorted(digests.items())
        ),
    }


def _bytes(paths: Mapping[str, Path]) -> int:
    return sum(path.lstat().st_size for path in paths.values())
