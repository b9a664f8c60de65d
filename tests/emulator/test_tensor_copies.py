"""Tensor copies as emitted: boxes of tensors of all ranks and dtypes, at edges and outside, under all detectors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.tensor_copies import BoxCopy, array_of
from tests.opcases import cases
from tle2cuda.emulator import emulate
from tle2cuda.emulator.toolchain import find_compiler

RANKS = [
    (BoxCopy("fp32", (64,)), (100,), (52,), (8,)),
    (BoxCopy("fp16", (16, 64)), (20, 70), (-3, 40), (5, 16)),
    (BoxCopy("i8", (4, 8, 32)), (5, 9, 50), (2, -1, 32), (0, 3, 16)),
    (BoxCopy("bf16", (2, 1, 4, 16)), (3, 2, 6, 20), (1, 1, 3, -8), (2, 0, 4, 8)),
    (BoxCopy("u32", (2, 2, 2, 2, 8)), (3, 3, 3, 3, 10), (1, 2, -1, 2, 4), (0, 1, 0, 2, 0)),
    (BoxCopy("fp32", (8, 512)), (9, 600), (2, 100), (0, 40)),  # rows that are moved in two boxes
    (BoxCopy("u8", (512, 16)), (600, 20), (100, -16), (3, 0)),  # columns, likewise
    (BoxCopy("fp64", (8, 16), boxes=5), (30, 17), (0, 0), (2, 4)),
]


def same(got: np.ndarray, want: np.ndarray) -> bool:
    got, want = got.astype(np.float64), want.astype(np.float64)
    return bool(((got == want) | (np.isnan(got) & np.isnan(want))).all())


def check(copy: BoxCopy, shape: tuple[int, ...], x_at: tuple[int, ...], y_at: tuple[int, ...]) -> None:
    find_compiler()
    x, y = array_of(copy.dtype, shape, 1), array_of(copy.dtype, shape, 2)
    emitted = copy.emit()
    assert emitted.contract.tensor_maps
    for schedule in ("forward", "reverse", "random"):
        run = emulate(emitted, 1, copy.arguments(x, y, x_at, y_at), schedule=schedule, detect="all")
        assert not run.findings, run.findings[0]
        assert same(run.outputs["y"], copy.expected(x, y, x_at, y_at)), schedule


@pytest.mark.parametrize(("copy", "shape", "x_at", "y_at"), RANKS)
def test_boxes_of_all_ranks(copy: BoxCopy, shape: tuple[int, ...], x_at: tuple[int, ...], y_at: tuple[int, ...]) -> None:
    check(copy, shape, x_at, y_at)


@pytest.mark.parametrize("dtype", ["i16", "u16", "i32", "i64", "u64", "fp8e4nv", "fp8e5", "i8"])
def test_boxes_of_all_dtypes(dtype: str) -> None:
    check(BoxCopy(dtype, (4, 16)), (6, 19), (-1, 16), (1, 0))


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_elements_outside_are_nan(dtype: str) -> None:
    check(BoxCopy(dtype, (4, 16), "nan"), (6, 19), (3, 8), (0, 0))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("add", "fp32"),
        ("add", "fp16"),
        ("add", "i32"),
        ("min", "i64"),
        ("max", "bf16"),
        ("and", "u32"),
        ("or", "i32"),
        ("xor", "u64"),
    ],
)
def test_reductions(kind: str, dtype: str) -> None:
    check(BoxCopy(dtype, (4, 16), kind=kind), (6, 16), (-1, -8), (3, 8))


@pytest.mark.parametrize("name", ["tensor_turn_f32", "tensor_turn_and_store_f16", "tensor_turn_both_f32"])
def test_transposes_have_no_bank_conflicts(name: str) -> None:
    case = cases()[name]
    emitted = case.emit()
    assert "swizzled<" in emitted.source
    counters = emulate(emitted, case.grid, case.inputs(), detect="counters").counters
    assert counters.shared_loads.bank_conflicts == counters.shared_stores.bank_conflicts == 0


WITHOUT_TMA = (
    "tensor_boxes_f32_nan tensor_turn_f16 tensor_ring_3_10 tensor_windows order_down_the_rows order_mixed order_twice_5"
)


@pytest.mark.parametrize("name", WITHOUT_TMA.split())
def test_copies_without_tma(name: str) -> None:
    case = cases()[name]
    emitted = case.emit(arch="sm_80")
    assert not emitted.contract.tensor_maps and "tma_" not in emitted.source
    want = case.interpret()
    run = emulate(emitted, case.grid, case.inputs(), schedule="random", detect="all")
    assert not run.findings and not case.differences(run.outputs, {n: want[n] for n in run.outputs})
