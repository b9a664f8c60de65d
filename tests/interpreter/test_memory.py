"""Accesses: masks, bounds, strides, shared buffers, pointer tables, atomics, and the messages of faults."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tle2cuda.errors import ArgumentError, InterpreterError, OffsetOverflow, OutOfBounds
from tle2cuda.interpreter import run
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel
from tle2cuda.ir.parser import parse_kernel


def kernel(header: str, body: str) -> Kernel:
    parsed = parse_kernel(f"kernel k({header.partition(')')[0]}){header.partition(')')[2]} {{\n{body}\n  yield\n}}")
    verify(parsed)
    return parsed


def execute(header: str, body: str, *args: Any, grid: Any = 1, **options: Any) -> None:
    run(kernel(header, body), grid, args, check_types=True, **options)


GATHER = """
  %r = arange {start = 0, end = 8} : i32[8]
  %xs = splat %x : *i32[8]
  %is = splat %i : *i32[8]
  %os = splat %o : *i32[8]
  %ip = ptr_add %is, %r : *i32[8]
  %op = ptr_add %os, %r : *i32[8]
  %index = load %ip : i32[8]
  %xp = ptr_add %xs, %index : *i32[8]
"""


def i32(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int32)


def test_gather_with_mask_and_other() -> None:
    x, index, out = np.arange(100, 150, dtype=np.int32), i32(3, -5, 7, 99, 0, 49, 50, 1), np.zeros(8, np.int32)
    body = GATHER + (
        """
  %zero = constant {value = 0} : i32[8]
  %end = constant {value = 50} : i32[8]
  %low = cmp %index, %zero {predicate = 'ge'} : i1[8]
  %high = cmp %index, %end {predicate = 'lt'} : i1[8]
  %m = and %low, %high : i1[8]
  %other = constant {value = -1} : i32[8]
  %v = load %xp, %m, %other {has_mask = True, has_other = True} : i32[8]
  store %op, %v"""
    )
    execute("%x: *i32, %i: *i32, %o: *i32", body, x, index, out)
    assert out.tolist() == [103, -1, 107, -1, 100, 149, -1, 101]


def test_an_index_out_of_bounds_names_everything() -> None:
    x, index, out = np.arange(50, dtype=np.int32), i32(3, 4, 50, -1, 0, 0, 0, 0), np.zeros(8, np.int32)
    body = GATHER + "  %v = load %xp : i32[8] loc('gather.py':7:9)\n store %op, %v"
    with pytest.raises(OutOfBounds) as caught:
        execute("%x: *i32, %i: *i32, %o: *i32", body, x, index, out)
    assert str(caught.value) == (
        "gather.py:7:9: load reads element 50 of argument x, which has 50 elements\n"
        "  program id (0, 0, 0)\n"
        "  the first at [2] of 2 such elements in a tile [8]\n"
        "  help: mask the access: an element is never touched where the mask is False"
    )


@pytest.mark.parametrize(
    ("op", "verb"),
    [("store %p, %n", "store writes"), ("%v = atomic_rmw %p, %n {kind = 'add'} : i32", "atomic_rmw updates")],
)
def test_scalar_accesses_out_of_bounds(op: str, verb: str) -> None:
    with pytest.raises(OutOfBounds) as caught:
        execute("%x: *i32, %n: i32", f"%p = ptr_add %x, %n : *i32 {op}", np.zeros(1, np.int32), -3)
    assert caught.value.message == f"{verb} element -3 of argument x, which has 1 element"


def test_memory_stays_as_it_was_before_a_fault() -> None:
    x = np.zeros(4, np.int32)
    body = "%r = arange {start = 0, end = 8} : i32[8] %s = splat %x : *i32[8] %p = ptr_add %s, %r : *i32[8] store %p, %r"
    with pytest.raises(OutOfBounds):
        execute("%x: *i32", body + " store %p, %r", x)
    assert not x.any()


def test_neighbouring_arrays_are_not_confused() -> None:
    both = np.zeros(8, np.int32)
    with pytest.raises(OutOfBounds, match="element 4 of argument x, which has 4 elements"):
        execute("%x: *i32, %y: *i32, %n: i32", "%p = ptr_add %x, %n : *i32 store %p, %n", both[:4], both[4:], 4)


def test_empty_arrays_have_no_elements() -> None:
    with pytest.raises(OutOfBounds, match="element 0 of argument x, which has 0 elements"):
        execute("%x: *i32", "%v = load %x : i32", np.zeros(0, np.int32))


COPY_FIRST = "%p = ptr_add %x, %n : *i32 %v = load %p : i32 store %o, %v"


@pytest.mark.parametrize(("offset", "value"), [(0, 10), (2, 12), (-1, 9)])
def test_views_are_addressed_by_memory(offset: int, value: int) -> None:
    base, out = np.arange(20, dtype=np.int32), np.zeros(1, np.int32)
    if offset >= 0:
        execute("%x: *i32, %o: *i32, %n: i32", COPY_FIRST, base[10::3], out, offset)
    else:
        execute("%x: *i32, %o: *i32, %n: i32", COPY_FIRST, base[10::-1], out, offset)
    assert out[0] == value


def test_the_extent_of_a_reversed_view() -> None:
    base, out = np.arange(20, dtype=np.int32), np.zeros(1, np.int32)
    with pytest.raises(OutOfBounds, match="element 1 of argument x, which spans elements -10 to 0"):
        execute("%x: *i32, %o: *i32, %n: i32", COPY_FIRST, base[10::-1], out, 1)


def test_offsets_wrap_in_their_own_width() -> None:
    out = np.zeros(1, np.int32)
    body = "%m = add %n, %n : i32 %p = ptr_add %x, %m : *i32 %v = load %p : i32 store %o, %v"
    with pytest.raises(OffsetOverflow, match=r"wrapped in 32 bits .*: 4294967292 became -4 elements from `x`"):
        execute("%x: *i32, %o: *i32, %n: i32", body, np.zeros(4, np.int32), out, 2**31 - 2)


def test_unsigned_offsets_are_zero_extended() -> None:
    with pytest.raises(OutOfBounds, match="element 4294967295 of argument x"):
        execute("%x: *i32, %n: u32", "%p = ptr_add %x, %n : *i32 %v = load %p : i32", i32(1), 2**32 - 1)


def test_read_only_arrays_are_refused_for_writing() -> None:
    x = np.zeros(4, np.int32)
    x.setflags(write=False)
    execute("%x: *i32", "%v = load %x : i32", x)
    with pytest.raises(InterpreterError, match="store writes argument x, which is a read-only array"):
        execute("%x: *i32, %n: i32", "store %x, %n", x, 1)


def test_pointers_read_as_another_type() -> None:
    x, out = np.array([1.0, -2.0], np.float32), np.zeros(2, np.int32)
    body = """
  %r = arange {start = 0, end = 2} : i32[2]
  %b = bitcast %x : *i32
  %xs = splat %b : *i32[2]
  %os = splat %o : *i32[2]
  %xp = ptr_add %xs, %r : *i32[2]
  %op = ptr_add %os, %r : *i32[2]
  %v = load %xp : i32[2]
  store %op, %v"""
    execute("%x: *fp32, %o: *i32", body, x, out)
    assert out.tolist() == [0x3F800000, -0x40000000]


def test_a_misaligned_access() -> None:
    body = "%b = bitcast %x : *i8 %p = ptr_add %b, %n : *i8 %q = bitcast %p : *i32 %v = load %q : i32"
    message = "load reads argument x at byte 2, which is not aligned to the 4 bytes of an element int32"
    with pytest.raises(InterpreterError, match=message):
        execute("%x: *i32, %n: i32", body, i32(1, 2), 2)


TABLE = "%a = load %t : i64 %p = bitcast %a : *fp32 %v = load %p : fp32 store %o, %v"


def test_a_table_of_pointers() -> None:
    target, out = np.array([7.0, 8.0], np.float32), np.zeros(1, np.float32)
    table = np.array([target.ctypes.data + 4], np.int64)
    execute("%t: *i64, %o: *fp32", TABLE, table, out, memory=[target])
    assert out[0] == 8.0
    with pytest.raises(OutOfBounds) as caught:
        execute("%t: *i64, %o: *fp32", TABLE, table, out)
    assert "which lies in no known array" in caught.value.message
    assert caught.value.help == (
        "an array that is reached through a table of pointers must be alive, and lie in host memory; "
        "tle2cuda.interpreter.run takes it as `memory`"
    )


def test_a_null_pointer() -> None:
    with pytest.raises(OutOfBounds, match="load reads a null pointer"):
        execute("%t: *i64, %o: *fp32", TABLE, np.zeros(1, np.int64), np.zeros(1, np.float32))


def test_pointers_become_their_addresses() -> None:
    x, out = np.zeros(4, np.float32), np.zeros(1, np.int64)
    execute("%x: *fp32, %o: *i64", "%a = bitcast %x : i64 store %o, %a", x, out)
    assert out[0] == x.ctypes.data


@pytest.mark.parametrize(
    ("short", "dtype"),
    [
        ("i1", np.bool_),
        ("i8", np.int8),
        ("u16", np.uint16),
        ("i64", np.int64),
        ("fp16", np.float16),
        ("fp64", np.float64),
    ]
    + [("bf16", ml_dtypes.bfloat16), ("fp8e4nv", ml_dtypes.float8_e4m3fn), ("fp8e5", ml_dtypes.float8_e5m2)],
)
def test_every_width_is_copied_exactly(short: str, dtype: Any) -> None:
    raw = np.random.default_rng(0).integers(0, 2 if short == "i1" else 256, 8 * np.dtype(dtype).itemsize)
    x = raw.astype(np.uint8).view(dtype)
    out = np.zeros(8, dtype)
    body = f"""
  %r = arange {{start = 0, end = 8}} : i32[8]
  %xs = splat %x : *{short}[8]
  %os = splat %o : *{short}[8]
  %xp = ptr_add %xs, %r : *{short}[8]
  %op = ptr_add %os, %r : *{short}[8]
  %v = load %xp : {short}[8]
  store %op, %v"""
    execute(f"%x: *{short}, %o: *{short}", body, x, out)
    assert x.tobytes() == out.tobytes()


# Shared memory.


def test_shared_memory_and_its_bounds() -> None:
    out = np.zeros(8, np.int32)
    body = """
  %r = arange {start = 0, end = 8} : i32[8]
  %b = alloc {name = 'tile'} : buffer<i32[8]>
  %p = local_ptr %b : *i32@shared[8]
  store %p, %r
  %seven = constant {value = 7} : i32[8]
  %back = sub %seven, %r : i32[8]
  %q = local_ptr %b, %back : *i32@shared[8]
  %v = load %q : i32[8]
  %os = splat %o : *i32[8]
  %op = ptr_add %os, %r : *i32[8]
  store %op, %v
  %w = local_ptr %b, %n : *i32@shared
  %u = load %w : i32"""
    execute("%o: *i32, %n: i32", body, out, 7)
    assert out.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    with pytest.raises(OutOfBounds) as caught:
        execute("%o: *i32, %n: i32", body, out, 8)
    assert caught.value.message == "load reads element [8] of shared buffer tile, whose extents are [8]"


def test_arithmetic_on_shared_pointers() -> None:
    body = """
  %b = alloc {name = 'tile', zero = True} : buffer<i32[8]>
  %zero = constant {value = 0} : i32
  %p = local_ptr %b, %zero : *i32@shared
  %q = ptr_add %p, %n : *i32@shared
  %u = load %q : i32"""
    execute("%n: i32", body, 7)
    with pytest.raises(OutOfBounds) as caught:
        execute("%n: i32", body, -1)
    assert caught.value.message == "load reads element -1 of shared buffer tile, which has 8 elements"


def test_an_index_outside_one_extent_is_not_another_row() -> None:
    body = """
  %b = alloc {name = 'rows', zero = True} : buffer<i32[4, 8]>
  %one = constant {value = 1} : i32
  %p = local_ptr %b, %one, %n : *i32@shared
  %u = load %p : i32"""
    with pytest.raises(OutOfBounds) as caught:
        execute("%n: i32", body, 9)
    assert caught.value.message == "load reads element [1, 9] of shared buffer rows, whose extents are [4, 8]"


def test_masked_off_indices_may_be_anything() -> None:
    body = """
  %r = arange {start = 0, end = 8} : i32[8]
  %four = constant {value = 4} : i32[8]
  %m = cmp %r, %four {predicate = 'lt'} : i1[8]
  %b = alloc {name = 'tile'} : buffer<i32[4]>
  %p = local_ptr %b, %r : *i32@shared[8]
  store %p, %r, %m {has_mask = True}
  %v = load %p, %m {has_mask = True} : i32[8]
  %os = splat %o : *i32[8]
  %op = ptr_add %os, %r : *i32[8]
  store %op, %v"""
    out = np.full(8, -1, np.int32)
    execute("%o: *i32", body, out)
    assert out.tolist() == [0, 1, 2, 3, 0, 0, 0, 0]


UNWRITTEN = """
  %r = arange {start = 0, end = 8} : i32[8]
  %b = alloc {name = 'tile'} : buffer<i32[8]>
  %three = constant {value = 3} : i32[8]
  %m = cmp %r, %three {predicate = 'ne'} : i1[8]
  %p = local_ptr %b : *i32@shared[8]
  store %p, %r, %m {has_mask = True}
