"""Vector add, softmax and layer norm against NumPy: in the interpreter, and on the GPU where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.layer_norm import layer_norm_reference, layer_norm_rows
from kernels.softmax import softmax_reference, softmax_rows
from kernels.vector_add import add, add_reference

ON = pytest.mark.parametrize("where", ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)])
# One rounding of the result to its dtype, and for float32 the error of a sum of `cols` terms and of exp.
TOLERANCE = {"float32": 2e-6, "float16": 1e-3}


def on(where, array):
    if where == "interpreter":
        return array
    import cupy

    return cupy.asarray(array)


def host(array):
    return array if isinstance(array, np.ndarray) else array.get()


def random(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@ON
@pytest.mark.parametrize("n", [1, 3, 127, 1024, 1025, 4099])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_vector_add(where, n, dtype):
    x, y = ((random(n, "float32", seed) * 100).astype(dtype) for seed in (1, 2))
    out = on(where, np.empty(n, dtype))
    add(on(where, x), on(where, y), out)
    np.testing.assert_array_equal(host(out), add_reference(x, y))


def test_vector_add_refuses_vectors_of_different_lengths():
    with pytest.raises(ValueError, match="three vectors of one length"):
        add(np.zeros(3), np.zeros(4), np.zeros(3))


@ON
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (4, 128), (2, 1000), (2, 4096)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_softmax(where, shape, dtype):
    x = random(shape, dtype) * 3
    out = on(where, np.full_like(x, 7))
    softmax_rows(on(where, x), out)
    np.testing.assert_allclose(host(out), softmax_reference(x), rtol=TOLERANCE[dtype], atol=1e-7)


@ON
def test_softmax_of_infinities(where):
    x = np.array([[0.0, -np.inf, 1.0, -np.inf], [5.0, 5.0, 5.0, 5.0]], np.float32)
    out = on(where, np.empty_like(x))
    softmax_rows(on(where, x), out)
    np.testing.assert_allclose(host(out), softmax_reference(x), rtol=1e-6)


@ON
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (4, 128), (2, 1000), (2, 4096)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_layer_norm(where, shape, dtype):
    rows, cols = shape
    x = random(shape, dtype) + np.asarray(3, dtype)
    weight, bias = random(cols, dtype, 1), random(cols, dtype, 2)
    out = on(where, np.empty_like(x))
    mean, rstd = (on(where, np.empty(rows, np.float32)) for _ in range(2))
    layer_norm_rows(on(where, x), on(where, weight), on(where, bias), out, mean, rstd)
    for actual, expected in zip((out, mean, rstd), layer_norm_reference(x, weight, bias), strict=True):
        tolerance = TOLERANCE[dtype] if actual is out else 2e-6
        np.testing.assert_allclose(host(actual), expected, rtol=5 * tolerance, atol=5 * tolerance)
