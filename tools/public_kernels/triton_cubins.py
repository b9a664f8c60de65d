"""What Triton's own cubins use of registers and local memory, for the same specialisations as ours.

    PYTHON_WITH_TRITON -m tools.public_kernels.triton_cubins --root ROOT --json FILE [--pairs PAIRS] --only HASH ...

Writes, by hash, the registers, the bytes spilled and the local memory of a thread, named as in `worker.Outcome`, or an
`error`. `python tools/corpus.py run --triton PYTHON_WITH_TRITON` asks for the records that spill here. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.public_kernels import extract
from tools.public_kernels.records import Record, constants_for_triton, load_records, records_of_pairs

_SHARED_BYTES = 232448  # that a CTA can have on sm_90


def compile_with_triton(record: Record, root: Path, cut: Path, to: str) -> tuple[Any, dict[str, Any]]:
    """The stage `to` (ttir, ptx, cubin) of a record for sm_90, and Triton's metadata.

    Raises:
        Exception: Whatever Triton raises.
    """
    import importlib

    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    folder = extract.extract(record, root, cut)
    if str(folder.parent) not in sys.path:
        sys.path.insert(0, str(folder.parent))
    kernel = importlib.import_module(f"{folder.name}.entry").KERNEL
    names = list(record.signature)
    hints = {(names.index(name),): [["tt.divisibility", 16]] for name in record.divisible_by_16}
    source = ASTSource(fn=kernel, signature=dict(record.signature), constexprs=constants_for_triton(record), attrs=hints)
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({"num_warps": record.num_warps, "num_stages": record.num_stages})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    made = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    metadata = {"target": target, **options.__dict__}
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    for name, stage in stages.items():
        made = stage(made, metadata)
        if name == to:
            break
    if metadata.get("shared", 0) > _SHARED_BYTES:
        raise RuntimeError(f"{metadata['shared']} bytes of shared memory")
    return made, metadata


def stand_in_driver() -> None:
    """Lets modules ask Triton for the device where there is none, and gives names that packages take from others."""
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget

    class Driver:
        def get_current_target(self) -> Any:
            return GPUTarget("cuda", 90, 32)

        def get_current_device(self) -> int:
            return 0

        def is_active(self) -> bool:
            return True

    for module in (tl, tl.core):
        if not hasattr(module, "_experimental_make_tensor_descriptor"):
            module._experimental_make_tensor_descriptor = tl.make_tensor_descriptor
    triton.runtime.driver.set_active(Driver())


def in_child(work: Any, limit_s: float) -> str:
    """What `work()` returns as text, from a process of its own that a crash or a limit may end."""
    here, there = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(here)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        signal.alarm(int(limit_s))
        try:
            answer = work()
        except BaseException as error:
            answer = json.dumps({"error": f"{type(error).__name__}: {error}"[:300]})
        os.write(there, answer.encode()[:60000])
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as stream:
        answer = stream.read()
    os.waitpid(process, 0)
    return answer or json.dumps({"error": "the process died or took too long"})


def resources(record: Record, root: Path, cut: Path) -> dict[str, int]:
    """What the cubin of Triton's PTX uses."""
    ptx, metadata = compile_with_triton(record, root, cut, "ptx")
    return {**_ptxas(ptx), "shared_bytes": metadata.get("shared", 0)}


def _ptxas(ptx: str) -> dict[str, int]:
    import triton.backends.nvidia as backend

    tool = Path(backend.__file__).parent / "bin" / "ptxas"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx)
        done = subprocess.run(
            [str(tool), "-v", "--gpu-name=sm_90a", str(source), "-o", str(Path(folder) / "kernel.cubin")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    registers, stores, loads, stack = (
        max(map(int, re.findall(pattern, done.stderr)), default=0)
        for pattern in (
            r"Used (\d+) registers",
            r"(\d+) bytes spill stores",
            r"(\d+) bytes spill loads",
            r"(\d+) bytes stack frame",
        )
    )
    return {"registers": registers, "spill_bytes": stores + loads, "local_bytes": stack}


def ask(python: str, root: Path, pairs: Path | None, hashes: list[str]) -> dict[str, dict[str, Any]]:
    """What Triton's cubins of some records use, found out by another Python that has Triton."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [python, "-m", "tools.public_kernels.triton_cubins", "--root", str(root), "--json", str(answer)]
        command += ["--pairs", str(pairs)] if pairs else []
        subprocess.run([*command, "--only", *hashes], check=True, cwd=Path(__file__).parents[2])
        found: dict[str, dict[str, Any]] = json.loads(answer.read_text())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="packages, and kernels cut out of them")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, help="records of `harvest` in place of the development set")
    parser.add_argument("--only", nargs="+", required=True, help="starts of hashes")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a kernel may take")
    options = parser.parse_args()
    sys.setrecursionlimit(10000)
    stand_in_driver()
    found = {}
    for record in records_of_pairs(options.pairs) if options.pairs else load_records():
        if any(record.hash.startswith(start) for start in options.only):

            def work(record: Record = record) -> str:
                return json.dumps(resources(record, options.root / "src", options.root / "cut"))

            found[record.hash] = json.loads(in_child(work, options.limit))
            print(f"\rTriton: {len(found)} of {len(options.only)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
