"""The wheel of ludus itself: built from the source tree, or packed again from the installed distribution."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import ludus
from ludus.errors import SetupError

DISTRIBUTION = "ludus-rl"
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE")
BUILD_S = 300.0
EPOCH_S = 315_532_800  # 1980-01-01, the earliest time that a zip file holds
LEFT_OUT = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")  # of .dist-info: an installer wrote them


def source_tree() -> Path | None:
    """Return the folder with the pyproject.toml of ludus, or None if ludus was installed without it."""
    folder = Path(ludus.__file__).parents[2]
    return folder if (folder / "src" / "ludus").is_dir() and (folder / "pyproject.toml").is_file() else None


def extras() -> list[str]:
    """Return the extras of ludus: groups of optional dependencies."""
    tree = source_tree()
    if tree is not None:  # what is installed from it may be older
        return sorted(tomllib.loads((tree / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    return sorted(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or ())


def make(folder: Path) -> Path:
    """Write the wheel of ludus into `folder` and return its path. Raises SetupError."""
    folder.mkdir(parents=True, exist_ok=True)
    tree = source_tree()
    return build(tree, folder) if tree is not None else repack(metadata.distribution(DISTRIBUTION), folder)


def build(tree: Path, folder: Path) -> Path:
    """Build from a copy of the sources, because setuptools writes build/ and *.egg-info beside them."""
    copy = folder / "copy"
    copy.mkdir(parents=True)
    for name in SOURCES:
        if (tree / name).is_dir():
            shutil.copytree(tree / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(tree / name, copy / name)
    isolation = ["--no-build-isolation", "--no-index"] if importlib.util.find_spec("setuptools") else []
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *isolation]
    command += ["--wheel-dir", str(folder), str(copy)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH_S)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, env=environment, check=False)
    except subprocess.TimeoutExpired as error:
        raise SetupError(f"building the wheel of ludus took more than {BUILD_S:.0f} s; try again") from error
    shutil.rmtree(copy)
    wheels = sorted(folder.glob("ludus_rl-*.whl"))
    if done.returncode or not wheels:
        raise SetupError(f"pip cannot build the wheel of ludus from {tree}: {done.stderr.strip()}")
    return wheels[0]


def repack(distribution: metadata.Distribution, folder: Path) -> Path:
    """Write the files of an installed distribution as a wheel again, without what its installer added."""
    files = [file for file in distribution.files or () if _belongs(file)]
    if not any(file.name == "WHEEL" for file in files):
        raise SetupError(
            f"{DISTRIBUTION} {distribution.version} was not installed from a wheel, so it cannot be packed again; "
            "run this from a clone of the repository, or install it with pip"
        )
    path = folder / f"{DISTRIBUTION.replace('-', '_')}-{distribution.version}-py3-none-any.whl"
    record_name = f"{next(file for file in files if file.name == 'WHEEL').parent}/RECORD"
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file in sorted(files, key=str):
            content = Path(str(file.locate())).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{file},sha256={digest},{len(content)}")
            _write(wheel, str(file), content)
        _write(wheel, record_name, ("\n".join([*record, f"{record_name},,"]) + "\n").encode())
    return path


def _belongs(file: metadata.PackagePath) -> bool:
    """Return False for compiled files, for files outside of site-packages (the command) and for an installer's own."""
    in_info = file.parts[0].endswith(".dist-info")
    return ".." not in file.parts and file.suffix != ".pyc" and not (in_info and file.name in LEFT_OUT)


def _write(wheel: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    wheel.writestr(entry, content)
