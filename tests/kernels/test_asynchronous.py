"""Kernels with pipes, roles and asynchronous copies against NumPy, in the interpreter and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
from kernels import persistent_rms_norm, persistent_rows, persistent_softmax
from kernels.gather_scale import gather_scale_reference, gather_scale_rows
from kernels.persistent_rms_norm import persistent_rms_norm_rows, rms_norm_reference
from kernels.persistent_rows import plan_rows
from kernels.persistent_softmax import persistent_softmax_rows
from kernels.piped_histogram import count, count_reference
from kernels.pipelined_add import add_reference, add_rows
from kernels.pipelined_copy import FORMS, copy_reference, copy_rows
from kernels.row_reduction import reduce_rows, reduce_rows_reference
from kernels.softmax import softmax_reference
from kernels.transpose import transpose_matrix, transpose_reference
from tests.golden import GOLDEN_TARGET, nvrtc_compile
from tests.kernels.test_rowwise import ON, TOLERANCE, host, on, random

SHAPES = [(1, 8), (3, 64), (5, 1000), (2, 8200)]


def integers(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(-100, 100, shape).astype(dtype)


@ON
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_copy(where, form, shape, dtype):
    x = integers(shape, dtype)
    out = on(where, np.full_like(x, 77))
    copy_rows(on(where, x), out, form)
    np.testing.assert_array_equal(host(out), copy_reference(x))


@ON
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tiles, stages", [(1, 1), (3, 1), (5, 2), (8, 3), (4, 8)])
def test_copy_through_rings_of_any_size(where, form, tiles, stages):
    x = integers((3, 2064), "float32")
    out = on(where, np.full_like(x, 77))
    copy_rows(on(where, x), out, form, tile_bytes=1024, tiles=tiles, stages=stages)
    np.testing.assert_array_equal(host(out), x)


@ON
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_add(where, form, shape, dtype):
    x, y = (integers(shape, dtype, seed) for seed in (1, 2))
    out = on(where, np.full_like(x, 77))
    add_rows(on(where, x), on(where, y), out, form)
    np.testing.assert_array_equal(host(out), add_reference(x, y))


@ON
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tiles, stages", [(1, 1), (3, 1), (5, 2), (8, 3)])
def test_add_through_rings_of_any_size(where, form, tiles, stages):
    x, y = (integers((3, 2064), "float32", seed) for seed in (1, 2))
    out = on(where, np.full_like(x, 77))
    add_rows(on(where, x), on(where, y), out, form, tile_bytes=1024, tiles=tiles, stages=stages)
    np.testing.assert_array_equal(host(out), x + y)


def test_forms_and_matrices_that_do_not_fit_are_refused():
    x = np.zeros((4, 10), np.float32)
    with pytest.raises(ValueError, match="form must be one of pointer, cp_async, tma"):
        copy_rows(x, x.copy(), "bulk")
    with pytest.raises(ValueError, match="multiples of 16 bytes; use another form"):
        copy_rows(x, x.copy(), "tma")
    with pytest.raises(ValueError, match=r"one shape and one dtype, got x float32 \(4, 10\), out float16 \(4, 10\)"):
        copy_rows(x, x.astype(np.float16))
    with pytest.raises(ValueError, match="elements of a row must be neighbours"):
        copy_rows(x.T, x.T)


def test_rows_that_lie_apart():
    x = integers((6, 80), "float32")
    for form in FORMS:
        out = np.full_like(x, 77)
        copy_rows(x[::2, :48], out[1::2, 16:64], form)
        want = np.full_like(x, 77)
        want[1::2, 16:64] = x[::2, :48]
        np.testing.assert_array_equal(out, want)


@ON
@pytest.mark.parametrize("shape", [(1, 8), (9, 64), (17, 1000), (3, 2056)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("stages", [1, 3])
def test_row_reductions(where, shape, dtype, stages):
    x = random(shape, dtype)
    sums, peaks = reduce_rows_reference(x)
    got = [on(where, np.full(shape[0], 77, np.float32)) for _ in range(3)]
    reduce_rows(on(where, x), got[0], stages=stages)
    reduce_rows(on(where, x), got[1], got[2], stages=stages)
    for totals in got[:2]:
        np.testing.assert_allclose(host(totals), sums, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(host(got[2]), peaks)


@ON
@pytest.mark.parametrize("by_tma", [True, False])
@pytest.mark.parametrize("count, cols", [(1, 8), (13, 96), (32, 1032)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_gather_and_scale(where, by_tma, count, cols, dtype):
    table = random((21, cols), dtype)
    index = np.random.default_rng(3).integers(-2, 24, count).astype(np.int32)
    scale = random(count, "float32", 4)
    out = on(where, np.full((count, cols), 77, dtype))
    gather_scale_rows(on(where, table), on(where, index), on(where, scale), out, by_tma=by_tma)
    np.testing.assert_allclose(host(out), gather_scale_reference(table, index, scale), rtol=TOLERANCE[dtype])


LONG = [(1, 8), (40, 136), (5, 4096), (2, 8448), (2, 20000)]
FORMS_OF_ROWS = [
    ("ahead", (40, 136)),
    ("ahead", (5, 4096)),
    ("packed", (7, 1000)),
    ("packed", (2, 32768)),
    ("parts", (3, 512)),
]


@ON
@pytest.mark.parametrize("shape", LONG)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_persistent_softmax(where, shape, dtype):
    x = random(shape, dtype) * 3
    out = on(where, np.full_like(x, 7))
    persistent_softmax_rows(on(where, x), out)
    np.testing.assert_allclose(host(out), softmax_reference(x), rtol=TOLERANCE[dtype], atol=1e-7)


@ON
@pytest.mark.parametrize("shape", LONG)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_persistent_rms_norm(where, shape, dtype):
    x, weight = random(shape, dtype), random(shape[1], dtype, 1)
    out = on(where, np.full_like(x, 7))
    persistent_rms_norm_rows(on(where, x), on(where, weight), out)
    expected = rms_norm_reference(x, weight)
    np.testing.assert_allclose(host(out), expected, rtol=2 * TOLERANCE[dtype], atol=TOLERANCE[dtype])


@ON
@pytest.mark.parametrize("form, shape", FORMS_OF_ROWS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_persistent_rows_in_every_form(where, form, shape, dtype):
    x, weight = random(shape, dtype) * 3, random(shape[1], dtype, 1)
    out = on(where, np.full_like(x, 7))
    persistent_softmax_rows(on(where, x), out, form=form)
    np.testing.assert_allclose(host(out), softmax_reference(x), rtol=TOLERANCE[dtype], atol=1e-7)
    out = on(where, np.full_like(x, 7))
    persistent_rms_norm_rows(on(where, x), on(where, weight), out, form=form)
    expected = rms_norm_reference(x, weight)
    np.testing.assert_allclose(host(out), expected, rtol=2 * TOLERANCE[dtype], atol=TOLERANCE[dtype])


@ON
@pytest.mark.parametrize("form", ["packed", "ahead", None])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_persistent_softmax_of_rows_far_from_zero(where, form, scale):
    """What is added to all logits cancels, whatever it is."""
    x = (random((3, 1024), "float16") * 2 + 50 * scale).astype(np.float16)
    out = on(where, np.empty_like(x))
    persistent_softmax_rows(on(where, x), out, form=form)
    np.testing.assert_allclose(host(out), softmax_reference(x), rtol=2e-3, atol=1e-7)


@ON
@pytest.mark.parametrize("form, cols", [("ring", 4096), ("parts", 4100), ("packed", 4100), ("ahead", 4096)])
def test_persistent_softmax_of_infinities(where, form, cols):
    x = np.full((4, cols), -np.inf, np.float32)
    x[0, [0, 5, cols - 1]] = [1.0, 2.0, 3.0]
    x[1] = 5.0
    x[3] = 1.0
    x[3, 7] = np.nan
    out = on(where, np.empty_like(x))
    persistent_softmax_rows(on(where, x), out, form=form)
    np.testing.assert_allclose(host(out)[:2], softmax_reference(x[:2]), rtol=2e-6)
    assert np.isnan(host(out)[2:]).all()  # 0 / 0 where nothing is finite, and what a NaN is among


@ON
@pytest.mark.parametrize("form", ["packed", "parts", "ring"])
def test_persistent_softmax_of_threads_that_see_infinities_alone(where, form):
    x = np.full((4, 4104), -1000, np.float16)
    x[0, :2000] = x[1, 2000:] = x[2, 100:3000] = -np.inf
    x[2, 7], x[3, 5] = -900, 1000
    out = on(where, np.empty_like(x))
    persistent_softmax_rows(on(where, x), out, form=form)
    np.testing.assert_allclose(host(out), softmax_reference(x), rtol=TOLERANCE["float16"])


@pytest.mark.parametrize(
    "form, cols, itemsize, part, parts, width, stages",
    [
        ("ring", 4096, 2, 4096, 1, 256, 2),
        ("ring", 4095, 2, 4096, 1, 4096, 2),
        ("packed", 65536, 2, 8192, 8, 256, 13),
        ("packed", 32768, 2, 4096, 8, 256, 13),
        ("parts", 65536, 2, 8192, 8, 256, 13),
        ("parts", 20000, 4, 4096, 5, 4096, 10),
        ("ring", 2, 4, 4, 1, 4, 2),
        ("ahead", 4096, 2, 4096, 1, 4096, 0),
    ],
)
def test_rows_are_cut_into_parts(form, cols, itemsize, part, parts, width, stages):
    plan = plan_rows(cols, itemsize, form=form)
    assert (plan.part, plan.parts, plan.width, plan.stages) == (part, parts, width, stages)


@pytest.mark.parametrize(
    "cols, itemsize, softmax, rms_norm",
    [
        (1024, 2, "ring", "ring"),
        (4096, 2, "ring", "ring"),
        (4096, 4, "ring", "ring"),
        (16384, 2, "ring", "ring"),
        (8448, 4, "packed", "packed"),
        (16640, 2, "packed", "packed"),
        (16392, 2, "parts", "parts"),
        (65536, 2, "packed", "packed"),
        (65536, 4, "parts", "parts"),
    ],
)
def test_forms_by_length(cols, itemsize, softmax, rms_norm):
    assert persistent_softmax.default_form(cols, itemsize) == softmax
    assert persistent_rms_norm.default_form(cols, itemsize) == rms_norm
    assert persistent_softmax.default_form(cols, itemsize, is_bfloat16=True) == softmax.replace("packed", "parts")
    assert persistent_rms_norm.default_form(65536, 2, weight_itemsize=4) == "parts"


def test_registers_of_a_ring_are_left_to_the_compiler():
    plan = plan_rows(4096, 2, form="ring")
    assert (plan.num_warps, plan.ctas_per_multiprocessor) == (8, 3)
    assert plan.options() == {"num_warps": 8, "maxnreg": None}
    assert all(plan_rows(4096, 2, form=form).options()["maxnreg"] for form in ("packed", "parts", "ahead"))


@pytest.mark.parametrize("cols, itemsize, claim", [(4096, 2, 1), (1024, 2, 4), (1000, 4, 2), (8, 2, 512), (8192, 4, 1)])
def test_short_rows_are_claimed_together(cols, itemsize, claim):
    assert plan_rows(cols, itemsize, form="ring").claim == claim


@ON
@pytest.mark.parametrize("shape", [(1, 64), (37, 64), (1025, 16), (9, 4096), (1500, 8)])
def test_every_row_is_claimed_once_and_claims_are_left_as_they_were(where, shape):
    x, weight = random(shape, "float16"), random(shape[1], "float16", 1)
    for _ in range(2):
        out = on(where, np.full_like(x, 7))
        persistent_softmax_rows(on(where, x), out, form="ring")
        np.testing.assert_allclose(host(out), softmax_reference(x), rtol=TOLERANCE["float16"], atol=1e-7)
        out = on(where, np.full_like(x, 7))
        persistent_rms_norm_rows(on(where, x), on(where, weight), out, form="ring")
        np.testing.assert_allclose(host(out), rms_norm_reference(x, weight), rtol=4e-3, atol=2e-3)
    assert not any(host(claims).any() for claims in persistent_rows._claims.values())


@pytest.mark.parametrize("form", ["ring", "packed", "parts", "ahead"])
@pytest.mark.parametrize("cols", [8, 1024, 4096, 8192, 16384, 32768, 65536])
def test_planned_ctas_are_resident_at_once(form, cols):
    longest = {"ring": 16384, "ahead": 8192}.get(form, 65536)
    if cols > longest:
        with pytest.raises(ValueError, match=f"rows of {2 * cols} bytes are too long for '{form}', {2 * longest} bytes"):
            plan_rows(cols, 2, form=form)
        return
    plan = plan_rows(cols, 2, form=form)
    warps = (plan.num_warps + (form != "ahead")) * plan.ctas_per_multiprocessor
    # Each quarter of a multiprocessor has 16384 registers for every fourth warp, allocated in units of 8 for a lane.
    assert warps <= 64
    if form != "ring":
        assert -(-warps // 4) * plan.max_registers * 32 <= 16384
        assert plan.max_registers >= 32 and plan.max_registers % 8 in (0, 7)
    assert plan.stages * plan.part * 2 * plan.ctas_per_multiprocessor <= 208 * 1024


@pytest.mark.parametrize(
    "kernel, cols, form, spilled_bytes",
    [
        ("softmax", 65536, "packed", 32),
        ("rms_norm", 65536, "packed", 0),
        ("softmax", 4096, "ahead", 0),
        ("rms_norm", 4096, "ahead", 0),
        ("softmax", 4096, "ring", 0),
        ("rms_norm", 16384, "ring", 0),
    ],
)
def test_rows_stay_in_the_registers_that_are_planned(kernel, cols, form, spilled_bytes):
    """At most so many bytes a thread spill (NVRTC 12.9); a row held as float32 spills over 200."""
    plan = plan_rows(cols, 2, form=form, beside_bytes=2 * cols if (kernel, form) == ("rms_norm", "packed") else 0)
    module = {"softmax": persistent_softmax, "rms_norm": persistent_rms_norm}[kernel]
    fn = module.KERNELS[form]
    types = {"x": "*fp16:16", "out": "*fp16:16", "weight": "*fp16:16", "claims": "*i32:16", "rows": "i32", "eps": "fp32"}
    sizes = [name for name in fn.arg_names if name not in plan.constants()]
    signature = {name: types.get(name, "i32:16") for name in sizes}
    emitted = tle2cuda.emit(
        fn, signature=signature, constants=plan.constants(), num_warps=plan.num_warps, arch=GOLDEN_TARGET
    )
    threads = 32 * (plan.num_warps + (form != "ahead"))
    moves = "registers_increase<" in emitted.source  # from the worker to the others: launch bounds say where they start
    bounds = "__launch_bounds__(640, 1)" if moves else f"__launch_bounds__({threads})"
    assert moves == (form == "packed") and bounds in emitted.source
    # As a launch with `maxnreg` is emitted.
    attribute = f"__maxnreg__({plan.max_registers})" if plan.max_registers and not moves else bounds
    compiled = nvrtc_compile(emitted.source.replace(bounds, attribute), GOLDEN_TARGET)
    assert compiled.registers <= (plan.max_registers or 255) and compiled.spill_bytes <= spilled_bytes


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="rows of 262144 bytes do not fit into shared memory"):
        plan_rows(65536, 4, form="parts")
    with pytest.raises(ValueError, match="a row has 8 parts, a ring of 4 stages cannot hold it"):
        plan_rows(65536, 2, form="parts", stages=4)
    with pytest.raises(ValueError, match="form must be one of ring, packed, parts, ahead, got 'bulk'"):
        plan_rows(64, 2, form="bulk")
    x = np.zeros((4, 10), np.float32)
    with pytest.raises(ValueError, match="rows of up to 16384 bytes do without it in the form 'ahead'"):
        persistent_softmax_rows(x, x.copy(), form="ring")


@ON
@pytest.mark.parametrize("store_by_tma", [False, True])
@pytest.mark.parametrize("shape", [(16, 16), (64, 128), (112, 80), (32, 272)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_transpose(where, store_by_tma, shape, dtype):
    x = integers(shape, dtype)
    out = on(where, np.full(shape[::-1], 77, dtype))
    transpose_matrix(on(where, x), out, store_by_tma=store_by_tma)
    np.testing.assert_array_equal(host(out), transpose_reference(x))


@ON
@pytest.mark.parametrize("n", [1, 1000, 2048, 70000])
@pytest.mark.parametrize("bins", [1, 64, 1024])
def test_histogram(where, n, bins):
    values = np.random.default_rng(n).integers(-3, bins + 3, n).astype(np.int32)
    counts = on(where, np.zeros(bins, np.int32))
    count(on(where, values), counts)
    np.testing.assert_array_equal(host(counts), count_reference(values, bins))


def test_nothing_to_do():
    """No rows, no elements: nothing is launched, and nothing is written."""
    empty, vector = np.zeros((0, 64), np.float32), np.zeros(0, np.float32)
    for form in FORMS:
        copy_rows(empty, empty.copy(), form)
        add_rows(empty, empty, empty.copy(), form)
    reduce_rows(empty, vector, vector.copy())
    persistent_softmax_rows(empty, empty.copy())
    persistent_rms_norm_rows(empty, np.ones(64, np.float32), empty.copy())
    transpose_matrix(empty, np.zeros((64, 0), np.float32))
    gather_scale_rows(np.ones((3, 64), np.float32), np.zeros(0, np.int32), vector, empty.copy())
    counts = np.full(4, 7, np.int32)
    count(np.zeros(0, np.int32), counts)
    assert (counts == 7).all()
