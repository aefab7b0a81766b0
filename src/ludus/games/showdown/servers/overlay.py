"""A folder from which a server runs: the installed package, linked, with what a server writes beside it.

    <folder>/node_modules            -> the installed one
    <folder>/pokemon-showdown/       links to everything in the package but
        config/ logs/ databases/     which are its own, so that the package stays as npm left it

Node must run with --preserve-symlinks and --preserve-symlinks-main: a file finds its neighbours here, not there.
"""

from __future__ import annotations

import json
from pathlib import Path

CONTROL = Path(__file__).parent / "control.js"
OWN = ("config", "logs", "databases")
CONFIG = """
exports.bindaddress = '127.0.0.1';
exports.repl = false;
exports.watchconfig = false;
exports.autolockdown = false; // whoever drains it ends it
exports.subprocesses = {subprocesses};
exports.wsdeflate = null;
exports.reportjoins = false;
Object.assign(exports, require({control}));
"""


def lay(package: Path, folder: Path, subprocesses: str = "0") -> Path:
    """Make it in an empty folder and return the server's own; `subprocesses` is that setting, in JavaScript."""
    root = folder / "pokemon-showdown"
    root.mkdir()
    (folder / "node_modules").symlink_to(package.parent)
    for entry in package.iterdir():
        if entry.name not in OWN:
            (root / entry.name).symlink_to(entry)
    for name in OWN:
        (root / name).mkdir()
        for entry in (package / name).iterdir() if (package / name).is_dir() else ():
            (root / name / entry.name).symlink_to(entry)
    for missing in (root / "logs" / "repl", root / "config" / "chat-plugins"):  # the server expects them
        missing.mkdir(exist_ok=True)
    example = (package / "config" / "config-example.js").read_text(encoding="utf-8")
    ours = CONFIG.format(subprocesses=subprocesses, control=json.dumps(str(CONTROL)))
    (root / "config" / "config.js").write_text(example + ours, encoding="utf-8")
    return root