"""


def test_never_written_shared_memory_is_reported() -> None:
    with pytest.raises(InterpreterError) as caught:
        execute("", UNWRITTEN + "%v = load %p : i32[8] loc('k.py':3:5)")
    assert str(caught.value) == (
        "k.py:3:5: load reads element 3 of shared buffer tile before anything was written there\n"
        "  program id (0, 0, 0)\n"
        "  the first of 1 such element in a tile [8]\n"
        "  help: write the buffer first, or give tle.gpu.alloc an init_value"
    )
    execute("", UNWRITTEN + "%v = load %p, %m {has_mask = True} : i32[8]")
    execute("", UNWRITTEN + "%v = load %p : i32[8]", check_uninitialized=False)
    execute("", UNWRITTEN.replace("'tile'", "'tile', zero = True") + "%v = load %p : i32[8]")


def test_an_allocation_in_a_loop_is_undefined_again() -> None:
    body = """
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  for %zero, %n, %one do (%i: i32) {
    %b = alloc {name = 'tile'} : buffer<i32[1]>
    %p = local_ptr %b, %zero : *i32@shared
    %first = cmp %i, %zero {predicate = 'eq'} : i1
    if %first then { store %p, %i yield } else { %v = load %p : i32 yield }
    yield
  }"""
    execute("%n: i32", body, 1)
    with pytest.raises(InterpreterError, match="before anything was written there"):
        execute("%n: i32", body, 2)


def test_views_of_buffers_share_bytes() -> None:
    out = np.zeros(16, np.int32)
    body = """
  %b = alloc {name = 'ring', zero = True} : buffer<i32[2, 4, 4]>
  %one = constant {value = 1} : i32
  %s = buffer_view %b, %one {kind = 'slot'} : buffer<i32[4, 4]>
  %c = buffer_view %s {kind = 'subslice', start = 1, dim = 1} : buffer<i32[4, 2]>
  %f = buffer_view %c {kind = 'reshape'} : buffer<i32[8]>
  %r = arange {start = 1, end = 9} : i32[8]
  %p = local_ptr %f : *i32@shared[8]
  store %p, %r
  %a = buffer_view %b {kind = 'alias', offset_bytes = 64} : buffer<i32[16]>
  %q = local_ptr %a : *i32@shared[16]
  %v = load %q : i32[16]
  %e = arange {start = 0, end = 16} : i32[16]
  %os = splat %o : *i32[16]
  %op = ptr_add %os, %e : *i32[16]
  store %op, %v"""
    execute("%o: *i32", body, out)
    expected = np.zeros((4, 4), np.int32)
    expected[:, 1:3] = np.arange(1, 9).reshape(4, 2)
    assert out.reshape(4, 4).tolist() == expected.tolist()


def test_a_slot_that_does_not_exist_is_an_error_when_accessed() -> None:
    body = """
  %b = alloc {name = 'ring', zero = True} : buffer<i32[2, 4]>
  %s = buffer_view %b, %n {kind = 'slot'} : buffer<i32[4]>
  %p = local_ptr %s : *i32@shared[4]
  %zero = constant {value = 0} : i32
  %is = cmp %n, %zero {predicate = 'ne'} : i1
  %m = splat %is : i1[4]
  %v = load %p, %m {has_mask = True} : i32[4]"""
    execute("%n: i32", body, 0)
    with pytest.raises(OutOfBounds, match="of shared buffer ring"):
        execute("%n: i32", body, 2)


def test_padding_of_a_buffer_may_be_read() -> None:
    body = """
  %r = arange {start = 0, end = 4} : i32[4]
  %three = constant {value = 3} : i32[4]
  %m = cmp %r, %three {predicate = 'lt'} : i1[4]
  %b = alloc {name = 'tile'} : buffer<i32[4] mma logical [3]>
  %p = local_ptr %b : *i32@shared[4]
  store %p, %r, %m {has_mask = True}
  %v = load %p : i32[4]"""
    execute("", body)


# Atomics.

ATOMIC = """
  %r = arange {{start = 0, end = 8}} : i32[8]
  %is = splat %i : *i32[8]
  %ip = ptr_add %is, %r : *i32[8]
  %index = load %ip : i32[8]
  %vs = splat %v : *{t}[8]
  %vp = ptr_add %vs, %r : *{t}[8]
  %value = load %vp : {t}[8]
  %xs = splat %x : *{t}[8]
  %xp = ptr_add %xs, %index : *{t}[8]
  %os = splat %o : *{t}[8]
  %op = ptr_add %os, %r : *{t}[8]
  %m = cmp %r, %index {{predicate = 'ne'}} : i1[8]
  %old = atomic_rmw %xp, %value, %m {{kind = '{kind}', has_mask = True}} : {t}[8]
  store %op, %old
