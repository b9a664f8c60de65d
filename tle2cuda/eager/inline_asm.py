"""`tl.inline_asm_elementwise`. What PTX does is the PTX ISA's matter: the evaluator is shared with the interpreter."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tle2cuda.eager import memory
from tle2cuda.eager.numbers import MEMORY, Array, from_bits, to_bits
from tle2cuda.eager.program import current
from tle2cuda.eager.values import Tile, as_dtype, common_shape, static_int, to_tile
from tle2cuda.errors import NotSupported
from tle2cuda.ir.types import DType, PointerType
from tle2cuda.ops.values import pointer_type


def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> Any:
    """`tl.inline_asm_elementwise`: arguments broadcast and keep their dtypes."""
    from tle2cuda.ops.inline_asm import execute

    what = "tl.inline_asm_elementwise"
    several = isinstance(dtype, (tuple, list))
    results = [as_dtype(one, what) for one in (dtype if several else (dtype,))]
    values = [to_tile(x, what) for x in (args if isinstance(args, (tuple, list)) else (args,))]
    shape = common_shape(what, *values) if values else ()
    arguments = [(_bits(x), _element(x)) for x in values]
    found = execute(asm, constraints, static_int(pack, f"{what}: pack"), arguments, results, shape, _Machine())
    tiles = tuple(_tile(bits, element) for bits, element in zip(found, results, strict=True))
    return tiles if several else tiles[0]


def _element(x: Tile) -> Any:
    return PointerType(x.dtype.element_ty) if x.is_pointer else x.dtype


def _bits(x: Tile) -> Array:
    if x.is_pointer:
        return x.data.astype(np.uint64)
    raw = np.ascontiguousarray(to_bits(x.data, x.dtype))
    return raw.view(f"u{raw.dtype.itemsize}").reshape(x.data.shape)


def _tile(bits: Array, dtype: DType) -> Tile:
    raw = np.ascontiguousarray(bits).astype(f"u{dtype.bytes}")
    return Tile(from_bits(raw.view(MEMORY[dtype]), dtype).reshape(np.shape(bits)), dtype)


class _Machine:
    """Memory and special registers, as PTX reaches them from a program."""

    def _pointer(self, addresses: Array, type_: str) -> Tile:
        from tle2cuda.ptx.steps import WIDTHS

        kind = {"f": "float", "s": "int"}.get(type_[0], "uint")
        dtype = DType(f"{kind}{WIDTHS[type_]}")
        return Tile(np.asarray(addresses).astype(np.int64), pointer_type(dtype))

    def _numbers(self, bits: Array, type_: str, pointer: Tile) -> Tile:
        from tle2cuda.ptx.evaluate import to_values

        return Tile(np.asarray(to_values(bits, type_)), pointer.dtype.element_ty)

    def load(self, addresses: Array, type_: str, order: str, scope: str) -> Array:
        """Bits at addresses."""
        from tle2cuda.ptx.evaluate import to_bits as ptx_bits

        return ptx_bits(memory.load(self._pointer(addresses, type_)).data, type_)

    def store(self, addresses: Array, values: Array, type_: str, active: Array) -> None:
        """Writes bits where `active`."""
        pointer = self._pointer(addresses, type_)
        memory.store(pointer, self._numbers(values, type_, pointer), Tile(np.asarray(active, np.bool_), DType("int1")))

    def atomic(self, kind: str, addresses: Array, values: list[Array], type_: str, active: Array) -> Array:
        """Updates where `active`; the old bits."""
        from tle2cuda.ptx.evaluate import to_bits as ptx_bits

        pointer = self._pointer(addresses, type_)
        numbers = [self._numbers(value, type_, pointer) for value in values]
        if kind == "cas":
            return ptx_bits(memory.atomic_cas(pointer, *numbers).data, type_)
        update = memory.ATOMICS[f"atomic_{'xchg' if kind == 'exch' else kind}"]
        return ptx_bits(update(pointer, numbers[0], Tile(np.asarray(active, np.bool_), DType("int1"))).data, type_)

    def special(self, name: str) -> int:
        """Value of a special register."""
        if name.startswith(("globaltimer", "clock")):
            clock = time.time_ns() if name.startswith("global") else time.perf_counter_ns()
            return clock >> (32 if name.endswith("hi") else 0)
        register, _, axis = name.partition(".")
        program = current()
        places = {"ctaid": program.index, "nctaid": program.launch.grid}
        if register in places:
            return places[register]["xyz".index(axis)]
        if name in ("smid", "nsmid"):
            return 0 if name == "smid" else 1
        raise NotSupported(f"%{name} is not supported in eager mode", help="a program is one thread here: use the emulator")
