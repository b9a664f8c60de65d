"""The shipped kernels with pipes, roles and asynchronous copies, each with one specialisation worth showing."""

from __future__ import annotations

from collections.abc import Iterator

from tools.shipped import ShippedKernel

_FLOATS, _HALVES, _INTS = "*fp32:16", "*fp16:16", "*i32:16"
_SIZE, _ALIGNED = "i32", "i32:16"


def asynchronous_kernels() -> tuple[ShippedKernel, ...]:
    """Every one of them, the simple ones first."""
    return (*_copies(), *_reductions(), *_persistent_rows(), *_others())


def _copies() -> Iterator[ShippedKernel]:
    vector = {"BLOCK": 1024, "TILES": 4, "STAGES": 4}
    box = {"BLOCK_ROWS": 4, "BLOCK_COLS": 256, "TILES": 4, "STAGES": 2}
    sizes = {"cols": _ALIGNED, "x_stride": _ALIGNED, "out_stride": _ALIGNED}
    copied = {"x": _FLOATS, "out": _FLOATS}
    for form, constants, warps in (("pointers", vector, 4), ("cp_async", vector, 8), ("tma", box, 1)):
        signature = copied | ({"rows": _SIZE} if form == "tma" else {}) | sizes
        name = f"pipelined_copy_by_{form}"
        yield ShippedKernel(name, "kernels.pipelined_copy", f"copy_by_{form}", signature, constants, warps)
    added = {"x": _FLOATS, "y": _FLOATS, "out": _FLOATS, "rows": _SIZE, "cols": _ALIGNED}
    added |= {"x_stride": _ALIGNED, "y_stride": _ALIGNED, "out_stride": _ALIGNED}
    yield ShippedKernel("pipelined_add_by_tma", "kernels.pipelined_add", "add_by_tma", added, box, 8)


def _reductions() -> Iterator[ShippedKernel]:
    signature = {"x": _FLOATS, "totals": _FLOATS, "peaks": _FLOATS}
    signature |= {"rows": _SIZE, "cols": _ALIGNED, "x_stride": _ALIGNED}
    constants = {"BLOCK_ROWS": 8, "BLOCK_COLS": 256, "STAGES": 4, "PEAK_WARPS": 4}
    yield ShippedKernel("row_sums_and_peaks", "kernels.row_reduction", "row_sums_and_peaks", signature, constants)


def _persistent_rows() -> Iterator[ShippedKernel]:
    from kernels import persistent_rms_norm, persistent_softmax
    from kernels.persistent_rows import plan_rows

    kernels = {"softmax": persistent_softmax.KERNELS, "rms_norm": persistent_rms_norm.KERNELS}
    sizes = {"rows": _SIZE, "cols": _ALIGNED}
    softmax = {"out": _HALVES, "x": _HALVES, **sizes, "out_stride": _ALIGNED, "x_stride": _ALIGNED}
    norm = {"x": _HALVES, "weight": _HALVES, "out": _HALVES, **sizes}
    norm |= {"x_stride": _ALIGNED, "out_stride": _ALIGNED, "eps": "fp32"}
    for name, signature, cols, form in (
        ("softmax", softmax, 2048, "ring"),
        ("softmax", softmax, 16384, "packed"),
        ("softmax", softmax, 16384, "parts"),
        ("softmax", softmax, 4096, "ahead"),
        ("rms_norm", norm, 4096, "ring"),
        ("rms_norm", norm, 16384, "packed"),
    ):
        beside = 2 * cols if (name, form) == ("rms_norm", "packed") else 0
        plan = plan_rows(cols, 2, form=form, beside_bytes=beside)
        title = {"parts": f"persistent_{name}_parts_{cols}", "ahead": f"{name}_ahead_{cols}"}.get(form)
        claims = {"claims": _INTS} if plan.claim else {}
        yield ShippedKernel(
            title or f"persistent_{name}_{cols}",
            f"kernels.persistent_{name}",
            kernels[name][form].fn.__name__,
            signature | claims,
            plan.constants(),
            plan.num_warps,
        )


def _others() -> Iterator[ShippedKernel]:
    gathered = {"table": _HALVES, "index": _INTS, "scale": _FLOATS, "out": _HALVES, "count": _SIZE, "rows": _SIZE}
    gathered |= {"cols": _ALIGNED, "table_stride": _ALIGNED, "out_stride": _ALIGNED}
    for suffix, by_tma in (("tma", True), ("cp_async", False)):
        constants = {"ROWS": 8, "BLOCK": 512, "STAGES": 4, "BY_TMA": by_tma}
        yield ShippedKernel(f"gather_scale_by_{suffix}", "kernels.gather_scale", "gather_scale", gathered, constants)
    matrices = {"x": _FLOATS, "out": _FLOATS, "rows": _ALIGNED, "cols": _ALIGNED, "x_stride": _ALIGNED}
    matrices["out_stride"] = _ALIGNED
    for suffix, by_tma in (("", False), ("_by_tma", True)):
        constants = {"BLOCK": 64, "STORE_BY_TMA": by_tma}
        yield ShippedKernel(f"transpose{suffix}", "kernels.transpose", "transpose", matrices, constants, 8)
    counted = {"values": _INTS, "counts": _INTS, "n": _SIZE}
    constants = {"BINS": 256, "BLOCK": 2048, "STAGES": 4}
    yield ShippedKernel("piped_histogram", "kernels.piped_histogram", "piped_histogram", counted, constants, 8)
