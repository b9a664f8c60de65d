"""Random chains of shape operations: the interpreter and the emitted file compute what NumPy does.

Every step is written twice, as a line of a kernel and as a step on an array. `TLE2CUDA_SHAPE_PROGRAMS=1000 pytest
tests/emulator/test_random_shapes.py` tries more of them.
"""

from __future__ import annotations

import os
import pathlib
import random
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tle2cuda
from tests.frontend.kernels_on_file import load
from tle2cuda.emulator import emulate
from tle2cuda.runtime.device import DEVICE_VARIABLE

PROGRAMS = int(os.environ.get("TLE2CUDA_SHAPE_PROGRAMS", "16"))
MOST_ELEMENTS = 2048
Array = np.ndarray[Any, Any]


class Chain:
    """A kernel that loads a tile, takes it through random steps, and stores it; and what it stores."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.num_warps = self.choose.choice((1, 2, 4, 4, 8))
        self.size = 1 << self.choose.randrange(0, 11)
        self.value = np.random.default_rng(seed).integers(-50, 50, self.size).astype(np.int32)
        self.start = self.value.copy()
        self.lines: list[str] = []
        steps = [getattr(self, name) for name in dir(self) if name.startswith("step_")]
        for _ in range(self.choose.randrange(2, 9)):
            step: Callable[[], str | None] = self.choose.choice(steps)
            line = step()
            if line:
                self.lines.append(line)

    @property
    def source(self) -> str:
        body = "\n".join(f"    {line}" for line in self.lines)
        return (
            f'@tle2cuda.jit(language="3.9")\ndef k(x, out):\n    v = tl.load(x + tl.arange(0, {self.size}))\n{body}\n'
            f"    tl.store(out + tl.arange(0, {self.value.size}), tl.ravel(v))\n"
        )

    def axis(self) -> int:
        return self.choose.randrange(self.value.ndim)

    def wide(self) -> bool:
        """Whether the tile is too large to grow."""
        return self.value.size >= MOST_ELEMENTS

    def shape(self) -> list[int]:
        """Random extents for as many elements."""
        bits, shape = self.value.size.bit_length() - 1, []
        while bits > 0 and len(shape) < 5:
            taken = self.choose.randint(0, bits)
            shape.append(1 << taken)
            bits -= taken
        shape.append(1 << bits)
        self.choose.shuffle(shape)
        return shape

    # ---- steps: change `value`, return the line that does the same ----

    def step_reshape(self) -> str:
        shape = self.shape()
        self.value = self.value.reshape(shape)
        return f"v = tl.reshape(v, {shape})"

    def step_hypercube(self) -> str:
        shape = [2] * (self.value.size.bit_length() - 1) or [1]
        self.value = self.value.reshape(shape)
        return f"v = v.reshape({shape})"

    def step_permute(self) -> str:
        order = list(range(self.value.ndim))
        self.choose.shuffle(order)
        self.value = self.value.transpose(order)
        return f"v = tl.permute(v, {order})"

    def step_join(self) -> str | None:
        if self.wide():
            return None
        self.value = np.stack([self.value, self.value * 3 + 1], -1)
        return "v = tl.join(v, v * 3 + 1)"

    def step_split(self) -> str | None:
        if self.value.size < 4:
            return None
        shape = [self.value.size // 2, 2]
        self.value = self.value.reshape(shape)
        self.value = self.value[..., 0] - self.value[..., 1] * 5
        return f"a, b = tl.split(tl.reshape(v, {shape})); v = a - b * 5"

    def step_cat(self) -> str | None:
        if self.wide():
            return None
        axis = self.axis()
        self.value = np.concatenate([self.value ^ 7, self.value], axis)
        return f"v = tl.cat(v ^ 7, v, can_reorder=True, dim={axis})"

    def step_interleave(self) -> str | None:
        if self.wide():
            return None
        joined = np.stack([self.value, -self.value], -1)
        self.value = joined.reshape(*self.value.shape[:-1], -1)
        return "v = tl.interleave(v, -v)"

    def step_flip(self) -> str:
        axis = self.axis()
        self.value = np.flip(self.value, axis)
        return f"v = tl.flip(v, {axis})"

    def step_flip_and_add(self) -> str:
        axis = self.axis()
        self.value = self.value * 2 + np.flip(self.value, axis)
        return f"v = v * 2 + tl.flip(v, {axis})"

    def step_broadcast(self) -> str | None:
        if self.wide() or self.value.ndim > 6:
            return None
        axis = self.choose.randint(0, self.value.ndim)
        shape = [*self.value.shape[:axis], 2, *self.value.shape[axis:]]
        self.value = np.broadcast_to(np.expand_dims(self.value, axis), shape)
        return f"v = tl.broadcast_to(tl.expand_dims(v, {axis}), {shape})"

    def step_index(self) -> str:
        axis = self.axis()
        at = ", ".join(":" if d == axis else "None" for d in range(self.value.ndim))
        shape = [n if d == axis else 1 for d, n in enumerate(self.value.shape)]
        extent = self.value.shape[axis]
        self.value = self.value + np.arange(extent, dtype=np.int32).reshape(shape) * 11
        return f"v = v + tl.arange(0, {extent})[{at}] * 11"

    def step_xor_sum(self) -> str:
        axis = self.axis()
        self.value = self.value + np.bitwise_xor.reduce(self.value, axis, keepdims=True)
        return f"v = v + tl.xor_sum(v, {axis}, keep_dims=True)"

    def step_sum(self) -> str | None:
        axis = self.axis()
        if self.value.ndim < 2 or self.value.shape[axis] > 8:
            return None
        self.value = self.value.sum(axis, dtype=np.int32)
        return f"v = tl.sum(v, {axis})"

    def step_sort(self) -> str:
        axis = self.axis()
        down = self.choose.random() < 0.5
        ordered = np.sort(self.value, axis)
        self.value = np.flip(ordered, axis) if down else ordered
        return f"v = tl.sort(v, {axis}, descending={down})"

    def step_scan(self) -> str:
        axis = self.axis()
        self.value = np.cumsum(self.value, axis, dtype=np.int32)
        return f"v = tl.cumsum(v, {axis})"

    def step_gather(self) -> str:
        axis = self.axis()
        extent = self.value.shape[axis]
        places = (self.value * 3 + 1) & (extent - 1)
        self.value = np.take_along_axis(self.value, places, axis)
        return f"v = tl.gather(v, (v * 3 + 1) & {extent - 1}, {axis})"

    def _part(self) -> tuple[list[int], list[int], tuple[slice, ...]]:
        part = [1 << self.choose.randrange(n.bit_length()) for n in self.value.shape]
        at = [self.choose.randrange(n // m) for n, m in zip(self.value.shape, part, strict=True)]
        return part, at, tuple(slice(i * m, (i + 1) * m) for i, m in zip(at, part, strict=True))

    def step_extract(self) -> str:
        part, at, where = self._part()
        self.value = self.value[where]
        return f"v = tle.extract_tile(v, {at}, {part})"

    def step_insert(self) -> str:
        part, at, where = self._part()
        result = self.value.copy()
        source = tuple(slice(0, m) for m in part)
        result[where] = self.value[source] * 13
        self.value = result
        return f"v = tle.insert_tile(v, tle.extract_tile(v, {[0] * len(part)}, {part}) * 13, {at})"


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_chain(seed: int, tmp_path: pathlib.Path) -> None:
    with np.errstate(all="ignore"):
        chain = Chain(seed)
    kernel = load(chain.source, tmp_path).k
    want = np.ascontiguousarray(chain.value).reshape(-1)
    interpreted = np.zeros(want.size, np.int32)
    with mock.patch.dict(os.environ, {DEVICE_VARIABLE: "interpreter"}):
        kernel[(1,)](chain.start.copy(), interpreted, num_warps=chain.num_warps)
    assert (interpreted == want).all(), chain.source
    emitted = tle2cuda.emit(kernel, "*i32:16, *i32:16", num_warps=chain.num_warps, arch="sm_90a")
    arguments = {"x": chain.start, "out": np.zeros(want.size, np.int32)}
    result = emulate(emitted, (1,), arguments, schedule="random", seed=seed, detect="all").check()
    assert (result.outputs["out"] == want).all(), chain.source
