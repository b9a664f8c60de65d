"""Recipes of elementwise kernels."""

from __future__ import annotations

import numpy as np

from tools.public_kernels.recipe import (
    Launch,
    array,
    cdiv,
    integers,
    made,
    normal,
    offsets,
    recipe,
    uniform,
    unwritten,
    zeros,
)

BLOCK = 256  # of the records with the role `pointwise`


@recipe("b5c119a9")
def swiglu_forward(full: bool) -> Launch:
    n = 1 << 25 if full else 5000
    return Launch((cdiv(n, 1024),), gate_ptr=normal(n), up_ptr=normal(n), out_ptr=unwritten(n), n_elements=n)


@recipe("11194f01")
def ceil(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    return Launch((cdiv(n, BLOCK),), in0_ptr=normal(n, scale=100.0), out0_ptr=unwritten(n), n=n)


@recipe("b9ce8a2d")
def gelu_backward_tanh(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    return Launch((cdiv(n, BLOCK),), in0_ptr=normal(n, scale=3.0), in1_ptr=normal(n), out0_ptr=unwritten(n), n=n)


@recipe("1df331f1", timed=False)
def sums_of_segments(full: bool) -> Launch:
    lengths = [37, 0, 100, 64]
    end = sum(lengths)
    ends = [sum(lengths[: i + 1]) for i in range(4)]
    return Launch((4,), X_ptr=integers(end, low=-100, high=100), Y_ptr=unwritten(4, 32), offs_ptr=array(ends))


@recipe("c670624b")
def add_vectors_by_halves(full: bool) -> Launch:
    n = 1 << 25 if full else 2000
    return Launch((cdiv(n, 512),), x_ptr=normal(n), y_ptr=normal(n), out_ptr=unwritten(n), n=n)


@recipe("b88a6215")
def geglu_exact_backward(full: bool) -> Launch:
    n = 1 << 25 if full else 2000
    return Launch((cdiv(n, 256),), DW=normal(n), e=normal(n), g=normal(n), n_elements=n)


@recipe("f23388f2")
def geglu_approximate_backward(full: bool) -> Launch:
    n = 1 << 25 if full else 2000
    return Launch((cdiv(n, 256),), DW=normal(n), e=normal(n), g=normal(n), n_elements=n)


@recipe("3a0dd16d")
def cyfa_write(full: bool) -> Launch:
    batch, length, heads, modes = (8, 4096, 4, 128) if full else (2, 50, 4, 128)
    return Launch(
        (cdiv(length, 32), batch * heads),
        lambdas=uniform(batch, length, heads, low=-20.0, high=150.0),
        beta=normal(batch, length, heads),
        write=zeros(batch, length, heads, modes),
        T=length,
    )


@recipe("cc3fa10c", timed=False)
def row_indices(full: bool) -> Launch:
    lengths = [3, 0, 7, 1, 12, 5]
    return Launch((len(lengths),), offsets=offsets(lengths), out=unwritten(sum(lengths)))


@recipe("11a89f58")
def nan_to_num(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    holes = made(lambda rng: rng.choice([np.nan, np.inf, -np.inf, 1.5, -2.5, 0.0], n))
    return Launch(
        (cdiv(n, BLOCK),), in0_ptr=holes, in1_ptr=normal(n), in2_ptr=normal(n), in3_ptr=normal(n),
        out0_ptr=unwritten(n), n=n,
    )  # fmt: skip


@recipe("073f0115")
def isinf(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    holes = made(lambda rng: rng.choice([np.nan, np.inf, -np.inf, 1.5, 65504.0, 0.0], n))
    return Launch((cdiv(n, BLOCK),), in0_ptr=holes, out0_ptr=unwritten(n), n=n)


@recipe("09ed2232")
def less_or_equal(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    return Launch(
        (cdiv(n, BLOCK),), in0_ptr=integers(n, low=-3, high=4), in1_ptr=integers(n, low=-3, high=4),
        out0_ptr=unwritten(n), n=n,
    )  # fmt: skip


@recipe("1a701a82")
def logical_not(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    return Launch((cdiv(n, BLOCK),), in0_ptr=integers(n, low=-1, high=2), out0_ptr=unwritten(n), n=n)


@recipe("06319996")
def shift_right(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    return Launch(
        (cdiv(n, BLOCK),), in0_ptr=integers(n, low=-(1 << 31), high=1 << 31), in1_ptr=integers(n, high=32),
        out0_ptr=unwritten(n), n=n,
    )  # fmt: skip
