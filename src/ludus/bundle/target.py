"""The machine that a bundle is for: its Python version and platform. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ludus.errors import ConfigError

OLDEST_PYTHON = (3, 11)
OLDEST_GLIBC = 5  # its minor version, of the oldest manylinux
OLD_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}  # by the minor version of glibc 2
DEFAULT_GLIBC = 28  # Debian 10, RHEL 8, Ubuntu 20.04 and newer


@dataclass(frozen=True, slots=True)
class Target:
    python: str  # such as "3.12"
    platform: str  # such as "manylinux_2_28_x86_64"

    @property
    def abi(self) -> str:
        return f"cp{self.python.replace('.', '')}"

    @property
    def machine(self) -> str:
        return self.platform.removeprefix(_system_part(self.platform)).lstrip("_")

    @property
    def pip_options(self) -> list[str]:
        """Return the options with which pip chooses wheels for this machine, best ones first."""
        words = ["--only-binary=:all:", "--python-version", self.python, "--implementation", "cp"]
        words += [word for abi in (self.abi, "abi3", "none") for word in ("--abi", abi)]
        return words + [
            word for platform in _platforms(self.platform, self.machine) for word in ("--platform", platform)
        ]

    @property
    def environment(self) -> dict[str, str]:
        """Return the values of environment markers there, such as `sys_platform`."""
        mac = self.platform.startswith("macosx")
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Darwin" if mac else "Linux",
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "darwin" if mac else "linux",
            "extra": "",
        }


def target(python: str, platform: str) -> Target:
    """Return the target of these names. Raises ConfigError if a bundle cannot be made for it."""
    version = re.fullmatch(r"3\.(\d{1,2})", python)
    if version is None or (3, int(version[1])) < OLDEST_PYTHON:
        raise ConfigError(f"--python: must be 3.11 or newer, as in 3.12, but is {python!r}")
    if (
        re.fullmatch(r"(manylinux_2_\d{1,2}|manylinux2014|macosx_\d{1,2}_\d{1,2})_(x86_64|aarch64|arm64)", platform)
        is None
    ):
        raise ConfigError(
            f"--platform: must be as manylinux_2_28_x86_64, manylinux_2_28_aarch64 or macosx_14_0_arm64, but is "
            f"{platform!r}"
        )
    return Target(python, platform)


def default_platform(system: str, machine: str, mac_release: str = "") -> str:
    """Return the platform of a machine, given what Python's `platform` module says about it.

    On Linux it is that of an older C library than the machine may have, so that the bundle runs on more machines.
    """
    if system == "Linux":
        return f"manylinux_2_{DEFAULT_GLIBC}_{machine}"
    if system == "Darwin":
        return f"macosx_{mac_release.split('.')[0] or '14'}_0_{machine}"
    raise ConfigError(
        f"--platform: bundles are for Linux and macOS, and this is {system}; name the platform of the target"
    )


def _system_part(platform: str) -> str:
    matched = re.match(r"manylinux_2_\d+|manylinux2014|macosx_\d+_\d+", platform)
    return matched[0] if matched else ""


def _platforms(platform: str, machine: str) -> list[str]:
    """Return this platform and the older ones whose wheels run on it; older versions of pip do not add these."""
    matched = re.match(r"manylinux_2_(\d+)", platform)
    minor = 17 if platform.startswith("manylinux2014") else int(matched[1]) if matched else None
    if minor is None:
        return [platform]
    names = []
    for older in range(minor, OLDEST_GLIBC - 1, -1):
        names.append(f"manylinux_2_{older}_{machine}")
        if older in OLD_NAMES:
            names.append(f"{OLD_NAMES[older]}_{machine}")
    return names
