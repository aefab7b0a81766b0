from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from scripts import lock_hashes

ROOT = Path(__file__).parents[3]
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)
DEADLINE_S = 60.0


def locked() -> dict[str, dict[str, str]]:
    """name -> version, by lock; every line of a lock is a comment or belongs to a pin with hashes."""
    groups = {}
    for path in sorted((ROOT / "locks").iterdir()):
        text = path.read_text()
        rest = [line for line in PIN.sub("", text).splitlines() if line and not line.startswith("#")]
        assert rest == [], path.name
        groups[path.stem] = {match[1]: match[2] for match in PIN.finditer(text)}
    return groups


def test_every_pin_stands_in_one_lock_with_hashes_and_every_lock_is_pinned() -> None:
    groups = locked()
    together = {name: version for group in groups.values() for name, version in group.items()}
    assert together == lock_hashes.read_pins((ROOT / "constraints.txt").read_text())
    assert sum(map(len, groups.values())) == len(together)


def test_locks_name_no_address() -> None:
    for path in (ROOT / "locks").iterdir():
        assert "://" not in path.read_text(), path.name


def test_make_installs_nothing_from_an_index_without_hashes_but_torch() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = [line.strip() for line in makefile.splitlines() if line.startswith("\t") and "$(PIP)" in line]
    assert commands == ["@$(PIP) -c constraints.txt $(TORCH)"]
    assert "LUDUS := $(PIP) --no-deps --no-build-isolation --no-index -e ." in makefile


def test_a_requirement_without_a_pin_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"constraints\.txt has no pin for numpy; add one for each"):
        lock_hashes.grouped({"setuptools": "1", "torch": "2"}, {"torch", "numpy"}, set(), set())


def test_each_name_is_in_one_group() -> None:
    pins = dict.fromkeys(
        ("setuptools", "torch", "numpy", "pytest", "mkdocs", "uplot-python", "rocketsim", "tianshou"), "1"
    )
    run = {"ludus-rl", "torch", "numpy"}
    assert lock_hashes.grouped(pins, run, {*run, "pytest"}, {*run, "pytest", "mkdocs"}) == {
        "build": ["setuptools"],
        "run": ["numpy"],
        "torch": ["torch"],
        "dev": ["pytest"],
        "docs": ["mkdocs"],
        "charts": ["uplot-python"],
        "rocket": ["rocketsim"],
        "more": ["tianshou"],
    }


@pytest.mark.parametrize(
    ("filename", "belongs"),
    [
        ("some_tool-1.2-py3-none-any.whl", True),
        ("some-tool-1.2.tar.gz", True),
        ("some_tool-1.2+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", True),
        ("some_tool-1.2.1-py3-none-any.whl", False),
        ("some_tool_more-1.2-py3-none-any.whl", False),
        ("some_tool-1.2.win32.exe", False),
    ],
)
def test_files_of_a_version_are_told_from_others(filename: str, belongs: bool) -> None:
    assert lock_hashes.is_of(filename, "some-tool", "1.2") is belongs


@pytest.mark.parametrize("right", [True, False])
def test_pip_takes_a_rendered_lock_and_refuses_a_wrong_hash(tmp_path: Path, right: bool) -> None:
    wheel = tmp_path / "some_tool-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("some_tool.py", "")
        file.writestr("some_tool-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: some-tool\nVersion: 1.2\n")
        file.writestr("some_tool-1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("some_tool-1.2.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if right else "0" * 64
    lock = tmp_path / "lock.txt"
    lock.write_text(lock_hashes.rendered({"some-tool": "1.2"}, {"some-tool": [digest]}))
    words = ["install", "--quiet", "--isolated", "--no-index", "--find-links", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words, "--target", tmp_path / "into", "--require-hashes", "-r", lock],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert (done.returncode == 0) is right, done.stderr
    assert (tmp_path / "into" / "some_tool.py").exists() is right
    assert right or "DO NOT MATCH THE HASHES" in done.stderr
