"""Tensor copies of one memory: which boxes are known to be apart, what orders the rest, how many stores stay in flight."""

from __future__ import annotations

import importlib
import pathlib

import pytest

from tests.frontend.kernels_on_file import trace_text
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.analysis.box_order import BoxOrder
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.passes.pipeline import PASSES

_HEAD = """\
@tle2cuda.jit
def k(x, y, n, m):
    source = tl.make_tensor_descriptor(x, [n, n], [n, 1], [8, 32])
    desc = tl.make_tensor_descriptor(y, [n, n], [n, 1], [8, 32])
    tile = tle.gpu.alloc([8, 32], tl.float16, nv_mma_shared_layout=False)
    other = tle.gpu.alloc([8, 32], tl.float16, nv_mma_shared_layout=False)
    ring = tle.gpu.alloc([4, 8, 32], tl.float16, nv_mma_shared_layout=False)
    pid = tl.program_id(0)
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 32)[None, :]
"""


def ordered(folder: pathlib.Path, body: str) -> Kernel:
    """A kernel over two tensors of n rows of n float16, behind the pass of barriers."""
    text = _HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    kernel = trace_text(text, folder, "*fp16:16, *fp16:16, i32:16, i32", arch="sm_90a")
    for each in PASSES:
        kernel = importlib.import_module(f"tle2cuda.passes.{each.name}").run(kernel)
        if each.name == "barriers":
            return kernel
    raise AssertionError("there is no pass of barriers")


def added(kernel: Kernel, name: str, **attrs: object) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name == name and all(op.attrs.get(k) == v for k, v in attrs.items())]


LOOPS = {  # a loop, and what it stores where: whether a store must wait for the one before it
    ("for t in range(pid, n, tl.num_programs(0)):", "t * 8, 0"): False,
    ("for t in range(pid * 8, n, 8):", "t, 0"): False,
    ("for t in range(n):", "(pid + t * tl.num_programs(0)) * 8, 0"): False,
    ("for t in range(n):", "(pid + t * tl.num_programs(0)) * 4, 0"): True,
    ("for t in range(n):", "(pid + t * tl.num_programs(0)) // n * 8, (pid + t * tl.num_programs(0)) % n * 32"): False,
    ("for t in range(pid * 8, n, 4):", "t, 0"): True,
    ("for t in range(n):", "t * 4, 0"): True,
    ("for t in range(n):", "8, t * 32"): False,
    ("for t in range(n):", "8, t * 16"): True,
    ("for t in range(n):", "pid * 8, 0"): True,
    ("for t in range(n):", "t // 4 * 8, t % 4 * 32"): False,
    ("for t in range(n):", "t // 4 * 8, t % 2 * 32"): True,
    ("for t in range(n):", "t // n * 8, t % n * 32"): False,
    ("for t in range(n):", "t // n * 4, t % n * 32"): True,
    ("for t in range(n):", "t // n * 8, (t + 1) % n * 32"): True,
    ("for t in range(n):", "(n - t) * 8, 0"): False,
    ("for t in range(n):", "(t * t + 7) * 8, 0"): True,
    ("for t in range(0, n, 16):", "t * m, 0"): True,
}


@pytest.mark.parametrize(("loop", "offsets"), LOOPS)
def test_stores_of_one_loop(loop: str, offsets: str, tmp_path: pathlib.Path) -> None:
    kernel = ordered(tmp_path, f"tl.assume(m >= 0)\n{loop}\n    tle.gpu.copy(tile, desc, [8, 32], [{offsets}])")
    assert bool(added(kernel, "tma_store_wait", kind="all")) == LOOPS[loop, offsets]


NESTS = {
    "t * 8, u * 32": False,
    "u * 8, t * 32": False,
    "u * 8, 0": True,
    "t * 8, 0": True,
    "t * 8 + u * 8, 0": True,
    "(t * 4 + u) * 8, 0": True,
    "t * 8, u * 16": True,
}


@pytest.mark.parametrize("offsets", NESTS)
def test_stores_of_nested_loops(offsets: str, tmp_path: pathlib.Path) -> None:
    lines = ("for t in range(pid, n):", "    for u in range(n):", f"        tle.gpu.copy(tile, desc, [8, 32], [{offsets}])")
    assert bool(added(ordered(tmp_path, "\n".join(lines)), "tma_store_wait", kind="all")) == NESTS[offsets]


