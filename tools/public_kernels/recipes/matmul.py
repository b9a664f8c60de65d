"""Recipes of matrix products."""

from __future__ import annotations

import numpy as np

from tools.public_kernels.recipe import (
    Launch,
    Tolerance,
    array,
    cdiv,
    integers,
    normal,
    offsets,
    recipe,
    uniform,
    unwritten,
)


def with_tf32(magnitudes: float) -> Tolerance:
    """For sums of products with this sum of magnitudes, whose fp32 operands one side may round to tf32.

    Either operand loses less than a 2^-10th of itself, so that a sum is off by at most twice that of all magnitudes.
    """
    return Tolerance(1e-4, magnitudes * 2**-9)


def in_fp32(magnitudes: float) -> Tolerance:
    """For exact products summed in fp32, in any order and with the truncation of tensor cores."""
    return Tolerance(1e-4, magnitudes * 2**-16)


@recipe("07435c9a")
def matrix_times_vector(full: bool) -> Launch:
    rows, columns = (16384, 8192) if full else (70, 700)
    return Launch(
        (cdiv(rows, 32),),
        tolerance=Tolerance(4e-2, 0.0),
        why="products and the sum of a block are rounded to bf16, in the order of the reduction",
        A=uniform(rows, columns),
        B=uniform(columns),
        C=unwritten(rows),
        M=rows,
        K=columns,
        stride_am=columns,
        stride_ak=1,
        stride_bk=1,
    )


@recipe("bf93a0a9", timed=False)
def product_with_bias_and_relu(full: bool) -> Launch:
    m, n, k = (4000, 4040, 4096) if full else (100, 88, 96)
    return Launch(
        (cdiv(m, 64) * cdiv(n, 32), 1),
        tolerance=in_fp32(0.64 * k),
        A=normal(m, k),
        B=normal(k, n),
        C=unwritten(m, n),
        M=m,
        N=n,
        K=k,
        bias=normal(n, scale=5.0),
        stride_am=k,
        stride_ak=1,
        stride_bk=n,
        stride_bn=1,
        stride_cm=n,
        stride_cn=1,
        CACHE_M=m // 32,
        CACHE_N=n // 32,
        CACHE_K=k // 32,
    )


@recipe("c11afb13", timed=False)
def product_for_input_gradient(full: bool) -> Launch:
    m, n, k = (4000, 4040, 2048) if full else (100, 88, 96)
    return Launch(
        (cdiv(m, 64) * cdiv(n, 32),),
        tolerance=with_tf32(0.64 * k),
        C=unwritten(m, n),
        ACT_INPUT=normal(m, n),
        A=normal(m, k),
        B=normal(k, n),
        M=m,
        N=n,
        K=k,
        CACHE_KEY_M=m // 32,
        CACHE_KEY_N=n // 32,
        CACHE_KEY_K=k // 32,
        stride_cm=n,
        stride_am=k,
        stride_ak=1,
        stride_bk=n,
        stride_bn=1,
    )


@recipe("a3d93c93", timed=False)
def product_with_packed_signs(full: bool) -> Launch:
    m, n, blocks = (2000, 4040, 16) if full else (70, 100, 2)
    return Launch(
        (cdiv(m, 64), cdiv(n, 64)),
        tolerance=Tolerance(2e-3, with_tf32(128 * blocks * 0.8 * 0.1).absolute),  # the sum is stored as fp16
        x_ptr=normal(m, blocks * 128),
        sign_ptr=integers(blocks, 16, n, high=256),
        scale_ptr=uniform(blocks, n, low=0.05, high=0.15),
        out_ptr=unwritten(m, n),
        M=m,
        N=n,
        NUM_BLOCKS=blocks,
        stride_xm=blocks * 128,
        stride_xk=1,
        stride_qb=16 * n,
        stride_qq=n,
        stride_qn=1,
        stride_sb=n,
        stride_sn=1,
        stride_om=n,
        stride_on=1,
    )


@recipe("99fcdb4f", timed=False)
def products_of_groups(full: bool) -> Launch:
    groups, n, k = (16, 2048, 2048) if full else (6, 120, 100)
    lengths = [301] * 16 if full else [3, 0, 70, 55, 64, 1]  # rows up to the next tile of 64 are computed
    total = sum(lengths)
    return Launch(
        (groups, cdiv(k, 64)),
        tolerance=in_fp32(0.64 * n),
        dC_ptr=normal(total, n),
        B_ptr=normal(groups, k, n),
        dA_ptr=unwritten(total, k),
        offs_ptr=array(np.cumsum(lengths)),
        M_TOTAL=total,
        G=groups,
        N=n,
        K=k,
        stride_dcm=n,
        stride_dcn=1,
        stride_bg=k * n,
        stride_bk=n,
        stride_bn=1,
        stride_dam=k,
        stride_dak=1,
    )


