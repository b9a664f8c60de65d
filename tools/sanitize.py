"""Launches every shipped kernel on small data and checks the results: what compute-sanitizer watches.

    compute-sanitizer --tool racecheck python tools/sanitize.py [NAME ...]

Sizes are small because a sanitizer slows a kernel a hundredfold, and odd because bugs live at the edges.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np

from kernels import (
    gather_scale,
    layer_norm,
    persistent_rms_norm,
    persistent_softmax,
    piped_histogram,
    pipelined_add,
    pipelined_copy,
    row_reduction,
    softmax,
    transpose,
    vector_add,
)
from kernels.moe_align_block_size import algorithms, reference
from tools import sanitize_products

VECTOR_LENGTHS = (1, 1021, 5000)
MATRIX_SHAPES = ((3, 1), (2, 1000), (5, 4096))
MOE_SIZES = ((1, 1, 1), (1000, 16, 64), (2500, 7, 257))  # slots, block size, experts


def run_vector_add(cupy: Any) -> None:
    for n in VECTOR_LENGTHS:
        x, y = (np.random.default_rng(seed).standard_normal(n, np.float32) for seed in (0, 1))
        out = cupy.empty(n, np.float32)
        vector_add.add(cupy.asarray(x), cupy.asarray(y), out)
        np.testing.assert_array_equal(out.get(), vector_add.add_reference(x, y))


def run_softmax(cupy: Any) -> None:
    for shape in MATRIX_SHAPES:
        for dtype, tolerance in ((np.float32, 1e-6), (np.float16, 1e-3)):
            x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
            out = cupy.empty(shape, dtype)
            softmax.softmax_rows(cupy.asarray(x), out)
            np.testing.assert_allclose(out.get(), softmax.softmax_reference(x), rtol=tolerance, atol=tolerance)


def run_layer_norm(cupy: Any) -> None:
    for rows, cols in MATRIX_SHAPES:
        random = np.random.default_rng(0)
        x, weight, bias = (random.standard_normal(s).astype(np.float32) for s in ((rows, cols), cols, cols))
        out, mean, rstd = cupy.empty((rows, cols), np.float32), *(cupy.empty(rows, np.float32) for _ in "ab")
        layer_norm.layer_norm_rows(*map(cupy.asarray, (x, weight, bias)), out, mean, rstd)
        for actual, expected in zip((out, mean, rstd), layer_norm.layer_norm_reference(x, weight, bias), strict=True):
            np.testing.assert_allclose(actual.get(), expected, rtol=1e-5, atol=1e-5)


def run_moe(algorithm: algorithms.Algorithm, cupy: Any) -> None:
    """Every tuning for every size, twice each: scratch must be left as the next launch needs it."""
    multiprocessors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
    for num_slots, block_size, num_experts in MOE_SIZES:
        sizes = algorithms.Sizes(num_slots, block_size, num_experts)
        ids = np.random.default_rng(num_slots).zipf(1.2, num_slots) % num_experts
        ids = ids.astype(np.int32)
        for tuning in algorithm.tunings(sizes, multiprocessors):
            recipe = algorithm.recipe(sizes, tuning)
            arrays = {
                "topk_ids": cupy.asarray(ids),
                "sorted_ids": cupy.full(sizes.sorted_capacity, -7, np.int32),
                "expert_ids": cupy.full(sizes.expert_capacity, -7, np.int32),
                "num_post_pad": cupy.full(1, -7, np.int32),
                **{name: cupy.zeros(words, np.int32) for name, words in recipe.scratch.items()},
            }
            for _ in range(2):
                algorithms.run_steps(recipe, arrays, sizes)
                outputs = (arrays[name].get() for name in ("sorted_ids", "expert_ids", "num_post_pad"))
                reference.verify(reference.AlignedBlocks(*outputs), ids, block_size, num_experts)


ASYNCHRONOUS_SHAPES = ((1, 8), (19, 136), (3, 4096))  # rows are multiples of 16 bytes


def run_copies(cupy: Any) -> None:
    for shape in ASYNCHRONOUS_SHAPES:
        x, y = (np.random.default_rng(seed).standard_normal(shape, np.float32) for seed in (0, 1))
        for form in pipelined_copy.FORMS:
            for rings in ({}, {"tile_bytes": 512, "tiles": 5, "stages": 2}):
                out = cupy.empty(shape, np.float32)
                pipelined_copy.copy_rows(cupy.asarray(x), out, form, **rings)
                np.testing.assert_array_equal(out.get(), x)
                pipelined_add.add_rows(cupy.asarray(x), cupy.asarray(y), out, form, **rings)
                np.testing.assert_array_equal(out.get(), x + y)
        turned = np.ascontiguousarray(np.tile(x, (8, 1)))
        for store_by_tma in (False, True):
            out = cupy.empty(turned.shape[::-1], np.float32)
            transpose.transpose_matrix(cupy.asarray(turned), out, store_by_tma=store_by_tma)
            np.testing.assert_array_equal(out.get(), turned.T)


def run_row_reduction(cupy: Any) -> None:
    for rows, cols in ASYNCHRONOUS_SHAPES:
        x = np.random.default_rng(0).standard_normal((rows, cols), np.float32)
        sums, peaks = cupy.empty(rows, np.float32), cupy.empty(rows, np.float32)
        for stages in (1, 4):
            row_reduction.reduce_rows(cupy.asarray(x), sums, stages=stages)
            row_reduction.reduce_rows(cupy.asarray(x), sums, peaks, stages=stages)
            want_sums, want_peaks = row_reduction.reduce_rows_reference(x)
            np.testing.assert_allclose(sums.get(), want_sums, rtol=1e-4, atol=1e-4)
            np.testing.assert_array_equal(peaks.get(), want_peaks)


def run_gather_scale(cupy: Any) -> None:
    for rows, cols in ASYNCHRONOUS_SHAPES:
        random = np.random.default_rng(0)
        table, scale = random.standard_normal((rows, cols)).astype(np.float16), random.standard_normal(13, np.float32)
        index = random.integers(-2, rows + 2, 13).astype(np.int32)
        for by_tma in (False, True):
            out = cupy.empty((13, cols), np.float16)
            arrays = map(cupy.asarray, (table, index, scale))
            gather_scale.gather_scale_rows(*arrays, out, by_tma=by_tma, stages=2)
            expected = gather_scale.gather_scale_reference(table, index, scale)
            np.testing.assert_allclose(out.get(), expected, rtol=2e-3)


def run_persistent_rows(cupy: Any) -> None:
    for shape in (*ASYNCHRONOUS_SHAPES, (300, 1024), (3, 20000), (300, 16384)):
        x, weight = (np.random.default_rng(0).standard_normal(s).astype(np.float16) for s in (shape, shape[1]))
        out = cupy.empty(shape, np.float16)
        persistent_softmax.persistent_softmax_rows(cupy.asarray(x), out)
        np.testing.assert_allclose(out.get(), softmax.softmax_reference(x), rtol=2e-3, atol=1e-6)
        persistent_rms_norm.persistent_rms_norm_rows(cupy.asarray(x), cupy.asarray(weight), out)
        np.testing.assert_allclose(out.get(), persistent_rms_norm.rms_norm_reference(x, weight), rtol=4e-3, atol=2e-3)


def run_piped_histogram(cupy: Any) -> None:
    for n in VECTOR_LENGTHS:
        values = np.random.default_rng(n).integers(-3, 70, n).astype(np.int32)
        counts = cupy.zeros(64, np.int32)
        piped_histogram.count(cupy.asarray(values), counts, block=128)
        np.testing.assert_array_equal(counts.get(), piped_histogram.count_reference(values, 64))


def runners() -> dict[str, Callable[[Any], None]]:
    """What launches each kernel or algorithm, by name."""
    moe = {
        f"moe_{algorithm.name}": lambda cupy, algorithm=algorithm: run_moe(algorithm, cupy)
        for algorithm in algorithms.ALGORITHMS.values()
    }
    asynchronous = {
        "copies": run_copies,
        "row_reduction": run_row_reduction,
        "gather_scale": run_gather_scale,
        "persistent_rows": run_persistent_rows,
        "piped_histogram": run_piped_histogram,
    }
    simple = {"vector_add": run_vector_add, "softmax": run_softmax, "layer_norm": run_layer_norm}
    return {**simple, **asynchronous, **moe, **sanitize_products.RUNNERS}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(runners())}; default all")
    names = parser.parse_args(arguments).names or list(runners())
    unknown = set(names) - set(runners())
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    import cupy

    failures = 0
    for name in names:
        try:
            runners()[name](cupy)
            cupy.cuda.Device().synchronize()
            print(f"{name}: ok", flush=True)
        except Exception as error:
            failures += 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(names) - failures} passed, {failures} failed in sanitize.py")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
