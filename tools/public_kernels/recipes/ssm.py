"""Recipes of state space models, linear attention and selective log-softmax."""

from __future__ import annotations

import math
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


@recipe("2ad7e8e6", timed=False)
def states_of_chunks(full: bool) -> Launch:
    batch, length, chunk, heads, groups = (4, 4000, 256, 32, 4) if full else (2, 150, 64, 4, 2)
    size, states, parts = (64, 128, cdiv(length, chunk)) if full else (70, 50, cdiv(length, chunk))
    chunked = {"batch": heads * parts * chunk, "chunk": chunk, "head": parts * chunk, "csize": 1}

    def decays(rng: np.random.Generator) -> Array:
        return -np.cumsum(rng.random((batch, heads, parts, chunk)) * 0.1, axis=-1)

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        x, b, dt, decay, sequences = (
            before[name].astype(np.float32) for name in ("x_ptr", "b_ptr", "dt_ptr", "dA_cumsum_ptr", "seq_idx_ptr")
        )
        found = np.empty((batch, parts, heads, size, states), np.float32)
        for part in range(parts):
            tokens = slice(part * chunk, min((part + 1) * chunk, length))
            here = slice(0, tokens.stop - tokens.start)
            left = np.exp(np.minimum(decay[:, :, part, -1:] - decay[:, :, part], 0.0)) * dt[:, :, part]
            same = sequences[:, tokens] == sequences[:, tokens.stop - 1, None]
            weights = np.where(same[:, :, None], left.transpose(0, 2, 1)[:, here], 0.0)
            rows = np.repeat(b[:, tokens], heads // groups, axis=2) * weights[..., None]
            rows = rows.astype(np.float16).astype(np.float32)
            found[:, part] = np.einsum("blhd,blhs->bhds", x[:, tokens], rows)
        return {"states_ptr": found}

    return Launch(
        (cdiv(size, 64) * cdiv(states, 32), batch * parts, heads),
        tolerance=Tolerance(2e-3, 4e-3),  # operands and results are fp16
        why="Triton's interpreter fails on numbers of sequences in fp16",
        expected=expected,
        x_ptr=normal(batch, length, heads, size),
        b_ptr=normal(batch, length, groups, states),
        states_ptr=unwritten(batch, parts, heads, size, states),
        dt_ptr=uniform(batch, heads, parts, chunk),
        dA_cumsum_ptr=made(decays),
        seq_idx_ptr=made(lambda rng: np.sort(rng.integers(0, 3, (batch, length)), axis=1)),
        hdim=size,
        dstate=states,
        chunk_size=chunk,
        batch=batch,
        seqlen=length,
        nheads_ngroups_ratio=heads // groups,
        stride_x_batch=length * heads * size,
        stride_x_seqlen=heads * size,
        stride_x_head=size,
        stride_x_hdim=1,
        stride_b_batch=length * groups * states,
        stride_b_seqlen=groups * states,
        stride_b_head=states,
        stride_states_batch=parts * heads * size * states,
        stride_states_chunk=heads * size * states,
        stride_states_head=size * states,
        stride_states_hdim=states,
        stride_states_dstate=1,
        **{f"stride_dt_{axis}": stride for axis, stride in chunked.items()},
        **{f"stride_dA_cs_{axis}": stride for axis, stride in chunked.items()},
        stride_seq_idx_batch=length,
        stride_seq_idx_seqlen=1,
    )


@recipe("6ccbd734")
def step_of_matrix_memory(full: bool) -> Launch:
    batch, heads, size = (512, 8, 128) if full else (2, 3, 48)
    total = batch * heads
    return Launch(
        (1, size // 16, total),
        tolerance=Tolerance(1e-3, 1e-4),
        matC_old=normal(total, size, size),
        vecN_old=uniform(total, size, low=0.5, high=1.5),
        scaM_old=uniform(total),
        vecQ=uniform(total, size),
        vecK=uniform(total, size),
        vecV=normal(total, size),
        scaI=normal(total),
        scaF=normal(total, mean=2.0),
        vecH=unwritten(total, size),
        matC_new=unwritten(total, size, size),
        vecN_new=unwritten(total, size),
        scaM_new=unwritten(total),
        str_matC_B_NH=size * size,
        str_matC_DHQK=size,
        str_matC_DHHV=1,
        str_vecN_B_NH=size,
        str_vecN_DHQK=1,
        str_scaM_B_NH=1,
        str_vecQK_NH=size,
        str_vecQK_DHQK=1,
        str_vecVH_B_NH=size,
        str_vecVH_DHHV=1,
        str_scaIF_B_NH=1,
        B=batch,
        NH=heads,
        DHQK=size,
        DHHV=size,
    )
