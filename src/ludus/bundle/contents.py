"""The texts of a bundle: how to unpack it, what is in it, and the scripts that install and start it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ludus.bundle.target import Target

ROOT = "ludus-bundle"  # the folder in the archive
WHEELS, HOME = f"{ROOT}/wheels", f"{ROOT}/home"
README, SUMS, PINS = f"{ROOT}/README.txt", f"{ROOT}/SHA256SUMS", f"{ROOT}/requirements.txt"
INSTALL, START = f"{ROOT}/install.sh", f"{ROOT}/ludus"

INSTALL_SH = """\
#!/bin/sh
# Installs ludus into venv/ beside this file. Needs Python {python} and no network. Run it again if the folder moves.
set -eu
cd "$(dirname "$0")"
python=${{PYTHON:-python{python}}}
if ! "$python" -c 'import sys; sys.exit("{python}" != "%d.%d" % sys.version_info[:2])' 2>/dev/null; then
    echo "this bundle needs Python {python}, and $python is not; name it: PYTHON=/path/to/python{python} sh $0" >&2
    exit 2
fi
echo "checking {files} files"
"$python" - <<'END'
import hashlib, sys
for line in open("SHA256SUMS", encoding="utf-8"):
    digest, _, name = line.rstrip("\\n").partition("  ")
    try:
        with open(name, "rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError as error:
        sys.exit(f"{{name}}: {{error.strerror}}; unpack the bundle again")
    if not same:
        sys.exit(f"{{name}} is damaged; unpack the bundle again")
END
echo "installing into $(pwd)/venv"
rm -rf venv
"$python" -m venv --without-pip venv
PIP_CONFIG_FILE=/dev/null venv/bin/python wheels/{pip}/pip --isolated install --quiet --disable-pip-version-check \\
    --no-index --find-links wheels --no-deps --require-hashes -r requirements.txt
echo "ready: $(pwd)/ludus train {preset}"
"""

START_SH = """\
#!/bin/sh
# Runs ludus from this bundle, with the simulators that came with it.
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -x "$here/venv/bin/ludus" ]; then
    echo "not installed yet: sh $here/install.sh" >&2
    exit 2
fi
export LUDUS_HOME="${{LUDUS_HOME:-$here/home}}"
exec "$here/venv/bin/ludus" "$@"
"""


def commands(archive: str, preset: str) -> tuple[str, str]:
    """Return the two lines that unpack and start a bundle."""
    return f"tar -xf {archive} && sh {INSTALL}", f"{START} train {preset}"


def readme(archive: str, version: str, target: Target, preset: str, sizes: Mapping[str, int]) -> str:
    """Return the README. `sizes` are the bytes of each part."""
    unpack, start = commands(archive, preset)
    parts = "\n".join(f"  {name:<12}{bytes_ / 1e6:>8,.0f} MB" for name, bytes_ in sizes.items())
    return f"""\
ludus {version} for Python {target.python} on {target.platform}, without internet.

Unpack, install and start:

    {unpack}
    {start}

The first line needs Python {target.python} and nothing else; PYTHON=/path/to/python names another one. It checks
every file against SHA256SUMS and installs into ludus-bundle/venv. Runs go into
runs/ of the current folder. On a cluster, unpack it once on a file system that all nodes see.

Unpacked:
{parts}
"""


def install_script(target: Target, files: int, pip_wheel: str, preset: str) -> str:
    return INSTALL_SH.format(python=target.python, files=f"{files:,}", pip=pip_wheel, preset=preset)


def start_script() -> str:
    return START_SH.format()


def pins(wheels: Sequence[tuple[str, str, str]]) -> str:
    """Return a requirements file for `pip install --require-hashes` from (name, version, sha256)."""
    return "".join(f"{name}=={version} --hash=sha256:{digest}\n" for name, version, digest in sorted(wheels))
