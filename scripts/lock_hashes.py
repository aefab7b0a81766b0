"""Write the hash of every file of every version in constraints.txt: `make lock`.

    python scripts/lock_hashes.py

Wheels of all platforms and source archives are listed, so that one lock serves every machine. The files are looked up
through pip's own configuration; no address is written. The locks, in locks/:

    build.txt   the build tool of ludus and of packages without wheels
    run.txt     the dependencies of ludus, without torch
    torch.txt   torch alone
    dev.txt     the additional packages for development
    docs.txt    the additional packages for the documentation site
    charts.txt  uPlot for `ludus watch`; unpacked outside of site-packages, since only its JavaScript is used
    rocket.txt  the packages for Rocket League; installed without dependencies
    more.txt    everything else in constraints.txt: benchmarks, fuzzing
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
LOCKS = ROOT / "locks"
BUILD = "setuptools"  # builds ludus, and packages that have no wheel for a platform
ROCKET = ("rocketsim", "rlgym-api", "rlgym-rocket-league")
CHARTS = ("uplot-python",)
LUDUS = "ludus-rl"  # this distribution, which needs no pin
RESOLVE_S = 600

Pins = Mapping[str, str]
"""Normalised name -> version."""


def main() -> None:
    pins = read_pins(CONSTRAINTS.read_text())
    groups = grouped(pins, required(".[showdown]"), required(".[showdown,dev]"), required(".[showdown,dev,docs]"))
    index = Index()
    hashes = {name: index.hashes(name, version) for name, version in pins.items()}
    LOCKS.mkdir(exist_ok=True)
    for group, names in groups.items():
        text = rendered({name: pins[name] for name in names}, hashes)
        (LOCKS / f"{group}.txt").write_text(text)
        print(f"locks/{group}.txt: {len(names)} packages, {text.count('--hash')} hashes")


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(text: str) -> dict[str, str]:
    """Return the pins of a constraints file or a lock. Comments, hashes and `-r` lines are skipped."""
    matches = re.finditer(r"^([A-Za-z0-9][\w.-]*)==([^\s\\;]+)", text, re.MULTILINE)
    return {normalised(match[1]): match[2] for match in matches}


def grouped(pins: Pins, run: set[str], dev: set[str], docs: set[str]) -> dict[str, list[str]]:
    """Assign every pinned name to exactly one group. Raises SystemExit for a requirement without a pin."""
    missing = sorted((run | dev | docs | {BUILD}) - set(pins) - {LUDUS})
    if missing:
        raise SystemExit(f"constraints.txt has no pin for {', '.join(missing)}; add one for each")
    rocket = set(ROCKET)
    groups = {
        "build": {BUILD},
        "run": run - {"torch", BUILD},
        "torch": {"torch"},
        "dev": dev - run - {"torch", BUILD},
        "docs": docs - dev - run - {"torch", BUILD},
        "charts": set(CHARTS),
        "rocket": rocket,
    }
    groups = {group: names & set(pins) for group, names in groups.items()}
    groups["more"] = set(pins) - set().union(*groups.values())
    return {group: sorted(names) for group, names in groups.items()}


def required(package: str) -> set[str]:
    """Return the names that pip would install for this package with the pinned versions, on this platform."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    words = ["--constraint", str(CONSTRAINTS), "--editable", package]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True, timeout=RESOLVE_S)
    if done.returncode:
        raise SystemExit(f"pip cannot resolve {package} with constraints.txt:\n{done.stderr}")
    return {normalised(item["metadata"]["name"]) for item in json.loads(done.stdout)["install"]}


class Index:
    """The files in the indexes and link folders that pip is configured for."""

    def __init__(self) -> None:
        # pip has no public interface that names files for other platforms; these calls exist since pip 22.2
        from pip._internal.commands import create_command

        command: Any = create_command("download")  # Any: private, without types here
        options, _ = command.parse_args([])
        session = command._build_session(options)
        self._collector = command._build_package_finder(options, session)._link_collector

    def hashes(self, name: str, version: str) -> list[str]:
        """Return the sorted sha256 of every file of this version. Raises SystemExit if there is none."""
        links = [link for link in self._links(name) if is_of(link.filename, name, version)]
        hashes = {link.hash for link in links if link.hash_name == "sha256"}
        hashes |= {_sha256(Path(link.file_path)) for link in links if link.hash is None and link.is_file}
        if not hashes:
            raise SystemExit(f"pip's indexes have no file with a sha256 for {name}=={version}")
        return sorted(hashes)

    def _links(self, name: str) -> Iterator[Any]:
        from pip._internal.index.collector import parse_links

        def links_on(page: object) -> list[Any]:
            response = self._collector.fetch_response(page)
            return [] if response is None else list(parse_links(response))

        sources = self._collector.collect_sources(name, candidates_from_page=links_on)
        for source in (*sources.find_links, *sources.index_urls):
            if source is not None:
                yield from source.page_candidates()
                yield from source.file_links()


def is_of(filename: str, name: str, version: str) -> bool:
    """Return True for a wheel or source archive of this version, including local builds (1.0+cpu)."""
    try:
        parse = parse_wheel_filename if filename.endswith(".whl") else parse_sdist_filename
        file_name, file_version = parse(filename)[:2]
    except ValueError:  # an egg, an installer, a name from before the rules
        return False
    return bool(normalised(file_name) == name and file_version.public == version)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rendered(pins: Pins, hashes: Mapping[str, Sequence[str]]) -> str:
    """Return a requirements file for `pip install --require-hashes`."""
    lines = ["# Written by `make lock` from constraints.txt: the hash of every file of each version, on all platforms."]
    for name, version in pins.items():
        lines.append(" \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{each}" for each in hashes[name])]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
