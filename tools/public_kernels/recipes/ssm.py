"""Recipes of state space models, linear attention and selective log-softmax."""

from __future__ import annotations

import math

from tools.public_kernels.recipe import (
    Launch,
    Tolerance,
    array,
    booleans,
    cdiv,
    integers,
    normal,
    offsets,
    recipe,
    uniform,
    unwritten,
)
from tools.public_kernels.recipes.matmul import with_tf32
from tools.public_kernels.recipes.scans import chunks


@recipe("32beb4c9")
def selected_log_probabilities(full: bool) -> Launch:
    rows, vocabulary, selected = (8192, 32000, 200) if full else (5, 600, 37)
    return Launch(
        (rows,),
        logits_ptr=normal(rows, vocabulary, scale=2.0),
        index_ptr=integers(rows, selected, low=-20, high=vocabulary + 20),  # those outside are skipped
        output_ptr=unwritten(rows, selected),
        logsumexp_ptr=unwritten(rows),
        stride_logits_row=vocabulary,
        stride_index_row=selected,
        stride_output_row=selected,
        actual_K=selected,
        V=vocabulary,
    )


@recipe("b2e70c46")
def selected_log_probabilities_backward(full: bool) -> Launch:
    rows, vocabulary, selected = (1024, 8000, 200) if full else (5, 600, 37)
    return Launch(
        (rows,),
        grad_output_ptr=normal(rows, selected),
        logits_ptr=normal(rows, vocabulary),
        index_ptr=integers(rows, selected, low=-20, high=vocabulary + 20),
        logsumexp_ptr=normal(rows, mean=math.log(vocabulary) + 0.5, scale=0.05),
        grad_logits_ptr=unwritten(rows, vocabulary),
        stride_grad_out_row=selected,
        stride_logits_row=vocabulary,
        stride_index_row=selected,
        stride_grad_logits_row=vocabulary,
        actual_K=selected,
        V=vocabulary,
    )


@recipe("2a891644", timed=False)
def sums_within_chunks(full: bool) -> Launch:
    lengths = [4096] * 16 if full else [100, 7, 64]
    total, heads, size, parts = sum(lengths), 4, 128, chunks(lengths, 64)
    return Launch(
        (cdiv(size, 32) * len(parts), heads),
        tolerance=Tolerance(1e-4, 1e-4),  # zeros, ones and fp16 are exact in tf32
        s=normal(total, heads, size),
        oi=unwritten(total, heads, size),
        oe=unwritten(total, heads, size),
        scale=0.7,
        cu_seqlens=offsets(lengths),
        chunk_indices=array(parts),
        T=total,
    )


@recipe("b5e03c2e")
def mix_with_token_before(full: bool) -> Launch:
    batch, length, size = (16, 1 << 16, 64) if full else (3, 37, 64)
    return Launch(
        (cdiv(batch * length * size, 1024),),
        x_ptr=normal(batch, length, size),
        x_prev_ptr=normal(batch, size),
        mix_k_ptr=uniform(size),
        output_ptr=unwritten(batch, length, size),
        token_length=length,
        batch_size=batch,
    )


@recipe("d0ed47ab")
def log_probabilities_of_tokens(full: bool) -> Launch:
    batch, length, vocabulary = (32, 128, 32000) if full else (2, 7, 5000)
    return Launch(
        (batch, length),
        tolerance=Tolerance(1e-4, 1e-4),
        LOGITS=normal(batch, length + 1, vocabulary, scale=2.0),
        INPUT_IDS=integers(batch, length, high=vocabulary),
        LOG_P=unwritten(batch, length),
        MASK=booleans(batch, length, share=0.8),
        stride_input_ids_b=length,
        stride_input_ids_l=1,
        stride_mask_b=length,
        stride_mask_l=1,
        L=length,
        N=vocabulary,
    )


@recipe("4024a94f", timed=False)
def decaying_linear_attention(full: bool) -> Launch:
    batch, heads, length, size = (16, 4, 2048, 64) if full else (1, 4, 100, 64)
    low, scale = 0.3, 0.3
    reach = 1 / (1 - math.exp(-low))  # sum of all decays
    return Launch(
        (batch * heads, size // 32),
        tolerance=with_tf32(size * (0.8 * scale) ** 2 * 0.8 * reach),
        Q=normal(batch, heads, length, size, scale=scale),
        K=normal(batch, heads, length, size, scale=scale),
        V=normal(batch, heads, length, size),
        Out=unwritten(batch, heads, length, size),
        S=uniform(heads, low=low, high=0.6),
        b=batch,
        n=length,
        e=size,
        NUM_BLOCK=cdiv(length, 64),
    )
