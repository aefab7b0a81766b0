"""The files of the page, and uPlot, which draws the charts and comes with the package uplot-python.

The page's modules import each other by names such as "ludus/dom", which an import map translates: into addresses of the
server, or, in an exported page, into the modules themselves.
"""

from __future__ import annotations

import base64
import html
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import msgspec

PAGE = Path(__file__).parent / "page"
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
CHARTS_PACKAGE = "uplot-python"
# where `make` puts the package: its Python code, which needs ipython, is not used, so it is no part of the environment
CHARTS_FOLDER = Path(sys.prefix) / "share" / "ludus" / "charts"
CHARTS = {"uplot.js": "uplot/static/uPlot.iife.js", "uplot.css": "uplot/static/uPlot.min.css"}
MISSING_CHARTS = b"/* charts need the package uplot-python: pip install 'ludus-rl[watch]' */\n"


@dataclass(frozen=True, slots=True)
class Asset:
    data: bytes
    kind: str  # MIME type


def read(name: str) -> Asset | None:
    """Return a file of the page by its name, or None if there is none."""
    kind = KINDS.get(Path(name).suffix)
    if kind is None:
        return None
    if name in CHARTS:
        return Asset(_charts(name), kind)
    if name not in {path.name for path in PAGE.iterdir()}:
        return None
    return Asset((PAGE / name).read_bytes(), kind)


def has_charts() -> bool:
    return all(_charts(name) != MISSING_CHARTS for name in CHARTS)


def modules() -> list[str]:
    """Return the names of the page's modules, without `.js`."""
    return sorted(path.stem for path in PAGE.glob("*.js"))


def policy(nonce: str) -> str:
    """Return the content security policy of the served page: nothing from elsewhere, no inline script but the import
    map."""
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'"
    )


def page(nonce: str) -> str:
    """Return the page as it is served; its files are loaded from beside it."""
    imports = {f"ludus/{name}": f"./{name}.js" for name in modules()}
    return _filled(
        policy="",
        styles="\n".join(f'<link rel="stylesheet" href="{name}">' for name in ("uplot.css", "page.css")),
        charts='<script src="uplot.js"></script>',
        imports=f'<script type="importmap" nonce="{nonce}">{_json({"imports": imports})}</script>',
        snapshot="",
        main='<script type="module" src="main.js"></script>',
    )


def single_page(snapshot: object, nonce: str) -> str:
    """Return one file with everything in it: modules, charts and the answers in `snapshot`, by their addresses."""
    imports = {f"ludus/{name}": _as_address((PAGE / f"{name}.js").read_bytes()) for name in modules()}
    meta = (
        f"default-src 'none'; script-src 'nonce-{nonce}' data:; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    styles = _charts("uplot.css") + (PAGE / "page.css").read_bytes()
    return _filled(
        policy=f'<meta http-equiv="Content-Security-Policy" content="{html.escape(meta)}">',
        styles=f"<style>{styles.decode()}</style>",
        charts=f'<script nonce="{nonce}">{_charts("uplot.js").decode()}</script>',
        imports=f'<script type="importmap" nonce="{nonce}">{_json({"imports": imports})}</script>',
        snapshot=f'<script type="application/json" id="snapshot" nonce="{nonce}">{_json(snapshot)}</script>',
        main=f'<script type="module" nonce="{nonce}">import "ludus/main";</script>',
    )


def _filled(**parts: str) -> str:
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part, 1)
    return text


def _json(data: object) -> str:
    """Encode for a script element, so that no text in it ends the element or opens a comment."""
    return msgspec.json.encode(data).decode().replace("<", "\\u003c").replace("\u2028", " ").replace("\u2029", " ")


def _as_address(module: bytes) -> str:
    return "data:text/javascript;base64," + base64.b64encode(module).decode()


def _charts(name: str) -> bytes:
    """Return a file of uPlot, without importing the package that ships it."""
    for package in metadata.distributions(name=CHARTS_PACKAGE, path=[*sys.path, str(CHARTS_FOLDER)]):
        try:
            return Path(str(package.locate_file(CHARTS[name]))).read_bytes()
        except OSError:
            continue
    return MISSING_CHARTS
