"""RocketSim, an extra that is imported when its first arena is needed, and the collision meshes it needs."""

from __future__ import annotations

import importlib
from importlib import metadata
from pathlib import Path
from typing import Any

from ludus.errors import SetupError
from ludus.games.extras import install_command

INSTALL = install_command("rocket")
MESHES_OF = "rlgym-rocket-league"  # the package that carries the meshes of the soccar arena
MESHES_IN = "rlgym/rocket_league/sim/collision_meshes"
SOCCAR_MESHES = 16


def rocketsim(meshes: str = "") -> Any:  # Any: RocketSim's stubs are not those of its module
    """Import RocketSim and load the collision meshes. Raises SetupError if either is missing."""
    folder = meshes_folder(meshes)
    try:
        module = importlib.import_module("RocketSim")
    except ImportError as error:
        raise SetupError(f"RocketSim is not installed ({error}); run: {INSTALL}") from error
    try:
        module.init(str(folder))
    except Exception as error:  # RocketSim has no error types; it also refuses a second init, which is harmless
        if "already" not in str(error).lower():
            raise SetupError(f"RocketSim refuses the collision meshes in {folder}: {error}") from error
    return module


def meshes_folder(configured: str = "") -> Path:
    """Return the folder above `soccar/*.cmf`: the configured one, or that of the installed package. Raises SetupError
    if meshes are missing."""
    folder = Path(configured).expanduser() if configured else _packaged()
    meshes = len(list((folder / "soccar").glob("*.cmf")))
    if meshes < SOCCAR_MESHES:
        hint = "give options.meshes the folder above soccar/" if configured else f"install {MESHES_OF} anew"
        raise SetupError(f"{folder / 'soccar'} has {meshes} collision meshes, expected {SOCCAR_MESHES}; {hint}")
    return folder


def _packaged() -> Path:
    try:
        package = metadata.distribution(MESHES_OF)
    except metadata.PackageNotFoundError:
        raise SetupError(
            f"there are no collision meshes: {MESHES_OF}, which carries them, is not installed; run: {INSTALL}, "
            "or name a folder with your own in options.meshes"
        ) from None
    return Path(str(package.locate_file(MESHES_IN)))
