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

from kernels import layer_norm, softmax, vector_add
from kernels.moe_align_block_size import algorithms, reference

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


def runners() -> dict[str, Callable[[Any], None]]:
    """What launches each kernel or algorithm, by name."""
    moe = {
        f"moe_{algorithm.name}": lambda cupy, algorithm=algorithm: run_moe(algorithm, cupy)
        for algorithm in algorithms.ALGORITHMS.values()
    }
    return {"vector_add": run_vector_add, "softmax": run_softmax, "layer_norm": run_layer_norm, **moe}


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
