"""Recipes of attention: rotary embeddings, scores of single tokens, preparation of backward passes."""

from __future__ import annotations

import math

import numpy as np

from tools.public_kernels.recipe import Launch, Tolerance, array, cdiv, made, normal, offsets, recipe, unwritten, zeros
from tools.public_kernels.recipes.matmul import with_tf32
from tools.public_kernels.recipes.scans import chunks


@recipe("632aca35")
def padded_logsumexp(full: bool) -> Launch:
    lengths, heads = ([2048, 1500] * 8, 16) if full else ([13, 0, 1, 30], 3)
    longest, total = max(lengths), sum(lengths)
    return Launch(
        (cdiv(longest, 4), len(lengths), heads),
        OUT=unwritten(len(lengths), heads, longest),
        LSE=normal(total, heads),
        CU_SEQLENS=offsets(lengths),
        stride_out_batch=heads * longest,
        stride_out_nheads=longest,
        stride_out_seqlen=1,
        stride_lse_seqlen=heads,
        stride_lse_nheads=1,
    )


@recipe("435be8b5")
def normalized_rotation(full: bool) -> Launch:
    batch, heads, length, size = (4, 32, 2048, 128) if full else (2, 3, 5, 100)
    pairs = size // 2
    x = {"batch": heads * length * size, "head": length * size, "seq": size, "dim": 1}
    return Launch(
        (batch, heads, length),
        x_ptr=normal(batch, heads, length, size),
        freqs_ptr=normal(1, length, pairs, 2, 2),
        scale_ptr=normal(size, mean=1.0, scale=0.1),
        out_ptr=unwritten(batch, heads, length, size),
        head_dim=size,
        freqs_batch=1.0,
        freqs_seq=length,
        **{f"stride_x_{axis}": stride for axis, stride in x.items()},
        **{f"stride_out_{axis}": stride for axis, stride in x.items()},
        stride_freqs_batch=length * pairs * 4,
        stride_freqs_seq=pairs * 4,
        stride_freqs_dim=4,
        stride_freqs_rot=2,
        stride_freqs_pair=1,
        epsilon=1e-6,
    )


@recipe("3ac288e1")
def rotation_of_queries_and_keys(full: bool) -> Launch:
    batch, heads, length, size = (2, 32, 4096, 128) if full else (2, 3, 11, 26)
    pairs = size // 2
    shape = (batch, heads, length, size)
    x = {"batch": heads * length * size, "dim1": length * size, "dim2": size, "dim": 1}
    return Launch(
        (cdiv(batch * heads * length * pairs, 256),),
        xq_ptr=normal(*shape),
        xk_ptr=normal(*shape),
        freqs_ptr=normal(1, 1, length, pairs, 2, 2),
        xq_out_ptr=unwritten(*shape),
        xk_out_ptr=unwritten(*shape),
        batch=batch,
        dim1=heads,
        dim2=length,
        head_dim=size,
        freqs_batch=1.0,
        freqs_dim1=1.0,
        freqs_dim2=float(length),
        **{f"stride_x_{axis}": stride for axis, stride in x.items()},
        **{f"stride_out_{axis}": stride for axis, stride in x.items()},
        stride_freqs_batch=length * pairs * 4,
        stride_freqs_dim1=length * pairs * 4,
        stride_freqs_dim2=pairs * 4,
        stride_freqs_dim=4,
        stride_freqs_rot=2,
        stride_freqs_pair=1,
    )


@recipe("e1522251")
def products_with_output_gradient(full: bool) -> Launch:
    lengths, heads, size = ([2048] * 16, 16, 128) if full else ([300, 0, 7], 2, 100)
    total = sum(lengths)
    return Launch(
        (cdiv(max(lengths), 256), len(lengths), heads),
        tolerance=Tolerance(1e-4, 1e-4),
        O=normal(total, heads, size),
        DO=normal(total, heads, size),
        Delta=unwritten(heads, total),
        stride_ob=0,
        stride_oh=size,
        stride_om=heads * size,
        stride_ok=1,
        stride_deltab=0,
        stride_deltah=total,
        stride_deltam=1,
        stride_descale_do_z=heads,
        cu_seqlens_q=offsets(lengths),
        max_seqlen_q=max(lengths),
        Descale_do=normal(len(lengths), heads),
        HEAD_DIM=128,
        ACTUAL_HEAD_DIM=size,
    )


@recipe("cd585f43")
def descaled_products_with_output_gradient(full: bool) -> Launch:
    lengths, heads, size = ([2048] * 8, 16, 128) if full else ([200, 0, 7], 2, 100)
    total = sum(lengths)
    return Launch(
        (cdiv(max(lengths), 128), len(lengths), heads),
        tolerance=Tolerance(1e-4, 1e-4),
        o_ptr=normal(total, heads, size),
        do_ptr=normal(total, heads, size),
        delta_ptr=unwritten(heads, total),
        stride_o_b=0,
        stride_o_h=size,
        stride_o_m=heads * size,
        stride_o_k=1,
        stride_delta_b=0,
        stride_delta_h=total,
        stride_delta_m=1,
        stride_descale_do_z=heads,
        cu_seqlens_q=offsets(lengths),
        max_seqlen_q=max(lengths),
        descale_do_ptr=normal(len(lengths), heads),
        BLOCK_D_MODEL=size,
        BLOCK_D_MODEL_POW2=128,
    )


