"""Finds more (kernel, specialisation) pairs than the development set has: every jit function of the packages.

    PYTHON_WITH_TRITON -m tools.public_kernels.harvest --root ROOT --out PAIRS [--most N] [--package TEXT ...]

Types and constants are guessed (`guess`), and a guess holds when Triton compiles it to PTX for sm_90; with `--to ttir`,
many times as fast, when its front end takes it. PAIRS has a JSON object on each line, a record or why there is none; what
it has is not looked for again, so a search can be stopped and go on. `python tools/corpus.py --pairs PAIRS run` then
compiles them by tle2cuda. Needs Triton, no GPU.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.public_kernels import extract
from tools.public_kernels.guess import Guess, Guesser, configurations, known_values
from tools.public_kernels.records import Record, as_row, function_hash, load_records
from tools.public_kernels.sources import Module, Scope, Sources, dotted, functions_of
from tools.public_kernels.triton_cubins import compile_with_triton, in_child, stand_in_driver
from tools.public_kernels.usage import Flow

_ATTEMPTS = 14
_POINTWISE = ("pointwise_dynamic",)
_MENTIONS = re.compile(rb"@.*jit|pointwise_dynamic|triton\.jit\(")
_OTHER_CHIPS = re.compile(r"/backend/_(?!nvidia)")  # what flag-gems keeps for others than NVIDIA's


@dataclass(slots=True)
class Found:
    """A kernel of a package."""

    module: Module
    node: ast.FunctionDef
    scope: Scope
    file: str
    role: str
    hash: str


@dataclass(slots=True)
class File:
    """The kernels of a file, and the literals that its launches pass."""

    sources: Sources
    kernels: list[Found] = field(default_factory=list)
    launches: dict[str, list[ast.Call]] = field(default_factory=dict)


def read_file(sources: Sources, path: Path) -> File:
    """All jit functions that return nothing, and functions that become kernels by a code generator."""
    file = File(sources)
    module = sources.parse(sources.folder, path)
    if module is None:
        return file
    for call in ast.walk(module.tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):
            name = dotted(call.func.value).rpartition(".")[2]
            file.launches.setdefault(name, []).append(call)
    for node, scope in functions_of(module):
        role = _role(sources, module, node)
        if role:
            inside = str(path.relative_to(sources.root / sources.folder))
            file.kernels.append(Found(module, node, scope, inside, role, function_hash(node)))
    return file


def files_of(package: Path) -> list[Path]:
    """Files of a package that may have kernels, in random order."""
    paths = [path for path in sorted(package.rglob("*.py")) if not _OTHER_CHIPS.search(path.as_posix())]
    paths = [path for path in paths if _MENTIONS.search(path.read_bytes())]
    random.Random(package.name).shuffle(paths)
    return paths


def _role(sources: Sources, module: Module, node: ast.FunctionDef) -> str:
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(node))
    names = [dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
    if any(name.endswith(_POINTWISE) for name in names):
        return "pointwise" if returns else ""
    if returns or not (node.args.args or node.args.kwonlyargs):
        return ""
    return "kernel" if sources.is_kernel(module, node) else ""


def literals(calls: list[ast.Call], parameters: list[str]) -> dict[str, list[Any]]:
    """Literals that launches pass, by parameter."""
    found: dict[str, list[Any]] = {}
    for call in calls:
        pairs = [*zip(parameters, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
        for name, value in pairs:
            if isinstance(value, ast.Constant) and value.value is not None:
                found.setdefault(str(name), []).append(value.value)
    return found


def record_of(folder: str, found: Found, guess: Guess) -> Record:
    """A guess as a record."""
    name, _, version = folder.partition("==")
    return Record(
        package=name, version=version, file=found.file, function=found.node.name,
        line=min([found.node.lineno, *(d.lineno for d in found.node.decorator_list)]), hash=found.hash, kind="harvested",
        role=found.role, signature=guess.signature, constexprs=guess.constexprs, divisible_by_16=tuple(guess.divisible()),
        num_warps=guess.num_warps, num_stages=guess.num_stages,
    )  # fmt: skip


# ---- Triton ---------------------------------------------------------------------------------------------------------


def search(folder: str, found: Found, file: File, known: Any, options: argparse.Namespace) -> Record | str:
    """A specialisation that Triton compiles to the stage `options.to`; or the last error."""
    root, cut = options.packages, options.cut
    if found.role == "pointwise":
        return _search_pointwise(folder, found, options)
    flow = Flow(file.sources, found.module, found.node, found.scope)
    usage = flow.usage()
    given = literals(file.launches.get(found.node.name, []), usage.parameters)
    guesser = Guesser(usage, flow, given, configurations(found.node), known, found.hash)
    error = ""
    for attempt in range(_ATTEMPTS):
        record = record_of(folder, found, guesser.guess(attempt))
        try:
            compile_with_triton(record, root, cut, "ttir")
            if options.to != "ttir":
                compile_with_triton(record, root, cut, options.to)
            return record
        except (extract.NotFound, ImportError, NameError) as unavailable:
            return f"{type(unavailable).__name__}: {unavailable}"[:300]
        except Exception as refused:
            error, node = _innermost(refused)
            guesser.learn(error, node, attempt)
    return error[:300]


def _search_pointwise(folder: str, found: Found, options: argparse.Namespace) -> Record | str:
    source = ast.parse(extract.pointwise_source(found.node))
    (kernel,) = (n for n in source.body if isinstance(n, ast.FunctionDef))
    error = ""
    for base in ("fp16", "fp32", "i32", "i1"):
        signature = {
            a.arg: "constexpr" if a.annotation is not None else f"*{base}" if a.arg.endswith("_ptr") else "i32"
            for a in kernel.args.args
        }
        values = {name: 256 if name == "BLOCK" else 1 for name, t in signature.items() if t == "constexpr"}
        record = record_of(folder, found, Guess(signature, values))
        try:
            compile_with_triton(record, options.packages, options.cut, options.to)
            return record
        except (extract.NotFound, ImportError, NameError) as unavailable:
            return f"{type(unavailable).__name__}: {unavailable}"[:300]
        except Exception as refused:
            error, _ = _innermost(refused)
    return error[:300]


def _innermost(error: BaseException) -> tuple[str, ast.AST | None]:
    """The message at the root of an error, and the expression of the kernel at which it came up."""
    node = getattr(error, "node", None)
    while error.__cause__ is not None:
        error = error.__cause__
    text = getattr(error, "error_message", None) or str(error) or type(error).__name__
    return f"{type(error).__name__}: {text}", node


# ---- the whole search -----------------------------------------------------------------------------------------------


def _jobs(options: argparse.Namespace) -> Iterator[tuple[str, File, Found]]:
    """Kernels that are neither in the development set nor in the file, each text once, up to `options.most` a package."""
    seen = {record.hash for record in load_records()}
    if options.out.exists():
        seen |= {json.loads(line)["hash"] for line in options.out.read_text().splitlines()}
    for package in sorted(options.packages.iterdir()):
        if options.package and not any(text in package.name for text in options.package):
            continue
        taken = 0
        sources = Sources(options.packages, package.name)
        for path in files_of(package):
            if taken == options.most:
                break
            file = read_file(sources, path)
            for found in file.kernels:
                if found.hash not in seen and taken < options.most:
                    seen.add(found.hash)
                    taken += 1
                    yield package.name, file, found


def find(options: argparse.Namespace) -> int:
    """Searches and appends."""
    stand_in_driver()
    known = known_values()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    valid, start = 0, time.monotonic()
    with options.out.open("a") as stream:
        for done, (folder, file, found) in enumerate(_jobs(options), 1):

            def work(folder: str = folder, file: File = file, found: Found = found) -> str:
                answer = search(folder, found, file, known, options)
                return json.dumps({"error": answer} if isinstance(answer, str) else as_row(answer))

            row = json.loads(in_child(work, options.limit))
            valid += "error" not in row
            where = {"package": folder, "file": found.file, "function": found.node.name, "hash": found.hash}
            stream.write(json.dumps({**where, **row} if "error" in row else row) + "\n")
            stream.flush()
            if done % 20 == 0:
                print(f"{done} kernels, {valid} pairs, {time.monotonic() - start:.0f} s, {folder}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="packages, and kernels cut out of them")
    parser.add_argument("--out", type=Path, required=True, help="file of pairs to make or to go on with")
    parser.add_argument("--most", type=int, default=1 << 30, help="kernels of a package in one search")
    parser.add_argument("--package", nargs="*", help="packages whose name contains a text")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a kernel may take")
    parser.add_argument("--to", choices=("ttir", "ptx"), default="ptx", help="stage that a guess must reach in Triton")
    options = parser.parse_args()
    options.packages, options.cut = options.root / "src", options.root / "cut"
    sys.setrecursionlimit(10000)
    return find(options)


if __name__ == "__main__":
    sys.exit(main())
