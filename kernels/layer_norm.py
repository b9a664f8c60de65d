"""Layer norm, forward, of every row of a matrix: one CTA per row, the row in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.softmax import warps_for


@tle2cuda.jit
def layer_norm(x, weight, bias, out, mean_out, rstd_out, row_stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    row_start = row.to(tl.int64) * row_stride
    col = tl.arange(0, BLOCK)
    mask = col < cols
    value = tl.load(x + row_start + col, mask=mask, other=0.0).to(tl.float32)

    # Two passes over registers: the variance of what is centred already has no cancellation.
    mean = tl.sum(value, axis=0) / cols
    centred = tl.where(mask, value - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / cols
    rstd = tl.rsqrt(variance + eps)

    scale = tl.load(weight + col, mask=mask, other=0.0).to(tl.float32)
    shift = tl.load(bias + col, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row_start + col, centred * rstd * scale + shift, mask=mask)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)


def layer_norm_rows(
    x: Any, weight: Any, bias: Any, out: Any, mean: Any, rstd: Any, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    """Writes the normalised rows to `out` and each row's mean and reciprocal deviation.

    Args:
        x, out: [rows, cols], row-major, of one dtype.
        weight, bias: [cols].
        mean, rstd: float32 [rows].
        eps: added to the variance.
    """
    rows, cols = x.shape
    if out.shape != x.shape or weight.shape != (cols,) or bias.shape != (cols,):
        raise ValueError(f"x {x.shape}, out {out.shape}, weight {weight.shape}, bias {bias.shape} do not fit")
    if mean.shape != (rows,) or rstd.shape != (rows,):
        raise ValueError(f"mean {mean.shape} and rstd {rstd.shape} must have {rows} elements")
    block = 1 << (cols - 1).bit_length()
    layer_norm[(rows,)](
        x,
        weight,
        bias,
        out,
        mean,
        rstd,
        cols,
        cols,
        eps,
        BLOCK=block,
        num_warps=warps_for(cols, x.dtype.itemsize),
    )
    return out, mean, rstd


def layer_norm_reference(
    x: NDArray[Any], weight: NDArray[Any], bias: NDArray[Any], eps: float = 1e-5
) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32]]:
    """The same in NumPy, computed in float64: output, mean, reciprocal deviation."""
    wide = x.astype(np.float64)
    mean = wide.mean(axis=1)
    rstd = 1.0 / np.sqrt(wide.var(axis=1) + eps)
    out = (wide - mean[:, None]) * rstd[:, None] * weight.astype(np.float64) + bias.astype(np.float64)
    return out.astype(x.dtype), mean.astype(np.float32), rstd.astype(np.float32)
