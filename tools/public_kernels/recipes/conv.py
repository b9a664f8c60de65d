"""Recipes of convolutions, pooling and what surrounds them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Tolerance,
    Values,
    array,
    cdiv,
    full_of,
    integers,
    made,
    normal,
    offsets,
    recipe,
    unwritten,
    zeros,
)


@recipe("48bda2c2")
def gated_pool_backward(full: bool) -> Launch:
    groups, channels = (1024, 4096) if full else (5, 100)
    window = (groups, 16, channels)
    return Launch(
        (groups, cdiv(channels, 64)),
        KV=normal(*window),
        GATE=normal(*window),
        DOUT=normal(groups, channels),
        DKV=unwritten(*window),
        DGATE=unwritten(*window),
        M=groups,
        D=channels,
    )


_ROUNDED = Tolerance(1.6e-2, 1.6e-2)  # of values that were rounded to bf16 on the way


def birds_eye_view(full: bool) -> tuple[tuple[int, int, int, int], int, int]:
    """Cells of a bird's-eye view by batch, z, x and y; how many of them points are pooled into; channels."""
    return ((8, 8, 128, 64), 60000, 64) if full else ((2, 4, 16, 16), 150, 50)


def pooled_points(grid: tuple[int, int, int, int], intervals: int) -> tuple[Array, Array, Array]:
    """Cells of points as (x, y, z, batch), and where the points of a cell start and how many there are.

    An interval is 1 to 39 points; no two intervals are pooled into one cell.
    """
    rng = np.random.default_rng(intervals)
    lengths = rng.integers(1, 40, intervals)
    starts = np.cumsum(lengths) - lengths
    batch, z, x, y = np.unravel_index(rng.permutation(math.prod(grid))[:intervals], grid)
    return np.repeat(np.stack([x, y, z, batch], axis=1), lengths, axis=0), starts, lengths


def cell_strides(name: str, grid: tuple[int, int, int, int], channels: int) -> dict[str, int]:
    """Distances in elements between neighbouring cells of an argument, by parameter."""
    _, depth, width, height = grid
    return {
        f"{name}_batch_stride": depth * width * height * channels,
        f"{name}_z_stride": width * height * channels,
        f"{name}_x_stride": height * channels,
        f"{name}_y_stride": channels,
    }


@recipe("c240531e")
def birds_eye_pool(full: bool) -> Launch:
    grid, intervals, channels = birds_eye_view(full)
    cells, starts, lengths = pooled_points(grid, intervals)
    return Launch(
        (cdiv(intervals, 64),),
        output_ptr=zeros(*grid, channels),
        image_feats_ptr=normal(len(cells), channels),
        geom_feats_ptr=array(cells),
        interval_starts_ptr=array(starts),
        interval_lengths_ptr=array(lengths),
        num_channels=channels,
        num_intervals=intervals,
        image_feats_stride=channels,
        geom_feats_stride=4,
        **cell_strides("output", grid, channels),
    )


@recipe("99f8bdb6")
def birds_eye_pool_backward(full: bool) -> Launch:
    grid, intervals, channels = birds_eye_view(full)
    cells, starts, lengths = pooled_points(grid, intervals)
    return Launch(
        (cdiv(intervals, 64),),
        x_grad_ptr=unwritten(len(cells), channels),
        grad_output_ptr=normal(*grid, channels),
        geom_feats_ptr=array(cells),
        interval_starts_ptr=array(starts),
        interval_lengths_ptr=array(lengths),
        num_channels=channels,
        num_intervals=intervals,
        x_grad_stride=channels,
        geom_feats_stride=4,
        **cell_strides("grad_output", grid, channels),
    )


