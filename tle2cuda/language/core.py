"""`tl.core`: the base types under their second name."""

from tle2cuda.ir.types import DType as dtype
from tle2cuda.ops.aggregates import aggregate
from tle2cuda.ops.aggregates import aggregate as _aggregate
from tle2cuda.ops.core import block_type, builtin, constexpr, is_builtin, pointer_type, tensor
from tle2cuda.ops.loops import range, static_range

__all__ = [
    "_aggregate",
    "aggregate",
    "block_type",
    "builtin",
    "constexpr",
    "dtype",
    "is_builtin",
    "pointer_type",
    "range",
    "static_range",
    "tensor",
]
