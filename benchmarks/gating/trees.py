"""The two commits that a gate compares, each in a git worktree of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GIT_S = 60.0
ROOT = Path(__file__).parents[2]


class GateError(Exception):
    """The comparison cannot be made."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A commit and the folder with its files."""

    commit: str  # abbreviated
    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """Return variables with which Python imports `ludus` from this folder, also in hosts that it starts."""
        path = os.pathsep.join((str(self.folder / "src"), str(ROOT)))
        return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}


def link(path: Path, tree: Tree) -> Tree:
    """Let the link `path` point to a tree, and return the tree at that path."""
    path.unlink(missing_ok=True)
    path.symlink_to(tree.folder)
    return Tree(tree.commit, path)


@contextmanager
def side_by_side(revisions: str, root: Path = ROOT) -> Iterator[tuple[Tree, Tree]]:
    """Check out both commits of `BASE..HEAD` (`BASE` alone: HEAD is the current commit). Raises GateError.

    The worktrees are removed at the end; the clone's own files are not touched.
    """
    base, dots, head = revisions.partition("..")
    commits = [_commit(root, base or "HEAD~1"), _commit(root, head.lstrip(".") or "HEAD" if dots else "HEAD")]
    with tempfile.TemporaryDirectory(prefix="ludus-gate-") as folder:
        trees = [Tree(commit, Path(folder) / name) for commit, name in zip(commits, ("base", "head"), strict=True)]
        try:
            for tree in trees:
                _git(root, "worktree", "add", "--detach", "--force", str(tree.folder), tree.commit)
                _compile(tree)
            yield trees[0], trees[1]
        finally:
            for tree in trees:
                if tree.folder.exists():
                    _git(root, "worktree", "remove", "--force", str(tree.folder))


def uncommitted(root: Path = ROOT) -> bool:
    """Return whether files of the clone differ from its commit."""
    return bool(_git(root, "status", "--porcelain", "--untracked-files=no"))


def _compile(tree: Tree) -> None:
    """Compile the sources once, so that no measured process does it."""
    command = (sys.executable, "-m", "compileall", "-q", str(tree.folder / "src"))
    subprocess.run(command, check=False, timeout=GIT_S, stdout=subprocess.DEVNULL)


def _commit(root: Path, revision: str) -> str:
    if revision.startswith("-"):
        raise GateError(f"{revision!r} is no commit")
    return _git(root, "rev-parse", "--short", "--verify", f"{revision}^{{commit}}")


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=GIT_S
        )
    except subprocess.CalledProcessError as error:
        raise GateError(f"git {words[0]}: {error.stderr.strip()}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GateError(f"git {words[0]}: {error}") from error
    return done.stdout.strip()
