"""Copies into stages whose bytes the writer's own program touches otherwise: they must be done by then."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from tests.asynchrony.runs import traced
from tests.frontend.kernels_on_file import load
from tle2cuda.emulator import emulate
from tle2cuda.ir.nodes import walk
from tle2cuda.passes import pipeline

_KERNEL = """
@tle2cuda.jit
def put(w, q, h, desc, ring, flat, x, out, n, B: tl.constexpr):
    {before}
    for k in range(n):
        s = w.acquire(k)
        {copy}
        {behind}
        w.commit(k)
        {later}


@tle2cuda.jit
def take(r, out, n, B: tl.constexpr):
    for k in range(n):
        v = r.wait(k).slot.a.load()
        r.release(k)
        tl.store(out + k * B + tl.arange(0, B), v)


@tle2cuda.jit
def k(x, out, n, B: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [n, B], [B, 1], [1, B])
    ring = tle.gpu.alloc([2, B], tl.int32, nv_mma_shared_layout=False)
    flat = tle.gpu.alloc([2 * B], tl.int32, alias=ring, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=2, name="p", a=ring, c=ring)
    q = tle.pipe(capacity=2, name="q", b=ring)
    h = tle.pipe(capacity=2, name="h", lo=ring.subslice(0, B // 2), hi=ring.subslice(B // 2, B // 2))
    ends = p.writer(), q, h, desc, ring, flat, x, out, n, B
    tle.gpu.warp_specialize([(take, (p.reader(), out, n, B)), (put, ends)], [2])
"""
_BY_POINTERS = "tle.gpu.copy(x + k * B + tl.arange(0, B), s.a, [B])"
_BY_DESCRIPTOR = "tle.gpu.copy(desc, s.a, [B], [k, 0])"
_REVERSED = "tl.load(tle.gpu.local_ptr(w.acquire(k).a, (B - 1 - tl.arange(0, B),)))"
_MARK = "tl.store(tle.gpu.local_ptr({}, (0,)), k)"
_TOUCHING = {
    "the stage of the buffer": {"behind": _MARK.format("ring.slot(k % 2)")},
    "an element of it": {"behind": "tl.store(tle.gpu.local_ptr(ring, (k % 2, 0)), k)"},
    "another view": {"behind": "tl.store(tle.gpu.local_ptr(flat, (k % 2 * B,)), k)"},
    "another field": {"behind": _MARK.format("s.c")},
    "another pipe": {"behind": _MARK.format("q.writer().acquire(k).b")},
    "the stage once more": {"behind": _MARK.format("w.acquire(w.cursor(k)).a")},
    "in a branch": {"behind": "if k > 1:\n            " + _MARK.format("ring.slot(k % 2)")},
    "behind the commit": {"later": "tl.store(out, tl.sum(ring.slot(k % 2).load()))"},
}
_ELSEWHERE = {
    "nothing": {},
    "in front": {"before": "ring.store(tl.zeros([2, B], tl.int32))"},
    "the next stage": {"behind": "t = w.acquire(k + 1)"},
    "another pipe, later": {"later": _MARK.format("q.writer().acquire(k).b")},
    "other parts of a stage": {
        "copy": "t = h.writer().acquire(k)\n        tle.gpu.copy(x + k * B + tl.arange(0, B // 2), t.lo, [B // 2])",
        "behind": "t.hi.store(tl.zeros([B // 2], tl.int32))\n        h.writer().commit(k)",
    },
}


def _text(**parts: str) -> str:
    return _KERNEL.format(**{name: parts.get(name) or "pass" for name in ("before", "copy", "behind", "later")})


def _transports(text: str, folder: pathlib.Path) -> set[str]:
    x = np.zeros((8, 64), np.int32)
    kernel, _ = pipeline.run(traced(load(text, folder).k, [x, x, 8], B=64))
    return {each for op in walk(kernel.body) if op.name == "pipe" for each in op.attrs["transports"]}


@pytest.mark.parametrize("copy", [_BY_POINTERS, _BY_DESCRIPTOR], ids=["pointers", "descriptor"])
@pytest.mark.parametrize("name", _TOUCHING)
def test_stages_that_are_touched_otherwise(name: str, copy: str, tmp_path: pathlib.Path) -> None:
    assert _transports(_text(copy=copy, **_TOUCHING[name]), tmp_path) == {"plain"}


@pytest.mark.parametrize("name", _ELSEWHERE)
def test_stages_that_are_not(name: str, tmp_path: pathlib.Path) -> None:
    found = _transports(_text(**{"copy": _BY_POINTERS, **_ELSEWHERE[name]}), tmp_path)
    assert found & {"tma", "cp_async"}


@pytest.mark.parametrize(
    ("copy", "behind"),
    [
        (_BY_POINTERS, _MARK.format("s.c")),
        (_BY_DESCRIPTOR, _MARK.format("ring.slot(k % 2)")),
        # What a thread stored by the first slot another one reads by the second.
        (
            "s.a.store(tl.load(x + k * B + tl.arange(0, B)) * 2)",
            f"s.a.store({_REVERSED})\n        {_MARK.format('s.a')}",
        ),
    ],
    ids=["field", "buffer", "acquired twice"],
)
def test_the_last_access_of_the_program_counts(copy: str, behind: str, tmp_path: pathlib.Path) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (5, 64)).astype(np.int32)
    want = x[:, ::-1] * 2 if "* 2" in copy else x.copy()
    want[:, 0] = np.arange(5)
    kernel = load(_text(copy=copy, behind=behind), tmp_path).k
    arguments = {"x": x, "out": np.zeros_like(x), "n": 5, "B": 64}
    result = emulate(kernel, 1, arguments, schedule="random", detect="all").check()
    np.testing.assert_array_equal(result.outputs["out"], want)
