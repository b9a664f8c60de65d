"""Recipes of normalisations."""

from __future__ import annotations

from tools.public_kernels.recipe import Launch, normal, recipe, uniform, unwritten


@recipe("9c66c696")
def layer_norm_forward(full: bool) -> Launch:
    rows, cols = (16384, 4096) if full else (5, 1000)
    return Launch(
        (rows,),
        X=normal(rows, cols),
        Y=unwritten(rows, cols),
        W=normal(cols),
        B=normal(cols),
        stride=cols,
        N=cols,
        eps=1e-5,
    )


@recipe("9f65490b")
def rms_norm(full: bool) -> Launch:
    rows, cols = (65536, 64) if full else (9, 60)
    return Launch(
        (rows,),
        out_ptr=unwritten(rows, cols),
        INV_RMS=unwritten(rows),
        in_ptr=normal(rows, cols),
        w_ptr=uniform(cols, low=0.5, high=1.5),
        y_stride_r=cols,
        x_stride_r=cols,
        N=cols,
        eps=1e-6,
    )