"""
SEQUENTIAL = {
    "add": lambda a, b: a + b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "xchg": lambda a, b: b,
}


@pytest.mark.parametrize("kind", SEQUENTIAL)
@pytest.mark.parametrize(("short", "dtype"), [("i32", np.int32), ("u64", np.uint64), ("fp32", np.float32)])
def test_tile_atomics_happen_in_element_order(kind: str, short: str, dtype: Any) -> None:
    if short == "fp32" and kind in ("and", "or", "xor"):
        return
    rng = np.random.default_rng(1)
    index = i32(1, 1, 1, 1, 0, 2, 1, 2)
    values, x = rng.integers(0, 9, 8).astype(dtype), rng.integers(0, 9, 3).astype(dtype)
    wanted, memory = np.zeros(8, dtype), x.copy()
    for lane in range(8):
        if lane != index[lane]:
            wanted[lane] = memory[index[lane]]
            memory[index[lane]] = SEQUENTIAL[kind](memory[index[lane]], values[lane])
    out = np.zeros(8, dtype)
    header = f"%x: *{short}, %i: *i32, %v: *{short}, %o: *{short}"
    execute(header, ATOMIC.format(t=short, kind=kind), x, index, values, out)
    assert out.tolist() == wanted.tolist()
    assert x.tolist() == memory.tolist()


def test_integer_atomics_wrap() -> None:
    x = np.array([2**31 - 1], np.int32)
    execute("%x: *i32, %n: i32", "%o = atomic_rmw %x, %n {kind = 'add'} : i32", x, 1, grid=2)
    assert x[0] == -(2**31) + 1


def test_compare_and_swap() -> None:
    x, out = i32(0), np.zeros(4, np.int32)
    body = """
  %r = arange {start = 0, end = 4} : i32[4]
  %xs = splat %x : *i32[4]
  %one = constant {value = 1} : i32[4]
  %next = add %r, %one : i32[4]
  %old = atomic_cas %xs, %r, %next : i32[4]
  %os = splat %o : *i32[4]
  %op = ptr_add %os, %r : *i32[4]
  store %op, %old"""
    execute("%x: *i32, %o: *i32", body, x, out)
    assert (x[0], out.tolist()) == (4, [0, 1, 2, 3])


# Arguments.


@pytest.mark.parametrize(
    ("header", "args", "message"),
    [
        ("%x: *i32", (), "k takes 1 arguments, 0 given"),
        ("%x: *fp32", (np.zeros(1, np.int32),), "argument x points to float32, the array holds int32"),
        ("%x: *i64", (np.zeros(1, np.int32),), "argument x points to int64, the array holds int32"),
        ("%x: *i64", ([1, 2],), "argument x is [1, 2], not an array"),
        ("%n: i8", (200,), "`n` = 200 does not fit in i8"),
        ("%n: i32", (1.5,), "`n` is i32, got float"),
        ("%n: i32", ("1",), "`n` is i32, got str"),
        ("%n: i32", ({"m": 1},), "`n` is i32, got dict"),
    ],
)
def test_arguments_that_do_not_fit(header: str, args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        execute(header, "", *args)
    assert caught.value.message == message


def test_arguments_by_name() -> None:
    k = kernel("%x: *i32, %n: i32", "store %x, %n")
    x = i32(0)
    run(k, 1, {"n": 5, "x": x})
    assert x[0] == 5
    with pytest.raises(ArgumentError, match="argument n is missing"):
        run(k, 1, {"x": x})
    with pytest.raises(ArgumentError, match="there is no argument m"):
        run(k, 1, {"x": x, "n": 1, "m": 2})


def test_raw_bits_stand_for_narrow_floats() -> None:
    x, out = np.array([0x3F80], np.uint16), np.zeros(1, np.float32)
    execute("%x: *bf16, %o: *fp32", "%v = load %x : bf16 %w = cast %v : fp32 store %o, %w", x, out)
    assert out[0] == 1.0
