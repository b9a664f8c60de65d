"""Recipes of convolutions, pooling and what surrounds them."""

from __future__ import annotations

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Tolerance,
    array,
    cdiv,
    full_of,
    integers,
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
_GRID = (2, 4, 64, 64)  # cells of a bird's-eye view by batch, z, x and y


def pooled_points(intervals: int) -> tuple[Array, Array, Array]:
    """Cells of points as (x, y, z, batch), and where the points of a cell start and how many there are.

    Every cell takes one interval of one to nine points, so that no two intervals are pooled into one cell.
    """
    rng = np.random.default_rng(intervals)
    lengths = rng.integers(1, 10, intervals)
    starts = np.cumsum(lengths) - lengths
    batch, z, x, y = np.unravel_index(rng.permutation(np.prod(_GRID))[:intervals], _GRID)
    return np.repeat(np.stack([x, y, z, batch], axis=1), lengths, axis=0), starts, lengths


def cell_strides(channels: int) -> dict[str, int]:
    """Distances in elements between neighbouring cells, by axis."""
    _, depth, width, height = _GRID
    return {
        "batch": depth * width * height * channels,
        "z": width * height * channels,
        "x": height * channels,
        "y": channels,
    }


@recipe("c240531e")
def birds_eye_pool(full: bool) -> Launch:
    intervals, channels = (30000, 64) if full else (150, 50)
    cells, starts, lengths = pooled_points(intervals)
    strides = {f"output_{axis}_stride": stride for axis, stride in cell_strides(channels).items()}
    return Launch(
        (cdiv(intervals, 64),),
        output_ptr=zeros(*_GRID, channels),
        image_feats_ptr=normal(len(cells), channels),
        geom_feats_ptr=array(cells),
        interval_starts_ptr=array(starts),
        interval_lengths_ptr=array(lengths),
        num_channels=channels,
        num_intervals=intervals,
        image_feats_stride=channels,
        geom_feats_stride=4,
        **strides,
    )


@recipe("99f8bdb6")
def birds_eye_pool_backward(full: bool) -> Launch:
    intervals, channels = (30000, 64) if full else (150, 50)
    cells, starts, lengths = pooled_points(intervals)
    strides = {f"grad_output_{axis}_stride": stride for axis, stride in cell_strides(channels).items()}
    return Launch(
        (cdiv(intervals, 64),),
        x_grad_ptr=unwritten(len(cells), channels),
        grad_output_ptr=normal(*_GRID, channels),
        geom_feats_ptr=array(cells),
        interval_starts_ptr=array(starts),
        interval_lengths_ptr=array(lengths),
        num_channels=channels,
        num_intervals=intervals,
        x_grad_stride=channels,
        geom_feats_stride=4,
        **strides,
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
        why="the sum of taps is rounded to bf16",
        tolerance=_ROUNDED,
        CHANNELS=channels,
        STATE_LENGTH=state,
        KERNEL_SIZE=taps,
        DILATION=dilation,
    )


@recipe("dfe2d7d1")
def quantized_rows(full: bool) -> Launch:
    rows, width = (1 << 19, 128) if full else (37, 101)
    return Launch(
        (rows,),
        x_ptr=normal(rows, width, scale=2.0),
        q_ptr=unwritten(rows, width),
        scale_ptr=unwritten(rows),
        row_width=width,
        static_scale_ptr=full_of(1 / 32, 1),  # a power of two: the quotient is exact on every side
    )
