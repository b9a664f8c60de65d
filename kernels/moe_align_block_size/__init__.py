"""MoE Align Block Size: token slots sorted by expert and padded to blocks, for grouped matrix products.

`moe_align_block_size` picks the fastest kernel for the size. The definition in NumPy needs no compiler.
"""

from __future__ import annotations

from typing import Any

from kernels.moe_align_block_size.reference import (
    AlignedBlocks,
    expert_capacity,
    moe_align_reference,
    sorted_capacity,
    verify,
)

__all__ = [
    "AlignedBlocks",
    "expert_capacity",
    "moe_align_block_size",
    "moe_align_reference",
    "sorted_capacity",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "moe_align_block_size":
        from kernels.moe_align_block_size.dispatch import moe_align_block_size

        return moe_align_block_size
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
