"""Recipes of normalisations."""

from __future__ import annotations

from tools.public_kernels.recipe import Launch, Tolerance, normal, recipe, uniform, unwritten, zeros


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


@recipe("40ff0ae2")
def gemma_rms_norm_in_place(full: bool) -> Launch:
    rows, cols = (1 << 18, 64) if full else (7, 50)
    return Launch((rows,), x_ptr=normal(rows, cols), weights_ptr=normal(cols), hidden_size=cols, eps=1e-6)


@recipe("a8a9e47e")
def dora_norm(full: bool) -> Launch:
    rows, cols, rank = (4096, 4096, 16) if full else (5, 200, 16)
    return Launch(
        (rows,),
        W_ptr=normal(rows, cols),
        B_ptr=normal(rows, rank),
        A_ptr=normal(rank, cols),
        mag_ptr=normal(rows),
        out_ptr=unwritten(rows),
        out_features=rows,
        in_features=cols,
        rank=rank,
        lora_scale=0.5,
    )


@recipe("d3112673")
def rms_norm_backward(full: bool) -> Launch:
    rows, cols = (16384, 256) if full else (6, 200)
    return Launch(
        (rows,),
        tolerance=Tolerance(1e-4, 1e-3 if full else 1e-4),
        DY=normal(rows, cols),
        X=normal(rows, cols),
        W=normal(cols),
        DX=unwritten(rows, cols),
        DW=zeros(cols),
        stride=cols,
        D=cols,
        eps=1e-6,
    )


@recipe("cddfbc25")
def add_rms_norm(full: bool) -> Launch:
    rows, cols = (1 << 17, 256) if full else (6, 200)
    return Launch(
        (rows,),
        tolerance=Tolerance(1e-2, 1e-2),
        X=normal(rows, cols),
        R=normal(rows, cols),
        W=normal(cols),
        Y=unwritten(rows, cols),
        R_OUT=unwritten(rows, cols),
        stride=cols,
        D=cols,
        eps=1e-6,
    )


@recipe("f256ea89")
def add_rms_norm_backward(full: bool) -> Launch:
    rows, cols = (16384, 256) if full else (6, 200)
    return Launch(
        (rows,),
        tolerance=Tolerance(2e-3, 2e-3),
        DY=normal(rows, cols),
        X_PLUS_R=normal(rows, cols),
        W=normal(cols),
        DX=unwritten(rows, cols),
        DR=unwritten(rows, cols),
        DW=zeros(cols),
        stride=cols,
        D=cols,
        eps=1e-6,
    )


@recipe("a8058243")
def rms_norm_in_blocks(full: bool) -> Launch:
    rows, cols = (8192, 4096) if full else (5, 1000)
    return Launch(
        (rows,), X=normal(rows, cols), Y=unwritten(rows, cols), W=normal(cols), stride=cols, N=cols, eps=1e-5
    )  # fmt: skip


@recipe("0d4f7c14")
def layer_norm_backward(full: bool) -> Launch:
    rows, cols, stride = (1 << 17, 128, 128) if full else (7, 128, 128)
    return Launch(
        (rows,),
        dY=normal(rows, stride),
        dX=unwritten(rows, stride),
        X=normal(rows, stride),
        W=normal(cols),
        b=0,
        r=uniform(rows, low=0.5, high=2.0),
        mu=normal(rows),
        dY_row_stride=stride,
        dX_row_stride=stride,
        X_row_stride=stride,
    )


@recipe("3e984606")
def l2_norm_backward(full: bool) -> Launch:
    rows, cols = (1 << 18, 64) if full else (9, 60)
    return Launch(
        (rows,),
        tolerance=Tolerance(1.6e-2, 5e-2),
        y=normal(rows, cols),
        rstd=uniform(rows, low=0.5, high=2.0),
        dy=normal(rows, cols),
        dx=unwritten(rows, cols),
        eps=1e-6,
        D=cols,
    )


@recipe("8c615993")
def rms_norm_of_a_sum(full: bool) -> Launch:
    rows, cols = (1 << 17, 128) if full else (6, 128)
    return Launch(
        (rows,),
        x_ptr=normal(rows, cols),
        y_ptr=normal(rows, cols),
        h1_ptr=unwritten(rows, cols),
        w_ptr=normal(cols),
        eps=1e-6,
        stride=cols,
    )
