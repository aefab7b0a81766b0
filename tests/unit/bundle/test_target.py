from __future__ import annotations

import pytest

from ludus.bundle.target import Target, default_platform, target
from ludus.errors import ConfigError


def test_pip_is_told_every_older_platform_whose_wheels_run_there() -> None:
    words = target("3.12", "manylinux_2_28_x86_64").pip_options
    platforms = [words[at + 1] for at, word in enumerate(words) if word == "--platform"]
    assert platforms[0] == "manylinux_2_28_x86_64"
    assert {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64"} < set(platforms)
    assert "manylinux_2_29_x86_64" not in platforms
    assert words[words.index("--abi") + 1] == "cp312"


@pytest.mark.parametrize(
    ("platform", "machine", "system"),
    [
        ("manylinux_2_28_x86_64", "x86_64", "linux"),
        ("manylinux2014_aarch64", "aarch64", "linux"),
        ("macosx_14_0_arm64", "arm64", "darwin"),
    ],
)
def test_markers_are_those_of_the_target(platform: str, machine: str, system: str) -> None:
    environment = target("3.13", platform).environment
    assert (environment["platform_machine"], environment["sys_platform"]) == (machine, system)
    assert environment["python_version"] == "3.13"


@pytest.mark.parametrize("python", ["3", "3.10", "2.7", "3.12.1", "cp312", ""])
def test_other_versions_of_python_are_refused(python: str) -> None:
    with pytest.raises(ConfigError, match=r"--python: must be 3\.11 or newer"):
        target(python, "manylinux_2_28_x86_64")


@pytest.mark.parametrize("platform", ["win_amd64", "manylinux", "manylinux_2_28_x86_64; rm", "linux_x86_64"])
def test_platforms_for_which_no_bundle_can_be_made_are_refused(platform: str) -> None:
    with pytest.raises(ConfigError, match="--platform: must be as manylinux_2_28_x86_64"):
        target("3.12", platform)


def test_the_default_is_an_older_c_library_on_this_machine() -> None:
    assert default_platform("Linux", "aarch64") == "manylinux_2_28_aarch64"
    assert default_platform("Darwin", "arm64", "14.5") == "macosx_14_0_arm64"
    assert isinstance(target("3.11", default_platform("Linux", "x86_64")), Target)
    with pytest.raises(ConfigError, match="this is Windows"):
        default_platform("Windows", "AMD64")