@recipe("ae387dd4")
def average_pool(full: bool) -> Launch:
    batch, channels, height, width = (32, 256, 112, 112) if full else (2, 3, 71, 37)
    kernel, stride, padding = 3, 2, 1  # the record's would pad by the whole window and skip most of the image
    out_h, out_w = ((size + 2 * padding - kernel) // stride + 1 for size in (height, width))
    return Launch(
        (batch * channels, cdiv(out_h, 32) * cdiv(out_w, 32)),
        input_ptr=normal(batch, channels, height, width),
        output_ptr=unwritten(batch, channels, out_h, out_w),
        in_stride_n=channels * height * width,
        in_stride_c=height * width,
        in_stride_h=width,
        in_stride_w=1,
        in_c=channels,
        in_h=height,
        in_w=width,
        out_h=out_h,
        out_w=out_w,
        divisor_override=0.0,
        kernel_h=kernel,
        kernel_w=kernel,
        stride_h=stride,
        stride_w=stride,
        padding_h=padding,
        padding_w=padding,
    )


@recipe("661b2397")
def dilated_convolution(full: bool) -> Launch:
    lengths, channels = ([1000] * 16, 4096) if full else ([5, 1, 17, 8], 300)
    taps, dilation = 4, 3
    state, live = (taps - 1) * dilation, sum(lengths)  # the record's state is shorter than its reach
    padded = live + 3
    slots = np.arange(len(lengths)) * 2
    slots[1] = -1  # a request without a slot gives zeros
    requests = np.concatenate([np.repeat(np.arange(len(lengths)), lengths), [0, -1, 1]])
    requests[2] = -1
    return Launch(
        (padded, cdiv(channels, 256)),
        normalized_u_ptr=normal(padded, channels),
        gathered_state_ptr=normal(len(lengths), channels, state),
        conv_weight_ptr=normal(channels, taps, scale=0.5),
        query_start_loc_ptr=offsets(lengths),
        request_ids_ptr=array(requests),
        state_slot_ids_ptr=array(slots),
        num_tokens_ptr=array([live]),
        out_ptr=integers(padded, channels, low=-3, high=4),
        why="the sum of taps is rounded to bf16, which Triton's interpreter gets wrong",
        tolerance=_ROUNDED,
        CHANNELS=channels,
        STATE_LENGTH=state,
        KERNEL_SIZE=taps,
        DILATION=dilation,
    )


@recipe("dfe2d7d1")
def quantized_rows(full: bool) -> Launch:
    rows, width = (1 << 19, 128) if full else (37, 101)
    scale = 1 / 32  # a power of two: the quotient is exact on every side

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        quotients = before["x_ptr"].astype(np.float64) / scale
        return {"q_ptr": np.clip(np.rint(quotients), -128, 127), "scale_ptr": np.full(rows, scale)}

    return Launch(
        (rows,),
        why="Triton's interpreter has no libdevice",
        expected=expected,
        x_ptr=normal(rows, width, scale=2.0),
        q_ptr=unwritten(rows, width),
        scale_ptr=unwritten(rows),
        row_width=width,
        static_scale_ptr=full_of(scale, 1),
    )


@recipe("6ab55f4a")
def hadamard_rotation(full: bool) -> Launch:
    rows, groups = (1 << 14, 32) if full else (5, 3)
    width = groups * 128 + (0 if full else 17)  # what follows the groups stays as it is
    return Launch(
        (rows * groups,),
        input_ptr=normal(rows, width),
        output_ptr=zeros(rows, width),
        row_width=width,
        groups_per_row=groups,
        inverse_sqrt_group=128**-0.5,
    )


def packed_sequences(batch: int, length: int) -> Values:
    """Numbers of the sequences that tokens belong to, in order; -1 for padding at the end."""

    def fill(rng: np.random.Generator) -> Array:
        numbers = np.sort(rng.integers(0, 3, (batch, length)), axis=1)
        numbers[:, length - length // 10 :] = -1
        return numbers

    return made(fill)


@recipe("2fda883b")
def causal_convolution_gradient_before_activation(full: bool) -> Launch:
    batch, length, channels = (4, 2048, 2048) if full else (2, 150, 70)
    shape = (batch, length, channels)
    return Launch(
        (cdiv(channels, 64), cdiv(length, 64), batch),
        tolerance=Tolerance(1e-4, 1e-4),
        x=normal(*shape),
        weight=normal(channels, 16, scale=0.25),
        bias=normal(channels),
        dy=normal(*shape),
        g=unwritten(*shape),
        seq_idx=packed_sequences(batch, length),
        T=length,
        D=channels,
        stride_x_b=length * channels,
        stride_x_t=channels,
        stride_x_d=1,
        stride_dy_b=length * channels,
        stride_dy_t=channels,
        stride_dy_d=1,
    )


@recipe("19764906")
def causal_convolution_gradients(full: bool) -> Launch:
    batch, length, channels = (4, 2048, 2048) if full else (2, 150, 70)
    shape, tiles = (batch, length, channels), cdiv(length, 64)
    return Launch(
        (cdiv(channels, 64), tiles, batch),
        x=normal(*shape),
        weight=normal(channels, 16, scale=0.25),
        g=normal(*shape),
        dx=unwritten(*shape),
        dw=unwritten(batch, tiles, channels, 16),
        db=unwritten(batch, tiles, channels),
        seq_idx=packed_sequences(batch, length),
        T=length,
        D=channels,
        NT=tiles,
        stride_x_b=length * channels,
        stride_x_t=channels,
        stride_x_d=1,
        stride_g_b=length * channels,
        stride_g_t=channels,
        stride_g_d=1,
    )
