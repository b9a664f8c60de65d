"""Claims about index values against brute force: random expressions with arguments that keep their promises."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from tests.analysis.helpers import KernelMaker
from tle2cuda.analysis.axis_info import AxisInfo, axis_info, vector_elems
from tle2cuda.ir.nodes import Op, Value, walk
from tle2cuda.ir.types import (
    BOOL,
    F32,
    I8,
    I16,
    I32,
    I64,
    SHARED,
    U8,
    U32,
    BufferType,
    DType,
    PointerType,
    TileType,
    element_of,
    shape_of,
    with_shape,
)

NUMPY = {
    BOOL: np.bool_,
    I8: np.int8,
    I16: np.int16,
    I32: np.int32,
    I64: np.int64,
    U8: np.uint8,
    U32: np.uint32,
}


def check_claims(info: AxisInfo, values: np.ndarray, unit: int = 1, what: str = "") -> None:
    """Assert that `values` (pointers: addresses in bytes) is what `info` says of it."""
    array = np.asarray(values)
    if array.ndim == 0:
        array = array.reshape(1)
    bits = array.dtype.itemsize * 8
    for axis in range(array.ndim):
        moved = np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis])
        rows = moved.tolist()
        run, divisor, equal = info.contiguity[axis], info.divisibility[axis], info.constancy[axis]
        assert array.shape[axis] % run == 0 and array.shape[axis] % equal == 0, what
        for row in rows:
            for start in range(0, len(row), run):
                first = int(row[start])
                if array.dtype != np.bool_:
                    modulus = 1 << bits
                    assert first % min(divisor, modulus) == 0, (what, axis, "divisibility", info, row)
                for i in range(1, run):
                    exact = int(row[start + i]) - first - i * unit
                    # Pointers: a 32-bit offset may wrap inside a run.
                    assert exact % (unit << 32 if unit > 1 else 1 << bits) == 0, (
                        what,
                        axis,
                        "contiguity",
                        info,
                        row,
                    )
                    if divisor >= run * unit:
                        assert exact == 0, (what, axis, "a run that cannot wrap wraps", info, row)
            for start in range(0, len(row), equal):
                assert len(set(row[start : start + equal])) == 1, (what, axis, "constancy", info, row)
    if info.constant is not None:
        assert (array == info.constant).all(), (what, info, values)
    if info.lo is not None:
        assert int(array.min()) >= info.lo, (what, info, values)
    if info.hi is not None:
        assert int(array.max()) <= info.hi, (what, info, values)


def truncated(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a_, b_ = np.broadcast_arrays(a.astype(object), b.astype(object))
    quotient = np.array(
        [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a_.flat, b_.flat, strict=True)],
        dtype=object,
    ).reshape(a_.shape)
    return quotient, a_ - quotient * b_


def wrapped(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Exact integers as the type stores them."""
    flat = np.asarray(values, dtype=object)
    if dtype is BOOL:
        return np.asarray(flat != 0, dtype=bool)
    mask = (1 << dtype.bits) - 1
    out = np.vectorize(lambda v: int(v) & mask, otypes=[object])(flat)
    if dtype.is_int_signed():
        out = np.vectorize(lambda v: v - (1 << dtype.bits) if v >> (dtype.bits - 1) else v, otypes=[object])(out)
    return out.astype(NUMPY[dtype])


