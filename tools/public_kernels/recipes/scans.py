"""Recipes of scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Tolerance,
    Values,
    array,
    cdiv,
    integers,
    made,
    normal,
    offsets,
    recipe,
    uniform,
    unwritten,
)


def chunks(lengths: Sequence[int], size: int) -> list[tuple[int, int]]:
    """Sequence and number of every chunk of sequences of different lengths."""
    return [(i, j) for i, length in enumerate(lengths) for j in range(cdiv(length, size))]


def first_chunks(lengths: Sequence[int], size: int) -> Values:
    """Number of the first chunk of every sequence, and of all chunks."""
    return offsets([cdiv(length, size) for length in lengths])


@recipe("62e25a2f")
def linear_recurrence_backward(full: bool) -> Launch:
    batch, channels, length = (4, 1024, 4096) if full else (2, 2, 4096)
    shape = (batch, channels, length)
    return Launch(
        (batch, channels),
        tolerance=Tolerance(1e-4, 1e-4),
        forget=uniform(*shape),
        states=normal(*shape),
        d_output=normal(*shape),
        d_inputs=unwritten(*shape),
        d_forget=unwritten(*shape),
        seqlen=length,
    )


@recipe("3d1e80aa")
def chunk_sums_forward(full: bool) -> Launch:
    lengths = [4096] * 256 if full else [100, 7, 64, 150]
    total, heads, parts = sum(lengths), 4, chunks(lengths, 64)
    return Launch(
        (len(parts), heads),
        g=uniform(total, heads),
        g0=unwritten(total, heads),
        g1=unwritten(total, heads),
        scale=0.5,
        cu_seqlens=offsets(lengths),
        chunk_indices=array(parts),
        T=total,
    )


@recipe("f70fa929")
def chunk_sums_backward(full: bool) -> Launch:
    lengths = [4096] * 256 if full else [100, 7, 64, 150]
    total, heads, parts = sum(lengths), 4, chunks(lengths, 64)
    return Launch(
        (len(parts), heads),
        dg0=normal(total, heads),
        dgr=unwritten(total, heads),
        cu_seqlens=offsets(lengths),
        chunk_indices=array(parts),
        T=total,
    )


@recipe("888755a0")
def clock_of_sequences(full: bool) -> Launch:
    lengths = [8192] * 128 if full else [300, 0, 1, 513]
    total, heads = sum(lengths), 4
    return Launch(
        (len(lengths) * heads,),
        tolerance=Tolerance(1e-4, 1e-4),
        delta=uniform(total, heads),
        clock=unwritten(total, heads),
        cu_seqlens=offsets(lengths),
        T=total,
    )


@recipe("77c45509", timed=False)
def householder_products_backward(full: bool) -> Launch:
    lengths = [2048] * 4 if full else [200, 70]
    total, heads, size = sum(lengths), 4, 64
    parts = chunks(lengths, 128)
    shape = (total, heads, size)
    return Launch(
        (len(parts), heads),
        tolerance=Tolerance(3e-2, 3e-2),
        why="chains of products whose operands are rounded to bf16",
        hc_suffix=normal(len(chunks(lengths, 64)), heads, size, size, scale=0.1),
        dhc_whole=normal(len(parts), heads, size, size),
        k=normal(*shape, scale=0.2),
        dk=normal(*shape),
        w1=normal(*shape, scale=0.1),
        w2=normal(*shape, scale=0.1),
        dw1=unwritten(*shape),
        dw2=unwritten(*shape),
        dk_new=unwritten(*shape),
        cu_seqlens=offsets(lengths),
        split_indices=array(parts),
        chunk_offsets=first_chunks(lengths, 64),
        split_offsets=first_chunks(lengths, 128),
        T=total,
    )


@recipe("00399a37", timed=False)
def householder_products_forward(full: bool) -> Launch:
    lengths = [2048] * 4 if full else [200, 70]
    total, heads, size = sum(lengths), 4, 64
    parts = chunks(lengths, 128)
    shape = (total, heads, size)
    return Launch(
        (len(parts), heads),
        tolerance=Tolerance(5e-3, 5e-3),
        why="chains of products whose operands are rounded to fp16",
        k=normal(*shape),
        k_new=unwritten(*shape),
        w1=normal(*shape, scale=0.1),
        w2=normal(*shape, scale=0.1),
        hc_suffix=unwritten(len(chunks(lengths, 64)), heads, size, size),
        hc_whole=unwritten(len(parts), heads, size, size),
        cu_seqlens=offsets(lengths),
        split_indices=array(parts),
        chunk_offsets=first_chunks(lengths, 64),
        split_offsets=first_chunks(lengths, 128),
        T=total,
    )


@recipe("0ee78916")
def chunk_sums_of_vectors(full: bool) -> Launch:
    lengths = [4096] * 16 if full else [100, 7, 64, 150]
    total, heads, size, parts = sum(lengths), 4, 128, chunks(lengths, 64)
    return Launch(
        (cdiv(size, 64) * len(parts), heads),
        tolerance=Tolerance(1.6e-2, 1e-4),
        s=uniform(total, heads, size),
        o=unwritten(total, heads, size),
        scale=0.5,
        cu_seqlens=offsets(lengths),
        chunk_indices=array(parts),
        T=total,
    )


@recipe("a72f80c9")
def running_minima(full: bool) -> Launch:
    n = 1 << 25 if full else 2500
    blocks = cdiv(n, 1024)

    def values(rng: np.random.Generator) -> Array:
        drift = np.linspace(20.0, -20.0, 1024)
        numbers = np.rint(rng.standard_normal(n) * 4.0 + np.resize(drift, n))  # with ties
        return np.where(rng.random(n) < 2e-4, np.nan, numbers)

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        """NaN stays once it was met; of equal ones the last counts."""
        padded = np.full(blocks * 1024, np.inf)
        padded[:n] = before["inp"]
        padded = padded.reshape(blocks, 1024)
        least = np.minimum.accumulate(padded, axis=1)
        takes = (padded == least) | np.isnan(padded)
        where = np.maximum.accumulate(np.where(takes, np.arange(blocks * 1024).reshape(blocks, 1024), 0), axis=1)
        return {
            "out": least.reshape(-1)[:n],
            "out_indices": where.reshape(-1)[:n],
            "partial_min": least[:, -1],
            "partial_min_indices": where[:, -1],
        }

    return Launch(
        (blocks,),
        expected=expected,
        inp=made(values),
        out=unwritten(n),
        in_indices=0,
        out_indices=unwritten(n),
        partial_min=unwritten(blocks),
        partial_min_indices=unwritten(blocks),
        n_elements=n,
    )


@recipe("de6ab695")
def sums_from_the_end(full: bool) -> Launch:
    rows, length, size = (2048, 128, 128) if full else (3, 50, 100)
    return Launch(
        (cdiv(size, 128), rows),
        ds=unwritten(rows, length, size),
        dz=normal(rows, length, size),
        s_s_h=length * size,
        s_s_t=size,
        T=length,
        S=size,
    )


@recipe("2b9aa334")
def sums_from_the_end_fp32(full: bool) -> Launch:
    rows, length, size = (1024, 128, 128) if full else (3, 50, 100)
    return Launch(
        (cdiv(size, 128), rows),
        s=normal(rows, length, size),
        z=unwritten(rows, length, size),
        s_s_h=length * size,
        s_s_t=size,
        T=length,
        S=size,
    )


def _sums_by_products(full: bool, source: str, target: str) -> Launch:
    """Sums along a sequence as products with a triangular matrix."""
    rows, length, size = (1024, 128, 128) if full else (3, 100, 72)
    contents = {source: normal(rows, length, size), target: unwritten(rows, length, size)}
    return Launch(
        (cdiv(size, 32), rows), s_s_h=length * size, s_s_t=size, s_s_d=1, T=length, S=size, **contents
    )  # fmt: skip


@recipe("7704b9bc", timed=False)
def chunk_cumsum_forward(full: bool) -> Launch:
    return _sums_by_products(full, "s", "z")


@recipe("fa9fd45e", timed=False)
def chunk_cumsum_backward(full: bool) -> Launch:
    return _sums_by_products(full, "dz", "ds")


@recipe("02592414", timed=False)
def chunk_reversed_cumsum_forward(full: bool) -> Launch:
    return _sums_by_products(full, "s", "z")


@recipe("992c8994", timed=False)
def chunk_reversed_cumsum_backward(full: bool) -> Launch:
    return _sums_by_products(full, "dz", "ds")


@recipe("957e4c1d")
def gradient_of_decay(full: bool) -> Launch:
    batch, heads, length, size = (4, 16, 4096, 64) if full else (1, 2, 48, 64)
    shape = (batch * heads, length, size)
    return Launch(
        (1, length // 16, batch * heads),
        tolerance=Tolerance(2e-3, 2e-3),
        dq_inner=normal(*shape),
        dq_inter=normal(*shape),
        dk_inner=normal(*shape),
        dk_inter=normal(*shape),
        q=normal(*shape),
        k=normal(*shape),
        g=uniform(*shape, low=-2.0, high=0.0),
        dg=unwritten(*shape),
        s_qk_h=length * size,
        s_qk_t=size,
        s_qk_d=1,
        B=batch,
        H=heads,
        T=length,
        scale=0.125,
    )


@recipe("35461d6c")
def maxima_and_sums_of_tiles(full: bool) -> Launch:
    rows, classes = (256, 128256) if full else (3, 5000)
    tiles = cdiv(classes, 256)
    groups = cdiv(tiles, 16)
    return Launch(
        (rows, groups),
        lp=normal(rows, classes),
        tmax=unwritten(rows, tiles),
        pm=unwritten(rows, groups),
        ps=unwritten(rows, groups),
        V=classes,
        T=tiles,
        stride_lp_n=classes,
        stride_tmax_n=tiles,
        stride_p_n=groups,
    )


@recipe("c56965a5")
def sparse_block_table(full: bool) -> Launch:
    requests, longest, chosen = (512, 16384, 64) if full else (4, 6000, 40)
    blocks, pages = cdiv(longest, 256), 256

    def selected(rng: np.random.Generator) -> Array:
        rows = np.full((requests, chosen), -1)
        for row in rows:
            count = min(rng.integers(1, chosen + 1), blocks)
            row[:count] = rng.permutation(blocks)[:count]  # each block once
        return rows

    def lengths(rng: np.random.Generator) -> Array:
        found = rng.integers(1, longest + 1, requests)
        found[1] = 0
        return found

    return Launch(
        (requests,),
        topk_ptr=made(selected),
        block_table_ptr=integers(requests, blocks, high=500),
        seq_lens_ptr=made(lengths),
        sparse_bt_ptr=unwritten(requests, chosen * pages),
        sparse_ctx_ptr=unwritten(requests),
        max_topk=chosen,
        stride_topk_n=chosen,
        stride_topk_k=1,
        stride_bt_b=blocks,
        stride_sbt_b=chosen * pages,
    )


@recipe("a0725694", timed=False)
def metadata_of_a_cache(full: bool) -> Launch:
    new = [3, 1, 120, 0, 40]
    known = [3, 900, 130, 5, 40]
    mapped, tokens, requests, work = sum(new), 200, len(new), 300
    return Launch(
        (cdiv(max(tokens, work), 128),),
        query_start_loc_ptr=offsets(new),
        seq_lens_ptr=array(known),
        common_slot_mapping_ptr=integers(tokens, low=-1, high=1000),
        block_table_ptr=integers(requests, 64, low=-1, high=50),
        token_to_req_ptr=unwritten(tokens),
        logical_positions_ptr=unwritten(tokens),
        visible_blocks_ptr=unwritten(tokens),
        slot_mapping_ptr=unwritten(tokens),
        k_work_metadata_ptr=unwritten(work, 2),
        num_reqs=requests,
        num_mapped_tokens=mapped,
        num_tokens=tokens,
        max_num_work=work,
        num_search_steps=3,
        work_search_steps=3,
        REQUEST_SCAN_SIZE=8,
    )
