"""Reductions, scans, histograms and conversions: what is emitted, and the plans behind it checked by brute force."""

import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tle2cuda
import tle2cuda.language as tl
from tests.layout.random_layouts import mutate, random_layout, shapes
from tests.lowering.emitted import body
from tle2cuda.compiler import emit
from tle2cuda.ir.effects import internal_barriers
from tle2cuda.ir.nodes import walk
from tle2cuda.ir.types import F32, TileType
from tle2cuda.language import tle
from tle2cuda.layout import LANE_BITS, conversion, f2, reduction
from tle2cuda.lowering.reduction import emit_reduce
from tle2cuda.lowering.shape import _step_masks, emit_convert_layout, plan_access
from tle2cuda.passes.collective_plan import conversion_way, warp_exchange
from tle2cuda.runtime.nvrtc import CompileOptions, compile_source

assert emit_reduce
assert emit_convert_layout


@tle2cuda.jit
def reduce_row(x, out, KIND: tl.constexpr, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    if KIND == "max":
        result = tl.max(value, axis=0)
    else:
        result = tl.sum(value, axis=0)
    tl.store(out, result)


@tle2cuda.jit
def place_of_extreme(x, out, KIND: tl.constexpr, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.argmax(value, 0) if KIND == "max" else tl.argmin(value, 0, tie_break_left=False))


@tle2cuda.jit
def exclusive(x, out, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    before, total = tle.cumsum(tl.load(x + i), axis=0, reverse=REVERSE)
    tl.store(out + i, before + total)


@tle2cuda.jit
def running_sum(x, out, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + i, tl.cumsum(tl.load(x + i), axis=0, reverse=REVERSE))


@tle2cuda.jit
def add_and_multiply(sum_a, product_a, sum_b, product_b):
    return sum_a + sum_b, product_a * product_b


@tle2cuda.jit
def running_pair(x, out, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    value = tl.load(x + i)
    total, product = tl.associative_scan((value, value), 0, add_and_multiply, reverse=REVERSE)
    tl.store(out + i, total + product)


@tle2cuda.jit
def everything(x, y, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + i[:, None] * N + j[None, :])
    down = tl.cumsum(value, axis=0)
    flipped = tl.trans(down)
    largest, where = tl.max(value, axis=0, return_indices=True)
    tl.store(out + j[:, None] * M + i[None, :], flipped + largest[:, None])
    counts = tl.histogram(tl.load(y + i), 32)
    tl.store(y + tl.arange(0, 32), counts)
    tl.store(y + 32 + j, where)


def _body(source):
    """The kernel itself, without comments."""
    text = source[source.index('extern "C"') :]
    return "\n".join(re.sub(r"\s*//.*", "", line) for line in text.splitlines())


def _emit(kernel, dtype="fp32", num_warps=8, headers="minimal", target="sm_90a", **constants):
    pointers = dict.fromkeys(("x", "out"), f"*{dtype}:16")
    if kernel is everything:
        pointers = {"x": f"*{dtype}:16", "y": "*i32:16", "out": f"*{dtype}:16"}
    return emit(kernel, pointers, constants, num_warps, target, headers=headers)


# ---- text -----------------------------------------------------------------------------------------------------------


def test_whole_row_is_one_call():
    body = _body(_emit(reduce_row, KIND="max", BLOCK=4096).source)
    assert re.search(
        r"(\w+) = cta_all_reduce\(\1, shared\.\w+, \[\]\(float a, float b\) \{ return fmaxf\(a, b\); \}\);", body
    )
    assert "for (int k = 0; k < 4; ++k)" in body
    assert "__syncthreads" not in body  # it is inside of the helper


def test_integers_of_a_warp_are_reduced_in_hardware():
    body = _body(_emit(reduce_row, "i32", KIND="max", BLOCK=4096).source)
    assert re.search(r"(\w+) = warps_all_reduce\(__reduce_max_sync\(0xffffffffu, \1\), shared\.", body)
    body = _body(_emit(reduce_row, "u32", KIND="sum", BLOCK=64, num_warps=1).source)
    assert re.search(r"(\w+) = __reduce_add_sync\(0xffffffffu, \1\);", body)
    assert "__reduce" not in _emit(reduce_row, "i64", KIND="max", BLOCK=4096).source
    assert "__reduce" not in _emit(reduce_row, "i32", KIND="max", BLOCK=4096, target="sm_75").source


@pytest.mark.parametrize(
    ("dtype", "kind", "call"),
    [
        ("fp32", "max", r"warp_argmax<true>\((\w+), maximum_key\(\1\.item0\)\)"),
        ("bf16", "min", r"warp_argmin<false>\((\w+), minimum_key\(\1\.item0\)\)"),
        ("u8", "max", r"warp_argmax<true>\((\w+), \1\.item0\)"),
    ],
)
def test_places_of_extremes_are_found_by_integer_keys(dtype, kind, call):
    assert re.search(call, _body(_emit(place_of_extreme, dtype, KIND=kind, BLOCK=4096).source))


def test_places_of_extremes_without_integer_keys():
    for dtype, target in (("fp64", "sm_90a"), ("i64", "sm_90a"), ("fp32", "sm_75")):
        assert "lanes_all_reduce<31>" in _body(_emit(place_of_extreme, dtype, KIND="max", BLOCK=4096, target=target).source)


def test_one_warp_needs_no_shared_memory():
    source = _emit(reduce_row, KIND="sum", BLOCK=1024, num_warps=1).source
    assert "struct Shared" not in source
    assert "warp_all_reduce" in source


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_narrow_floats_are_summed_in_float_and_rounded_once(dtype):
    body = _body(_emit(reduce_row, dtype, KIND="sum", BLOCK=1024).source)
    assert re.search(r"float (\w+) = 0\.0f;", body)
    assert body.count("__float2half(" if dtype == "fp16" else "__float2bfloat16(") == 1


@pytest.mark.parametrize(
    ("dtype", "target", "cub"),
    [("fp32", "sm_90a", "BlockScanFloat = cub::BlockScan<float"), ("i32", "sm_75", "BlockScan = cub::BlockScan<int")],
)
def test_exclusive_sum_by_cub_where_every_thread_has_items(dtype, target, cub):
    emitted = _emit(exclusive, dtype, headers="toolkit", target=target, REVERSE=False, BLOCK=1024)
    assert f"using {cub}, 256, cub::BLOCK_SCAN_WARP_SCANS>;" in emitted.source
    assert re.search(r"BlockScan\w*::TempStorage \w+;", emitted.source)
    assert re.search(r"BlockScan\w*\(shared\.", emitted.source)


@pytest.mark.parametrize(
    ("dtype", "headers", "reverse", "block", "helper"),
    [
        ("i64", "minimal", False, 1024, "cta_exclusive_sum"),
        ("i32", "toolkit", False, 32, "warp_exclusive_sum"),
        ("fp32", "toolkit", True, 1024, "cta_exclusive_sum"),
        ("i32", "toolkit", False, 1024, "cta_exclusive_integer_sum"),
        ("i32", "minimal", True, 256, "cta_exclusive_integer_sum"),
    ],
)
def test_exclusive_sum_by_the_helpers_elsewhere(dtype, headers, reverse, block, helper):
    source = _emit(exclusive, dtype, headers=headers, REVERSE=reverse, BLOCK=block).source
    assert "cub" not in source
    assert f"{helper}<" in source


SCANS = [
    (kernel, reverse, m, n, num_warps)
    for kernel, shapes_ in (
        (running_sum, ((64, 1), (128, 1), (64, 2), (256, 4), (512, 4))),
        (running_pair, ((64, 1), (256, 1))),
    )
    for reverse in (False, True)
    for m, n in shapes_
    for num_warps in (1, 2, 4, 8)
]


@pytest.mark.parametrize(("kernel", "reverse", "m", "n", "num_warps"), SCANS)
def test_scan_is_written_without_detours(kernel, reverse, m, n, num_warps):
    body = _body(_emit(kernel, "i32", num_warps, REVERSE=reverse, M=m, N=n).source)
    assert not re.search(r"\[\(([^()]*)\)\]", body), body  # a[(b)]
    loops = re.findall(r"for \(int \w+ = (\d+); \w+ (>=|<) (\d+); [+-]{2}\w+\)", body)
    assert all(abs(int(first) - int(last)) + (test == ">=") > 1 for first, test, last in loops), body
    lines = [line.strip() for line in body.splitlines()]
    for line, following in itertools.pairwise(lines):
        declared = re.fullmatch(r"\w+ (\w+);", line)
        assert not (declared and following.startswith(f"{declared[1]} = ")), body


@pytest.mark.parametrize(("kernel", "reverse", "m", "n", "num_warps"), SCANS[::5])
def test_scan_compiles_without_warnings(kernel, reverse, m, n, num_warps):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    source = _emit(kernel, "i32", num_warps, REVERSE=reverse, M=m, N=n).source
    assert not compile_source(source, "scan.cu", CompileOptions("sm_90a")).warnings


@pytest.mark.parametrize("num_warps", [2, 4, 8, 16, 32])
@pytest.mark.parametrize(("dtype", "reverse"), [("i32", False), ("i64", True), ("fp32", False), ("fp64", False)])
def test_cub_storage_fits_its_scratch(dtype, reverse, num_warps):
    """The emitted file asserts that its `Shared` is no larger than the contract says."""
    emitted = _emit(exclusive, dtype, num_warps, "toolkit", REVERSE=reverse, BLOCK=32 * num_warps)
    assert "static_assert(sizeof(Shared) <=" in emitted.source
    compile_source(emitted.source, "exclusive.cu", CompileOptions("sm_90a"))


@pytest.mark.parametrize("headers", ["minimal", "toolkit"])
def test_barriers_inside_operations_are_those_that_the_barrier_pass_counts_on(headers):
    emitted = _emit(everything, M=64, N=64, num_warps=4, headers=headers)
    expected = sum(internal_barriers(op) for op in walk(emitted.kernel_ir.body))
    placed = sum(op.name == "barrier" for op in walk(emitted.kernel_ir.body))
    assert _body(emitted.source).count("__syncthreads") + _body(emitted.source).count("cta_") == expected + placed
    compile_source(emitted.source, "everything.cu", CompileOptions("sm_90a"))


# ---- plans ----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), shapes(), st.integers(0, 3), st.booleans())
def test_slots_hold_every_partial_result_once(seed, shape, warp_bits, general):
    rng = random.Random(seed)
    layout = random_layout(rng, shape, warp_bits, general)
    axis = rng.randrange(len(shape))
    exchange = warp_exchange(layout, axis)
    plan = reduction(layout, axis)
    if exchange is None:
        assert not plan.warp_steps
        return
    partial = _partial_results(layout, plan)
    slots: dict[int, frozenset[int]] = {}
    writes = 0
    for (thread, register), addends in partial.items():
        slot = f2.apply(exchange.register_images, register) ^ f2.apply(exchange.thread_images, thread)
        assert slots.setdefault(slot, addends) == addends
        writes += not thread & exchange.idle_threads
    assert len(slots) == writes == exchange.parts * exchange.rest
    for thread, register in partial:
        base = f2.apply(exchange.register_images, register) ^ f2.apply(exchange.element_thread_images, thread)
        parts = [slots[base + exchange.rest * part] for part in range(exchange.parts)]
        everything_once = sorted(element for part in parts for element in part)
        assert len(everything_once) == len(set(everything_once)) == shape[axis]


def _partial_results(layout, plan):
    """For each (thread, result register) the elements summed so far, after registers and lanes."""
    count = len(plan.result.registers)
    sums = {}
    for thread in range(layout.num_threads):
        lane, warp = thread % 32, thread // 32
        for register in range(layout.num_registers):
            if register & plan.skipped_registers:
                continue
            key = thread, f2.apply(plan.register_images, register)
            element = layout.flat_index(register, lane, warp)
            assert element not in sums.get(key, frozenset())
            sums[key] = sums.get(key, frozenset()) | {element}
    for step in plan.lane_steps:
        sums = {
            (thread, register): mine | sums[thread ^ step.thread_xor, register ^ step.register_xor]
            for (thread, register), mine in sums.items()
        }
    assert all(register < 1 << count for _, register in sums)
    return sums


class _Names:
    """What `plan_access` asks of a state."""

    index_names = {"k": "k", "run": "run", "thread": "thread"}  # noqa: RUF012

    def thread(self):
        return "thread"


def _function(text):
    """Function of (run, thread) that is an index expression, spelled for C; Python differs in the division only."""
    return eval(f"lambda run, thread: {text.replace('/', '//')}", {"__builtins__": {}})


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), shapes(), st.integers(0, 3), st.booleans(), st.sampled_from([1, 2, 4, 8]))
def test_conversions_through_shared_memory_find_every_element(seed, shape, warp_bits, general, element_bytes):
    rng = random.Random(seed)
    source, target = (random_layout(rng, shape, warp_bits, general) for _ in range(2))
    offsets = conversion(source, target).offset_map(element_bytes)
    memory = {}
    for layout, writing in ((source, True), (target, False)):
        access = plan_access(_Names(), layout, offsets)
        offset_of = _function(access.offset)
        for thread in range(layout.num_threads):
            seen = set()
            for run in range(1 << len(access.run)):
                offset = offset_of(run, thread)
                assert offset % access.width == 0
                for k in range(access.width):
                    register = f2.apply(access.run, run) ^ f2.apply(access.k, k)
                    element = layout.flat_index(register, thread % 32, thread // 32)
                    if writing:
                        assert memory.setdefault(offset + k, element) == element
                    assert memory[offset + k] == element
                    seen.add(element)
            assert len(seen) == 1 << len(access.run) + len(access.k)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), shapes(), st.integers(0, 3), st.booleans())
