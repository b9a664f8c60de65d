"""Attention, forward, as tutorials of Triton write it over tensor descriptors: a warp of its own asks for keys and values.

The rows of all heads lie one behind the other, [batch * heads * length, head_dim], and sequences are of whole blocks;
`kernels/flash_attention.py` takes what is not. Several heads of q may share one of k and v.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels.flash_attention import LOG2_E, checked_scale, layout_of_one_length
from kernels.matrices import element_strides


@tle2cuda.jit
def over_blocks(
    acc, total, largest, query, k_desc, v_desc, row_k, rows, first, end, scale, MASKED: tl.constexpr, BLOCK_N: tl.constexpr,
    SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """Adds the keys from `first` to `end` to a running softmax, whose exponents count in powers of two."""
    for start in tl.range(first, end, BLOCK_N, warp_specialize=SPECIALIZE):
        key = k_desc.load([row_k + start, 0])
        score = tl.dot(query, key.T)
        if MASKED:
            sees = (rows - start)[:, None] - tl.arange(0, BLOCK_N)[None, :] >= 0
            score = tl.where(sees, score, float("-inf"))
        now = tl.maximum(largest, tl.max(score, 1) * scale)
        weight = tl.exp2(score * scale - now[:, None])
        share = tl.exp2(largest - now)
        total = total * share + tl.sum(weight, 1)
        value = v_desc.load([row_k + start, 0])
        acc = tl.dot(weight.to(value.dtype), value, acc * share[:, None])
        largest = now
    return acc, total, largest


@tle2cuda.jit
def attention_described(
    q, k, v, out, lse, rows_q, rows_k, length, group, scale, CAUSAL: tl.constexpr, HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    q_desc = tl.make_tensor_descriptor(q, [rows_q, HEAD], [HEAD, 1], [BLOCK_M, HEAD])
    k_desc = tl.make_tensor_descriptor(k, [rows_k, HEAD], [HEAD, 1], [BLOCK_N, HEAD])
    v_desc = tl.make_tensor_descriptor(v, [rows_k, HEAD], [HEAD, 1], [BLOCK_N, HEAD])
    out_desc = tl.make_tensor_descriptor(out, [rows_q, HEAD], [HEAD, 1], [BLOCK_M, HEAD])
    block, head = tl.program_id(0), tl.program_id(1)
    end, whole = length, length
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block  # rows that see most keys first
        end = (block + 1) * BLOCK_M
        whole = block * BLOCK_M // BLOCK_N * BLOCK_N
    row_q, row_k = head * length + block * BLOCK_M, head // group * length
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    query = q_desc.load([row_q, 0])
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    acc, total, largest = over_blocks(
        acc, total, largest, query, k_desc, v_desc, row_k, rows, 0, whole, scale, False, BLOCK_N, SPECIALIZE
    )  # fmt: skip
    if CAUSAL:
        acc, total, largest = over_blocks(
            acc, total, largest, query, k_desc, v_desc, row_k, rows, whole, end, scale, True, BLOCK_N, SPECIALIZE
        )  # fmt: skip
    out_desc.store([row_q, 0], (acc / total[:, None]).to(out.dtype.element_ty))
    tl.store(lse + head * length + rows, (largest + tl.log2(total)) * 0.6931471805599453)


class Tile(NamedTuple):
    """Sizes of a CTA's work, and whether a warp of its own asks for keys and values."""

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int
    specialize: bool = True


TILES = {64: Tile(128, 128, 8, 2), 128: Tile(128, 128, 8, 2), 256: Tile(128, 64, 8, 2)}


def attend_rows(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    tile: Tile | None = None,
) -> Any:
    """Writes attention to `out` and the logarithms of the sums to `lse`, as `flash_attention` does.

    Args:
        q: Queries, [batch, heads, length, head_dim], head_dim 64, 128 or 256, contiguous.
        k: Keys, of the same length.
        v: Values, shaped like `k`.
        out: Result, shaped like `q`.
        lse: float32 [batch, heads, length], contiguous.
        causal: Queries see no later keys.
        scale: Of the scores, positive; left out: one over the square root of head_dim.
        tile: Sizes of a CTA's work, others than those of `TILES`.

    Raises:
        ValueError: The arrays do not fit each other, or not whole blocks.
    """
    layout = layout_of_one_length(q, k, v, out, lse)
    length, head_dim = layout.length_q, layout.head_dim
    block_m, block_n, num_warps, num_stages, specialize = tile or TILES[head_dim]
    if length % block_m or length % block_n:
        raise ValueError(f"the length must be a multiple of {block_m} and {block_n}, got {length}")
    for name, array in {"q": q, "k": k, "v": v, "out": out}.items():
        steps = (array.shape[1] * length * head_dim, length * head_dim, head_dim, 1)
        if element_strides(array) != steps:
            raise ValueError(f"{name} must be contiguous, its strides are {element_strides(array)}")
    scale = checked_scale(scale, head_dim)
    heads = layout.batches * layout.heads
    attention_described[(length // block_m, heads)](
        q, k, v, out, lse, heads * length, heads // layout.group * length, length, layout.group, scale * LOG2_E,
        CAUSAL=causal, HEAD=head_dim, BLOCK_M=block_m, BLOCK_N=block_n, SPECIALIZE=specialize, num_warps=num_warps,
        num_stages=num_stages,
    )  # fmt: skip
    return out
