"""Rewrites what shows emitted text in this repository: examples/cpp/emitted/ and README's CUDA block.

python tools/update_examples.py            rewrite what changed, and name it
python tools/update_examples.py --check    only name it; exit 1 when anything is out of date
"""

from __future__ import annotations

import argparse
import ast
import pathlib
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.shipped import ShippedKernel, shipped_kernels

if TYPE_CHECKING:
    from tle2cuda.runtime.contract import LaunchContract

EXAMPLES = ROOT / "examples" / "cpp" / "emitted"
EXAMPLE_KERNELS = ("vector_add", "moe_align_cluster")
README_KERNEL = "vector_add"
ARCH = "sm_90a"

_C_TYPES = {
    "i1": "bool",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned int",
    "u64": "unsigned long long",
    "fp32": "float",
    "fp64": "double",
}

_HEADER = """\
// contracts.h: how the kernels of this folder are to be launched, from their launch contracts. Do not edit.

#pragma once

struct LaunchContract {
    unsigned cta_threads;            // threads per CTA (blockDim.x)
    unsigned cluster_ctas;           // CTAs per cluster; 1 means no cluster
    bool     cooperative;            // all CTAs must be resident at once
    unsigned dynamic_shared_bytes;
};
"""


def parameters(contract: LaunchContract) -> str:
    """The kernel's parameters as C++ declares them; only types that plain C++ has."""
    declared = []
    for arg in contract.args:
        if arg.dtype not in _C_TYPES:
            raise SystemExit(f"{contract.kernel_name}: {arg.name} has type {arg.dtype}, which plain C++ lacks")
        const = "const " if arg.is_const else ""
        star = "*" if arg.kind == "pointer" else ""
        declared.append(f"{const if star else ''}{_C_TYPES[arg.dtype]}{star} {arg.name}")
    declared += [f"void* {scratch.name}" for scratch in contract.scratch]
    return ", ".join(declared)


def contract_lines(contract: LaunchContract) -> str:
    """A kernel's contract, constants and declaration as C++."""
    name = contract.kernel_name
    launch = (
        contract.cta_threads,
        contract.cluster_size,
        "true" if contract.cooperative else "false",
        contract.dynamic_shared_bytes,
    )
    constants = "".join(
        f"constexpr int {key} = {text};\n" for key, text in contract.constants if re.fullmatch(r"-?\d+", text)
    )
    return (
        f"\nconstexpr LaunchContract {name}_contract{{{', '.join(map(str, launch))}}};\n"
        f"\nnamespace {name}_constants {{\n{constants}}}\n"
        f'\nextern "C" void {name}({parameters(contract)});\n'
    )


def example_files(kernels: Sequence[ShippedKernel]) -> Iterator[tuple[pathlib.Path, str]]:
    """The files of examples/cpp/emitted/ and their text."""
    header = _HEADER
    for kernel in kernels:
        emitted = kernel.emit(ARCH)
        yield EXAMPLES / f"{kernel.name}.cu", emitted.source
        yield EXAMPLES / f"{kernel.name}.json", emitted.contract.to_json()
        header += contract_lines(emitted.contract)
    yield EXAMPLES / "contracts.h", header


def readme(kernel: ShippedKernel) -> tuple[pathlib.Path, str]:
    """README.md with the kernel's own source, and the CUDA emitted for it, in their marked blocks."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    source = kernel_source(ROOT / kernel.path, kernel.function)
    imports = "import tle2cuda\nimport tle2cuda.language as tl\n\n\n"
    text = replace_block(text, f"kernel: {kernel.path}", "python", imports + source)
    return path, replace_block(text, f"emitted: {kernel.name}", "cuda", kernel.emit(ARCH).source)


def kernel_source(path: pathlib.Path, function: str) -> str:
    """A function's source with its decorators, without its docstring."""
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            lines = text.splitlines(keepends=True)
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            dropped: range = range(0)
            if ast.get_docstring(node) is not None:
                dropped = range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
            kept = (lines[n - 1] for n in range(first, (node.end_lineno or 0) + 1) if n not in dropped)
            return "".join(kept)
    raise SystemExit(f"{path} has no function {function}")


def replace_block(text: str, marker: str, language: str, body: str) -> str:
    """The text with the fenced block after `<!-- marker -->` holding `body`."""
    pattern = rf"(<!-- {re.escape(marker)} -->\n```{language}\n).*?(```\n)"
    changed, count = re.subn(pattern, lambda match: match[1] + body + match[2], text, count=1, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"README.md has no block `<!-- {marker} -->`")
    return changed


def all_files() -> Iterator[tuple[pathlib.Path, str]]:
    """Every file under care, with the text it should have."""
    kernels = {kernel.name: kernel for kernel in shipped_kernels()}
    yield from example_files([kernels[name] for name in EXAMPLE_KERNELS])
    yield readme(kernels[README_KERNEL])


def outdated() -> list[tuple[pathlib.Path, str]]:
    """The files that differ from what is emitted now, with their new text."""
    return [(path, text) for path, text in all_files() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is out of date")
    options = parser.parse_args(arguments)
    changes = outdated()
    for path, text in changes:
        print(f"{'out of date' if options.check else 'updated'}: {path.relative_to(ROOT)}")
        if not options.check:
            path.write_text(text, encoding="utf-8", newline="\n")
    return int(bool(changes and options.check))


if __name__ == "__main__":
    sys.exit(main())
