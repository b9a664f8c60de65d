"""When a tensor map that a loop makes may be made again, and where loads and stores take its place."""

from __future__ import annotations

import pathlib

import pytest

from tests.frontend.kernels_on_file import trace_text
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.ir.types import PipeType
from tle2cuda.passes import canonicalise, tensor_maps

_SIGNATURE = "*fp16:16, *i32:16, i32"
_PRELUDE = """
@tle2cuda.jit
def k(x, firsts, n):
    ring = tle.gpu.alloc([2, 8, 32], tl.float16, nv_mma_shared_layout=False)
    tile = tle.gpu.alloc([8, 32], tl.float16, nv_mma_shared_layout=False)
    bars = tle.gpu.alloc_barriers(num_barriers=2, expect_bytes=512)
    pipe = tle.pipe(capacity=2, tile=ring)
    w, r = pipe.writer(), pipe.reader()
    for i in range(n):
        desc = tl.make_tensor_descriptor(x + tl.load(firsts + i) * 8, [n, 32], [32, 1], [8, 32])
"""


def changed(folder: pathlib.Path, body: str, target: str = "sm_90a") -> tuple[Kernel, list[Op]]:
    """The kernel behind the pass, and the maps that it makes."""
    text = _PRELUDE + "".join(f"        {line}\n" for line in body.splitlines())
    kernel = tensor_maps.run(canonicalise.run(trace_text(text, folder, _SIGNATURE, arch=target)))
    return kernel, [op for op in walk(kernel.body) if op.name == "changed_tensor_map"]


MADE = {  # body of the loop: slots, pipes waited for, whether stores are waited for
    "blocking": ("tle.gpu.copy(desc, tile, [8, 32], [0, 0])", 1, 0, False),
    "stored": ("tle.gpu.copy(tile, desc, [8, 32], [0, 0])", 1, 0, True),
    "awaited": (
        "tle.gpu.copy(desc, tile, [8, 32], [0, 0], barrier=bars[0])\ntle.gpu.barrier_wait(bars[0], phaseIdx=i)",
        1,
        0,
        False,
    ),
    "published": (
        "for j in range(n):\n    tle.gpu.copy(desc, w.acquire(i * n + j).tile, [8, 32], [0, 0])\n"
        "    w.commit(i * n + j)\n    r.release(i * n + j)",
        1,
        1,
        False,
    ),
    "of_stages": (
        "s = w.acquire(i).tile\nif i > 1:\n    e = tl.make_tensor_descriptor(x + tl.load(firsts + i + n) * 8, [n, 32], "
        "[32, 1], [8, 32])\n    tle.gpu.copy(e, s, [8, 32], [0, 0])\nw.commit(i)\nr.release(i)",
        2,
        0,
        False,
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_map_is_made_again(name: str, tmp_path: pathlib.Path) -> None:
    body, slots, pipes, stores = MADE[name]
    _, (made,) = changed(tmp_path, body)
    found = sum(isinstance(value.type, PipeType) for value in made.operands)
    assert (made.attrs["slots"], found, made.attrs["after_stores"]) == (slots, pipes, stores)


REFUSED = {  # body of the loop: nothing says when the engine is done with the map
    "awaited_elsewhere": "tle.gpu.copy(desc, tile, [8, 32], [0, 0], barrier=bars[i & 1])\n"
    "tle.gpu.barrier_wait(bars[(i + 1) & 1], phaseIdx=i >> 1)",
    "awaited_sometimes": "tle.gpu.copy(desc, tile, [8, 32], [0, 0], barrier=bars[0])\n"
    "if i > 3:\n    tle.gpu.barrier_wait(bars[0], phaseIdx=i)",
    "published_later": "for j in range(n):\n    tle.gpu.copy(desc, w.acquire(i + j).tile, [8, 32], [0, 0])\n"
    "w.commit(i)\nr.release(i)",
    "several_in_a_stage": "s = w.acquire(i).tile\nfor j in range(n):\n"
    "    e = tl.make_tensor_descriptor(x + tl.load(firsts + j) * 8, [n, 32], [32, 1], [8, 32])\n"
    "    tle.gpu.copy(e, s, [8, 32], [0, 0])\nw.commit(i)\nr.release(i)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_loads_and_stores_take_its_place(name: str, tmp_path: pathlib.Path) -> None:
    kernel, made = changed(tmp_path, REFUSED[name])
    assert not made and not any(op.name == "tma_load" for op in walk(kernel.body))


def test_targets_without_changes_of_maps(tmp_path: pathlib.Path) -> None:
    kernel, made = changed(tmp_path, MADE["blocking"][0], "sm_90")
    assert not made and not any(op.name == "tma_load" for op in walk(kernel.body))