PAIRS = {
    ("pid * 8, 0", "pid * 8 + 8, 0"): False,
    ("pid * 8, 0", "pid * 8 + 7, 0"): True,
    ("pid * 8 + 8, 0", "pid * 8, 0"): False,
    ("pid * 8, 0", "pid * 8, 32"): False,
    ("pid * 8, 0", "m * 8, 0"): True,
}


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_stores(first: str, second: str, tmp_path: pathlib.Path) -> None:
    lines = (
        "tl.assume(m >= 0)",
        *(f"tle.gpu.copy({b}, desc, [8, 32], [{o}])" for b, o in (("tile", first), ("other", second))),
    )
    assert bool(added(ordered(tmp_path, "\n".join(lines)), "tma_store_wait", kind="all")) == PAIRS[first, second]


def test_two_stores_of_a_loop(tmp_path: pathlib.Path) -> None:
    for step, expected in ((16, False), (12, True)):
        lines = (
            f"for t in range(pid * 16, n, {step}):",
            "    tle.gpu.copy(tile, desc, [8, 32], [t, 0])",
            "    tle.gpu.copy(other, desc, [8, 32], [t + 8, 0])",
        )
        assert bool(added(ordered(tmp_path, "\n".join(lines)), "tma_store_wait", kind="all")) == expected


def test_in_place(tmp_path: pathlib.Path) -> None:
    """A box is loaded and stored, others in other iterations; a load of what the iteration before stored waits."""
    for back, expected in ((0, False), (8, True)):
        lines = (
            "for t in range(pid * 8, n, 8):",
            f"    tle.gpu.copy(desc, tile, [8, 32], [t - {back}, 0])",
            "    tl.store(tle.gpu.local_ptr(tile), tl.load(tle.gpu.local_ptr(tile)) + 1)",
            "    tle.gpu.copy(tile, desc, [8, 32], [t, 0])",
        )
        assert bool(added(ordered(tmp_path, "\n".join(lines)), "tma_store_wait", kind="all")) == expected


def test_ordinary_accesses(tmp_path: pathlib.Path) -> None:
    """Of the same tensor they need a fence or a wait, of another one nothing."""
    copy = "tle.gpu.copy(tile, desc, [8, 32], [pid * 8, 0])"
    kernel = ordered(tmp_path, f"tl.store(y + i * n + j, i + j)\n{copy}")
    assert len(added(kernel, "proxy_fence", space="global")) == 1 and added(kernel, "barrier")
    kernel = ordered(tmp_path, f"tl.store(x + i * n + j, i + j)\n{copy}")
    assert not added(kernel, "proxy_fence", space="global")
    kernel = ordered(tmp_path, f"{copy}\nv = tl.load(y + i * n + j)\ntl.store(x + i * n + j, v)")
    assert len(added(kernel, "tma_store_wait", kind="all")) == 1 and added(kernel, "barrier")


PENDING = {  # which slot is filled and stored in each iteration: how many stores the wait leaves in flight
    "t % 4": 3,
    "t & 3": 3,
    "(t + 1) % 4": 3,
    "t * 3 % 4": 3,
    "t * 2 % 4": 1,
    "t % 3": 2,
    "t % 2": 1,
    "0": 0,
    "t // 2 % 2": 0,
    "t * t % 4": 0,
}


@pytest.mark.parametrize("slot", PENDING)
def test_stores_in_flight_out_of_a_ring(slot: str, tmp_path: pathlib.Path) -> None:
    lines = (
        "for t in range(n):",
        f"    slot = ring.slot({slot})",
        "    tl.store(tle.gpu.local_ptr(slot), tl.load(x + (t * 8 + i) * n + j))",
        "    tle.gpu.copy(slot, desc, [8, 32], [t * 8, 0])",
    )
    kernel = ordered(tmp_path, "\n".join(lines))
    (loop,) = (op for op in kernel.body.ops if op.name == "for")
    waits = [op.attrs.get("pending", 0) for op in walk(loop.regions[0]) if op.name == "tma_store_wait"]
    assert waits == [PENDING[slot]]
    assert "pending" not in added(kernel, "tma_store_wait")[-1].attrs  # before the CTA exits


