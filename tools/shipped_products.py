"""The shipped kernels that multiply matrices, each with one specialisation worth showing."""

from __future__ import annotations

import functools

from tools.shipped import ShippedKernel

_HALVES, _ALIGNED = "*fp16:16", "i32:16"


@functools.cache
def product_kernels() -> tuple[ShippedKernel, ...]:
    """A matrix product, and attention forward."""
    sizes = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), _ALIGNED)
    neighbours = dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1)
    matrices = dict.fromkeys(("a", "b", "c"), _HALVES)
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8}
    heads = {"q": _HALVES, "k": _HALVES, "v": _HALVES, "out": _HALVES, "length": "i32", "scale": "fp32"}
    blocks = {"CAUSAL": True, "HEAD": 64, "BLOCK_M": 128, "BLOCK_N": 64}
    return (
        ShippedKernel("matmul_fp16", "kernels.matmul", "matmul", {**matrices, **sizes}, {**neighbours, **tile}),
        ShippedKernel("attention_fp16", "kernels.attention", "attention", heads, blocks),
    )


@functools.cache
def warpgroup_kernels() -> tuple[ShippedKernel, ...]:
    """A matrix product written out in TLE, for sm_90a."""
    arguments = {**dict.fromkeys(("a", "b", "c"), _HALVES), **dict.fromkeys(("M", "N", "K"), "i32")}
    strides = dict.fromkeys(("stride_am", "stride_bk", "stride_cm"), _ALIGNED)
    tile = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "STAGES": 4, "GROUP_M": 16}
    return (ShippedKernel("matmul_tle_fp16", "kernels.matmul_tle", "matmul_tle", {**arguments, **strides}, tile, 4),)
