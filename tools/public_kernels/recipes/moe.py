"""Recipes of mixture-of-experts kernels."""

from __future__ import annotations

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
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
    tokens, columns, chosen, pitch = (1 << 16, 128, 4, 16) if full else (23, 128, 4, 16)
    return Launch(
        (tokens,),
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

    return Launch(
        (rows,),
        why="scores of a row lie 1/32 apart, so that no two experts change places by rounding",
        USE_PDL=False,
        scores_ptr=made(scores),
        bias_ptr=booleans(experts, share=0.03),
        weights_ptr=unwritten(rows, chosen),
        ids_ptr=unwritten(rows, chosen),
        stride_sm=experts * pitch,
        stride_sn=pitch,
        scale=2.5,
    )