class Evaluator:
    """NumPy meaning of straight-line integer operations, independent of the analysis."""

    def __init__(self, arguments: dict[Value, object], rng: random.Random) -> None:
        self.values: dict[Value, np.ndarray] = {k: np.asarray(v) for k, v in arguments.items()}
        self.rng = rng

    def run(self, op: Op) -> None:
        operands = [self.values[v] for v in op.operands]
        if not op.results:
            return
        type_ = op.results[0].type
        self.values[op.results[0]] = self.evaluate(op, operands, element_of(type_), shape_of(type_))

    def evaluate(self, op, operands, element, shape):
        exact = [o.astype(object) for o in operands]
        name = op.name
        simple = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "and": lambda a, b: a & b,
            "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b,
            "shl": lambda a, b: a << b,
            "shr": lambda a, b: a >> b,
            "min": np.minimum,
            "max": np.maximum,
            "idiv": lambda a, b: truncated(a, b)[0],
            "rem": lambda a, b: truncated(a, b)[1],
        }
        if name in simple:
            return wrapped(simple[name](*exact), element)
        if name == "cmp":
            ufunc = {
                "eq": "equal",
                "ne": "not_equal",
                "lt": "less",
                "le": "less_equal",
                "gt": "greater",
                "ge": "greater_equal",
            }
            return np.asarray(getattr(np, ufunc[op.attrs["predicate"]])(*operands), dtype=bool)
        if name == "select":
            return np.where(operands[0], operands[1], operands[2]).astype(operands[1].dtype)
        if name == "cast":
            return wrapped(exact[0], element)
        if name == "constant":
            return wrapped(np.full(shape, op.attrs["value"], dtype=object), element)
        if name == "arange":
            return np.arange(op.attrs["start"], op.attrs["end"], dtype=np.int32)
        if name in ("splat", "broadcast"):
            return np.broadcast_to(operands[0], shape).copy()
        if name == "expand_dims":
            return np.expand_dims(operands[0], op.attrs["axis"])
        if name == "reshape":
            return operands[0].reshape(shape)
        if name == "trans":
            return operands[0].transpose(op.attrs["perm"])
        if name == "program_id":
            return np.asarray(self.rng.choice([0, 1, 5, 2**16 - 1]), dtype=np.int32)
        if name == "cluster_rank":
            return np.asarray(self.rng.randrange(8), dtype=np.int32)
        if name == "ptr_add":
            unit = op.operands[0].type
            size = element_of(unit).element.bytes
            return operands[0].astype(np.int64) + operands[1].astype(np.int64) * size
        raise AssertionError(name)


SHAPES = [(8,), (32,), (4, 8), (8, 4), (2, 4, 4), (1, 16), (16, 1)]


