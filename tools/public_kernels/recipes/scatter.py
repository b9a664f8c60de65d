"""Recipes of kernels that gather and scatter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    array,
    cdiv,
    full_of,
    integers,
    made,
    normal,
    offsets,
    permutation,
    recipe,
    unwritten,
)


@recipe("bd2d9d7d")
def inverse_of_an_index(full: bool) -> Launch:
    count, rows = (1 << 24, (1 << 24) - 999) if full else (1000, 900)

    def index(rng: np.random.Generator) -> Array:
        found = rng.permutation(count)
        found[rng.random(count) < 0.05] = -1
        return found

    return Launch(
        (cdiv(count, 256),),
        index_ptr=made(index),
        inverse_ptr=full_of(-1, rows),
        num_indices=count,
        num_inverse_rows=rows,
    )


@recipe("d9e8f065")
def packed_swiglu_gradient(full: bool) -> Launch:
    rows, inner = (1 << 21 if full else 77), 16
    return Launch(
        (cdiv(rows * inner, 256),),
        grad_out_ptr=normal(rows, inner),
        gate_up_ptr=normal(rows, 2 * inner),
        grad_gate_up_ptr=unwritten(rows, 2 * inner),
        n_elements=rows * inner,
    )


@recipe("218e467c")
def select_columns(full: bool) -> Launch:
    rows, columns, chosen = (4096, 8192, 4096) if full else (100, 77, 90)

    def expected(before: Mapping[str, Array]) -> Mapping[str, Array]:
        index = before["index"]
        inside = (index >= 0) & (index < columns)
        return {"out": np.where(inside, before["inp"][:, np.where(inside, index, 0)], before["out"])}

    return Launch(
        (cdiv(rows, 64), cdiv(chosen, 64)),
        expected=expected,
        inp=normal(rows, columns),
        out=unwritten(rows, chosen),
        M=rows,
        N=columns,
        index=integers(chosen, low=-3, high=columns + 3),
        index_len=chosen,
    )


@recipe("8d304081")
def upper_triangle(full: bool) -> Launch:
    rows, columns = (8192, 8192) if full else (300, 333)
    return Launch(
        (cdiv(rows, 256),),
        expected=lambda before: {"Y": np.triu(before["X"], -5)},
        X=normal(rows, columns),
        Y=unwritten(rows, columns),
        M=rows,
        N=columns,
        diagonal=-5,
    )


@recipe("e9d79048")
def embedding_rows(full: bool) -> Launch:
    count, words, width = (1 << 19, 50000, 64) if full else (150, 99, 64)
    return Launch(
        (cdiv(count, 64), 1),
        embeddings_ptr=normal(words, width),
        indices_ptr=integers(count, high=words),
        output_ptr=unwritten(count, width),
        n_elements=count,
    )


@recipe("fefe0013")
def copy_heads_to_slots(full: bool) -> Launch:
    tokens, slots, heads, width, pitch = (1024, 1024, 8, 256, 16) if full else (3, 5, 3, 256, 16)
    return Launch(
        (tokens,),
        K=normal(tokens, heads, width, pitch),
        Dest_loc=made(lambda rng: rng.permutation(slots)[:tokens]),
        Out=unwritten(slots, heads, width, pitch),
        stride_k_bs=heads * width * pitch,
        stride_k_h=width * pitch,
        stride_k_d=pitch,
        stride_o_bs=heads * width * pitch,
        stride_o_h=width * pitch,
        stride_o_d=pitch,
        head_num=heads,
    )


@recipe("236d79d2")
def token_slots_of_requests(full: bool) -> Launch:
    requests, room = (8192, 2048) if full else (9, 160)
    news = [int(n) for n in np.random.default_rng(0).integers(0, room - 40, requests)]
    return Launch(
        (requests,),
        req_to_token_indexs=full_of(-1, requests, room),
        b_req_idx=permutation(requests),
        b_split_seq_len=array(news),
        cumsum_split_seq_len=array(np.cumsum(news)),
        b_seq_len=array([n + i % 40 for i, n in enumerate(news)]),
        memindex=integers(sum(news), high=256),
        stride_req_to_token_b=room,
        stride_req_to_token_s=16,
    )


@recipe("ff5172fc", timed=False)
def row_numbers_by_expert(full: bool) -> Launch:
    experts, ranks = 8, 4
    lengths = np.random.default_rng(0).integers(0, 600, (ranks, experts))
    starts = offsets([int(n) for n in lengths.ravel()])
    return Launch(
        (3,),
        tokens_per_expert_group_ptr=array(lengths),
        start_index_values_ptr=starts,
        write_offsets_ptr=offsets([int(n) for n in lengths.sum(axis=0)]),
        output_ptr=unwritten(int(lengths.sum())),
    )


@recipe("0a36e8fa")
def permutation_gradient(full: bool) -> Launch:
    rows, columns, kept = (8192, 8192, 8000) if full else (300, 270, 290)

    def targets(rng: np.random.Generator) -> Array:
        found = rng.permutation(rows)
        found[found >= kept] = -1
        return found

    return Launch(
        (cdiv(rows, 256), cdiv(columns, 256)),
        grad_ptr=normal(rows, columns),
        permuted_indices_ptr=made(targets),
        output_buffer_ptr=unwritten(kept, columns),
        grad_rows=rows,
        grad_cols=columns,
        original_rows=kept,
        original_cols=columns,
    )


@recipe("4625f40d")
def select_rows(full: bool) -> Launch:
    rows, chosen, columns, pitch = (9000, 8192, 1000, 16) if full else (20, 11, 600, 16)
    return Launch(
        (chosen, cdiv(columns, 512)),
        output_ptr=unwritten(chosen, columns, pitch),
        source_ptr=normal(rows, columns, pitch),
        index_ptr=integers(chosen, high=rows),
        num_indices=chosen,
        num_cols=columns,
        stride0=columns * pitch,
        stride1=pitch,
    )


@recipe("1645f875")
def select_rows_gradient(full: bool) -> Launch:
    rows, chosen, columns, pitch = (9000, 8192, 1000, 16) if full else (20, 11, 600, 16)
    return Launch(
        (chosen, cdiv(columns, 512)),
        grad_source_ptr=unwritten(rows, columns, pitch),
        index_ptr=made(lambda rng: rng.permutation(rows)[:chosen]),
        grad_output_ptr=normal(chosen, columns, pitch),
        num_rows=rows,
        num_indices=chosen,
        num_cols=columns,
        stride0=columns * pitch,
        stride1=pitch,
    )


@recipe("5a686f36", timed=False)
def additions_under_a_lock(full: bool) -> Launch:
    return Launch((40,), ptr=full_of(3, 1), value=1.5, Lock=full_of(0, 1))
