"""What kernel authors import as ``tl``: the names of `triton.language`, and TLE as ``tle``. No logic here."""

from __future__ import annotations

import builtins
import importlib
from typing import Any

from tle2cuda.ir.types import (
    BF16,
    BOOL,
    F8E4B8,
    F8E4B15,
    F8E4NV,
    F8E5,
    F8E5B16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    DType,
)
from tle2cuda.language import core, extra, math, random
from tle2cuda.ops import bits as _bits  # noqa: F401  its operators register themselves
from tle2cuda.ops.arithmetic import add, cdiv, div_rn, fdiv, fma, mul, sub, umulhi, where
from tle2cuda.ops.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
)
from tle2cuda.ops.block_pointers import advance, make_block_ptr
from tle2cuda.ops.casts import cast
from tle2cuda.ops.compare import logical_and, logical_not, logical_or
from tle2cuda.ops.core import MAX_TILE_ELEMENTS, block_type, constexpr, is_builtin, pointer_type, tensor
from tle2cuda.ops.creation import arange, full, zeros, zeros_like
from tle2cuda.ops.debug import (
    assume,
    debug_barrier,
    device_assert,
    device_print,
    max_constancy,
    max_contiguous,
    multiple_of,
    static_assert,
    static_print,
)
from tle2cuda.ops.descriptors import (
    _experimental_descriptor_load as _experimental_descriptor_load,
)
from tle2cuda.ops.descriptors import (
    _experimental_descriptor_store as _experimental_descriptor_store,
)
from tle2cuda.ops.descriptors import (
    _experimental_make_tensor_descriptor as _experimental_make_tensor_descriptor,
)
from tle2cuda.ops.descriptors import (
    load_tensor_descriptor,
    make_tensor_descriptor,
    store_tensor_descriptor,
    tensor_descriptor,
    tensor_descriptor_type,
)
from tle2cuda.ops.dot import dot
from tle2cuda.ops.dot_scaled import dot_scaled
from tle2cuda.ops.extrema import PropagateNan, clamp, maximum, minimum
from tle2cuda.ops.gather import gather
from tle2cuda.ops.histogram import histogram
from tle2cuda.ops.inline_asm import inline_asm_elementwise
from tle2cuda.ops.join import cat, interleave, join, split
from tle2cuda.ops.loops import range, static_range
from tle2cuda.ops.mapping import condition, const, map_elementwise
from tle2cuda.ops.math import (
    abs,
    ceil,
    cos,
    erf,
    exp,
    exp2,
    floor,
    log,
    log2,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    sqrt_rn,
)
from tle2cuda.ops.memory import load, store
from tle2cuda.ops.newer import atomic_load, atomic_poll, atomic_store, expect_zero, squeeze, to_tensor, unsqueeze
from tle2cuda.ops.program import num_programs, program_id, swizzle2d
from tle2cuda.ops.random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)
from tle2cuda.ops.reduction import (
    argmax,
    argmin,
    max,
    min,
    reduce,
    reduce_or,
    softmax,
    sum,
    xor_sum,
)
from tle2cuda.ops.scan import associative_scan, cumprod, cumsum
from tle2cuda.ops.shape import (
    broadcast,
    broadcast_to,
    expand_dims,
    flip,
    permute,
    ravel,
    reshape,
    trans,
    view,
)
from tle2cuda.ops.sort import bitonic_merge, sort, topk

dtype = DType
float8e4b8, float8e4b15, float8e5b16 = F8E4B8, F8E4B15, F8E5B16
TRITON_MAX_TENSOR_NUMEL = MAX_TILE_ELEMENTS
pi32_t = pointer_type(I32)
int1, int8, int16, int32, int64 = BOOL, I8, I16, I32, I64
uint8, uint16, uint32, uint64 = U8, U16, U32, U64
float8e4nv, float8e5, float16, bfloat16, float32, float64 = F8E4NV, F8E5, F16, BF16, F32, F64


# The language's tuples and slices are Python's.
tuple: Any = builtins.tuple
slice = builtins.slice


def __getattr__(name: str) -> Any:
    if name in ("semantic", "standard", "target_info"):  # these use what is defined here, and are rarely asked for
        return importlib.import_module(f"tle2cuda.language.{name}")
    raise AttributeError(f"module 'tle2cuda.language' has no attribute {name!r}")


# Last, since its modules use the names above.
from tle2cuda.language import standard, tle  # noqa: E402

__all__ = [
    "TRITON_MAX_TENSOR_NUMEL",
    "PropagateNan",
    "abs",
    "add",
    "advance",
    "arange",
    "argmax",
    "argmin",
    "associative_scan",
    "assume",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_poll",
    "atomic_store",
    "atomic_xchg",
    "atomic_xor",
    "bfloat16",
    "bitonic_merge",
    "block_type",
    "broadcast",
    "broadcast_to",
    "cast",
    "cat",
    "cdiv",
    "ceil",
    "clamp",
    "condition",
    "const",
    "constexpr",
    "core",
    "cos",
    "cumprod",
    "cumsum",
    "debug_barrier",
    "device_assert",
    "device_print",
    "div_rn",
    "dot",
    "dot_scaled",
    "dtype",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expect_zero",
    "extra",
    "fdiv",
    "flip",
    "float8e4b8",
    "float8e4b15",
    "float8e4nv",
    "float8e5",
    "float8e5b16",
    "float16",
    "float32",
    "float64",
    "floor",
    "fma",
    "full",
    "gather",
    "histogram",
    "inline_asm_elementwise",
    "int1",
    "int8",
    "int16",
    "int32",
    "int64",
    "interleave",
    "is_builtin",
    "join",
    "load",
    "load_tensor_descriptor",
    "log",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "make_block_ptr",
    "make_tensor_descriptor",
    "map_elementwise",
    "math",
    "max",
    "max_constancy",
    "max_contiguous",
    "maximum",
    "min",
    "minimum",
    "mul",
    "multiple_of",
    "num_programs",
    "pair_uniform_to_normal",
    "permute",
    "philox",
    "philox_impl",
    "pi32_t",
    "pointer_type",
    "program_id",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "random",
    "range",
    "ravel",
    "reduce",
    "reduce_or",
    "reshape",
    "rsqrt",
    "sigmoid",
    "sin",
    "slice",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "sqrt_rn",
    "squeeze",
    "standard",
    "static_assert",
    "static_print",
    "static_range",
    "store",
    "store_tensor_descriptor",
    "sub",
    "sum",
    "swizzle2d",
    "tensor",
    "tensor_descriptor",
    "tensor_descriptor_type",
    "tle",
    "to_tensor",
    "topk",
    "trans",
    "tuple",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_to_uniform_float",
    "umulhi",
    "unsqueeze",
    "view",
    "where",
    "xor_sum",
    "zeros",
    "zeros_like",
]
