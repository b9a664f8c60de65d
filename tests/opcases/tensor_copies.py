"""`tle.gpu.copy` between tensors and buffers: ranks, dtypes, edges, wide tiles, swizzles, loops, barriers, descriptors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, F8E5, Array, Inputs, OpCase, add_case, numbers, poison
from tle2cuda.language import tle

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def copy_boxes(x, out, M, N, row, col, BM: tl.constexpr, BN: tl.constexpr, MMA: tl.constexpr, PADDING: tl.constexpr):
    """A box at any row, and at columns that the copy engine takes, into a dense array, clipped at its edges."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN], padding_option=PADDING)
    target = tl.make_tensor_descriptor(out, [M - 1, N], [N, 1], [BM, BN])
    tile = tle.gpu.alloc([BM, BN], x.dtype.element_ty, nv_mma_shared_layout=MMA)
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    tle.gpu.copy(source, tile, [BM, BN], [i + row, j + col])
    tle.gpu.copy(tile, target, [BM, BN], [i, j])


@tle2cuda.jit
def copy_boxes_anywhere(
    x, out, M, N, row, col: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, MMA: tl.constexpr, PADDING: tl.constexpr
):
    """The same at columns that the copy engine takes or not, as is known when the kernel is compiled."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN], padding_option=PADDING)
    target = tl.make_tensor_descriptor(out, [M - 1, N], [N, 1], [BM, BN])
    tile = tle.gpu.alloc([BM, BN], x.dtype.element_ty, nv_mma_shared_layout=MMA)
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    tle.gpu.copy(source, tile, [BM, BN], [i + row, j + col])
    tle.gpu.copy(tile, target, [BM, BN], [i, j])


@tle2cuda.jit
def copy_corners(x, rows, cols, out, M, N, BM: tl.constexpr, BN: tl.constexpr, ON: tl.constexpr):
    """Boxes at rows and columns out of memory, loaded and stored: the engine takes some of them."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    tile = tle.gpu.alloc([BM, BN], x.dtype.element_ty, nv_mma_shared_layout=False)
    landed = tle.gpu.alloc_barriers(num_barriers=1, expect_bytes=BM * BN * 4)
    for k in range(M // BM):
        row, col = tl.load(rows + k), tl.load(cols + k)
        if ON:
            tle.gpu.copy(source, tile, [BM, BN], [k * BM, col], barrier=landed)
            tle.gpu.barrier_wait(landed, phaseIdx=k)
        else:
            tle.gpu.copy(source, tile, [BM, BN], [k * BM, col])
        tle.gpu.copy(tile, target, [BM, BN], [row, col])


@tle2cuda.jit
def copy_torn_rows(x, out, sums, M, N, LD, BM: tl.constexpr, BN: tl.constexpr):
    """Columns of wider arrays, which end within the 16 bytes that the copy engine writes at once: their neighbours stay."""
    source = tl.make_tensor_descriptor(x, [M, N], [LD, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [LD, 1], [BM, BN])
    totals = tl.make_tensor_descriptor(sums, [M, N], [LD, 1], [BM, BN])
    tile = tle.gpu.alloc([BM, BN], x.dtype.element_ty, nv_mma_shared_layout=False)
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    tle.gpu.copy(source, tile, [BM, BN], [i, j])
    tle.gpu.copy(tile, target, [BM, BN], [i, j])
    totals.atomic_add([i, j], tl.full([BM, BN], 1, tl.float16))


@tle2cuda.jit
def copy_lines(x, out, n, BLOCK: tl.constexpr):
    """Rank 1, through registers and back, in a loop: the buffer is filled again."""
    n = tl.multiple_of(n, 4)
    source = tl.make_tensor_descriptor(x, [n], [1], [BLOCK])
    target = tl.make_tensor_descriptor(out, [n], [1], [BLOCK])
    line = tle.gpu.alloc([BLOCK], tl.float32, nv_mma_shared_layout=False)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        tle.gpu.copy(source, line, [BLOCK], [start], eviction_policy="evict_first")
        value = tl.load(tle.gpu.local_ptr(line))
        tl.store(tle.gpu.local_ptr(line), value * 2 + tl.flip(value))
        tle.gpu.copy(line, target, [BLOCK], [start])


@tle2cuda.jit
def copy_blocks(x, out, A, B, C, D, E, COL: tl.constexpr):
    """Ranks 3 to 5, dimensions of extent 1 dropped from the buffers."""
    E = tl.multiple_of(E, 8)
    five = tl.make_tensor_descriptor(x, [A, B, C, D, E], [B * C * D * E, C * D * E, D * E, E, 1], [2, 1, 2, 4, 16])
    three = tl.make_tensor_descriptor(out, [A * B * C, D, E], [D * E, E, 1], [4, 4, 16])
    tile = tle.gpu.alloc([2, 2, 4, 16], tl.int16, nv_mma_shared_layout=False)
    tle.gpu.copy(five, tile, [2, 1, 2, 4, 16], [1, 2, 0, 1, COL])
    tle.gpu.copy(tile.reshape([4, 4, 16]), three, [4, 4, 16], [3, 0, 0])


@tle2cuda.jit
def turn(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """A transpose: rows come by the copy engine, columns are read."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    tile = tle.gpu.alloc([BM, BN], x.dtype.element_ty)
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    tle.gpu.copy(source, tile, [BM, BN], [i, j])
    turned = tl.trans(tl.load(tle.gpu.local_ptr(tile)))
    rows, cols = j + tl.arange(0, BN), i + tl.arange(0, BM)
    tl.store(out + rows[:, None] * M + cols[None, :], turned, mask=(rows[:, None] < N) & (cols[None, :] < M))


@tle2cuda.jit
def turn_both(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The same, stored by the copy engine, and one element picked by scalars and by index tiles."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [N, M], [M, 1], [BN, BM])
    tile = tle.gpu.alloc([BM, BN], x.dtype.element_ty)
    other = tle.gpu.alloc([BN, BM], x.dtype.element_ty)
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    tle.gpu.copy(source, tile, [BM, BN], [i, j])
    rows = tl.broadcast_to(tl.arange(0, BM)[None, :], (BN, BM))
    cols = tl.broadcast_to(tl.arange(0, BN)[:, None], (BN, BM))
    first = tl.load(tle.gpu.local_ptr(tile, (0, 0)))
    tl.store(tle.gpu.local_ptr(other), tl.load(tle.gpu.local_ptr(tile, (rows, cols))) + first)
    tle.gpu.copy(other, target, [BN, BM], [j, i])


@tle2cuda.jit
def turn_and_store(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The same through registers: both buffers are swizzled."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [N, M], [M, 1], [BN, BM])
    tile = tle.gpu.alloc([BM, BN], x.dtype.element_ty)
    other = tle.gpu.alloc([BN, BM], x.dtype.element_ty)
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    tle.gpu.copy(source, tile, [BM, BN], [i, j])
    tl.store(tle.gpu.local_ptr(other), tl.trans(tl.load(tle.gpu.local_ptr(tile))))
    tle.gpu.copy(other, target, [BN, BM], [j, i])


@tle2cuda.jit
def ring_of_barriers(x, out, M, N, STAGES: tl.constexpr, BN: tl.constexpr):
    """Loads in flight ahead of their use, each on a barrier of the user's."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    ring = tle.gpu.alloc([STAGES, BN], tl.float32, nv_mma_shared_layout=False)
    landed = tle.gpu.alloc_barriers(num_barriers=STAGES, expect_bytes=BN * 4)
    for row in tl.static_range(STAGES):
        tle.gpu.copy(source, ring.slot(row), [1, BN], [row, 0], barrier=landed[row])
    i = tl.arange(0, BN)
    for row in range(M):
        stage = row % STAGES
        tle.gpu.barrier_wait(landed[stage], phaseIdx=row // STAGES)
        value = tl.load(tle.gpu.local_ptr(ring.slot(stage)))
        tl.store(out + row * N + i, value + row, mask=i < N)
        tle.gpu.copy(source, ring.slot(stage), [1, BN], [row + STAGES, 0], barrier=landed[stage])
    for stage in tl.static_range(STAGES):
        tle.gpu.barrier_wait(landed[(M + stage) % STAGES], phaseIdx=(M + stage) // STAGES)


@tle2cuda.jit
def segments(x, starts, out, N, BM: tl.constexpr, BN: tl.constexpr):
    """Descriptions that memory decides, before all loops: some of the tensors are empty."""
    first = tl.load(starts + tl.program_id(0))
    rows = tl.load(starts + tl.program_id(0) + 1) - first
    source = tl.make_tensor_descriptor(x + first * N, [rows, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out + first * N, [rows, N], [N, 1], [BM, BN])
    tile = tle.gpu.alloc([BM, BN], tl.float32)
    for row in range(0, rows + 1, BM):
        for col in range(0, N, BN):
            tle.gpu.copy(source, tile, [BM, BN], [row, col])
            tl.store(tle.gpu.local_ptr(tile), tl.load(tle.gpu.local_ptr(tile)) + 1)
            tle.gpu.copy(tile, target, [BM, BN], [row, col])


@tle2cuda.jit
def windows(x, starts, out, N, ROWS: tl.constexpr, BN: tl.constexpr):
    """Descriptions that the host cannot know, and buffers that the copy engine cannot fill."""
    start = tl.load(starts + tl.program_id(0))
    source = tl.make_tensor_descriptor(x + start * N, [ROWS - 1, N], [N, 1], [ROWS, BN])
    wide = tle.gpu.alloc([ROWS, 2 * BN], tl.float32, nv_mma_shared_layout=False)
    tle.gpu.copy(source, wide.subslice(0, BN, 1), [ROWS, BN], [0, 0])
    tle.gpu.copy(source, wide.subslice(BN, BN, 1), [ROWS, BN], [1, 4])
    target = tl.make_tensor_descriptor(out, [tl.num_programs(0) * ROWS, 2 * BN], [2 * BN, 1], [ROWS, 2 * BN])
    tle.gpu.copy(wide, target, [ROWS, 2 * BN], [tl.program_id(0) * ROWS, 0])


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(
    name: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    reference: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    grid: tuple[int, ...] = (1,),
) -> None:
    add_case(OpCase(f"tensor_{name}", "tensor_copies", kernel, grid, make, reference, constants))


def _box(x: Array, starts: tuple[int, ...], shape: tuple[int, ...], fill: float = 0) -> Array:
    """A box of an array, `fill` where nothing is."""
    result = np.full(shape, fill, x.dtype)
    for index in np.ndindex(*shape):
        at = tuple(start + i for start, i in zip(starts, index, strict=True))
        if all(0 <= a < extent for a, extent in zip(at, x.shape, strict=True)):
            result[index] = x[at]
    return result


def _boxes(m: int, n: int, row: int, col: int, dtype: Any, block: tuple[int, int], padding: str, **constants: Any) -> Any:
    bm, bn = block
    is_engines = col * np.dtype(dtype).itemsize % 16 == 0
    if not is_engines:
        constants["col"] = col
    grid = (-(-m // bm), -(-n // bn))

    def make(rng: np.random.Generator) -> Inputs:
        arrays = {"x": numbers(rng, (m, n), dtype), "out": poison((m, n), dtype)}
        return {**arrays, "M": m, "N": n, "row": row, **({"col": col} if is_engines else {})}

    def reference(inputs: Inputs) -> Mapping[str, Array]:
        out = inputs["out"].copy()
        fill = float("nan") if padding == "nan" else 0
        out[: m - 1] = _box(inputs["x"], (row, col), (m - 1, n), fill)
        return {"out": out}

    kernel = copy_boxes if is_engines else copy_boxes_anywhere
    return kernel, make, reference, {"BM": bm, "BN": bn, "MMA": False, "PADDING": padding, **constants}, grid


def _register_boxes() -> None:
    for label, *rest in (
        ("f16", 40, 72, 3, 8, np.float16, (16, 64), "zero"),
        ("f32_edge", 37, 44, 30, 20, np.float32, (16, 32), "zero"),
        ("f32_nan", 37, 44, -3, 20, np.float32, (16, 32), "nan"),
        ("bf16_before", 20, 40, -5, -7, BF16, (8, 16), "zero"),
        ("bf16_far_before", 20, 40, -5, -8, BF16, (8, 16), "zero"),
        ("f32_nan_before", 20, 40, -9, -12, np.float32, (8, 16), "nan"),
        ("i8", 33, 64, 1, 5, np.int8, (32, 32), "zero"),
        ("u8_tall", 520, 32, 4, 0, np.uint8, (512, 16), "zero"),
        ("i64", 9, 6, 0, 1, np.int64, (8, 4), "zero"),
        ("f64", 9, 6, 0, 1, np.float64, (8, 4), "nan"),
        ("f8_outside", 20, 48, 100, 0, F8E5, (8, 16), "zero"),
        ("f32_wide", 12, 600, 2, 40, np.float32, (4, 512), "zero"),
    ):
        _case(f"boxes_{label}", *_boxes(*rest))
    _case("boxes_f32_mma", *_boxes(20, 300, 2, 40, np.float32, (8, 256), "zero", MMA=True))


def _register_torn_rows() -> None:
    def reference(inputs: Inputs) -> Mapping[str, Array]:
        out, sums = inputs["out"].copy(), inputs["sums"].copy()
        out[:, :17] = inputs["x"][:, :17]
        sums[:, :17] += 1
        return {"out": out, "sums": sums}

    def make(rng: np.random.Generator) -> Inputs:
        arrays = {name: numbers(rng, (20, 32), np.float16) for name in ("x", "sums")}
        return {**arrays, "out": poison((20, 32), np.float16), "M": 20, "N": 17, "LD": 32}

    _case("torn_rows", copy_torn_rows, make, reference, {"BM": 8, "BN": 16}, (3, 2))


def _register_corners() -> None:
    rows = np.array([-3, 8, 16, 30, 36], np.int32)
    cols = np.array([4, 3, -2, 16, -8], np.int32)

    def corners(inputs: Inputs) -> Mapping[str, Array]:
        x, out = inputs["x"], inputs["out"].copy()
        for k, (row, col) in enumerate(zip(rows, cols, strict=True)):
            box = _box(x, (k * 8, col), (8, 16))
            for i, j in np.ndindex(8, 16):
                if 0 <= row + i < 40 and 0 <= col + j < 24:
                    out[row + i, col + j] = box[i, j]
        return {"out": out}

    def make(rng: np.random.Generator) -> Inputs:
        arrays = {"x": numbers(rng, (40, 24), np.float32), "rows": rows, "cols": cols}
        return {**arrays, "out": poison((40, 24), np.float32), "M": 40, "N": 24}

    for label, on in (("", False), ("_on_barriers", True)):
        _case(f"corners{label}", copy_corners, make, corners, {"BM": 8, "BN": 16, "ON": on})


def _register_others() -> None:
    def lines(inputs: Inputs) -> Mapping[str, Array]:
        x = inputs["x"]
        padded = np.zeros(-(-len(x) // 256) * 256, np.float32)
        padded[: len(x)] = x
        rows = padded.reshape(-1, 256)
        return {"out": (rows * 2 + rows[:, ::-1]).reshape(-1)[: len(x)]}

    for n in (256, 2500):
        _case(
            f"lines_{n}",
            copy_lines,
            lambda rng, n=n: {
                "x": rng.integers(-9, 9, n).astype(np.float32),
                "out": poison(n, np.float32),
                "n": n,
            },
            lines,
            {"BLOCK": 256},
            (3,),
        )

    def blocks(inputs: Inputs, col: int) -> Mapping[str, Array]:
        moved = _box(inputs["x"], (1, 2, 0, 1, col), (2, 1, 2, 4, 16)).reshape(4, 4, 16)
        out = inputs["out"].copy().reshape(-1, 5, 24)
        part = out[3:7, :4, :16]
        part[...] = moved[: part.shape[0]]
        return {"out": out.reshape(inputs["out"].shape)}

    for name, col in (("blocks", 4), ("blocks_of_the_engine", 8)):  # columns of 8 and of 16 bytes
        _case(
            name,
            copy_blocks,
            lambda rng: {
                "x": numbers(rng, (2, 3, 4, 5, 24), np.int16),
                "out": poison((2, 3, 4, 5, 24), np.int16),
                **dict(zip("ABCDE", (2, 3, 4, 5, 24), strict=True)),
            },
            lambda inputs, col=col: blocks(inputs, col),
            {"COL": col},
        )
    for label, dtype, m, n, block in (
        ("f32", np.float32, 100, 72, (64, 64)),
        ("f16", np.float16, 64, 200, (32, 64)),
        ("i8", np.int8, 48, 160, (32, 128)),
        ("i64", np.int64, 20, 18, (16, 16)),
        ("f32_narrow", np.float32, 40, 24, (32, 8)),
    ):
        grid = (-(-m // block[0]), -(-n // block[1]))
        constants = {"BM": block[0], "BN": block[1]}

        def make(rng: np.random.Generator, m: int = m, n: int = n, dtype: Any = dtype) -> Inputs:
            whole = rng.integers(-9, 9, (m, n)).astype(dtype)
            return {"x": whole, "out": poison((n, m), dtype), "M": m, "N": n}

        _case(f"turn_{label}", turn, make, lambda inputs: {"out": inputs["x"].T.copy()}, constants, grid)
        if m * np.dtype(dtype).itemsize % 16:
            continue

        def both(inputs: Inputs, block: tuple[int, int] = block) -> Mapping[str, Array]:
            x = inputs["x"]
            first = np.repeat(np.repeat(x[:: block[0], :: block[1]], block[0], 0), block[1], 1)
            return {"out": (x + first[: x.shape[0], : x.shape[1]]).T.copy()}

        _case(f"turn_both_{label}", turn_both, make, both, constants, grid)
        turned = lambda inputs: {"out": inputs["x"].T.copy()}  # noqa: E731
        _case(f"turn_and_store_{label}", turn_and_store, make, turned, constants, grid)
    for stages, rows in ((1, 3), (3, 10), (4, 4)):
        _case(
            f"ring_{stages}_{rows}",
            ring_of_barriers,
            lambda rng, rows=rows: {
                "x": rng.integers(-9, 9, (rows, 200)).astype(np.float32),
                "out": poison((rows, 200), np.float32),
                "M": rows,
                "N": 200,
            },
            lambda inputs: {"out": inputs["x"] + np.arange(len(inputs["x"]), dtype=np.float32)[:, None]},
            {"STAGES": stages, "BN": 256},
        )

    _case(
        "segments",
        segments,
        lambda rng: {
            "x": rng.integers(-9, 9, (40, 48)).astype(np.float32),
            "starts": np.array([0, 5, 5, 37, 40], np.int32),
            "out": poison((40, 48), np.float32),
            "N": 48,
        },
        lambda inputs: {"out": inputs["x"] + 1},
        {"BM": 16, "BN": 32},
        (4,),
    )

    def seen(inputs: Inputs) -> Mapping[str, Array]:
        out = []
        for start in inputs["starts"]:
            part = inputs["x"][start : start + 7]
            out.append(np.hstack([_box(part, (0, 0), (8, 16)), _box(part, (1, 4), (8, 16))]))
        return {"out": np.vstack(out)}

    _case(
        "windows",
        windows,
        lambda rng: {
            "x": numbers(rng, (30, 24), np.float32),
            "starts": np.array([3, 0, 20], np.int32),
            "out": poison((24, 32), np.float32),
            "N": 24,
        },
        seen,
        {"ROWS": 8, "BN": 16},
        (3,),
    )


_register_boxes()
_register_corners()
_register_torn_rows()
_register_others()
