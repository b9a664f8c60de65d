"""Recipes of reductions."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Tolerance,
    array,
    cdiv,
    full_of,
    integers,
    made,
    normal,
    offsets,
    recipe,
    uniform,
    unwritten,
    zeros,
)


@recipe("c840945f")
def sinkhorn_gradient_partials(full: bool) -> Launch:
    batch, rows, cols, split = (1, 4096, 4096, 1024) if full else (2, 50, 1200, 512)
    return Launch(
        (cdiv(rows, 16), cdiv(cols, split), batch),
        tolerance=Tolerance(1e-4, 5e-2 if full else 1e-3),
        x_ptr=normal(batch, rows, cols),
        colsq_ptr=uniform(batch, cols, low=0.5, high=100.0),
        p_ptr=normal(batch, rows, cols),
        u_ptr=normal(batch, cols),
        v_ptr=zeros(batch, rows),
        sums_ptr=zeros(batch, 3),
        M=rows,
        N=cols,
        sqrt_m=rows**0.5,
        eps=1e-6,
        cols_per=split,
        stride_b=rows * cols,
        stride_m=cols,
    )


@recipe("6435f96e")
def adaptive_layer_norm(full: bool) -> Launch:
    rows, cols, scale_group, shift_group = (8192, 4096, 1024, 1024) if full else (5, 5000, 2, 3)
    return Launch(
        (rows,),
        x_ptr=normal(rows, cols, mean=0.5),
        scale_ptr=normal(cdiv(rows, scale_group), cols, scale=0.2),
        shift_ptr=normal(cdiv(rows, shift_group), cols),
        y_ptr=unwritten(rows, cols),
        d=cols,
        scale_group=scale_group,
        shift_group=shift_group,
        stride_xr=cols,
        stride_sr=cols,
        stride_shr=cols,
        stride_yr=cols,
        eps=1e-6,
    )


@recipe("a47186ef")
def boxes_that_overlap(full: bool) -> Launch:
    n = 4096 if full else 300

    def boxes(rng: np.random.Generator) -> Array:
        corner, size = rng.integers(0, 60, (n, 2)), rng.integers(1, 21, (n, 2))
        return np.concatenate([corner, corner + size], axis=1)

    return Launch(
        (n,),
        why="corners are whole numbers, so that no ratio of areas (denominator at most 800) rounds to the threshold",
        boxes_ptr=made(boxes),
        iou_mask_ptr=zeros(n, n),
        num_boxes=n,
        iou_threshold=0.501,
        boxes_stride=4,
        iou_mask_stride=n,
    )


@recipe("ebb674ec")
def weighted_restore(full: bool) -> Launch:
    tokens, hidden, chosen = (8192, 1024, 4) if full else (7, 50, 4)

    def inverse(rng: np.random.Generator) -> Array:
        where = rng.permutation(tokens * chosen)
        where[rng.random(len(where)) < 0.1] = -1
        return where.reshape(tokens, chosen)

    return Launch(
        (tokens,),
        rows_ptr=integers(tokens * chosen, hidden, low=-50, high=51),
        inverse_ptr=made(inverse),
        scores_ptr=uniform(tokens, chosen),
        out_ptr=unwritten(tokens, hidden),
        hidden=hidden,
        rows_stride=hidden,
        scores_stride=chosen,
        out_stride=hidden,
    )


@recipe("c03a5112", timed=False)
def largest_of_partial_results(full: bool) -> Launch:
    return Launch(
        (1,),
        expected=lambda before: {"out": [before["mid"].max()]},
        mid=normal(50, mean=-9.0),
        out=unwritten(1),
        mid_size=50,
    )


@recipe("19621167")
def clamp_to_a_tensor(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    holes = made(lambda rng: np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)))
    return Launch(
        (cdiv(n, 256),),
        expected=lambda before: {"out0_ptr": np.fmin(before["in0_ptr"], before["in1_ptr"])},
        in0_ptr=normal(n),
        in1_ptr=holes,
        out0_ptr=unwritten(n),
        n=n,
    )


@recipe("771e9413", timed=False)
def consume_signal(full: bool) -> Launch:
    return Launch((1,), signal=array([7]), count=4)


@recipe("7e978148")
def sinkhorn_backward(full: bool) -> Launch:
    tokens, side = (8192 if full else 3), 16
    row = 2 * side + side * side
    return Launch(
        (tokens,),
        tolerance=Tolerance(1e-4, 1e-4),
        mix_ptr=normal(tokens, row),
        b_ptr=normal(row),
        grad_out_ptr=normal(tokens, side, side),
        grad_logits_ptr=unwritten(tokens, side, side),
        alpha_res_ptr=full_of(0.5, 1),
        N=tokens,
        stride_mn=row,
        stride_mm=1,
        stride_go_n=side * side,
        stride_go_i=side,
        stride_go_j=1,
        stride_gl_n=side * side,
        stride_gl_i=side,
        stride_gl_j=1,
    )


@recipe("d2ad7bc0")
def compress_keys_and_values(full: bool) -> Launch:
    ratio, head = 4, 32
    new, known = ([4096] * 32, [4096] * 16 + [5000] * 16) if full else ([13, 9, 2, 6], [13, 20, 2, 40])
    batch, width = len(new), 2 * head
    states = [*range(batch)] if full else [1, 0, 2, -1]
    groups = max(cdiv(length, ratio) for length in new) + 1
    return Launch(
        (groups, batch),
        kv_ptr=normal(sum(new), width),
        score_ptr=normal(sum(new), width),
        ape_ptr=normal(ratio, width),
        kv_state_ptr=normal(batch, 2 * ratio, width),
        score_state_ptr=normal(batch, 2 * ratio, width),
        state_idx_ptr=array(states),
        cu_q_seqlens_ptr=offsets(new),
        kv_seqlens_ptr=array(known),
        ckv_ptr=unwritten(sum(new), head),
        kv_stride_s=width,
        kv_stride_d=1,
        score_stride_s=width,
        score_stride_d=1,
        ape_stride_r=width,
        ape_stride_d=1,
        kvc_stride_n=2 * ratio * width,
        kvc_stride_r=width,
        kvc_stride_d=1,
        scorec_stride_n=2 * ratio * width,
        scorec_stride_r=width,
        scorec_stride_d=1,
        ckv_stride_s=head,
        ckv_stride_d=1,
    )


@recipe("7b7f6432")
def minifloat_of_float(full: bool) -> Launch:
    n = 1 << 26 if full else 2000
    holes = made(lambda rng: np.where(rng.random(n) < 0.05, 0.0, rng.standard_normal(n) * 2.0 ** rng.integers(-9, 12, n)))

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        """Four bits of exponent, the largest without infinities, and four of fraction, rounded to zero."""
        x = before["x_ptr"].astype(np.float64)
        fraction, exponent = np.frexp(np.abs(x))  # of 0.5 to 1
        biased = exponent - 1 + 7
        digits = np.trunc((2 * fraction - 1) * 16).astype(np.int64)
        digits = np.where((biased == 0) & (digits != 0), (digits + 16) // 2, digits)
        code = np.where(biased < 0, 0, np.where(biased > 15, 15 * 16 + 15, biased * 16 + digits))
        return {"element_ptr": np.where(x == 0, 0, code + np.where(x < 0, 256, 0))}

    return Launch(
        (cdiv(n, 256),),
        tolerance=Tolerance(0.0, 0.0),
        expected=expected,
        x_ptr=holes,
        element_ptr=unwritten(n),
        n_elements=n,
    )


@recipe("a2cc4ca1")
def float_of_minifloat(full: bool) -> Launch:
    n = 1 << 25 if full else 2000
    return Launch((cdiv(n, 512),), elements_ptr=integers(n, high=512), output_ptr=unwritten(n), n_elements=n)


@recipe("1b574d7a", timed=False)
def largest_after_hadamard(full: bool) -> Launch:
    rows, cols = (1024, 1024) if full else (80, 48)
    signs = np.array([[1.0]])
    while len(signs) < 16:
        signs = np.block([[signs, signs], [signs, -signs]])
    return Launch(
        (4,),
        tolerance=Tolerance(1e-2, 1e-2),
        why="the largest of products rounded to bf16, whose order of summation is free",
        a_ptr=normal(rows, cols),
        b_ptr=array(signs / 4),
        global_rht_amax_ptr=zeros(1),
        global_a_amax_ptr=zeros(1),
        M=rows,
        N=cols,
    )


@recipe("a3cc458b")
def norm_and_rotate_heads(full: bool) -> Launch:
    batch, length, heads, size = (2, 2048, 32, 64) if full else (2, 5, 20, 64)
    layout = {f"s{which}b": length * heads * size for which in "qkv"}
    layout |= {f"s{which}s": heads * size for which in "qkv"}
    return Launch(
        (batch * length, cdiv(heads, 16)),
        tolerance=Tolerance(3e-2, 6e-2),
        why="every step rounds to bf16, and two of its numbers are subtracted",
        q_ptr=normal(batch, length, heads, size),
        k_ptr=normal(batch, length, heads, size),
        v_ptr=normal(batch, length, heads, size),
        qw_ptr=uniform(size, low=0.5, high=1.5),
        kw_ptr=uniform(size, low=0.5, high=1.5),
        cos_ptr=uniform(length, size, low=-1.0),
        sin_ptr=uniform(length, size, low=-1.0),
        oq_ptr=unwritten(batch, heads, length, size),
        ok_ptr=unwritten(batch, heads, length, size),
        ov_ptr=unwritten(batch, heads, length, size),
        S=length,
        H=heads,
        scs=size,
        **layout,
    )


@recipe("59bc4454")
def adaptive_layer_norm_rounded(full: bool) -> Launch:
    batch, length, cols = (4, 16384, 256) if full else (2, 5, 200)
    return Launch(
        (batch * length,),
        X=normal(batch, length, cols, mean=1.0),
        SCALE=normal(batch, cols, scale=0.2),
        SHIFT=normal(batch, cols),
        OUT=unwritten(batch, length, cols),
        S=length,
        D=cols,
        sxb=length * cols,
        sxs=cols,
        scb=cols,
        shb=cols,
        sob=length * cols,
        sos=cols,
        eps=1e-6,
    )


@recipe("716d1214")
def rms_norm_and_silu_of_channels(full: bool) -> Launch:
    batch, channels, frames, height, width = (1, 96, 4, 240, 416) if full else (2, 20, 3, 9, 14)
    front, pad = 2, 1
    after, out_h, out_w = frames + front, height + 2 * pad, width + 2 * pad
    plane = height * width
    return Launch(
        (cdiv(out_h * out_w, 256), batch * after),
        x_ptr=normal(batch, channels, frames, height, width),
        out_ptr=unwritten(batch, after, out_h, out_w, channels),
        w_ptr=normal(channels),
        b_ptr=normal(channels),
        ib_ptr=normal(channels),
        cache_ptr=normal(batch, channels, front, height, width),
        C=channels,
        T=frames,
        H=height,
        W=width,
        Ho=out_h,
        Wo=out_w,
        ph=pad,
        pw=pad,
        To=after,
        front=front,
        n_cache=front,
        scale=channels**0.5,
        eps=1e-6,
        sb=channels * frames * plane,
        sc=frames * plane,
        st=plane,
        sh=width,
        sw=1,
        cb=channels * front * plane,
        cc=front * plane,
        ct=plane,
        ch=width,
        cw=1,
    )


@recipe("7430e92d")
def rotate_and_quantize_queries(full: bool) -> Launch:
    tokens, positions, heads, index_heads, half, nope = (16384 if full else 5), 1000, 2, 4, 64, 64
    index_size = 2 * half
    return Launch(
        (tokens, 3, index_heads),
        why="against Triton's interpreter numbers differ that fp8 rounds up to a power of two: it loses the carry",
        pos_ptr=integers(tokens, high=positions),
        q_pe_ptr=normal(tokens, heads, 2 * half),
        q_pe_stride0=heads * 2 * half,
        q_pe_stride1=2 * half,
        q_pe_cos_sin_ptr=uniform(positions, 2 * half, low=-1.0),
        q_pe_cos_sin_stride=2 * half,
        index_q_ptr=normal(tokens, index_heads, index_size),
        index_q_stride0=index_heads * index_size,
        index_q_stride1=index_size,
        index_q_cos_sin_ptr=uniform(positions, 2 * half, low=-1.0),
        index_q_cos_sin_stride=2 * half,
        index_q_fp8_ptr=unwritten(tokens, index_heads, index_size),
        index_q_fp8_stride0=index_heads * index_size,
        index_q_fp8_stride1=index_size,
        ql_nope_ptr=normal(tokens, heads, nope),
        ql_nope_stride0=heads * nope,
        ql_nope_stride1=nope,
        mqa_q_fp8_ptr=unwritten(tokens, heads, nope + 2 * half),
        mqa_q_fp8_stride0=heads * (nope + 2 * half),
        mqa_q_fp8_stride1=nope + 2 * half,
        q_scale_ptr=full_of(0.02, 1),
        q_pe_out_ptr=unwritten(1),
        q_pe_out_stride0=heads * 2 * half,
        q_pe_out_stride1=2 * half,
        index_weights_ptr=normal(tokens, index_heads),
        index_weights_stride=index_heads,
        index_weights_softmax_scale=index_size**-0.5,
        index_weights_head_scale=index_heads**-0.5,
        index_weights_out_ptr=unwritten(tokens, index_heads),
        index_weights_out_stride=index_heads,
        INDEX_Q_HEAD_DIM=index_size,
    )


@recipe("cf24863a")
def summarize_regions(full: bool) -> Launch:
    size, capacity, block = 256, 16, 256
    new, known = ([8] * 2048, [8 + i % 4096 for i in range(2048)]) if full else ([4, 8, 0, 1], [8, 29, 5, 16])
    rows, blocks = sum(new), cdiv(sum(new) * 8, block)  # a region of 8 for each row
    bases = np.concatenate([np.full(length, capacity * i) for i, length in enumerate(new)])
    bases[-1] = bases[-1] if full else -1

    def slots(rng: np.random.Generator) -> Array:
        regions = rng.permutation(blocks * block // 8)[:rows]  # one region for each row: no two rows write the same
        where = regions * 8 + 7
        where[:1] = -1
        return where

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        ring, mean = before["Ring"].copy(), before["Mean"].copy().reshape(-1, size)
        starts, slots, seen = before["QueryStart"], before["Slots"], before["SeqLens"]
        for request, base in ((i, before["RingBase"][start]) for i, start in enumerate(starts[:-1]) if new[i]):
            for row in range(starts[request], starts[request + 1]):
                if slots[row] < 0 or base < 0:
                    continue
                position = seen[request] - (starts[request + 1] - row)
                ring[base + position % capacity] = before["Key"][row], before["Z"][row]
                if position % 8 == 7:
                    rows = ring[base + np.arange(position - 7, position + 1) % capacity].astype(np.float64)
                    weights = np.exp(rows[:, 1] - rows[:, 1].max())
                    summary = ((weights * rows[:, 0]).sum(0) / weights.sum(0)).astype(ml_dtypes.bfloat16)
                    codes = summary.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
                    mean[slots[row] // 8] = codes
        return {"Ring": ring, "Mean": mean.reshape(before["Mean"].shape)}

    return Launch(
        (len(new),),
        tolerance=Tolerance(0.0, 1.0),
        expected=expected,
        why="an fp8 number's code, which differs by one where the quotient lies between two of them",
        Key=normal(rows, size),
        Z=normal(rows, size),
        Slots=made(slots),
        QueryStart=offsets(new),
        SeqLens=array(known),
        RingBase=array(bases),
        Mean=unwritten(blocks, block // 8, size),
        Ring=normal(len(new) * capacity, 2, size),
        KEY_ROW_STRIDE=size,
        KEY_DIM_STRIDE=1,
        Z_ROW_STRIDE=size,
        Z_DIM_STRIDE=1,
        MEAN_BLOCK=block // 8 * size,
    )
