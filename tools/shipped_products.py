"""The shipped kernels that multiply matrices, each with one specialisation worth showing."""

from __future__ import annotations

import functools

from tools.shipped import ShippedKernel

_HALVES, _BF16, _FLOATS, _INTS = "*fp16:16", "*bf16:16", "*fp32:16", "*i32:16"
_SIZE, _ALIGNED = "i32", "i32:16"


@functools.cache
def product_kernels() -> tuple[ShippedKernel, ...]:
    """A matrix product, attention, a mixture of experts' first product, and one of few rows that shares K."""
    sizes = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), _ALIGNED)
    neighbours = dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1)
    matrices = dict.fromkeys(("a", "b", "c"), _HALVES)
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8}
    heads = {"q": _HALVES, "k": _HALVES, "v": _HALVES, "out": _HALVES, "length": "i32", "scale": "fp32"}
    blocks = {"CAUSAL": True, "HEAD": 64, "BLOCK_M": 128, "BLOCK_N": 64}
    return (
        ShippedKernel("matmul_fp16", "kernels.matmul", "matmul", {**matrices, **sizes}, {**neighbours, **tile}),
        ShippedKernel("attention_fp16", "kernels.attention", "attention", heads, blocks),
        _gate_up(),
        _split_k(),
    )


def _gate_up() -> ShippedKernel:
    arguments = dict.fromkeys(("x", "weights", "hidden"), _BF16)
    arguments |= dict.fromkeys(("sorted_ids", "expert_ids", "num_post_pad"), _INTS)
    arguments |= dict.fromkeys(("num_slots", "N", "K", "stride_xm", "stride_we", "stride_wn", "stride_hm"), _ALIGNED)
    tile = {"TOP_K": 8, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8}
    return ShippedKernel("moe_gate_up_bf16", "kernels.fused_moe", "moe_gate_up", arguments, tile)


def _split_k() -> ShippedKernel:
    arguments = dict.fromkeys(("x", "weights", "out"), _HALVES) | {"partial": _FLOATS, "tickets": _INTS, "M": _SIZE}
    arguments |= dict.fromkeys(("N", "K", "k_per_cta", "stride_xm", "stride_wn", "stride_om"), _ALIGNED)
    tile = {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 128}
    return ShippedKernel("split_k_fp16", "kernels.decode_matmul", "split_k", arguments, tile)


@functools.cache
def warpgroup_kernels() -> tuple[ShippedKernel, ...]:
    """A matrix product and attention written out in TLE, for sm_90a."""
    arguments = {**dict.fromkeys(("a", "b", "c"), _HALVES), **dict.fromkeys(("M", "K"), "i32"), "N": _ALIGNED}
    strides = dict.fromkeys(("stride_am", "stride_bk", "stride_cm"), _ALIGNED)
    tile = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "STAGES": 4, "GROUP_M": 8}
    return (
        ShippedKernel("matmul_tle_fp16", "kernels.matmul_tle", "matmul_tle", {**arguments, **strides}, tile, 4),
        _attention_tle(),
    )


def _attention_tle() -> ShippedKernel:
    arguments = dict.fromkeys(("q", "k", "v", "out"), _HALVES) | {"lse": _FLOATS}
    arguments |= dict.fromkeys(("batches", "heads", "kv_heads", "length"), _SIZE) | {"scale": "fp32"}
    axes = {"q": "bhm", "k": "bhn", "v": "bhn", "o": "bhm"}
    steps = [f"stride_{array}{axis}" for array, names in axes.items() for axis in names]
    arguments |= dict.fromkeys(steps, _ALIGNED) | dict.fromkeys(("stride_lb", "stride_lh"), _SIZE)
    tile = {"CAUSAL": True, "HEAD": 128, "GROUP": 1, "NEAR": 4, "BLOCK_M": 128, "BLOCK_N": 128, "STAGES": 2}
    tile |= {"HOLD": True, "GROWTH": 8.0}
    return ShippedKernel("attention_tle_fp16", "kernels.flash_attention_tle", "attention_tle", arguments, tile, 8)
