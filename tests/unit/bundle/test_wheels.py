from __future__ import annotations

import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ludus.bundle import contents, own_wheel, tarball, wheels
from ludus.bundle.target import target
from ludus.errors import SetupError

WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
LINUX = target("3.12", "manylinux_2_28_x86_64")
MAC = target("3.12", "macosx_14_0_arm64")


def stand_in(folder: Path, name: str, version: str, *requires: str) -> Path:
    """Write a wheel that holds nothing but its metadata."""
    info = f"{name}-{version}.dist-info"
    headers = "".join(f"Requires-Dist: {each}\n" for each in requires)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}")
        wheel.writestr(f"{info}/WHEEL", WHEEL)
        wheel.writestr(f"{info}/RECORD", "")
    return path


def test_a_dependency_without_a_wheel_is_missing_only_where_it_is_needed(tmp_path: Path) -> None:
    paths = [
        stand_in(
            tmp_path, "root", "1", "shared>=2", 'mac-only>=3; sys_platform == "darwin"', 'old; python_version < "3.12"'
        ),
        stand_in(tmp_path, "shared", "2.1", 'extra-part; extra == "more"'),
    ]
    assert wheels.missing(paths, [Requirement("root")], LINUX) == []
    assert wheels.missing(paths, [Requirement("root")], MAC) == [Requirement("mac-only>=3")]
    assert wheels.missing(paths, [Requirement("root"), Requirement("shared[more]")], LINUX) == [
        Requirement("extra-part")
    ]


def test_a_wheel_of_another_version_is_missing(tmp_path: Path) -> None:
    paths = [stand_in(tmp_path, "root", "1", "shared>=2"), stand_in(tmp_path, "shared", "1.9")]
    assert wheels.missing(paths, [Requirement("root")], LINUX) == [Requirement("shared>=2")]


def test_a_circle_of_dependencies_is_followed_once(tmp_path: Path) -> None:
    paths = [stand_in(tmp_path, "one", "1", "two"), stand_in(tmp_path, "two", "1", "one", "three")]
    assert wheels.missing(paths, [Requirement("one")], LINUX) == [Requirement("three")]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip"])
def test_a_damaged_wheel_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "root-1-py3-none-any.whl").write_bytes(content)
    with pytest.raises(SetupError, match=r"root-1-py3-none-any\.whl is no wheel that can be read"):
        wheels.requirements_of(tmp_path / "root-1-py3-none-any.whl")


def install(folder: Path) -> metadata.Distribution:
    """Write what pip leaves of a small distribution."""
    info = folder / "small-1.dist-info"
    files = {
        folder / "small" / "__init__.py": "answer = 42\n",
        folder / "small" / "__pycache__" / "__init__.cpython-311.pyc": "compiled",
        info / "METADATA": "Metadata-Version: 2.1\nName: ludus-rl\nVersion: 1\n",
        info / "WHEEL": WHEEL,
        info / "INSTALLER": "pip\n",
        info / "entry_points.txt": "[console_scripts]\nsmall = small:main\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = [path.relative_to(folder).as_posix() for path in files]
    (info / "RECORD").write_text(
        "".join(f"{name},,\n" for name in [*names, "../../../bin/small", f"{info.name}/RECORD"])
    )
    return metadata.PathDistribution(info)


def test_an_installed_distribution_becomes_the_same_wheel_every_time(tmp_path: Path) -> None:
    distribution = install(tmp_path / "site")
    (tmp_path / "again").mkdir()
    first = own_wheel.repack(distribution, tmp_path)
    assert first.read_bytes() == own_wheel.repack(distribution, tmp_path / "again").read_bytes()
    with zipfile.ZipFile(first) as wheel:
        names = {name.removeprefix("small-1.dist-info/") for name in wheel.namelist()}
        assert names == {"small/__init__.py", "METADATA", "WHEEL", "RECORD", "entry_points.txt"}
        assert "small/__init__.py,sha256=" in wheel.read("small-1.dist-info/RECORD").decode()


def test_a_distribution_that_lists_no_files_cannot_be_packed_again(tmp_path: Path) -> None:
    distribution = install(tmp_path / "site")
    (tmp_path / "site" / "small-1.dist-info" / "RECORD").unlink()
    with pytest.raises(SetupError, match="run this from a clone of the repository"):
        own_wheel.repack(distribution, tmp_path)


def write_tree(folder: Path) -> dict[str, Path]:
    (folder / "bin").mkdir(parents=True)
    (folder / "b.js").write_text("b" * 3000)
    (folder / "bin" / "run").write_text("#!/bin/sh\n")
    (folder / "bin" / "run").chmod(0o700)
    (folder / "link").symlink_to("bin/run")
    return tarball.files_under(folder, f"{contents.HOME}/game")


def nothing(step: str, share: float) -> None:
    assert 0 <= share <= 1


@pytest.mark.parametrize("name", ["one.tar", "one.tar.gz"])
def test_an_archive_depends_on_its_files_only(tmp_path: Path, name: str) -> None:
    packed = []
    for folder in ("one", "two"):
        paths = write_tree(tmp_path / folder)
        tarball.write(tmp_path / folder / name, paths, {contents.START: "#!/bin/sh\n"}, nothing)
        packed.append((tmp_path / folder / name).read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(tmp_path / "one" / name) as tar:
        entries = {entry.name.removeprefix(f"{contents.ROOT}/"): entry for entry in tar}
    assert list(entries) == sorted(entries)
    assert {entry.mtime for entry in entries.values()} == {tarball.EPOCH_S}
    assert {entry.uid for entry in entries.values()} == {0}
    modes = {name: entry.mode for name, entry in entries.items() if entry.isfile()}
    assert modes == {"home/game/b.js": 0o644, "home/game/bin/run": 0o755, "ludus": 0o755}
    assert entries["home/game/link"].linkname == "bin/run"


def test_checksums_are_of_files_and_not_of_links(tmp_path: Path) -> None:
    digests = tarball.sums(write_tree(tmp_path / "tree"), nothing)
    assert {name.rpartition("/")[2] for name in digests} == {"b.js", "run"}


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path)
    with pytest.raises(SetupError, match="outside of"):
        tarball.files_under(tmp_path / "tree", "x")