@recipe("5226e926", timed=False)
def block_sparse_transposed_product(full: bool) -> Launch:
    rows, depth, n = (64, 64, 4096) if full else (3, 4, 128)  # rows and depth in blocks of 64
    rng = np.random.default_rng(5)
    present = rng.random((rows, depth)) < 0.5
    present[1] = False  # an empty row of blocks gives zeros
    row, column = np.nonzero(present)
    longest = int(present.sum(axis=1).max())
    return Launch(
        (rows, n // 64),
        tolerance=Tolerance(2e-3, in_fp32(0.64 * 64 * longest).absolute + 2e-3),
        A=normal(len(row), 64, 64),
        B=normal(depth * 64, n),
        C=unwritten(rows * 64, n),
        M=rows * 64,
        N=n,
        K=depth * 64,
        stride_am=1,
        stride_ak=64,
        stride_bk=n,
        stride_bn=1,
        stride_cm=n,
        stride_cn=1,
        row_indices=0,
        column_indices=array(column),
        offsets=offsets([int(count) for count in present.sum(axis=1)]),
        block_offsets_t=array(rng.permutation(len(row))),
    )


@recipe("b543a23f", timed=False)
def product_of_widened_operands(full: bool) -> Launch:
    m, n, k = (4000, 4040, 2048) if full else (100, 88, 96)
    return Launch(
        (cdiv(m, 64) * cdiv(n, 32), 1),
        tolerance=in_fp32(0.64 * k),  # values of fp16 are exact in tf32
        A=normal(m, k),
        B=normal(k, n),
        C=unwritten(m, n),
        M=m,
        N=n,
        K=k,
        stride_am=k,
        stride_ak=1,
        stride_bk=n,
        stride_bn=1,
        stride_cm=n,
        stride_cn=1,
    )


@recipe("0cae8600", timed=False)
def product_with_packed_nibbles(full: bool) -> Launch:
    m, n, k = (2000, 4040, 2048) if full else (70, 100, 256)
    scales = k // 32 * n + 64  # the last tile of columns reads on after the last row
    return Launch(
        (cdiv(m, 64) * cdiv(n, 64), 1),
        tolerance=in_fp32(0.8 * 5 * 0.1 * k),
        A=normal(m, k),
        B=integers(k // 2, n, high=256),
        scales_ptr=uniform(scales, low=0.05, high=0.15),
        zeros_ptr=integers(scales, high=16),
        C=unwritten(m, n),
        M=m,
        N=n,
        K=k,
        stride_am=k,
        stride_ak=1,
        stride_bk=n,
        stride_bn=1,
        stride_cm=n,
        stride_cn=1,
        stride_scale_k=n,
        stride_scale_n=1,
        QGROUP_SIZE=32,  # with the record's 128, steps of 32 along K would start inside rows of scales
    )


@recipe("d63901d0", timed=False)
def product_with_six_bit_weights(full: bool) -> Launch:
    m, n, blocks = (2000, 4040, 8) if full else (70, 100, 2)
    k = blocks * 256
    return Launch(
        (cdiv(m, 64), cdiv(n, 64)),
        tolerance=Tolerance(2e-3, in_fp32(0.8 * 16 * 0.02 * k).absolute + 2e-3),  # the sum is stored as fp16
        x_ptr=normal(m, k),
        ql_ptr=integers(blocks, 128, n, high=256),
        qh_ptr=integers(blocks, 64, n, high=256),
        scale_ptr=uniform(blocks, 16, n, low=0.01, high=0.03),
        out_ptr=unwritten(m, n),
        M=m,
        N=n,
        NUM_BLOCKS=blocks,
        stride_xm=k,
        stride_xk=1,
        stride_qlb=128 * n,
        stride_qlq=n,
        stride_qln=1,
        stride_qhb=64 * n,
        stride_qhq=n,
        stride_qhn=1,
        stride_sb=16 * n,
        stride_ss=n,
        stride_sn=1,
        stride_om=n,
        stride_on=1,
    )
