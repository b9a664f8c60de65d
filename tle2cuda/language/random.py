"""`tl.random`: random numbers under their second name."""

from tle2cuda.ops.core import constexpr
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

N_ROUNDS_DEFAULT = constexpr(10)
"""Rounds of Philox where a kernel asks for no others."""

__all__ = [
    "N_ROUNDS_DEFAULT",
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "uint_to_uniform_float",
]
