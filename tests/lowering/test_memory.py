"""How loads and stores are planned: vectors, their guards, owners; and how places and parameters read."""

import re

import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.lowering.emitted import body, emitted, parameters_of
from tests.opcases import cases
from tle2cuda.language import tle

SIGNATURE = "x *i32:16, out *i32:16, n i32"


@tle2cuda.jit
def copy(x, out, n, FORM: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if FORM == "none":
        tl.store(out + i, tl.load(x + i))
    elif FORM == "lt":
        tl.store(out + i, tl.load(x + i, mask=i < n, other=1), mask=i < n)
    elif FORM == "le":
        tl.store(out + i, tl.load(x + i, mask=i <= n), mask=i <= n)
    elif FORM == "gt":
        tl.store(out + i, tl.load(x + i, mask=n > i), mask=n > i)
    elif FORM == "ne":
        tl.store(out + i, tl.load(x + i, mask=i != n), mask=i != n)
    elif FORM == "condition":
        tl.store(out + i, tl.load(x + i, mask=(i < n) & (n > 7)), mask=(i < n) & (n > 7))
    elif FORM == "two":
        tl.store(out + i, tl.load(x + i), mask=(i < n) & (i + 4 < n))
    elif FORM == "shifted":
        tl.store(out + i, tl.load(x + i + 1))
    elif FORM == "reversed":
        tl.store(out + i, tl.load(x + (N - 1 - i)))
    elif FORM == "other":
        tl.store(out + i, tl.load(x + i, mask=i < n, other=i))


@pytest.mark.parametrize(
    ("form", "load", "store"),
    [
        ("none", "load_vector<4>(x + i)", "store_vector(out + i, x_value);"),
        ("lt", "load_edge<4>(x + i, n - i, 1)", "store_edge(out + i, n - i, x_value);"),
        ("le", "load_edge<4>(x + i, n - i + 1, 0)", "store_edge(out + i, n - i + 1, x_value);"),
        ("gt", "load_edge<4>(x + i, n - i, 0)", "store_edge(out + i, n - i, x_value);"),
        (
            "condition",
            "load_edge<4>(x + i, n > 7 ? n - i : 0, 0)",
            "if (n > 7) store_edge(out + i, n - i, x_value);",
        ),
        ("two", "load_vector<4>(x + i)", "store_edge(out + i, min(n - i, n - (i + 4)), x_value);"),
    ],
)
def test_vector_accesses_and_their_guards(form, load, store):
    text = body(copy, SIGNATURE, FORM=form, N=512)
    assert load in text
    assert store in text


def test_bound_that_vectors_divide_is_one_condition():
    text = body(copy, "x *i32:16, out *i32:16, n i32:16", FORM="lt", N=512)
    assert "const bool inside = i < n;" in text
    assert "load_vector_nc_if<uint4>(inside, x + i, fill_vector<4>(1))" in text
    assert "store_vector_if<uint4>(inside, out + i, x_value);" in text


@pytest.mark.parametrize("form", ["ne", "shifted", "reversed", "other"])
def test_loads_that_go_element_by_element(form):
    text = body(copy, SIGNATURE, FORM=form, N=512)
    assert "load_vector" not in text
    assert "load_edge" not in text


def test_unaligned_pointers_are_read_element_by_element():
    text = body(copy, "x *i32, out *i32:16, n i32", FORM="none", N=512)
    assert "const int i = thread + 128 * run;" in text  # neighbouring lanes on neighbouring elements
    assert "const int x_value = x[i];" in text and "out[i] = x_value;" in text


@pytest.mark.parametrize("size", [8, 16])
def test_only_owners_store_what_several_threads_hold(size):
    text = body(copy, SIGNATURE, FORM="lt", N=size)
    assert f"const int i = thread % {size};" in text
    assert f"if (thread < {size} && inside) out[i] = x_value;" in text


# ---- places ---------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def two_dimensions(x, out, offset, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    buffer = tle.gpu.alloc([M, N], dtype=tl.int32)
    tl.store(tle.gpu.local_ptr(buffer, (r + c * 0, c + r * 0)), tl.load(x + offset + r * N + c))
    tl.store(out + r * N + c, tl.load(tle.gpu.local_ptr(buffer, (r + c * 0, c + r * 0))))


@tle2cuda.jit
def ring(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    buffer = tle.gpu.alloc([3, N], dtype=tl.int32)
    for step in range(n):
        slot = buffer.slot(step % 3)
        tl.store(tle.gpu.local_ptr(slot, (i,)), tl.load(x + i))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer.slot(2), (i,))))


@tle2cuda.jit
def part(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    buffer = tle.gpu.alloc([2 * N], dtype=tl.int32)
    upper = buffer.subslice(N, N, 0)
    tl.store(tle.gpu.local_ptr(upper, (i,)), tl.load(x + i))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(upper, (i,))))


