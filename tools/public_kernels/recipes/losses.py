"""Recipes of softmax and losses."""

from __future__ import annotations

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
    recipe,
    uniform,
    unwritten,
    zeros,
)

IGNORED = -100  # the label of positions without a loss


def labels(rows: int, classes: int) -> Values:
    """A class for each row, one in ten of them ignored."""

    def fill(rng: np.random.Generator) -> Array:
        return np.where(rng.random(rows) < 0.1, IGNORED, rng.integers(0, classes, rows))

    return made(fill)


@recipe("88db8e12")
def entropy(full: bool) -> Launch:
    rows, classes = (4096, 32768) if full else (5, 5000)
    return Launch(
        (rows,), logits_ptr=normal(rows, classes), output_ptr=unwritten(rows), stride_row=classes, V=classes
    )  # fmt: skip


@recipe("d0a901a6")
def entropy_of_strided_rows(full: bool) -> Launch:
    batch, length, kept, classes = (8, 300, 256, 32768) if full else (2, 7, 3, 5000)
    first = 1
    rows = batch * kept - first
    return Launch(
        (rows,),
        logits_ptr=normal(batch, length, classes),
        output_ptr=unwritten(rows),
        stride_outer=length * classes,
        stride_inner=classes,
        n_inner=kept,
        row_offset=first,
        V=classes,
    )


@recipe("a310d3c3")
def cross_entropy_forward(full: bool) -> Launch:
    rows, classes = (1024, 32000) if full else (6, 1000)
    return Launch(
        (rows,),
        logits_ptr=normal(rows, classes, scale=2.0),
        target_ptr=labels(rows, classes),
        log_sum_exp_ptr=unwritten(rows),
        loss_ptr=unwritten(rows),
        n_cols=classes,
        row_stride=classes,
        ignore_index=IGNORED,
    )


@recipe("ddf788b5")
def cross_entropy_backward(full: bool) -> Launch:
    rows, classes = (2048, 32000) if full else (6, 1000)
    return Launch(
        (rows,),
        tolerance=Tolerance(3e-3, 1e-6),
        logits_ptr=normal(rows, classes),
        grad_ptr=unwritten(rows, classes),
        target_ptr=labels(rows, classes),
        log_sum_exp_ptr=normal(rows, mean=float(np.log(classes)) + 0.5, scale=0.1),
        row_scale_ptr=uniform(rows),
        n_cols=classes,
        row_stride=classes,
        grad_row_stride=classes,
        ignore_index=IGNORED,
    )


@recipe("a873b426")
def policy_loss_forward(full: bool) -> Launch:
    batch, length, prompt, classes = (4, 512, 128, 32000) if full else (2, 5, 3, 5000)
    rows = batch * length
    return Launch(
        (rows,),
        logits_ptr=normal(batch, length + 1, classes),
        ref_logp_ptr=uniform(rows, low=-12.0, high=-9.0),
        input_ids_ptr=integers(batch, prompt + length, high=classes),
        advantages_ptr=normal(batch),
        completion_mask_ptr=booleans(rows, share=0.8),
        loss_ptr=unwritten(2, rows),
        lse_ptr=unwritten(rows),
        beta=0.04,
        B=batch,
        M=rows,
        N=classes,
        L=length,
        start_idx=prompt,
        tolerance=Tolerance(1e-4, 1e-4),
    )


@recipe("a78a7e52")
def log_sum_exp_of_blocks(full: bool) -> Launch:
    rows, size = (1 << 17, 64) if full else (5, 150)
    return Launch(
        (rows, cdiv(size, 64)),
        tolerance=Tolerance(1.6e-2, 1.6e-2),
        x=normal(rows, size, scale=2.0),
        z=unwritten(rows, cdiv(size, 64)),
        scale=0.7,
        D=size,
    )


