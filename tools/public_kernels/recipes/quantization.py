"""Recipes of quantization.

Contents keep off the values where rounding changes over, so that a quotient that is one unit off in its last place
gives the same number.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Values,
    array,
    cdiv,
    full_of,
    integers,
    made,
    normal,
    offsets,
    recipe,
    uniform,
    unwritten,
)


def _groups(count: int, size: int, shape: tuple[int, ...]) -> Values:
    """Groups whose largest magnitude is 127 times a power of two: numbers a quarter above whole ones, so scaled."""

    def draw(rng: np.random.Generator) -> Array:
        distinct = min(count, 4096)
        found = rng.integers(-127, 127, (distinct, size)) + 0.25
        found[np.arange(distinct), rng.integers(0, size, distinct)] = 127.0
        found *= 2.0 ** rng.integers(-3, 4, (distinct, 1))
        return np.resize(found.astype(np.float32), (count, size)).reshape(shape)

    return made(draw)


@recipe("e2cbbfa6")
def values_of_8_bit_codes(full: bool) -> Launch:
    n = 1 << 25 if full else 3000
    return Launch(
        (cdiv(n, 256),),
        a_ptr=integers(n, high=256),
        out_ptr=unwritten(n),
        code_ptr=array(np.linspace(-1.0, 1.0, 256)),
        absmax_ptr=uniform(cdiv(n, 64), low=0.1, high=9.0),
        n=n,
    )


@recipe("b6ac3fc4")
def blockwise_8_bit_codes(full: bool) -> Launch:
    n = 1 << 24 if full else 3000
    return Launch(
        (cdiv(n, 256),),
        why="the middle of two codes is an odd number of 512ths, which no quotient of numbers up to 100 comes near",
        A_ptr=integers(n, low=-100, high=101),
        code_ptr=array((np.arange(16) - 8) * 33 / 256),
        absmax_ptr=unwritten(cdiv(n, 256)),
        out_ptr=unwritten(n),
        n_elements=n,
    )


@recipe("603d8ae0")
def scaled_values(full: bool) -> Launch:
    n = 1 << 25 if full else 3001
    return Launch((cdiv(n, 128),), x_ptr=normal(n), output_ptr=unwritten(n), scale_ptr=array([0.37]), n_elements=n)


@recipe("f9bd6445")
def activations_per_token(full: bool) -> Launch:
    rows, columns, block, programs = (16384, 4000, 4096, 1056) if full else (13, 50, 64, 5)

    def expected(before: Mapping[str, Array]) -> Mapping[str, Array]:
        values = before["tensor_ptr"].astype(np.float32)
        scales = np.abs(values).max(axis=1) / 127
        return {"scale_ptr": scales, "y_ptr": np.rint(values / scales[:, None])}

    return Launch(
        (programs,),
        expected=expected,
        tensor_ptr=_groups(rows, columns, (rows, columns)),
        scale_ptr=unwritten(rows),
        y_ptr=unwritten(rows, columns),
        M=rows,
        K=columns,
        M_CLOSEST=rows,
        stride_m=columns,
        stride_k=1,
        stride_sm=1,
        min_val=-127,
        max_val=127,
        BLOCK_SIZE_K=block,
    )


@recipe("d61e49dc")
def int8_by_blocks_of_rows(full: bool) -> Launch:
    batch, heads, rows, width, block, pitch = (8, 32, 8192, 16, 64, 128) if full else (2, 3, 192, 16, 64, 16)
    return Launch(
        (rows // block, heads, batch),
        why="rows fill their blocks: the kernel takes the maximum over rows whose value a masked load leaves open",
        Input=_groups(batch * heads * rows // block, block * width, (batch, heads, rows, width)),
        Output=unwritten(batch, heads, rows, width),
        Scale=unwritten(batch, heads, pitch),
        L=rows,
        stride_iz=heads * rows * width,
        stride_ih=rows * width,
        stride_in=width,
        stride_oz=heads * rows * width,
        stride_oh=rows * width,
        stride_on=width,
        stride_sz=heads * pitch,
        stride_sh=pitch,
        sm_scale=0.5,
    )


@recipe("8aeb8fd6")
def int8_by_blocks_of_sequences(full: bool) -> Launch:
    heads, width, block = 4, 16, 64
    blocks = [48 + 5 * i for i in range(64)] if full else [2, 1, 3]
    total = sum(blocks)

    def draw(rng: np.random.Generator) -> Array:
        found = rng.integers(-127, 127, (total, block, heads, width)).astype(np.float32)
        found[:, 3, :, 5] = 127.0
        return found.reshape(total * block, heads, width)

    return Launch(
        (max(blocks), heads, len(blocks)),
        why="rows fill their blocks: the kernel takes the maximum over rows whose value a masked load leaves open",
        Input=made(draw),
        Output=unwritten(total * block, heads, width),
        Scale=unwritten(total, heads),
        cu_seqlens_input=offsets([n * block for n in blocks]),
        cu_seqlens_scale=offsets(blocks),
        stride_ih=width,
        stride_in=heads * width,
        stride_oh=width,
        stride_on=heads * width,
        sm_scale=0.5,
    )


@recipe("4b13803c")
def fp4_there_and_back(full: bool) -> Launch:
    rows, columns, pitch = (2048, 1008, 16) if full else (37, 112, 16)

    def draw(rng: np.random.Generator) -> Array:
        found = rng.integers(-90, 90, (rows, columns)) + np.float32(1 / 32)
        return np.repeat(found[:, :, None], pitch, axis=2)

    return Launch(
        (cdiv(rows, 16), cdiv(columns, 64)),
        why="no scale rounds up to a power of two, where Triton's interpreter loses the carry into the exponent",
        x_ptr=made(draw),
        y_ptr=unwritten(rows, columns, pitch),
        M=rows,
        N=columns,
        global_scale_ptr=full_of(0.25, 1),
        stride_xm=columns * pitch,
        stride_xn=pitch,
        stride_ym=columns * pitch,
        stride_yn=pitch,
        FP4_MAX=6,
    )


@recipe("32f7aa7c")
def rows_scaled_to_fp8_range(full: bool) -> Launch:
    rows, columns, pitch = (2048, 2000, 16) if full else (11, 700, 16)
    return Launch(
        (rows,),
        input_ptr=normal(rows, columns, pitch),
        stride_input_row=columns * pitch,
        stride_input_col=pitch,
        output_ptr=unwritten(rows, columns, pitch),
        stride_output_row=columns * pitch,
        stride_output_col=pitch,
        scales_ptr=unwritten(rows),
        M=rows,
        K=columns,
        fp8_dtype_min=-448.0,
        fp8_dtype_max=448.0,
    )


@recipe("fc3a1313")
def sequences_scaled_to_fp8(full: bool) -> Launch:
    heads, width, pitch = 4, 48, 16
    lengths = [64 + i % 128 for i in range(256)] if full else [130, 0, 7]
    total, batch, largest = sum(lengths), len(lengths), np.float32(448)
    ends = np.cumsum(lengths)

    def expected(before: Mapping[str, Array]) -> Mapping[str, Array]:
        values, codes, scales = before["X"][..., 0], before["X_fp8"].copy(), before["Descale"].copy()
        for i, (end, length) in enumerate(zip(ends, lengths, strict=True)):
            rows = slice(end - length, end)
            top = np.maximum(np.abs(values[rows]).max(axis=(0, 2), initial=0), np.float32(1e-9))
            scales[i, :heads] = top / largest
            codes[rows, :, :, 0] = (values[rows] * (largest / top)[None, :, None]).astype(codes.dtype)
        return {"X_fp8": codes, "Descale": scales}

    return Launch(
        (batch, heads),
        expected=expected,
        why="Triton's interpreter loses the carry into the exponent when it rounds to fp8: -127.9 becomes -64",
        X=normal(total, heads, width, pitch),
        X_fp8=unwritten(total, heads, width, pitch),
        Descale=unwritten(batch, 16),
        cu_seqlens=offsets(lengths),
        H=heads,
        MAX_SEQLEN=max(lengths),
        stride_batch=0,
        stride_seq=heads * width * pitch,
        stride_head=width * pitch,
        stride_dim=pitch,
        stride_out_batch=0,
        stride_out_seq=heads * width * pitch,
        stride_out_head=width * pitch,
        stride_out_dim=pitch,
        stride_desc_batch=16,
        stride_desc_head=16,
        FP8_CLAMP_VAL=1e-9,
        FP8_MAX=448.0,
        HEAD_DIM=64,
        ACTUAL_HEAD_DIM=width,
    )


@recipe("dc59559f")
def mxfp4_groups(full: bool) -> Launch:
    rows, columns, group, block = (8192, 2000, 128, 64) if full else (70, 200, 128, 64)
    groups = cdiv(columns, group)
    return Launch(
        (cdiv(rows, block), groups),
        why="scales are powers of two, so that each quotient is exact; thresholds are whole numbers by their dtype",
        tensor_ptr=normal(rows, columns),
        out_ptr=unwritten(rows, columns // 2),
        scales_ptr=unwritten(cdiv(rows, block) * block, groups),
        thr_pos_ptr=array(np.arange(8)),
        M=rows,
        K=columns,
        M_CLOSEST=rows,
        stride_m_t=columns,
        stride_k_t=1,
        stride_m_s=groups,
        stride_k_s=1,
        stride_m_o=columns // 2,
        stride_k_o=1,
        eps_exp=-20,
    )
