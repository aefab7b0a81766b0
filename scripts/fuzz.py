"""Fuzz every reader of untrusted bytes (tests/fuzzing.py) with atheris, guided by coverage.

    pip install -e '.[fuzz]'
    python scripts/fuzz.py --all --seconds 60
    python scripts/fuzz.py yaml --seconds 600 --corpus /tmp/corpus

A finding is an error that the reader does not declare, an input that takes longer than 5 s, or one that needs more than
4 GiB. Findings are distinguished by type and place; the first input of each is written to CORPUS/finds/TARGET-N, and
fuzzing continues. The last line on stdout is one JSON object with the executions and findings of each target. The exit
code is 1 if there were findings.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SLOW_S, MEMORY_MIB = 5, 4096
GRACE_S = 120  # to import, and to end


def main() -> None:
    arguments = _arguments()
    sys.path.insert(0, str(ROOT))
    corpus = arguments.corpus or Path(tempfile.mkdtemp(prefix="ludus-fuzz-"))
    if arguments.child:
        _fuzz(arguments.target, corpus)
        return
    from tests.fuzz_seeds import write_seeds
    from tests.fuzzing import TARGETS

    if not arguments.all and arguments.target not in TARGETS:
        raise SystemExit(f"{arguments.target}: no such target; known are {', '.join(TARGETS)}")
    write_seeds(corpus / "seeds")
    results = {}
    for name in TARGETS if arguments.all else (arguments.target,):
        results[name] = _in_a_process(name, corpus, arguments.seconds)
        print(f"{name}: {results[name]['executions']:,} executions, {len(results[name]['finds'])} finds", flush=True)
        for find in results[name]["finds"]:
            print(f"  {find}", flush=True)
    print(json.dumps({"fuzz": results, "seconds": arguments.seconds, "corpus": str(corpus)}))
    sys.exit(any(result["finds"] for result in results.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", nargs="?", help="a name in tests/fuzzing.py")
    parser.add_argument("--all", action="store_true", help="fuzz every target, one after the other")
    parser.add_argument("--seconds", type=int, default=60, help="seconds per target")
    parser.add_argument("--corpus", type=Path, help="folder for inputs and findings; default: a temporary one")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else None)


def _in_a_process(name: str, corpus: Path, seconds: int) -> dict[str, object]:
    """Fuzz one target in a child process, because libFuzzer ends its process. Returns executions and findings."""
    from tests.fuzzing import MAX_BYTES, TARGETS

    inputs, finds_folder = corpus / "inputs" / name, corpus / "finds"
    for folder in (inputs, finds_folder):
        folder.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={SLOW_S}",
        f"-rss_limit_mb={MEMORY_MIB}",
        f"-max_len={MAX_BYTES}",
        f"-artifact_prefix={finds_folder}/{name}-",
        "-seed=1",
        str(inputs),
        str(corpus / "seeds" / TARGETS[name].seeds),
    ]
    command = [sys.executable, __file__, name, "--child", "--corpus", str(corpus), "--", *options]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds + GRACE_S)
    (corpus / f"{name}.log").write_text(done.stderr)
    counts = re.findall(r"^#(\d+)\s|Done (\d+) runs", done.stderr, re.MULTILINE)
    executions = max((int(number) for pair in counts for number in pair if number), default=0)
    finds = [line for line in done.stdout.splitlines() if line.startswith("find: ")]
    finds += re.findall(r"ERROR: libFuzzer: (?:timeout|out-of-memory).*", done.stderr)
    if done.returncode and not finds:
        finds.append(f"exit code {done.returncode}: {done.stderr.splitlines()[-1:]}")
    return {"executions": executions, "finds": finds}


def _fuzz(name: str, corpus: Path) -> None:
    import atheris

    with atheris.instrument_imports(include=["ludus", "yaml", "tests.fuzzing"]):
        from tests import fuzzing
    target = fuzzing.TARGETS[name]
    folder = Path(tempfile.mkdtemp(prefix=f"ludus-fuzz-{name}-"))
    places: set[str] = set()

    def once(data: bytes) -> None:
        error = fuzzing.find(target, data, folder)
        if error is None:
            return
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} {last.name}"
        if place not in places:
            places.add(place)
            path = corpus / "finds" / f"{name}-{len(places)}"
            path.write_bytes(data)
            print(f"find: {place}: {str(error)[:200]!r} ({path})", flush=True)

    atheris.Setup([sys.argv[0], *sys.argv[sys.argv.index("--") + 1 :]], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