def test_a_store_on_one_path_does_not_count(tmp_path: pathlib.Path) -> None:
    lines = (
        "for t in range(n):",
        "    slot = ring.slot(t % 4)",
        "    tl.store(tle.gpu.local_ptr(slot), tl.load(x + (t * 8 + i) * n + j))",
        "    if t > m:",
        "        tle.gpu.copy(slot, desc, [8, 32], [t * 8, 0])",
    )
    kernel = ordered(tmp_path, "\n".join(lines))
    (loop,) = (op for op in kernel.body.ops if op.name == "for")
    assert [op.attrs.get("pending", 0) for op in walk(loop.regions[0]) if op.name == "tma_store_wait"] == [0]


_SUM = "desc.atomic_add([pid * 8, 0], tl.load(x + i * n + j))"


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        ("pid * 16, 0", "n * 16 + 8, 0", True),
        ("pid * 16, 0", "n * 16 + 40, m", True),
        ("pid * 16, 0", "n * 16 + 4, 0", False),
        ("pid * 16, 0", "n * 8 + 8, 0", False),
        ("pid * 24, 0", "n * 24 + 8, 0", False),  # 8 is all of 24 that holds where counts wrap around
        ("pid, m * 64", "n, m * 64 + 32", True),
        ("0, 0", "8, 0", True),
        ("0, 0", "7, 0", False),
    ],
)
def test_boxes_that_never_meet(first: str, second: str, apart: bool, tmp_path: pathlib.Path) -> None:
    lines = f"tle.gpu.copy(tile, desc, [8, 32], [{first}])\ntle.gpu.copy(other, desc, [8, 32], [{second}])"
    kernel = ordered(tmp_path, lines)
    boxes = BoxOrder(kernel, axis_info(kernel))
    one, other = (op for op in walk(kernel.body) if op.name == "tma_store")
    assert boxes.never_meet(one, other) == boxes.never_meet(other, one) == apart
    assert not boxes.never_meet(one, one)


def test_threads_that_do_not_wait_know_from_a_barrier_on(tmp_path: pathlib.Path) -> None:
    """Thread 0 waits for the first store a second time behind the last barrier: the others know of the first wait alone."""
    body = """\
for t in range(n):
    tl.store(tle.gpu.local_ptr(tile), (i + j + t).to(tl.float16))
    tle.gpu.copy(tile, desc, [8, 32], [t * 16, 0])
    tl.store(tle.gpu.local_ptr(other), (i - j + t).to(tl.float16))
    tle.gpu.copy(other, desc, [8, 32], [t * 16 + 8, 0])
    tle.gpu.copy(desc, ring.slot(0), [8, 32], [t * 16 - 8, 0])"""
    waits = added(ordered(tmp_path, body), "tma_store_wait")
    assert {op.attrs["kind"] for op in waits} == {"read", "all"}
    assert [op.attrs.get("pending", 0) for op in waits] == [0] * len(waits)


def test_reductions_wait_for_what_does_not_commute(tmp_path: pathlib.Path) -> None:
    kernel = ordered(tmp_path, f"{_SUM}\n{_SUM}")
    assert len(added(kernel, "tma_store", kind="add")) == 2 and not added(kernel, "tma_store_wait", kind="all")
    kernel = ordered(tmp_path, f"{_SUM}\ntle.gpu.copy(tile, desc, [8, 32], [pid * 8, 0])")
    assert len(added(kernel, "tma_store_wait", kind="all")) == 1


@pytest.mark.parametrize(("sem", "count"), [("relaxed", 0), ("release", 1), ("acq_rel", 1)])
def test_what_tells_other_ctas_waits_for_stores(sem: str, count: int, tmp_path: pathlib.Path) -> None:
    kernel = ordered(tmp_path, f"{_SUM}\ntl.atomic_add(x.to(tl.pointer_type(tl.int32), bitcast=True), 1, sem='{sem}')")
    assert len(added(kernel, "tma_store_wait", kind="all")) == count


def test_what_other_ctas_wrote_is_fenced(tmp_path: pathlib.Path) -> None:
    """Each program writes behind its load of what others wrote, and has learnt that they did."""
    lines = (
        "tl.atomic_add(x.to(tl.pointer_type(tl.int32), bitcast=True), 1, sem='{}')",
        "tle.gpu.copy(desc, tile, [8, 32], [pid * 8, 0])",
        "tl.store(y + i * n + j, tl.load(tle.gpu.local_ptr(tile)))",
    )
    for sem, count in (("relaxed", 0), ("acquire", 1)):
        kernel = ordered(tmp_path, "\n".join(lines).format(sem))
        assert len(added(kernel, "proxy_fence", space="global")) == count, sem
