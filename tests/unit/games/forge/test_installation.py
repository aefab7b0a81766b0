"""Forge and Java are found on this machine, and what is missing or too old is named with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.errors import SetupError
from ludus.games.forge import checks, compiled, installation

JAR = "forge-gui-desktop-{}-jar-with-dependencies.jar"


def installed(folder: Path, *versions: str) -> Path:
    (folder / "res" / "cardsfolder").mkdir(parents=True)
    for version in versions:
        (folder / JAR.format(version)).touch()
    return folder


def java_program(folder: Path, version: str, modules: str) -> str:
    program = folder / "java"
    program.write_text(
        f"#!/bin/sh\ncase $1 in -version) echo 'openjdk version \"{version}\"' >&2;; *) echo {modules};; esac\n"
    )
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(("name", "version"), [("2.0.13", "2.0.13"), ("2.0.15-SNAPSHOT", "2.0.15"), ("2.1", "2.1")])
def test_a_release_is_found_with_its_version(tmp_path: Path, name: str, version: str) -> None:
    forge = installation.find_forge(str(installed(tmp_path, name)))
    assert (forge.folder, forge.version) == (tmp_path, version)
    assert forge.jar.name == JAR.format(name)


def test_the_environment_names_the_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_HOME", str(installed(tmp_path, "2.0.14")))
    assert installation.find_forge().version == "2.0.14"
    assert checks.forge().state == "ok"


def test_what_is_missing_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORGE_HOME", raising=False)
    with pytest.raises(SetupError, match=r"not configured; download a release .* set FORGE_HOME"):
        installation.find_forge()
    assert checks.forge().state == "note"  # other games do not need it
    with pytest.raises(SetupError, match="there is no folder"):
        installation.find_forge(str(tmp_path / "nowhere"))
    with pytest.raises(SetupError, match="has no forge-gui-desktop-VERSION"):
        installation.find_forge(str(tmp_path))


def test_an_old_version_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"has version 2\.0\.12, and 2\.0\.13 or later is needed"):
        installation.find_forge(str(installed(tmp_path, "2.0.12")))


def test_two_versions_in_one_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="has 2 versions"):
        installation.find_forge(str(installed(tmp_path, "2.0.14", "2.0.15")))


def test_a_jar_without_the_cards_is_refused(tmp_path: Path) -> None:
    (tmp_path / JAR.format("2.0.14")).touch()
    with pytest.raises(SetupError, match="has no res/cardsfolder"):
        installation.find_forge(str(tmp_path))


def test_java_is_asked_for_its_version(tmp_path: Path) -> None:
    java = installation.find_java(java_program(tmp_path, "21.0.2", "java.base@21 jdk.compiler@21"))
    assert (java.version, java.compiles) == ("21.0.2", True)


def test_an_old_java_and_one_without_a_compiler_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="is Java 11; install a JDK 17 or later"):
        installation.find_java(java_program(tmp_path, "11.0.9", "java.base@11"))
    runtime = installation.find_java(java_program(tmp_path, "17.0.1", "java.base@17"))
    assert not runtime.compiles
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path / "home"))
    forge = installation.find_forge(str(installed(tmp_path / "forge", "2.0.14")))
    with pytest.raises(SetupError, match="has no compiler; install a JDK"):
        compiled.classes_of(forge, runtime)


def test_a_program_that_is_no_java_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    with pytest.raises(SetupError, match="expected a version"):
        installation.find_java(str(program))
    with pytest.raises(SetupError, match="cannot be run"):
        installation.find_java(str(tmp_path / "nothing"))