@recipe("83499486")
def scores_of_one_token(full: bool) -> Launch:
    lengths, heads, size = ([2048, 1000] * 8, 8, 256) if full else ([70, 1, 33], 3, 256)
    total, longest, batch = sum(lengths), max(lengths), len(lengths)

    def places(rng: np.random.Generator) -> object:
        """Places of tokens in the cache, by request; every token has its own."""
        table, order = np.zeros((batch, longest), np.int64), rng.permutation(total)
        for i, length in enumerate(lengths):
            start = sum(lengths[:i])
            table[batch - 1 - i, :length] = order[start : start + length]
        return table

    return Launch(
        (batch, heads, cdiv(longest, 32)),
        tolerance=Tolerance(1e-2, 1e-1),
        why="products and sums may be rounded to the dtype of queries and keys",
        Q=normal(batch, heads, size),
        K=normal(total, heads, size),
        sm_scale=size**-0.5,
        Alibi=normal(heads, scale=0.1),
        Req_to_tokens=made(places),
        B_req_idx=made(lambda rng: np.arange(batch)[::-1]),
        B_Start_Loc=made(lambda rng: np.cumsum([0, *lengths])[:-1]),
        B_Seqlen=made(lambda rng: np.array(lengths)),
        Att_Out=unwritten(heads, total),
        stride_req_to_tokens_b=longest,
        stride_req_to_tokens_s=1,
        stride_qbs=heads * size,
        stride_qh=size,
        stride_qd=1,
        stride_kbs=heads * size,
        stride_kh=size,
        stride_kd=1,
        att_stride_h=total,
        att_stride_bs=1,
    )


@recipe("054c519f", timed=False)
def column_means(full: bool) -> Launch:
    batch, heads, length, size = (4, 16, 2000, 64) if full else (2, 3, 150, 50)
    shape = (batch, heads, length, size)
    strides = {"b": heads * length * size, "h": length * size, "s": size, "d": 1}
    scale = size**-0.5
    # a score is off by what tf32 loses of its sum of magnitudes, and a share of attention by twice that
    share = 2 * with_tf32(0.64 * size * scale).absolute
    return Launch(
        (batch, heads, cdiv(length, 64)),
        tolerance=Tolerance(share, 1e-4),
        why="the order of atomic additions is free",
        Q_ptr=normal(*shape),
        K_ptr=normal(*shape),
        Out_ptr=zeros(batch, length),
        B=batch,
        H=heads,
        S=length,
        D=size,
        SCALE=scale,
        **{f"stride_q{axis}": stride for axis, stride in strides.items()},
        **{f"stride_k{axis}": stride for axis, stride in strides.items()},
        stride_ob=length,
        stride_os=1,
    )


@recipe("0626c46a", timed=False)
def stick_breaking_attention(full: bool) -> Launch:
    lengths, heads, size = ([2048] * 4, 4, 64) if full else ([150, 7, 64], 4, 64)
    total, parts = sum(lengths), chunks(lengths, 64)
    return Launch(
        (size // 16, heads, len(parts)),
        tolerance=Tolerance(5e-3, 5e-3),  # weights of values, which sum to at most one, and results are fp16
        q=normal(total, heads, size),
        k=normal(total, heads, size),
        v=normal(total, heads, size),
        o=unwritten(total, heads, size),
        rem=unwritten(total, heads),
        scale=size**-0.5,
        cu_seqlens=offsets(lengths),
        chunk_indices=array(parts),
        T=total,
        G=1,
        BK=size,
    )


@recipe("891f7678", timed=False)
def attention_that_counts_skippable_tiles(full: bool) -> Launch:
    queries, keys = ([2000] * 4, [2000, 4000] * 2) if full else ([150, 3, 200], [150, 140, 300])
    heads, groups, size = (16, 2, 64) if full else (4, 2, 50)
    batch, tiles = len(queries), cdiv(max(queries), 128)
    counts = (batch, heads, tiles, 4)
    return Launch(
        (batch, heads, tiles),
        tolerance=Tolerance(4e-3, 4e-3),  # weights of values and results are fp16
        Q=normal(sum(queries), heads, size),
        K=normal(sum(keys), heads // groups, size),
        V=normal(sum(keys), heads // groups, size),
        qk_scale=size**-0.5 * math.log2(math.e),
        b_start_loc=array(np.cumsum([0, *queries])[:-1]),
        b_seq_len=array(queries),
        b_start_loc_k=array(np.cumsum([0, *keys])[:-1]),
        b_seq_len_k=array(keys),
        Out=unwritten(sum(queries), heads, size),
        stride_qbs=heads * size,
        stride_qh=size,
        stride_kbs=heads // groups * size,
        stride_kh=size,
        stride_vbs=heads // groups * size,
        stride_vh=size,
        stride_obs=heads * size,
        stride_oh=size,
        Threshold_trials=array([-0.37, 0.93, 2.11, 3.07]),
        Per_program_totals=unwritten(*counts),
        Per_program_skipped=unwritten(*counts),
        kv_group_num=groups,
        HEAD_DIM=size,
    )
