"""Recipes of sorting and of finding the largest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Tolerance,
    Values,
    array,
    booleans,
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


def distinct_choices(rows: int, chosen: int, choices: int, missing: float = 0.0) -> Values:
    """Different numbers below `choices` in every row; a share of them -1 instead."""

    def fill(rng: np.random.Generator) -> Array:
        found = np.argsort(rng.random((rows, choices)), axis=1)[:, :chosen]
        return np.where(rng.random((rows, chosen)) < missing, -1, found)

    return made(fill)


@recipe("cf84048f", timed=False)
def blocks_that_matter(full: bool) -> Launch:
    queries, keys = ([256] * 4, [4096] * 4) if full else ([5, 3], [2100, 64])
    heads, group, size = 4, 32, 32
    total, parts = sum(queries), [cdiv(length, 32) for length in keys]
    return Launch(
        (total, heads),
        why="whole numbers, whose products are exact in fp16: which block is larger must not depend on rounding",
        q=integers(total, heads * group, size, low=-2, high=3),
        k=integers(sum(parts), heads, size, low=-2, high=3),
        lse=uniform(total, heads * group, low=3.0, high=6.0),
        scale=0.125,
        block_indices=unwritten(total, heads, 32),
        cu_seqlens_q=offsets(queries),
        cu_seqlens_k=offsets(keys),
        token_indices_q=array([(i, j) for i, length in enumerate(queries) for j in range(length)]),
        chunk_offsets=offsets(parts),
        TQ=total,
        TK=sum(keys),
        HQ=heads * group,
    )


@recipe("4d2cbff3")
def stable_order_of_selected(full: bool) -> Launch:
    rows, width = (1 << 17, 16) if full else (7, 16)
    values = made(lambda rng: rng.integers(0, 12, (rows, width)) / 4)  # with ties
    return Launch(
        (rows,),
        stable_values=values,
        stable_ids=distinct_choices(rows, width, 64, missing=0.15),
        topk_values=unwritten(rows, width),
        topk_ids=unwritten(rows, width),
    )


def _packed_routes(experts: int, block: int, routes: int, most: int) -> dict[str, Any]:
    """The arguments that both ways to pack routes share."""

    def experts_here(rng: np.random.Generator) -> Array:
        return np.where(rng.random(experts) < 0.2, -1, rng.permutation(experts))

    return {
        "topk_ids": integers(routes, low=-1, high=experts),
        "expert_map": made(experts_here),
        "packed_route_indices": unwritten(most),
        "block_expert_ids": unwritten(64),
        "packed_route_count": unwritten(1),
        "expert_offsets": unwritten(experts + 1),
        "live_numel": routes - 17,
        "NUMEL_CAPACITY": routes,
        "BLOCK_SIZE": block,
        "NUM_EXPERTS": experts,
        "MAX_PACKED_ROUTES": most,
    }


@recipe("ee07fadb", timed=False)
def routes_packed_by_searching(full: bool) -> Launch:
    experts = 8
    return Launch((1,), expert_counts=unwritten(experts), **_packed_routes(experts, 16, 220, 50))


@recipe("167e075e", timed=False)
def routes_packed_by_comparing(full: bool) -> Launch:
    return Launch((1,), **_packed_routes(8, 16, 600, 50))


@recipe("9728a135")
def experts_of_tokens(full: bool) -> Launch:
    tokens, experts, chosen = (1 << 16, 64, 4) if full else (9, 60, 4)
    return Launch(
        (tokens,),
        logits_ptr=normal(tokens, experts),
        topk_logits_ptr=unwritten(tokens, chosen),
        topk_ids_ptr=unwritten(tokens, chosen),
        topk_weights_ptr=unwritten(tokens, chosen),
        correction_bias_ptr=uniform(experts, high=0.1),
        image_correction_bias_ptr=uniform(experts, high=0.1),
        image_mask_ptr=booleans(tokens, share=0.4),
        logits_row_stride=experts,
        topk_row_stride=chosen,
        ids_row_stride=chosen,
        weights_row_stride=chosen,
        correction_bias_stride=1,
        image_correction_bias_stride=1,
        image_mask_stride=1,
        routed_scaling_factor=2.5,
        num_experts=experts,
    )


@recipe("40c21604")
def positions_within_experts(full: bool) -> Launch:
    routes, experts = (1 << 20, 128) if full else (300, 7)
    chosen = np.random.default_rng(0).integers(0, experts, routes)
    order = np.argsort(chosen, kind="stable")

    def by_expert(positions: Array) -> dict[str, Array]:
        pairs = np.stack([chosen, positions])[:, order]
        return {"by expert": pairs[:, np.lexsort((pairs[1], pairs[0]))]}

    return Launch(
        (cdiv(routes, 64),),
        why="which of an expert's routes comes first depends on the order of atomics: its positions as a set",
        ExpertIds=array(chosen),
        Counts=zeros(experts),
        LocalPos=dataclasses.replace(unwritten(routes), parts=by_expert),
        num_routes=routes,
    )


@recipe("a84540b7")
def routes_sorted_by_expert(full: bool) -> Launch:
    routes, experts = (1 << 22, 128) if full else (1000, 7)
    chosen = np.random.default_rng(0).integers(0, experts, routes)
    counts = np.bincount(chosen, minlength=experts)
    starts = np.cumsum(counts) - counts
    positions = np.empty(routes, np.int64)
    positions[np.argsort(chosen, kind="stable")] = np.arange(routes) - np.repeat(starts, counts)
    return Launch(
        (cdiv(routes, 256),),
        ExpertIds=array(chosen),
        LocalPos=array(positions),
        ExpStart=array(starts),
        SortedIdx=unwritten(routes),
        num_routes=routes,
    )


@recipe("2bb3f66b")
def experts_of_one_group(full: bool) -> Launch:
    tokens, experts, chosen = (16384, 256, 8) if full else (9, 200, 4)
    return Launch(
        (tokens + 1,),
        scores_ptr=uniform(tokens, experts),
        bias_ptr=normal(experts, scale=0.1),
        weights_ptr=unwritten(tokens, chosen),
        ids_ptr=unwritten(tokens, chosen),
        scores_stride_0=experts,
        weights_stride_0=chosen,
        ids_stride_0=chosen,
        batch_size=tokens,
        routed_scaling_factor=2.5,
        NUM_EXPERTS=experts,
        TOP_K=chosen,
    )


@recipe("28e9bdc7")
def routes_by_radix(full: bool) -> Launch:
    batch, heads, queries, blocks = (1, 16, 128, 2048) if full else (2, 3, 2, 600)
    kept = np.random.default_rng(0).integers(1, blocks // 4, heads)
    total, first = int(kept.sum()), 1
    scores = made(lambda rng: np.rint(rng.standard_normal((batch, heads, queries, blocks)) * 64) / 16)  # with ties

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        routes, starts = before["routes_ptr"].copy(), np.cumsum(kept) - kept
        order = np.argsort(-before["scores_ptr"], axis=-1, kind="stable")
        for head, (start, count) in enumerate(zip(starts, kept, strict=True)):
            routes[:, first:, start : start + count] = np.sort(order[:, head, :, :count], axis=-1)
        return {"routes_ptr": routes}

    return Launch(
        (queries, heads, batch),
        expected=expected,
        scores_ptr=scores,
        routes_ptr=unwritten(batch, queries + first, total),
        head_keep_blocks_ptr=array(kept),
        route_head_offsets_ptr=array(np.cumsum(kept) - kept),
        sparse_key_blocks=blocks,
        query_block_offset=first,
        score_batch_stride=heads * queries * blocks,
        score_head_stride=queries * blocks,
        score_query_stride=blocks,
        route_batch_stride=(queries + first) * total,
        route_query_stride=total,
        route_route_stride=1,
    )


@recipe("97d35e06")
def experts_of_the_best_groups(full: bool) -> Launch:
    tokens, experts, groups, chosen = (16384, 256, 8, 8) if full else (9, 256, 8, 4)
    return Launch(
        (tokens,),
        why="scores are so short that sums of two are exact in bf16; the leftmost of equal ones is taken",
        scores_ptr=made(lambda rng: rng.integers(0, 128, (tokens, experts)) / 128),
        out_idx_ptr=unwritten(tokens, chosen),
        stride_st=experts,
        E=experts,
        N_GROUP=groups,
        EPG=experts // groups,
        TOP_K=chosen,
        BLOCK_E=experts,
        BLOCK_EPG=experts // groups,
        BLOCK_G=groups,
    )


@recipe("6e83c50a")
def largest_of_rows_in_parts(full: bool) -> Launch:
    rows, cols, chosen = (1 << 17, 128, 32) if full else (40, 128, 32)
    return Launch(
        (cdiv(rows, 32),),
        tolerance=Tolerance(0.0, 0.0),
        x_ptr=integers(rows, cols, high=256),
        stride_xm=cols,
        values_ptr=unwritten(rows, chosen),
        indices_ptr=unwritten(rows, chosen),
        M=rows,
        N=cols,
    )


@recipe("a6ccce4b")
def experts_by_sigmoid(full: bool) -> Launch:
    tokens, experts, shared, chosen = (1 << 16, 126, 2, 6) if full else (9, 100, 2, 6)
    width = experts + shared

    def logits(rng: np.random.Generator) -> Array:
        return np.argsort(rng.random((tokens, width)), axis=1) / 16 - 4  # all different

    return Launch(
        (tokens,),
        logits_ptr=made(logits),
        bias_ptr=made(lambda rng: rng.integers(0, 3, experts) / 4),
        stride_lm=width,
        routed_w_ptr=unwritten(tokens, chosen),
        shared_w_ptr=unwritten(tokens, shared),
        indices_ptr=unwritten(tokens, chosen),
        packed_indices_ptr=unwritten(1),
        global_scale_ptr=full_of(1.5, 1),
        route_scale=2.5,
        M=tokens,
        N=experts,
        G=width,
        K=chosen,
        K_POW2=8,
        S=shared,
        A_POW2=8,
    )


@recipe("16bdc180")
def log_sum_and_largest(full: bool) -> Launch:
    rows, cols, chosen = (256, 128256, 8) if full else (3, 20000, 3)
    holes = made(lambda rng: np.where(rng.random((rows, cols)) < 0.1, -np.inf, rng.standard_normal((rows, cols))))
    return Launch(
        (rows,),
        x_ptr=holes,
        out_max_ptr=unwritten(rows),
        out_log_sum_ptr=unwritten(rows),
        out_top_vals_ptr=unwritten(rows, chosen),
        out_top_idx_ptr=unwritten(rows, chosen),
        row_stride=cols,
        col_stride=1,
        num_cols=cols,
        K=chosen,
        K_PAD=8 if full else 4,
    )


@recipe("ed986d61")
def bits_of_selected(full: bool) -> Launch:
    rows, words = (1 << 17, 64) if full else (7, 50)

    def chosen(rng: np.random.Generator) -> Array:
        found = np.arange(words) * 32 + rng.integers(0, 32, (rows, words))
        return np.where(rng.random((rows, words)) < 0.1, -1, found)

    return Launch(
        (rows + 2,),
        why="every choice sets a bit of the word that the same lane zeroes: the kernel has no barrier between the two",
        mask_ptr=full_of(-1, rows + 2, 64),
        topk_ptr=made(chosen),
        num_words=words,
        num_topk=words,
        topk_stride=words,
        total_q=rows,
    )


@recipe("837f35ed")
def scores_of_blocks(full: bool) -> Launch:
    rows, width, blocks = (64, 1 << 17, 512) if full else (4, 2000, 8)

    def logits(rng: np.random.Generator) -> Array:
        return np.where(rng.random((rows, width)) < 5e-4, np.nan, rng.standard_normal((rows, width)))

    return Launch(
        (rows, cdiv(blocks, 256)),
        logits=made(logits),
        ends=made(lambda rng: np.where(np.arange(rows) == 1, 0, rng.integers(width // 2, width + 1, rows))),
        scores=unwritten(rows, blocks),
        lengths=unwritten(rows),
        out=unwritten(rows, 64),
        stride_row=width,
        stride_col=1,
        width=width,
        nblocks=blocks,
    )


@recipe("789e52ab")
def selections_merged(full: bool) -> Launch:
    tokens, heads, parts, taken, chosen = (8192, 4, 4, 64, 16) if full else (5, 2, 3, 64, 20)
    length = 2
    requests = cdiv(tokens, length)
    strides = {f"stride_{which}_c": heads * tokens * taken for which in ("ts", "ti")}
    strides |= {f"stride_{which}_h": tokens * taken for which in ("ts", "ti")}
    strides |= {f"stride_{which}_b": taken for which in ("ts", "ti")}
    strides |= {f"stride_{which}_t": 1 for which in ("ts", "ti")}
    return Launch(
        (tokens, heads),
        ts_partial_ptr=normal(parts, heads, tokens, taken),
        ti_partial_ptr=integers(parts, heads, tokens, taken, low=1, high=5000),
        ti_final_ptr=unwritten(heads, tokens, chosen),
        seq_lens=integers(requests, low=1, high=8000),
        decode_query_len=length,
        stride_tif_h=tokens * chosen,
        stride_tif_b=chosen,
        stride_tif_t=1,
        num_topk_chunks=parts,
        topk=chosen,
        BLOCK_SIZE_K=256,
        **strides,
    )


@recipe("e483c6f7")
def stable_regions(full: bool) -> Launch:
    rows, chosen, longest = (2048, 64, 4096) if full else (6, 64, 1500)
    lengths = np.random.default_rng(0).integers(longest // 2, longest + 1, rows)
    lengths[1], lengths[2], lengths[3] = 40, 0, chosen  # short ones
    rng = np.random.default_rng(1)
    scores = np.rint(rng.standard_normal((rows, longest)) * 8)  # with ties
    known = np.where(np.arange(longest) < lengths[:, None], scores, -np.inf)
    order = np.argsort(-known, axis=1, kind="stable")[:, :chosen]
    picked = np.where(np.arange(chosen) < lengths[:, None], order, -1)
    return Launch(
        (rows,),
        Scores=array(scores),
        Current=array(lengths),
        Indices=array(rng.permuted(picked, axis=1)),
        Scratch=unwritten(rows, chosen + 1),
        Output=unwritten(rows, chosen + 1),
        SCORE_STRIDE=longest,
        Table=zeros(1),
        Pages=zeros(1),
        Indptr=zeros(rows + 1),
        Owners=zeros(1),
        BLOCK_SORT=128,
    )
