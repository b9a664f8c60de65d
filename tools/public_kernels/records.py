"""Records of the development set: which kernel of which package, and for what it is compiled.

`corpus_dev.json` beside this file holds no code, only where a kernel is and how to specialise it:

- `package`, `version`, `file`, `function`, `line`: where it is; `file` is the path inside the unpacked package.
- `hash`: first 16 hex digits of the SHA-1 of arguments and body as `ast.dump` prints them on Python 3.11.
- `kind`: attention, norm, matmul and so on. `role`: `kernel`, or `pointwise`, a scalar function that its package
  wraps with a code generator; the signature is then that of a 1-D kernel around it (`extract.pointwise_source`).
- `signature`, `constexprs`, `divisible_by_16`, `num_warps`, `num_stages`: the specialisation.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("corpus_dev.json")


@dataclass(frozen=True, slots=True)
class Record:
    """One kernel with one specialisation; the fields are those of the file (see above)."""

    package: str
    version: str
    file: str
    function: str
    line: int
    hash: str
    kind: str
    role: str
    signature: Mapping[str, str]
    constexprs: Mapping[str, Any]
    divisible_by_16: tuple[str, ...]
    num_warps: int
    num_stages: int

    @property
    def folder(self) -> str:
        """Name of the package's folder."""
        return f"{self.package}=={self.version}"

    @property
    def title(self) -> str:
        """Package, file and function, for people."""
        return f"{self.package} {self.file}:{self.line} {self.function}"


def load_records(path: Path = DATA) -> list[Record]:
    """The records of a file."""
    names = Record.__slots__
    rows = json.loads(path.read_text())
    return [Record(**{**{n: row[n] for n in names}, "divisible_by_16": tuple(row["divisible_by_16"])}) for row in rows]


def signature_entries(record: Record) -> dict[str, str]:
    """Types of the run-time parameters as `tle2cuda.emit` takes them, with hints."""
    entries = {}
    for name, type_ in record.signature.items():
        if name not in record.constexprs and type_ != "constexpr":
            hinted = name in record.divisible_by_16 and not type_.startswith(("fp", "tensordesc"))
            entries[name] = f"{type_}:16" if hinted else type_
    return entries


def constants(record: Record) -> dict[str, Any]:
    """Values of the constexpr parameters, dtypes as objects of `tle2cuda.language`."""
    from tle2cuda.ir.types import DType

    def value(stored: Any) -> Any:
        if isinstance(stored, dict):
            if set(stored) != {"dtype"}:
                raise ValueError(f"unknown constant {stored!r}")
            return DType(stored["dtype"])
        return stored

    return {name: value(stored) for name, stored in record.constexprs.items()}


def records_of_pairs(path: Path) -> list[Record]:
    """The records of a file of `harvest`, one on a line; lines that say why there is none are left out."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    names = Record.__slots__
    return [
        Record(**{**{n: row[n] for n in names}, "divisible_by_16": tuple(row["divisible_by_16"])})
        for row in rows
        if "error" not in row
    ]


def as_row(record: Record) -> dict[str, Any]:
    """The record as plain data."""
    return {name: getattr(record, name) for name in Record.__slots__}


def constants_for_triton(record: Record) -> dict[str, Any]:
    """Values of the constexpr parameters, dtypes as objects of `triton.language`."""
    import triton.language as tl

    def value(stored: Any) -> Any:
        return getattr(tl, _long_name(stored["dtype"])) if isinstance(stored, Mapping) else stored

    return {name: value(stored) for name, stored in record.constexprs.items()}


def _long_name(short: str) -> str:
    """`float32` of `fp32`: names of dtypes in the language."""
    for start, long in (("fp8", "float8"), ("fp", "float"), ("bf", "bfloat"), ("i", "int"), ("u", "uint")):
        if short.startswith(start):
            return long + short[len(start) :]
    raise ValueError(short)


def without_bf16(record: Record) -> Record:
    """The record with arrays of fp32 for those of bf16: Triton's interpreter takes the bits of bf16 for integers."""
    wide = {name: type_.replace("bf16", "fp32") if "*" in type_ else type_ for name, type_ in record.signature.items()}
    return dataclasses.replace(record, signature=wide)


def function_hash(node: ast.FunctionDef) -> str:
    """The hash of a function as records store it (equal to theirs on Python 3.11 only)."""
    body = node.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:] if isinstance(body[0].value.value, str) else body
    text = ast.dump(node.args) + "".join(ast.dump(statement) for statement in body)
    return hashlib.sha1(text.encode()).hexdigest()[:16]