@tle2cuda.jit
def flattened(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    buffer = tle.gpu.alloc([2, N // 2], dtype=tl.int32)
    flat = buffer.reshape([N])
    tl.store(tle.gpu.local_ptr(flat, (i,)), tl.load(x + i))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer, (i // (N // 2), i % (N // 2)))))


@tle2cuda.jit
def pointer_sums(x, out, row, cols, N: tl.constexpr):
    i = tl.arange(0, N)
    start = row.to(tl.int64) * cols
    tl.store(out + start + i, tl.load(x + start + i))


@tle2cuda.jit
def one_value_for_all(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.arange(0, 1))


@pytest.mark.parametrize(
    ("dtype", "filled"),
    [
        ("i8", ", signed char>(static_cast<signed char>(0))"),
        ("i32", ">(0)"),
        ("u32", ">(static_cast<unsigned>(0))"),
        ("i64", ", long long>(0)"),
    ],
)
def test_a_vector_of_equal_elements_has_the_type_of_the_memory(dtype, filled):
    """An index expression is an int, whatever it is stored as."""
    text = body(one_value_for_all, f"out *{dtype}:16", N=512)
    found = re.search(r"fill_vector<\d+(.*)\);", text)
    assert found is not None
    assert found[1] == filled


def test_two_dimensional_buffers_are_indexed_twice():
    text = body(two_dimensions, "x *i32:16, out *i32:16, offset i64", M=16, N=64)
    assert re.search(r"shared\.buffer\[[^\]]*\]\[thread % 64\] = x_value;", text)
    assert "load_vector<4>(&shared.buffer[" in text


def test_slots_are_the_first_index():
    text = body(ring, SIGNATURE, N=128)
    assert "shared.buffer[step % 3][" in text
    assert "shared.buffer[2][" in text


def test_subslices_shift_the_index():
    text = body(part, SIGNATURE, N=128)
    assert "shared.buffer[i + 128] = " in text or "shared.buffer[thread + 128] = " in text


def test_reshaped_buffers_are_pointers_to_the_first_element():
    text = body(flattened, SIGNATURE, N=128)
    assert "int* const flat = shared.buffer[0];" in text
    assert "flat[thread] = x_value;" in text


def test_wide_offsets_are_added_to_the_pointer_one_by_one():
    text = body(pointer_sums, "x *i32:16, out *i32:16, row i32:16, cols i32:16", N=512)
    assert "const long long start = static_cast<long long>(row) * cols;" in text
    assert "x + start + i" in text
    assert "out + start + i" in text


# ---- parameters -----------------------------------------------------------------------------------------------------


@tle2cuda.jit
def uses(x, y, out, n, FORM: tl.constexpr):
    if FORM == "in place":
        tl.store(x, tl.load(x) + 1)
    elif FORM == "after a store":
        tl.store(out, 1)
        tl.store(out + 1, tl.load(x))
    elif FORM == "before all stores":
        tl.store(out, tl.load(x))
    elif FORM == "loop":
        for i in range(n):
            tl.store(out + i, tl.load(x + i))
    elif FORM == "either":
        p = x if n > 1 else y
        tl.store(p, 1)
    elif FORM == "atomic":
        tl.store(out, tl.atomic_add(x, 1) + tl.load(y))


UNUSED_Y, UNUSED_OUT = "const int* __restrict__ y", "const int* __restrict__ out"


@pytest.mark.parametrize(
    ("form", "parameters"),
    [
        ("in place", ("int* x", UNUSED_Y, UNUSED_OUT)),
        ("after a store", ("const int* x", UNUSED_Y, "int* out")),
        ("before all stores", ("const int* __restrict__ x", UNUSED_Y, "int* out")),
        ("loop", ("const int* x", UNUSED_Y, "int* out")),
        ("either", ("int* x", "int* y", UNUSED_OUT)),
        ("atomic", ("int* x", "const int* y", "int* out")),
    ],
)
def test_const_and_restrict(form, parameters):
    found = parameters_of(emitted(uses, "x *i32:16, y *i32:16, out *i32:16, n i32", FORM=form).source)
    assert tuple(found.split(", ")) == (*parameters, "const int n")


def test_nested_choices_between_registers_are_by_value() -> None:
    """Of `?:` in `?:` on elements of an array, nvcc chooses the address, and the array lies in local memory."""
    source = cases()["dot_powers_16"].emit("sm_90a").source
    kernel = source[source.index('extern "C"') :]
    assert "choose(thread & 1, choose(thread & 16, x[6], x[4]), choose(thread & 16, x[2], x[0]))" in kernel
