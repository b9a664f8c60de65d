"""`tl.inline_asm_elementwise`: the PTX that is known without a GPU, on the bits of tiles."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tle2cuda.eager import memory
from tle2cuda.eager.numbers import MEMORY, Array, from_bits, to_bits
from tle2cuda.eager.program import current
from tle2cuda.eager.values import Tile, common_shape, number_as, static_int, to_tile
from tle2cuda.errors import InvalidArgument, InvalidType
from tle2cuda.ir.types import BOOL, I32, I64, DType, Element
from tle2cuda.ops.values import pointer_type, unwrap
from tle2cuda.ptx.parser import unsupported

_WHAT = "tl.inline_asm_elementwise"


def _element(dtype: DType | pointer_type) -> Element:
    return dtype.ir if isinstance(dtype, pointer_type) else dtype


def _bits(tile: Tile) -> Array:
    """Elements as unsigned integers of their width."""
    if isinstance(tile.dtype, pointer_type):
        return tile.data.astype(np.uint64)
    stored = np.ascontiguousarray(to_bits(tile.data, tile.dtype)).reshape(tile.data.shape)
    return stored.view(f"u{stored.dtype.itemsize}")


def _tile(bits: Array, dtype: DType | pointer_type) -> Tile:
    if isinstance(dtype, pointer_type):
        return Tile(bits, dtype)
    raw = bits if dtype is BOOL else bits.view(MEMORY[dtype])
    return Tile(np.asarray(from_bits(raw, dtype)), dtype)


def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> Any:
    """`tl.inline_asm_elementwise`."""
    from tle2cuda.ops.inline_asm import execute, parse_constraints, registers_of

    text, letters = unwrap(asm), unwrap(constraints)
    for given in (text, letters):
        if not isinstance(given, str):
            raise InvalidType(f"{_WHAT}: the text and the constraints must be constant strings, got {given!r}")
    count = static_int(pack, f"{_WHAT}: pack")
    several = isinstance(unwrap(dtype), (tuple, list))
    results: list[Any] = [unwrap(each) for each in (unwrap(dtype) if several else (dtype,))]
    tiles = [to_tile(x, _WHAT) for x in (args if isinstance(args, (tuple, list)) else (args,))]
    shape = common_shape(_WHAT, *tiles) if tiles else ()
    elements = [_element(each) for each in results]
    parsed = parse_constraints(letters)
    wanted = sum(registers_of(element, count) for element in elements)
    taken = sum(registers_of(_element(tile.dtype), count) for tile in tiles)
    if (len(parsed.outputs), len(parsed.inputs)) != (wanted, taken):
        raise InvalidArgument(
            f"{_WHAT}: {letters!r} names {len(parsed.outputs)} outputs and {len(parsed.inputs)} inputs, "
            f"but the results take {wanted} registers and the arguments {taken}"
        )
    inputs = [(_bits(tile.stretched(shape)), _element(tile.dtype)) for tile in tiles]
    found = execute(text, letters, count, inputs, elements, shape, _Machine())
    made = tuple(_tile(bits, each) for bits, each in zip(found, results, strict=True))
    return made if several else made[0]


def globaltimer() -> Any:
    """`tl.extra.cuda.globaltimer`."""
    return number_as(time.time_ns(), I64)


def smid() -> Any:
    """`tl.extra.cuda.smid`."""
    return number_as(0, I32)


class _Machine:
    """Memory and special registers of the program that runs."""

    @staticmethod
    def _pointer(addresses: Array, type_: str) -> tuple[Tile, DType]:
        name = {"b": "uint", "u": "uint", "s": "int", "f": "float"}[type_[0]]
        dtype = DType(f"{name}{type_[1:]}")
        return Tile(np.asarray(addresses, np.uint64), pointer_type(dtype)), dtype

    def load(self, addresses: Array, type_: str, order: str, scope: str) -> Array:
        pointer, _ = self._pointer(addresses, type_)
        return _bits(memory.load(pointer))

    def store(self, addresses: Array, values: Array, type_: str, active: Array) -> None:
        pointer, dtype = self._pointer(addresses, type_)
        memory.store(pointer, _tile(values, dtype), mask=Tile(active, BOOL))

    def atomic(self, kind: str, addresses: Array, values: list[Array], type_: str, active: Array) -> Array:
        pointer, dtype = self._pointer(addresses, type_)
        operands = [_tile(value, dtype) for value in values]
        if kind == "cas":
            return _bits(memory.atomic_cas(pointer, *operands))
        name = {"exch": "xchg"}.get(kind, kind)
        return _bits(Tile.methods[f"atomic_{name}"](pointer, operands[0], mask=Tile(active, BOOL)))

    def special(self, name: str) -> int:
        if name.startswith("globaltimer"):
            return time.time_ns() >> (32 if name.endswith("hi") else 0)
        if name.startswith("clock"):
            return time.perf_counter_ns() >> (32 if name.endswith("hi") else 0)
        register, _, axis = name.partition(".")
        if register in ("ctaid", "nctaid"):
            where = current().index if register == "ctaid" else current().launch.grid
            return int(where["xyz".index(axis)])
        if name in ("smid", "nsmid"):
            return 0 if name == "smid" else 1
        raise unsupported(f"%{name}: a program is one thread in eager mode, it")
