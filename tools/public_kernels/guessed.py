"""Runs harvested kernels on guessed arguments: our interpreter against Triton's.

    python -m tools.public_kernels.guessed --pairs PAIRS --root ROOT --oracle PYTHON_WITH_TRITON --work FOLDER [--every N]

Sizes and strides are guessed by name, arrays are random and longer than most accesses reach. Our interpreter runs first and
says which accesses lie outside of an array: such a launch is left out, Triton's interpreter would crash. What both leave in
arrays is compared: integers exactly, floats to the accuracy of their dtype. A difference may also come of a tile that is
stored to one place twice, so it is to be looked at. FOLDER keeps results: a second run takes what did not agree.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

from tools.public_kernels import sides
from tools.public_kernels.recipe import Concrete, Launch, Recipe, compare, concrete, element_dtype, integers, normal
from tools.public_kernels.records import Record, records_of_pairs, without_bf16
from tools.public_kernels.triton_cubins import in_child

_LENGTH = 1 << 17  # elements of an array
_GRID = (1, 1, 1)  # programs that write to one place would come in one order here, in another there
_STRIDES = (1, 64, 2048, 16384, 32768)  # from the last one of neighbours on
_STRIDE = re.compile(r"stride|^s[a-z]+\d$", re.IGNORECASE)
_SIZE = 40  # of a dimension: no power of two, less than most blocks


def launch_of(record: Record) -> Launch:
    """Arguments by the names and types of parameters."""
    arguments: dict[str, object] = {}
    names = [n for n, t in record.signature.items() if n not in record.constexprs and t != "constexpr"]
    for i, name in enumerate(names):
        type_ = record.signature[name]
        if type_.startswith("*"):
            kind = element_dtype(type_).kind
            arguments[name] = integers(_LENGTH, high=2 if kind == "b" else 8) if kind in "biu" else normal(_LENGTH)
        elif type_.startswith(("fp", "bf")):
            arguments[name] = 1e-5 if re.search("eps", name, re.IGNORECASE) else 0.5
        elif _STRIDE.search(name):
            behind = 0
            while i + behind + 1 < len(names) and _STRIDE.search(names[i + behind + 1]):
                behind += 1
            arguments[name] = _STRIDES[min(behind, len(_STRIDES) - 1)]
        elif re.search("seed|offset|start|begin|rank|idx", name, re.IGNORECASE):
            arguments[name] = 0
        else:
            arguments[name] = 2 if re.search("batch|head|group|num_|^[BHG]$", name, re.IGNORECASE) else _SIZE
    return Launch(_GRID, **arguments)


def recipe(record: Record) -> Recipe:
    """A recipe of guessed arguments."""
    return Recipe(record.hash, lambda full: launch_of(record))


def prepared(record: Record) -> tuple[Record, Concrete]:
    """The record with arrays that Triton's interpreter reads, and its launch."""
    wide = without_bf16(record)
    return wide, concrete(wide, recipe(wide), full=False)


def run_side(record: Record, side: str, options: argparse.Namespace, target: Path) -> str:
    """Runs a launch and leaves its arrays in `target`; the error, or nothing."""
    try:
        record, before = prepared(record)
        kernel = sides.load(record, options.packages, options.cut, use_triton=side == "triton-cpu")
        target.write_bytes(pickle.dumps(sides.run(side, kernel, record, before).arrays))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[-600:]}"
    return ""


def run_all(records: list[Record], side: str, options: argparse.Namespace) -> dict[str, str]:
    """Runs each in a process of its own, unless an earlier run did; its error by hash."""
    errors = {}
    for record in records:
        target = options.work / f"{record.hash}.{side}"
        said = target.with_suffix(f".{side}.error")

        def work(record: Record = record, target: Path = target) -> str:
            return json.dumps({"error": run_side(record, side, options, target)})

        if not said.exists():
            said.write_text(json.loads(in_child(work, options.limit))["error"])
        errors[record.hash] = said.read_text()
    return errors


def _theirs(options: argparse.Namespace) -> int:
    import torch  # noqa: F401  # before the processes are forked off

    from tools.public_kernels.oracle import wait_for_nothing

    wait_for_nothing()
    wanted = set(options.theirs)
    run_all([r for r in records_of_pairs(options.pairs) if r.hash in wanted], "triton-cpu", options)
    return 0


def _ask(records: list[Record], options: argparse.Namespace) -> None:
    """Runs the records in Triton's interpreter."""
    command = [options.oracle, "-m", "tools.public_kernels.guessed", "--pairs", str(options.pairs)]
    command += ["--root", str(options.root), "--work", str(options.work), "--limit", str(options.limit)]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([*command, "--theirs", *(r.hash for r in records)], env=environment, check=True)


def _verdict(record: Record, options: argparse.Namespace) -> str:
    ours, theirs = (options.work / f"{record.hash}.{side}" for side in ("interpreter", "triton-cpu"))
    problem = theirs.with_suffix(".triton-cpu.error").read_text()
    if problem:
        return f"no rival: {problem}"
    _, before = prepared(record)
    got, want = (pickle.loads(path.read_bytes()) for path in (ours, theirs))
    wrong = [d for d in compare(before, got, want) if d.wrong]
    untouched = all((got[n].tobytes() == array.tobytes()) for n, array in before.arrays.items())
    if wrong:
        return "differs: " + "; ".join(f"{d.name}: {d.wrong} elements, {d.where}" for d in wrong)
    return "agrees, but writes nothing" if untouched else "agrees"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--oracle", help="a Python with Triton and torch")
    parser.add_argument("--work", type=Path, required=True, help="folder of results")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="starts of hashes")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds a launch may take")
    parser.add_argument("--theirs", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.packages, options.cut = options.root / "src", options.root / "cut"
    options.work.mkdir(parents=True, exist_ok=True)
    if options.theirs is not None:
        return _theirs(options)
    records = [r for r in records_of_pairs(options.pairs) if not any("tensordesc" in t for t in r.signature.values())]
    if options.only:
        records = [r for r in records if any(r.hash.startswith(start) for start in options.only)]
    verdicts = options.work / "verdicts.json"
    known = json.loads(verdicts.read_text()) if verdicts.exists() else {}
    settled = {key for key, text in known.items() if text.startswith(("agrees", "no rival", "outside"))}
    records = [r for r in records[:: options.every] if r.hash not in settled]
    for record in records:
        if record.hash in known:
            for path in options.work.glob(f"{record.hash}.*"):
                path.unlink()
    import tle2cuda.interpreter  # noqa: F401
    import tools.public_kernels.loaded  # noqa: F401  # before the processes are forked off

    errors = run_all(records, "interpreter", options)
    ran = [r for r in records if not errors[r.hash]]
    if ran:
        _ask(ran, options)
    for record in records:
        error = errors[record.hash]
        outside = error.startswith("OutOfBounds")
        known[record.hash] = (
            _verdict(record, options) if not error else f"outside: {error}" if outside else f"fails: {error}"
        )
        if known[record.hash].startswith(("differs", "fails")):
            print(record.hash, record.title, known[record.hash], flush=True)
    verdicts.write_text(json.dumps(known, indent=1) + "\n")
    print(collections.Counter(text.partition(":")[0] for text in known.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