def test_way_of_a_conversion_has_a_plan(seed, shape, warp_bits, general):
    rng = random.Random(seed)
    source = random_layout(rng, shape, warp_bits, general)
    target = mutate(rng, source)
    way = conversion_way(TileType(shape, F32, source), TileType(shape, F32, target))
    kind = conversion(source, target).kind
    assert way == "none" if kind in ("identity", "registers") else way in ("shuffle", "shared")
    if way == "shuffle":
        assert kind == "shuffle"


@given(st.lists(st.integers(0, 31), min_size=1, max_size=8))
def test_step_masks_choose_the_register(images):
    basis = f2.EchelonBasis()
    steps = [image for image in images if basis.add(image)]
    masks = _step_masks(images, steps)
    for thread in range(1 << min(len(images), LANE_BITS)):
        chosen = 0
        for step, mask in zip(steps, masks, strict=True):
            if (thread & mask).bit_count() % 2:
                chosen ^= step
        assert chosen == f2.apply(images, thread)


@tle2cuda.jit
def sum_of_rows(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    inside = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(out + cols, tl.sum(tl.load(x + rows[:, None] * N + cols[None, :], mask=inside, other=0.0), axis=0))


def test_what_is_only_summed_is_folded_as_it_is_loaded() -> None:
    text = body(sum_of_rows, "x *fp32:16, out *fp32:16, m i32", num_warps=1, n=128, M=512, N=128)
    assert "#pragma unroll 32\nfor (int run = 0; run < 512; ++run) {\n" in text
    assert "const Vector<float, 4> x_value = load_vector_nc_if" in text
    assert "sum[k] += x_value[k];\n}" in text


def test_vectors_up_to_an_edge_are_all_loaded_before_they_are_summed() -> None:
    text = body(sum_of_rows, "x *fp32:16, out *fp32:16, m i32, n i32", num_warps=1, M=512, N=128)
    assert "#pragma unroll 32" not in text
    assert "x_value[run] = load_edge" in text


@tle2cuda.jit
def two_taps(x, w, out, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float32)
    for tap in tl.static_range(2):
        value = tl.load(x + (rows[:, None] + tap) * N + cols[None, :])
        sums += value * tl.load(w + tap * N + cols)[None, :]
    tl.store(out + cols, tl.sum(sums * sums, axis=0))


def test_what_large_tiles_are_multiplied_by_is_loaded_in_front_of_them() -> None:
    text = body(two_taps, "x *fp32:16, w *fp32:16, out *fp32:16", num_warps=1, M=64, N=128)
    before, loop = text.split("#pragma unroll 16\nfor (int run = 0; run < 64; ++run) {\n")
    assert before.count("load_vector<4>(w + ") == 2
    assert loop.count("load_vector<4>(x + ") == 2
    assert "sum[k] += sums_2 * sums_2;" in loop
