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
GUARD = Path(__file__).parent / "guard.js"
GATHERING = Path(__file__).parent / "gathering.js"
ENGINE = Path(__file__).parents[1] / "host" / "engine.js"
OWN = ("config", "logs", "databases")
CONFIG = """
exports.bindaddress = '127.0.0.1';
exports.backdoor = false; // else operators of the public servers may do anything
exports.consoleips = []; // else an administrator on this machine may run commands
exports.repl = false; // else there are sockets that run commands
exports.watchconfig = false;
exports.autolockdown = false; // whoever drains it ends it
exports.subprocesses = {subprocesses};
exports.wsdeflate = null;
exports.reportjoins = false;
Object.assign(exports, require({control}));
require({guard}).guardServers();
"""
SPEED_UP = """
require({gathering}).gatherWrites();
require({engine}).speedUp({root});
"""


def lay(package: Path, folder: Path, subprocesses: str = "0", *, stock: bool = True) -> Path:
    """Make it in an empty folder and return the server's own; `subprocesses` is that setting, in JavaScript.

    Unless it is `stock`, it runs the engine of our hosts, which plays the same battles for less, and writes less often.
    """
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
    ours = CONFIG.format(subprocesses=subprocesses, control=_quoted(CONTROL), guard=_quoted(GUARD))
    if not stock:
        ours += SPEED_UP.format(gathering=_quoted(GATHERING), engine=_quoted(ENGINE), root=_quoted(root.resolve()))
    (root / "config" / "config.js").write_text(example + ours, encoding="utf-8")
    return root


def _quoted(path: Path) -> str:
    return json.dumps(str(path))
