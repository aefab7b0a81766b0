"""The words that tell a user how to install an optional dependency of a game."""

from __future__ import annotations


def install_command(extra: str) -> str:
    """Return the command that installs one of the extras of pyproject.toml, such as `rocket`.

    ludus is installed from a clone. The name `ludus` on the Python package index belongs to another project.
    """
    return f"pip install -e '.[{extra}]' in your clone of ludus"