@recipe("07646aaf")
def squared_error(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    return Launch(
        (cdiv(n, 256),),
        expected=lambda before: {"out0_ptr": np.square(before["in0_ptr"] - before["in1_ptr"])},
        in0_ptr=normal(n),
        in1_ptr=normal(n),
        out0_ptr=unwritten(n),
        n=n,
    )


@recipe("635d49f2")
def softmax_backward(full: bool) -> Launch:
    rows, cols = (1 << 19, 64) if full else (100, 50)
    return Launch(
        (cdiv(rows, 64),),
        out_ptr=uniform(rows, cols, high=2.0 / cols),
        out_grad_ptr=normal(rows, cols),
        in_grad_ptr=unwritten(rows, cols),
        M=rows,
        N=cols,
        tolerance=Tolerance(1.6e-2, 1e-4),
    )


@recipe("1359220f")
def cross_entropy_with_softcap(full: bool) -> Launch:
    rows, classes = (1024, 8192) if full else (6, 200)
    cap, square_scale = 30.0, 0.125
    taught, weights_taught = rows - 1, rows + 1

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        x, y, weight = before["X_ptr"].astype(np.float64), before["Y_ptr"], before["weight_ptr"].astype(np.float64)
        capped = cap * np.tanh(x / cap)
        largest = capped.max(1, keepdims=True)
        log_sum = (largest + np.log(np.exp(capped - largest).sum(1, keepdims=True)))[:, 0]
        kept = y != IGNORED
        chosen = np.where(kept, y, 0)
        is_chosen = np.arange(classes) == chosen[:, None]
        share = np.exp(capped - log_sum[:, None])
        gradient = (share - is_chosen) * weight[chosen][:, None] / weights_taught
        gradient += 2 * square_scale * log_sum[:, None] * share / taught
        gradient *= 1 - np.square(capped / cap)
        square_loss = square_scale * np.square(log_sum) / taught
        loss = weight[chosen] * (log_sum - capped[np.arange(rows), chosen]) / weights_taught + square_loss
        return {
            "X_ptr": np.where(kept[:, None], gradient, 0.0),
            "loss_ptr": np.where(kept, loss, 0.0),
            "z_loss_ptr": np.where(kept, square_loss, 0.0),
        }

    return Launch(
        (rows,),
        tolerance=Tolerance(1e-4, 1e-5),
        expected=expected,
        X_ptr=normal(rows, classes, scale=3.0),
        X_stride=classes,
        Y_ptr=labels(rows, classes),
        weight_ptr=uniform(classes, low=0.5, high=1.5),
        loss_ptr=zeros(rows),
        z_loss_ptr=zeros(rows),
        token_accuracy_ptr=unwritten(1),
        token_accuracy_stride=1,
        predicted_tokens_ptr=unwritten(1),
        predicted_tokens_stride=1,
        n_cols=classes,
        n_non_ignore=taught,
        sum_non_ignore_weight=weights_taught,
        weight_sum=float(classes),
        ignore_index=IGNORED,
        softcap=cap,
    )


@recipe("f37877d6")
def divergence_backward(full: bool) -> Launch:
    rows, cols = (4096, 2048) if full else (5, 150)
    return Launch(
        (rows,),
        target_ptr=integers(rows, cols, low=-200, high=200),
        target_stride=cols,
        new_grads_ptr=unwritten(rows, cols),
        new_grads_stride=cols,
        n_cols=cols,
    )


@recipe("d9868300")
def softmax_of_sparse_rows(full: bool) -> Launch:
    batch, rows, height, width = (8, 256, 16, 16) if full else (2, 4, 3, 5)
    stored = np.random.default_rng(0).integers(1, 17, rows)
    stored[1] = 0
    starts, total = [0, *np.cumsum(stored)], int(stored.sum())
    return Launch(
        (rows, height, batch),
        crow_indices_ptr=array([starts] * batch),
        crow_indices_batch_stride=rows + 1,
        crow_indices_stride=1,
        values_ptr=normal(batch, height, total, width),
        values_batch_stride=height * total * width,
        values_row_block_stride=total * width,
        values_nnz_col_block_stride=width,
        row_block=height,
        col_block=width,
    )


@recipe("305d4db5")
def softmax_of_padded_rows(full: bool) -> Launch:
    rows, stride, cols = (4096, 8192, 8100) if full else (5, 608, 600)
    return Launch(
        (rows,),
        tolerance=Tolerance(2e-3, 1e-6),
        s_ptr=normal(rows, stride, scale=20.0),
        p_ptr=unwritten(rows, stride),
        S=cols,
        P_STRIDE=stride,
        scale=0.125,
    )


def _distillation(rows: int, classes: int) -> dict[str, Any]:
    """The arguments that the three kernels of one Jensen-Shannon loss share: logits of student and teacher."""
    return {
        "s_ptr": normal(rows, classes, scale=2.0),
        "t_ptr": normal(rows, classes, scale=2.0),
        "stride": classes,
        "V": classes,
        "s_scale": 0.9,
        "s_cap": 30.0,
        "t_scale": 1.1,
        "t_cap": 50.0,
        "inv_t": 0.5,
    }


def _log_sums(rows: int, classes: int) -> Values:
    """Logarithms of the sums of exponentials of what `_distillation` makes."""
    means = np.array([(0.9 * 2.0 * 0.5) ** 2 / 2, (1.1 * 2.0 * 0.5) ** 2 / 2]) + np.log(classes)
    return made(lambda rng: means + 0.05 * rng.standard_normal((rows, 2)))


@recipe("b4dba8f0")
def distillation_maxima(full: bool) -> Launch:
    rows, classes = (1024, 32000) if full else (3, 700)
    blocks = cdiv(classes, 256)
    return Launch(
        (rows, blocks), stat_ptr=unwritten(rows, blocks, 4), NB=blocks, **_distillation(rows, classes)
    )  # fmt: skip


@recipe("48fc4f48")
def distillation_loss(full: bool) -> Launch:
    rows, classes = (1024, 32000) if full else (3, 700)
    blocks = cdiv(classes, 256)
    return Launch(
        (rows, blocks),
        tolerance=Tolerance(1e-4, 1e-6),
        lse_ptr=_log_sums(rows, classes),
        c_ptr=normal(rows),
        part_ptr=unwritten(rows, blocks, 2),
        NB=blocks,
        dz_ptr=unwritten(rows, classes),
        dz_stride=classes,
        coef_ptr=full_of(0.3, 1),
        beta=0.5,
        log1mb=float(np.log(0.5)),
        logb=float(np.log(0.5)),
        **_distillation(rows, classes),
    )


@recipe("e77a8a46")
def distillation_gradient(full: bool) -> Launch:
    rows, classes = (1024, 32000) if full else (3, 700)
    return Launch(
        (rows, cdiv(classes, 256)),
        tolerance=Tolerance(1.6e-2, 1e-6),
        lse_ptr=_log_sums(rows, classes),
        c_ptr=normal(rows, scale=0.1),
        rs_ptr=normal(rows, scale=0.1),
        dz_ptr=unwritten(rows, classes),
        dz_stride=classes,
        coef_ptr=full_of(0.3, 1),
        scale_g=0.5,
        log1mb=float(np.log(0.7)),
        logb=float(np.log(0.3)),
        **_distillation(rows, classes),
    )


@recipe("a46a70ec", timed=False)
def linear_cross_entropy_forward(full: bool) -> Launch:
    tokens, hidden, classes, split = (1024, 1024, 4096, 1024) if full else (70, 48, 300, 256)
    splits = cdiv(classes, split)
    by_split = {f"stride_{name}_m": splits for name in ("max", "accu", "entropy_b")}
    by_split |= {f"stride_{name}_n": 1 for name in ("max", "accu", "entropy_b")}
    return Launch(
        (cdiv(tokens, 128) * splits,),
        tolerance=Tolerance(1e-3, 1e-3),
        rank=0,
        hidden_ptr=normal(tokens, hidden),
        weight_ptr=normal(classes, hidden, scale=hidden**-0.5),
        labels_ptr=integers(tokens, high=classes),
        num_tokens=tokens,
        hidden_size=hidden,
        vocab_size=classes,
        vocab_per_split=split,
        stride_hidden_m=hidden,
        stride_hidden_k=1,
        stride_weight_n=hidden,
        stride_weight_k=1,
        max_ptr=unwritten(tokens, splits),
        accu_ptr=unwritten(tokens, splits),
        entropy_b_ptr=unwritten(tokens, splits),
        global_logprobs_ptr=unwritten(tokens),
        stride_global_logprobs=1,
        global_logprobs_scalar_ptr=unwritten(1),
        rcp_temperature=0.8,
        **by_split,
    )


def _linear_cross_entropy_backward(tokens: int, hidden: int, classes: int) -> dict[str, Any]:
    """The arguments that the gradients of hidden states and weights share."""
    return {
        "tolerance": Tolerance(1e-2, 1e-3),
        "why": "the dot products of 32-bit floats may use 10 bits of mantissa on tensor cores",
        "num_tokens": tokens,
        "hidden_size": hidden,
        "vocab_size": classes,
        "rank": 0,
        "hidden_ptr": normal(tokens, hidden),
        "stride_hidden_m": hidden,
        "stride_hidden_k": 1,
        "weight_ptr": normal(classes, hidden, scale=hidden**-0.5),
        "stride_weight_n": hidden,
        "stride_weight_k": 1,
        "labels_ptr": integers(tokens, high=classes),
        "stride_labels": 1,
        "maximum_ptr": uniform(tokens, low=2.0, high=4.0),
        "stride_maximum": 1,
        "accu_ptr": uniform(tokens, low=10.0, high=30.0),
        "stride_accu": 1,
        "d_entropy_ptr": normal(tokens),
        "stride_d_entropy": 1,
        "d_logprobs_ptr": normal(tokens),
        "stride_d_logprobs": 1,
        "reduction": 0,
        "entropy_b_ptr": uniform(tokens),
        "stride_entropy_b": 1,
        "rcp_temperature": 0.8,
    }


@recipe("a5b573b0", timed=False)
def linear_cross_entropy_backward_of_hidden(full: bool) -> Launch:
    tokens, hidden, classes = (512, 256, 1024) if full else (140, 40, 200)
    return Launch(
        (cdiv(tokens, 128) * cdiv(hidden, 32),),
        d_hidden_ptr=unwritten(tokens, hidden),
        stride_d_hidden_m=hidden,
        stride_d_hidden_k=1,
        **_linear_cross_entropy_backward(tokens, hidden, classes),
    )


@recipe("8d2e12ea", timed=False)
def linear_cross_entropy_backward_of_weight(full: bool) -> Launch:
    tokens, hidden, classes = (512, 256, 1024) if full else (140, 40, 200)
    return Launch(
        (cdiv(classes, 128) * cdiv(hidden, 32),),
        d_weight_ptr=unwritten(classes, hidden),
        stride_d_weight_n=hidden,
        stride_d_weight_k=1,
        # Two products in a row, of factors that are cut off at 10 bits: the sum over 512 tokens is off by up to 0.0095.
        **_linear_cross_entropy_backward(tokens, hidden, classes) | {"tolerance": Tolerance(1e-2, 4e-3)},
    )
