"""Describes the software of a machine, for the comparison of nodes."""

from __future__ import annotations

from collections.abc import Callable


def describer() -> Callable[[], dict[str, str]]:
    """Return a function that describes the software of the machine on which it is called, as `cluster.Versions`.

    It is a nested function because Ray sends the code of such functions, and only the names of others: the node may
    have another version of ludus, or none.
    """

    def describe() -> dict[str, str]:
        import hashlib
        import pathlib
        import sys

        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        try:
            import ludus
        except ImportError:
            return {"ludus": "not installed", "source": "", "python": python}
        folder = pathlib.Path(ludus.__file__).parent
        digest = hashlib.sha256()
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".js"):
                digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
        return {"ludus": ludus.__version__, "source": digest.hexdigest()[:12], "python": python}

    return describe
