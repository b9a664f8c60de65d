"""Recipes of mixture-of-experts kernels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Tolerance,
    array,
    booleans,
    cdiv,
    integers,
    made,
    normal,
    offsets,
    recipe,
    unwritten,
    zeros,
)


@recipe("f006c7ab")
def sum_over_experts(full: bool) -> Launch:
    tokens, chosen, hidden = (4096, 4, 4096) if full else (7, 3, 1360)
    return Launch(
        (tokens, cdiv(hidden, 1024)),
        why="the strides of the last axis are not used",
        input_ptr=normal(tokens, chosen, hidden),
        output_ptr=unwritten(tokens, hidden),
        num_tokens=tokens,
        topk=chosen,
        hidden_size=hidden,
        input_stride_token=chosen * hidden,
        input_stride_topk=hidden,
        input_stride_hidden=16,
        output_stride_token=hidden,
        output_stride_hidden=16,
    )


@recipe("7c959ca4")
def scaled_sum_over_experts(full: bool) -> Launch:
    tokens, chosen, hidden, pitch = (4096, 4, 4096, 4096) if full else (5, 3, 2500, 2512)
    return Launch(
        (tokens, cdiv(hidden, 2048)),
        input_ptr=normal(tokens, chosen, pitch),
        input_stride_0=chosen * pitch,
        input_stride_1=pitch,
        input_stride_2=16,
        output_ptr=unwritten(tokens, pitch),
        output_stride_0=pitch,
        output_stride_1=16,
        token_num=tokens,
        topk_num=chosen,
        hidden_dim=hidden,
    )


@recipe("62fa3689", timed=False)
def tile_of_each_operation(full: bool) -> Launch:
    experts = 50
    rows = (np.arange(experts) * 37) % 113

    def tiles(rng: np.random.Generator) -> Array:
        found = rng.choice([16, 32, 64, 128], (2, 4, 2))
        found[:, 2] = [0, 64]
        return found

    return Launch(
        (1,),
        m_indptr=offsets([int(n) for n in rows]),
        tile_mn=made(tiles),
        plain_tactic=made(lambda rng: [1, 3]),
        selected_tactic=unwritten(2),
        num_experts=experts,
        num_sms=132,
    )


@recipe("71d0a900")
def pad_routing_map(full: bool) -> Launch:
    experts, tokens = (1 << 18, 57) if full else (37, 57)
    return Launch(
        (experts,),
        routing_map_ptr=booleans(experts, tokens, share=0.3),
        output_ptr=unwritten(experts, tokens),
        num_tokens=tokens,
    )


@recipe("8c2ca918")
def input_scale_of_local_experts(full: bool) -> Launch:
    tokens, columns, chosen, pitch = (1 << 16, 100, 4, 16) if full else (23, 100, 4, 16)
    return Launch(
        (tokens,),
        hidden_size=columns,
        BLOCK_SIZE=128,
        input_ptr=normal(tokens, columns, pitch),
        topk_ids_ptr=integers(tokens, chosen, pitch, low=-1, high=24),
        output_s_ptr=zeros(1),
        stride_input_row=columns * pitch,
        stride_input_col=pitch,
        stride_ids_row=chosen * pitch,
        stride_ids_col=pitch,
    )


@recipe("5bf2670f")
def best_22_of_512_experts(full: bool) -> Launch:
    rows, experts, pitch, chosen = (8192 if full else 5), 512, 16, 22

    def scores(rng: np.random.Generator) -> Array:
        ranks = np.resize(rng.permuted(np.tile(np.arange(experts), (16, 1)), axis=1), (rows, experts))
        return np.repeat((ranks[:, :, None] - 256) / np.float32(32), pitch, axis=2)

    def expected(before: Mapping[str, Array]) -> Mapping[str, Array]:
        activated = 1 / (1 + np.exp(-before["scores_ptr"][:, :, 0].astype(np.float64)))
        ids = np.argsort(-(activated + before["bias_ptr"]), axis=1, kind="stable")[:, :chosen]
        weights = np.take_along_axis(activated, ids, axis=1)
        return {"ids_ptr": ids, "weights_ptr": 2.5 * weights / weights.sum(axis=1, keepdims=True)}

    return Launch(
        (rows,),
        expected=expected,
        why="scores of a row lie 1/32 apart, so that no two experts change places by rounding",
        scores_ptr=made(scores),
        bias_ptr=booleans(experts, share=0.03),
        weights_ptr=unwritten(rows, chosen),
        ids_ptr=unwritten(rows, chosen),
        stride_sm=experts * pitch,
        stride_sn=pitch,
        scale=2.5,
    )


@recipe("4139050a")
def all_16_experts_in_order(full: bool) -> Launch:
    rows, experts, pitch = (1 << 17 if full else 37), 16, 16

    def scores(rng: np.random.Generator) -> Array:
        ranks = np.resize(rng.permuted(np.tile(np.arange(experts), (64, 1)), axis=1), (rows, experts))
        return np.repeat((ranks[:, :, None] - 8) / np.float32(4), pitch, axis=2)

    return Launch(
        (cdiv(rows, 16),),
        why="nothing is packed: fp16 has no room for it; scores of a row lie 1/4 apart",
        HAS_PACKED=False,
        scores_ptr=made(scores),
        bias_ptr=integers(experts, pitch, high=3),
        bias_alt_ptr=integers(experts, pitch, high=3),
        input_ids_ptr=integers(rows, pitch, low=14, high=18),
        num_token_non_padded_ptr=array([rows - 5 if rows < 2048 else 2048]),
        out_weights_ptr=unwritten(rows, experts, pitch),
        out_indices_ptr=unwritten(rows, experts, pitch),
        out_packed_ptr=unwritten(rows, experts, pitch),
        M=rows,
        routed_scaling_factor=2.5,
        moe_softcapping=30.0,
        stride_bias=pitch,
        stride_bias_alt=pitch,
        stride_input_ids=pitch,
        stride_sm=experts * pitch,
        stride_sn=pitch,
        stride_wm=experts * pitch,
        stride_wk=pitch,
        stride_im=experts * pitch,
        stride_ik=pitch,
        stride_pm=experts * pitch,
        stride_pk=pitch,
    )


@recipe("2d1222cb")
def router_whose_last_program_chooses(full: bool) -> Launch:
    tokens, width, experts, chosen, share = (4096, 1024, 64, 4, 8) if full else (7, 64, 16, 3, 2)

    def expected(before: Mapping[str, Array]) -> Mapping[str, Array]:
        exact = before["x_ptr"].astype(np.float64) @ before["wr_ptr"].astype(np.float64).T
        logits = exact.astype(before["logits_ptr"].dtype)
        ids = np.argsort(-logits.astype(np.float64), axis=1, kind="stable")[:, :chosen]
        weights = 1 / (1 + np.exp(-np.take_along_axis(logits.astype(np.float64), ids, axis=1)))
        weights = (weights / weights.sum(axis=1, keepdims=True)).astype(logits.dtype)
        return {
            "logits_ptr": logits,
            "ids_ptr": ids,
            "tw_ptr": weights.astype(np.float32),
            "counter_ptr": np.full(tokens, experts // share),
        }

    return Launch(
        (tokens, experts // share),
        expected=expected,
        tolerance=Tolerance(8e-3, 1e-6),
        why="inputs are multiples of 1/2 and 1/16, so that logits are exact before they are rounded to bf16",
        H=width,
        E=experts,
        TOPK=chosen,
        EB=share,
        x_ptr=made(lambda rng: np.resize(rng.integers(-3, 4, (64, width)) / 2, (tokens, width))),
        res_ptr=zeros(1),
        ln_w_ptr=zeros(1),
        eps=1e-6,
        res_out_ptr=unwritten(1),
        xn_ptr=unwritten(1),
        wr_ptr=made(lambda rng: rng.integers(-2, 3, (experts, width)) / 16),
        logits_ptr=unwritten(tokens, experts),
        ids_ptr=unwritten(tokens, chosen),
        tw_ptr=unwritten(tokens, chosen),
        counter_ptr=zeros(tokens),
    )


@recipe("e52d23ec", timed=False)
def two_best_by_tensor_cores(full: bool) -> Launch:
    tokens, width, experts = 150, 64, 8
    return Launch(
        (cdiv(tokens, 64),),
        why="inputs are whole numbers and each expert has its own fraction, so that there are no ties",
        a_ptr=integers(tokens, width, low=-2, high=3),
        b_ptr=integers(experts, width, low=-1, high=2),
        topk_weights_ptr=unwritten(tokens, 2),
        topk_ids_ptr=unwritten(tokens, 2),
        bs=tokens,
        correction_bias_ptr=array(np.arange(experts) / 16),
    )


@recipe("a1f88644", timed=False)
def experts_of_few_tokens(full: bool) -> Launch:
    slots, per_row, experts, columns, inner, pitch = 11, 2, 6, 100, 80, 16
    return Launch(
        (experts, cdiv(columns, 64), 2),
        X=normal(cdiv(slots, per_row), inner),
        IDX=integers(slots, low=-1, high=experts),
        W=normal(experts, inner, columns, pitch, scale=0.1),
        BIAS=normal(experts, 112),
        OUT=unwritten(2, slots, columns),
        P=slots,
        N=columns,
        K=inner,
        ROW_DIV=per_row,
        stride_xr=inner,
        stride_we=inner * columns * pitch,
        stride_wk=columns * pitch,
        stride_wn=pitch,
        stride_be=112,
        LORA_A=unwritten(1),
        H_OUT=unwritten(1),
        stride_lae=16,
        stride_lak=16,
        stride_lar=16,
    )
