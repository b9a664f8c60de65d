"""Recipes of elementwise kernels."""

from __future__ import annotations

from tools.public_kernels.recipe import Launch, cdiv, normal, recipe, unwritten

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
