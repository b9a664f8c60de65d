"""The kernels with pipes, roles and asynchronous copies as emitted files: three schedules, all detectors, every launch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kernels import persistent_rows
from kernels.gather_scale import gather_scale_reference, gather_scale_rows
from kernels.persistent_rms_norm import persistent_rms_norm_rows, rms_norm_reference
from kernels.persistent_softmax import persistent_softmax_rows
from kernels.piped_histogram import count, count_reference
from kernels.pipelined_add import add_rows
from kernels.pipelined_copy import FORMS, copy_rows
from kernels.row_reduction import reduce_rows, reduce_rows_reference
from kernels.softmax import softmax_reference
from kernels.transpose import transpose_matrix
from tests.emulator.watched import watched_launches
from tle2cuda.emulator import launch

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def every_launch_is_watched() -> Iterator[list[str]]:
    """Launches run under three schedules; the names of what was launched."""
    with watched_launches() as launched:
        yield launched


def floats(shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def two_ctas(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """Persistent kernels share their work among two CTAs."""
    monkeypatch.setattr(module, "persistent_ctas", lambda array, items, resident: min(items, 2))


RINGS = pytest.mark.parametrize("tiles, stages", [(1, 1), (3, 1), (5, 2)])


@RINGS
@pytest.mark.parametrize("form", FORMS)
def test_copy(form: str, tiles: int, stages: int) -> None:
    x = floats((5, 200))
    out = np.zeros_like(x)
    copy_rows(x, out, form, tile_bytes=256, tiles=tiles, stages=stages)
    np.testing.assert_array_equal(out, x)


@RINGS
@pytest.mark.parametrize("form", FORMS)
def test_add(form: str, tiles: int, stages: int) -> None:
    x, y = floats((3, 136)), floats((3, 136))
    out = np.zeros_like(x)
    add_rows(x, y, out, form, tile_bytes=128, tiles=tiles, stages=stages)
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("has_peaks", [False, True])
def test_row_reductions(has_peaks: bool, stages: int) -> None:
    x, sums, peaks = floats((11, 200)), np.zeros(11, np.float32), np.zeros(11, np.float32)
    reduce_rows(x, sums, peaks if has_peaks else None, block_cols=32, stages=stages)
    want_sums, want_peaks = reduce_rows_reference(x)
    np.testing.assert_allclose(sums, want_sums, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(peaks, want_peaks if has_peaks else 0)


@pytest.mark.parametrize("by_tma", [True, False])
def test_gather_and_scale(by_tma: bool) -> None:
    table, scale = floats((9, 72), np.float16), floats(13)
    index = RNG.integers(-1, 11, 13).astype(np.int32)
    out = np.full((13, 72), 7, np.float16)
    gather_scale_rows(table, index, scale, out, by_tma=by_tma, rows_per_cta=4, block=32, stages=2)
    np.testing.assert_allclose(out, gather_scale_reference(table, index, scale), rtol=1e-3)


ROWS = pytest.mark.parametrize(
    "form, cols, part_bytes, stages",
    [
        ("ring", 136, 16384, None),
        ("ring", 512, 16384, 3),
        ("parts", 1000, 512, None),
        ("parts", 1024, 512, 9),
        ("packed", 200, 512, None),
        ("packed", 512, 512, 2),
        ("ahead", 200, 16384, None),
    ],
    ids=["one part", "one part of panels", "parts", "parts and one more", "packed", "packed panels", "ahead"],
)


@ROWS
def test_persistent_softmax(
    monkeypatch: pytest.MonkeyPatch, form: str, cols: int, part_bytes: int, stages: int | None
) -> None:
    two_ctas(monkeypatch, persistent_rows)
    monkeypatch.setattr(persistent_rows, "PART_BYTES", part_bytes)
    x = floats((7, cols), np.float16)
    out = np.zeros_like(x)
    persistent_softmax_rows(x, out, form=form, stages=stages, num_warps=2)
    np.testing.assert_allclose(out, softmax_reference(x), rtol=1e-3, atol=1e-6)


@ROWS
def test_persistent_rms_norm(
    monkeypatch: pytest.MonkeyPatch, form: str, cols: int, part_bytes: int, stages: int | None
) -> None:
    two_ctas(monkeypatch, persistent_rows)
    monkeypatch.setattr(persistent_rows, "PART_BYTES", part_bytes)
    x, weight = floats((7, cols), np.float16), floats(cols, np.float16)
    out = np.zeros_like(x)
    persistent_rms_norm_rows(x, weight, out, form=form, stages=stages, num_warps=2)
    np.testing.assert_allclose(out, rms_norm_reference(x, weight), rtol=4e-3, atol=2e-3)


@pytest.mark.parametrize("store_by_tma", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_transpose(dtype: str, store_by_tma: bool) -> None:
    x = RNG.integers(-99, 99, (48, 80)).astype(dtype)
    out = np.zeros((80, 48), dtype)
    transpose_matrix(x, out, block=32, num_warps=2, store_by_tma=store_by_tma)
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("n, bins", [(1000, 64), (30, 4)])
def test_histogram(monkeypatch: pytest.MonkeyPatch, n: int, bins: int) -> None:
    from kernels import piped_histogram

    two_ctas(monkeypatch, piped_histogram)
    values, counts = RNG.integers(-2, bins + 2, n).astype(np.int32), np.zeros(bins, np.int32)
    count(values, counts, block=128, num_warps=2)
    np.testing.assert_array_equal(counts, count_reference(values, bins))


@pytest.mark.parametrize("stages", [1, 2])
def test_lanes_that_lag_miss_no_phase(
    monkeypatch: pytest.MonkeyPatch, every_launch_is_watched: list[str], stages: int
) -> None:
    """Only one lane of a writer goes on to complete phases; the others must not wait for one that is long over."""
    runs = tuple(launch.RunOptions("random", seed, delivery="random") for seed in range(50))
    two_ctas(monkeypatch, persistent_rows)
    x = floats((24, 64), np.float16)
    out = np.zeros_like(x)
    with watched_launches(runs) as launched:
        persistent_softmax_rows(x, out, form="ring", stages=stages, num_warps=1)
    every_launch_is_watched += launched
    np.testing.assert_allclose(out, softmax_reference(x), rtol=1e-3, atol=1e-6)