class RandomProgram:
    """Random straight-line integer code over scalars and tiles of one shape."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.maker = KernelMaker(num_warps=1, cluster_dims=(8, 1, 1))
        self.shape = rng.choice(SHAPES)
        self.divisors = {}
        self.scalars: list[Value] = []
        for i in range(3):
            divisor = rng.choice([1, 2, 4, 8, 16])
            value = self.maker.argument(f"a{i}", I32, divisor)
            self.divisors[value] = divisor
            self.scalars.append(value)
        self.tiles: list[Value] = []

    def constant(self, dtype: DType, shape: tuple[int, ...]) -> Value:
        value = self.rng.choice([0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 255, -1, -4, -8, -3])
        if dtype.is_int_unsigned():
            value = abs(value)
        return self.maker.op("constant", (), with_shape(dtype, shape), value=value)

    def index_tile(self) -> Value:
        axis = self.rng.randrange(len(self.shape))
        extent = self.shape[axis]
        start = self.rng.choice([0, 0, 0, 1, 2, 4, 8])
        tile = self.maker.op("arange", (), TileType((extent,), I32), start=start, end=start + extent)
        for i in range(len(self.shape)):
            if i != axis:
                shape = (*shape_of(tile.type)[:i], 1, *shape_of(tile.type)[i:])
                tile = self.maker.op("expand_dims", (tile,), TileType(shape, I32), axis=i)
        return self.maker.op("broadcast", (tile,), TileType(self.shape, I32))

    def leaf(self) -> Value:
        kind = self.rng.randrange(5)
        if kind < 3:
            return self.index_tile()
        if kind == 3:
            return self.constant(I32, self.shape)
        scalar = self.rng.choice(self.scalars)
        return self.maker.op("splat", (scalar,), TileType(self.shape, I32))

    def scalar_step(self) -> None:
        rng = self.rng
        choice = rng.randrange(4)
        if choice == 0:
            self.scalars.append(self.maker.op("program_id", (), I32, axis=0))
        elif choice == 1:
            self.scalars.append(self.maker.op("cluster_rank", (), I32))
        else:
            name = rng.choice(["add", "sub", "mul", "and", "min", "max"])
            self.scalars.append(self.maker.op(name, (rng.choice(self.scalars), self.constant(I32, ())), I32))

    def tile_step(self) -> Value:
        rng, maker, shape = self.rng, self.maker, self.shape
        type_ = TileType(shape, I32)
        a, b = rng.choice(self.tiles), rng.choice(self.tiles)
        kind = rng.randrange(13)
        if kind < 4:
            return maker.op(rng.choice(["add", "sub", "mul", "and", "or", "xor", "min", "max"]), (a, b), type_)
        if kind < 7:
            b = self.constant(I32, shape)
            return maker.op(rng.choice(["add", "sub", "mul", "and", "or", "xor", "min", "max"]), (a, b), type_)
        if kind < 9:
            number = rng.choice([1, 2, 4, 8, 16, 3, 6, 12, -4, -3])
            divisor = maker.op("constant", (), type_, value=number)
            return maker.op(rng.choice(["idiv", "rem"]), (a, divisor), type_)
        if kind == 9:
            amount = maker.op("constant", (), type_, value=rng.randrange(5))
            return maker.op(rng.choice(["shl", "shr"]), (a, amount), type_)
        if kind == 10:
            predicate = rng.choice(["lt", "le", "gt", "ge", "eq", "ne"])
            condition = maker.op("cmp", (a, b), TileType(shape, BOOL), predicate=predicate)
            return maker.op("select", (condition, rng.choice(self.tiles), rng.choice(self.tiles)), type_)
        if kind == 11:
            narrow = maker.op("cast", (a,), TileType(shape, rng.choice([I8, U8, I16, U32, I64])))
            return maker.op("cast", (narrow,), type_)
        if len(shape) == 1:
            return maker.op("add", (a, self.index_tile()), type_)
        flat = maker.op("reshape", (a,), TileType((math.prod(shape),), I32))
        back = maker.op("reshape", (flat,), TileType(tuple(reversed(shape)), I32))
        return maker.op("trans", (back,), type_, perm=tuple(reversed(range(len(shape)))))

    def build(self):
        for _ in range(2):
            self.scalar_step()
        self.tiles = [self.leaf() for _ in range(3)]
        for _ in range(8):
            self.tiles.append(self.tile_step())
        pointer = self.maker.argument("p", PointerType(F32), 16)
        self.divisors[pointer] = 16
        pointers = self.maker.op("splat", (pointer,), TileType(self.shape, PointerType(F32)))
        for tile in self.tiles[-3:]:
            pointers = self.maker.op("ptr_add", (pointers, tile), TileType(self.shape, PointerType(F32)))
        return self.maker.kernel()


@pytest.mark.parametrize("seed", range(400))
def test_random_expressions_satisfy_every_claim(seed: int) -> None:
    rng = random.Random(seed)
    program = RandomProgram(rng)
    kernel = program.build()
    info = axis_info(kernel)
    for _ in range(4):
        arguments = {
            value: np.asarray(
                divisor * rng.choice([0, 1, 3, -1, -7, 100, 12345]),
                np.int64 if isinstance(value.type, PointerType) else np.int32,
            )
            for value, divisor in program.divisors.items()
        }
        evaluator = Evaluator(arguments, rng)
        for op in walk(kernel.body):
            evaluator.run(op)
            for result in op.results:
                element = element_of(result.type)
                unit = element.element.bytes if isinstance(element, PointerType) else 1
                check_claims(info[result], evaluator.values[result], unit, op.name)


def test_an_affine_index_keeps_its_run_and_its_alignment() -> None:
    maker = KernelMaker()
    pointer = maker.argument("x", PointerType(F32), 16)
    pid = maker.op("program_id", (), I32, axis=0)
    block = maker.op("constant", (), I32, value=1024)
    base = maker.op("mul", (pid, block), I32)
    offsets = maker.op("arange", (), TileType((1024,), I32), start=0, end=1024)
    index = maker.op("add", (maker.op("splat", (base,), TileType((1024,), I32)), offsets), TileType((1024,), I32))
    pointers = maker.op("splat", (pointer,), TileType((1024,), PointerType(F32)))
    pointers = maker.op("ptr_add", (pointers, index), TileType((1024,), PointerType(F32)))
    info = axis_info(maker.kernel())
    assert info[index].contiguity == (1024,) and info[index].divisibility == (1024,)
    assert info[pointers].contiguity == (1024,) and info[pointers].divisibility == (16,)
    assert vector_elems(info[pointers], (1024,), (0,), 4) == 4
    assert vector_elems(info[pointers], (2,), (0,), 4) == 2


@pytest.mark.parametrize(("divisor", "run"), [(16, 16), (4, 4), (1, 1)])
def test_a_bound_check_is_constant_over_the_divisor_of_the_bound(divisor: int, run: int) -> None:
    maker = KernelMaker()
    n = maker.argument("n", I32, divisor)
    index = maker.op("arange", (), TileType((64,), I32), start=0, end=64)
    limit = maker.op("splat", (n,), TileType((64,), I32))
    mask = maker.op("cmp", (index, limit), TileType((64,), BOOL), predicate="lt")
    exclusive = maker.op("cmp", (index, limit), TileType((64,), BOOL), predicate="le")
    info = axis_info(maker.kernel())
    assert info[mask].constancy == (run,)
    assert info[exclusive].constancy == (1,)


def test_row_major_pointers_of_two_dimensions() -> None:
    maker = KernelMaker()
    stride = maker.argument("stride", I32, 16)
    pointer = maker.argument("x", PointerType(F32), 16)
    shape = (16, 32)
    index = TileType(shape, I32)
    rows = maker.op("arange", (), TileType((16,), I32), start=0, end=16)
    rows = maker.op("expand_dims", (rows,), TileType((16, 1), I32), axis=1)
    rows = maker.op("mul", (rows, maker.op("splat", (stride,), TileType((16, 1), I32))), TileType((16, 1), I32))
    columns = maker.op("arange", (), TileType((32,), I32), start=0, end=32)
    columns = maker.op("expand_dims", (columns,), TileType((1, 32), I32), axis=0)
    offsets = maker.op("add", (maker.op("broadcast", (rows,), index), maker.op("broadcast", (columns,), index)), index)
    pointers = maker.op("splat", (pointer,), TileType(shape, PointerType(F32)))
    pointers = maker.op("ptr_add", (pointers, offsets), TileType(shape, PointerType(F32)))
    info = axis_info(maker.kernel())
    assert info[pointers].contiguity == (1, 32)
    assert info[pointers].divisibility[1] == 16
    assert vector_elems(info[pointers], shape, (1, 0), 4) == 4


def test_ranges_come_from_leaves_and_stop_at_wrapping() -> None:
    maker = KernelMaker(cluster_dims=(8, 1, 1))
    rank = maker.op("cluster_rank", (), I32)
    thousand = maker.op("constant", (), I32, value=1000)
    scaled = maker.op("mul", (rank, thousand), I32)
    twice = maker.op("mul", (maker.op("mul", (scaled, thousand), I32), thousand), I32)
    limited = maker.op("min", (twice, thousand), I32)
    info = axis_info(maker.kernel())
    assert (info[rank].lo, info[rank].hi) == (0, 7)
    assert (info[scaled].lo, info[scaled].hi) == (0, 7000)
    assert (info[twice].lo, info[twice].hi) == (-(2**31), 2**31 - 1)
    assert (info[limited].lo, info[limited].hi) == (-(2**31), 1000)


def test_loops_join_what_is_carried() -> None:
    maker = KernelMaker()
    n = maker.argument("n", I32, 16)
    zero, one, step = (maker.op("constant", (), I32, value=v) for v in (0, 1, 32))
    with maker.loop(zero, n, step, (zero, zero)) as loop:
        induction, aligned, counter = loop.params
        loop.yields(maker.op("add", (aligned, step), I32), maker.op("add", (counter, one), I32))
    info = axis_info(maker.kernel())
    assert info[induction].divisibility == (32,) and info[induction].lo == 0
    assert info[aligned].divisibility == (32,) and info[counter].divisibility == (1,)
    assert info[counter].lo == 0 or info[counter].lo == -(2**31)


@pytest.mark.parametrize(
    "lower, upper, step", [(0, 32768, 4096), (3, 20, 5), (-7, 8, 2), (9, -4, -3), (5, 5, 1), (4, 0, 2)]
)
def test_the_last_value_of_a_loop_is_a_whole_number_of_steps_away(lower: int, upper: int, step: int) -> None:
    maker = KernelMaker()
    bounds = [maker.op("constant", (), I32, value=v) for v in (lower, upper, step)]
    with maker.loop(*bounds, ()) as loop:
        (induction,) = loop.params
        loop.yields()
    info = axis_info(maker.kernel())[induction]
    taken = list(range(lower, upper, step))
    assert info.lo is not None and info.hi is not None
    if taken:
        assert (info.lo, info.hi) == (min(taken), max(taken))


def test_a_loop_from_an_aligned_start_ends_at_an_aligned_value() -> None:
    maker = KernelMaker()
    first = maker.argument("first", I32, 16)
    upper, step = (maker.op("constant", (), I32, value=v) for v in (1000, 48))
    with maker.loop(first, upper, step, ()) as loop:
        (induction,) = loop.params
        loop.yields()
    assert axis_info(maker.kernel())[induction].hi == 992


def test_assumptions_refine_values_of_their_own_region() -> None:
    maker = KernelMaker()
    n, m = maker.argument("n", I32), maker.argument("m", I32)
    zero, eight = (maker.op("constant", (), I32, value=v) for v in (0, 8))
    positive = maker.op("cmp", (n, zero), BOOL, predicate="ge")
    remainder = maker.op("rem", (n, eight), I32)
    divisible = maker.op("cmp", (remainder, zero), BOOL, predicate="eq")
    both = maker.op("and", (positive, divisible), BOOL)
    maker.op("assume", (both,))
    with maker.branch(maker.op("cmp", (n, m), BOOL, predicate="lt")) as branch:
        with branch.then():
            maker.op("assume", (maker.op("cmp", (m, zero), BOOL, predicate="ge"),))
        with branch.otherwise():
            pass
    info = axis_info(maker.kernel())
    assert info[n].lo == 0 and info[n].divisibility == (8,)
    assert info[m].lo == -(2**31), "an assumption inside a branch says nothing outside of it"


def test_hints_override() -> None:
    maker = KernelMaker()
    p = maker.argument("p", PointerType(I32))
    index = maker.op("load", (p,), I32, has_mask=False, has_other=False)
    tile = maker.op("splat", (index,), TileType((64,), I32))
    promised = maker.op("hint", (tile,), TileType((64,), I32), divisibility=(16,), contiguity=(64,), constancy=None)
    info = axis_info(maker.kernel())
    assert info[promised].contiguity == (64,) and info[promised].divisibility == (16,)


def test_pointers_into_buffers_know_strides_and_swizzles() -> None:
    maker = KernelMaker()
    plain = maker.op("alloc", (), BufferType((8, 64), F32), name="plain")
    swizzled = maker.op("alloc", (), BufferType((8, 64), F32, "mma"), name="swizzled")
    type_ = TileType((8, 64), PointerType(F32, SHARED))
    a = maker.op("local_ptr", (plain,), type_)
    b = maker.op("local_ptr", (swizzled,), type_)
    info = axis_info(maker.kernel())
    assert info[a].contiguity == (1, 64) and info[a].divisibility[1] == 16
    assert info[b].contiguity == (1, 4) and info[b].divisibility[1] == 16
