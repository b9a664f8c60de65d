"""Large products are stored in halves where a ring leaves too little shared memory: nothing else changes."""

from __future__ import annotations

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.passes.test_pipeliner import persistent
from tle2cuda.compiler import trace_specialized
from tle2cuda.interpreter import run
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import walk
from tle2cuda.passes import canonicalise
from tle2cuda.passes.store_parts import with_halved_stores
from tle2cuda.runtime.args import specialize


@tle2cuda.jit
def outer_product(a, b, order, out, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Masked at two edges, its columns at places out of memory; a small store that stays whole."""
    i, j, k = tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, 16)
    left = tl.load(a + i[:, None] * 16 + k[None, :])
    acc = tl.dot(left, tl.load(b + k[:, None] * COLUMNS + j[None, :]))
    places = tl.load(order + j)
    mask = (i[:, None] < M) & (j[None, :] < N)
    tl.store(out + i[:, None] * COLUMNS + places[None, :], acc + i[:, None], mask=mask)
    tl.store(a + i[:, None] * 16 + k[None, :], left + 1)


def test_halves_store_what_the_whole_does() -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "a": rng.integers(-4, 5, (128, 16)).astype(np.float16),
        "b": rng.integers(-4, 5, (16, 256)).astype(np.float16),
        "order": rng.permutation(256).astype(np.int32),
        "out": np.full((128, 256), 7, np.float32),
    }
    bound = specialize(outer_product.parameters, [*arrays.values(), 100, 201, 128, 256], "outer_product")
    kernel = canonicalise.run(trace_specialized(outer_product, bound.specialization, num_warps=4, arch="sm_90a"))
    halved = with_halved_stores(kernel)
    assert halved is not None
    verify(halved)
    assert [op.operands[1].type.shape for op in walk(halved.body) if op.name == "store"] == [
        (128, 128),
        (128, 128),
        (128, 16),
    ]
    again = with_halved_stores(halved)
    assert again is not None and with_halved_stores(again) is None
    results = []
    for each in (kernel, halved, again):
        given = {name: array.copy() for name, array in arrays.items()} | {"M": 100, "N": 201}
        run(each, (1, 1, 1), {argument.name: given[argument.name] for argument in each.args})
        results.append(given["out"])
    expected = np.full((128, 256), 7, np.float32)
    sums = arrays["a"].astype(np.float32) @ arrays["b"].astype(np.float32) + np.arange(128)[:, None]
    expected[:100, arrays["order"][:201]] = sums[:100, :201]
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_stores_leave_room_for_a_stage() -> None:
    """Lanes exchange what they store, and no buffer is left for the copy engine."""
    source = persistent(True, 256)
    assert "a_tile[4][128][64]" in source and "//   stages" not in source
    assert source.count("store_edge_if<uint4>(c_base") == 1 and "result[" not in source
